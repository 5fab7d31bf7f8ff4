"""Retention in a running participant: what the log says may go is dropped from the disk, and room is made by it.

Every few seconds, and when the settings change, the disk is looked at for what need not be kept of the buckets that we
lead; the core has that agreed on (participant/retaining.py). What is agreed on is dropped soon after, a few segments at
a time, by a thread of its own: nobody who appends waits for it. It does not go through the journal's queue either,
because that one stands still while the disk is full, and that is when room is needed.

So it is not ordered with what is written. What may go is therefore said by the names of segments, which are looked up
in the same moment as what may go, and are never given twice: whatever becomes of the bucket meanwhile, nothing that
came later is dropped. A bucket of which a fork is still to be written is left alone until then: what its floor allows
is not what the half's floor allows.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import Event
from typing import Final

from msgspec import Struct

from hansard.distributor.settings import Keep
from hansard.participant import event
from hansard.participant.participant import Participant
from hansard.participant.retaining import Looks, surplus
from hansard.storage.errors import Corrupt, DiskFull
from hansard.storage.manifest import Segment
from hansard.storage.retention import Retention
from hansard.storage.store import Store

from .vault import Vault

log = logging.getLogger(__name__)

LOOK_S: Final = 0.5
"""So often it is looked whether there is something to be done."""
TELL_S: Final = 60.0
"""What was dropped is told no more often than this."""
SEGMENTS_MAX: Final = 16
"""So many go at once; whoever waits for the disk's maintenance comes in between."""


class Dropped(Struct, frozen=True):
    bucket: int
    start: int
    """Where the log begins now."""
    segments: int
    byte_count: int


class Keeper:
    def __init__(
        self, core: Participant, vault: Vault, happen: Callable[[event.Event], None], interval_s: float
    ) -> None:
        self._core = core
        self._vault = vault
        self._happen = happen
        self._interval_s = interval_s
        self._stopping = Event()
        self._working: asyncio.Future[object] | None = None
        """What a thread is at."""
        self._untold: list[Dropped] = []
        self._told_s = -TELL_S

    async def run(self) -> None:
        """Until it is cancelled; `stop` waits for what is under way then."""
        looked_s, keep, tried = 0.0, Keep(), dict[int, int]()
        while True:
            await asyncio.sleep(min(LOOK_S, self._interval_s))
            now_s, settings = time.monotonic(), self._core.distributor.settings
            due = settings.keep != keep or now_s - looked_s >= self._interval_s
            drops = self._drops()
            if drops and (due or drops != tried):
                tried = drops
                await self._drop(drops)
                if due and self._behind(drops):
                    await self._work(lambda: file(self._vault.buckets))
            if due:
                looked_s, keep = now_s, settings.keep
                await self._look()
            if self._untold and now_s - self._told_s >= TELL_S:
                self._tell()
                self._told_s = now_s

    async def stop(self) -> None:
        self._stopping.set()
        if self._working is not None:
            await asyncio.wait([self._working])
        self._tell()

    def _tell(self) -> None:
        if self._untold:
            tell(self._untold)
            self._untold = []

    # What the log says may go.

    def _drops(self) -> dict[int, int]:
        forking = self._vault.forking
        return {bucket: before for bucket, before in self._core.retaining.drops().items() if bucket not in forking}

    async def _drop(self, drops: Mapping[int, int]) -> None:
        named: dict[int, list[Segment]] = {}
        for entry in self._vault.buckets.thinnable(drops):
            gone = [segment for segment in entry.segments if segment.end <= drops[entry.bucket]]
            if gone:
                named[entry.bucket] = gone
        if not named:
            return
        dropped = await self._work(lambda: drop(self._vault.buckets, named, self._stopping))
        assert isinstance(dropped, list)
        for one in dropped:
            self._happen(event.Trimmed(one.bucket, one.start))
        self._untold += dropped

    def _behind(self, drops: Mapping[int, int]) -> bool:
        """Something that may go is not in segments yet; the next time it will be."""
        return any(entry.end < drops[entry.bucket] for entry in self._vault.buckets.thinnable(drops))

    # What need not be kept.

    async def _look(self) -> None:
        looks = self._core.retaining.looks()
        if looks is not None:
            found = await self._work(lambda: look(self._vault.buckets, looks))
            if isinstance(found, event.Surplus):
                self._happen(found)

    async def _work(self, work: Callable[[], object]) -> object:
        self._working = asyncio.get_running_loop().run_in_executor(None, work)
        return await asyncio.shield(self._working)


def look(store: Store, looks: Looks) -> event.Surplus | None:
    """What is in the journal alone cannot go, so what is too old there is put into segments first."""
    oldest_us = looks.wall_us - looks.keep.age_us
    tails = [store.log(bucket).tail[:1] for bucket in looks.limits] if looks.keep.age_us else []
    if any(entry.last_timestamp < oldest_us for tail in tails for entry in tail):
        file(store)
    return surplus(looks, {entry.bucket: entry.segments for entry in store.thinnable(looks.limits)})


def file(store: Store) -> None:
    """If it cannot be done now, whoever files in earnest says why."""
    with suppress(DiskFull, Corrupt):
        store.file()


def drop(store: Store, named: Mapping[int, list[Segment]], stopping: Event) -> list[Dropped]:
    """These segments, and no others. Where even that takes more room than there is, it is tried again later."""
    dropped: list[Dropped] = []
    for bucket, segments in named.items():
        before, byte_count, count = store.bounds(bucket)[0], 0, 0
        for first in range(0, len(segments), SEGMENTS_MAX):
            some = segments[first : first + SEGMENTS_MAX]
            if stopping.is_set():
                break
            try:
                store.retain({bucket: Retention(before=some[-1].end, through=some[-1].id)}, now=0, file=False)
            except DiskFull as error:
                log.warning("%s, and nothing can be dropped for it either: trying again", error)
                break
            byte_count, count = byte_count + sum([segment.length for segment in some]), count + len(some)
        start, _ = store.bounds(bucket)
        if start > before:
            dropped.append(Dropped(bucket, start, count, byte_count))
    return dropped


def tell(dropped: list[Dropped]) -> None:
    """In a line, however much it was."""
    begin = {one.bucket: one.start for one in dropped}
    byte_count, count = sum([one.byte_count for one in dropped]), sum([one.segments for one in dropped])
    starts = " ".join([f"{bucket}:{start}" for bucket, start in list(begin.items())[:8]]) + " ..." * (len(begin) > 8)
    log.info(
        "dropped %d segments (%.1f MB) that need not be kept; these buckets begin later now: %s",
        *(count, byte_count / 1e6, starts),
        extra={"segments": count, "bytes": byte_count, "count": len(begin)},
    )
