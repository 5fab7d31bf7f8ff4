"""What a participant has on disk: its atomic log and its copies of buckets, each a store with threads of its own.

What is wanted in a turn gathers here, in order, and is handed over at its end, together.
"""

import logging
from asyncio import AbstractEventLoop
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from hansard.batch import Batch
from hansard.consensus import disk as atomic
from hansard.consensus import effect as consensus
from hansard.consensus.home import BUCKET, Home
from hansard.consensus.recovered import Recovered as AtomicRecovered
from hansard.participant.copies import Standing, shelved
from hansard.participant.effect import ATOMIC, Drop, Fetch, Fork, Load, Persist
from hansard.participant.event import Event, Fetched, Hindered, Loaded, Persisted
from hansard.phaser import effect as phaser
from hansard.phaser.lineage import Run
from hansard.phaser.recovered import Recovered, standing
from hansard.phaser.recovered import Standing as Found
from hansard.storage import write as stored
from hansard.storage.errors import Corrupt
from hansard.storage.settings import StoreSettings
from hansard.storage.store import Store

from .damage import Damages, runs_of
from .disk import held, recovered, translated
from .errors import AtomicLogDamaged, CopiesDamaged
from .journal import Errand, Item, Job, Journal, read
from .scrubber import Scrubber
from .shortcut import Shortcut

log = logging.getLogger("hansard")

NOBODY: Final = None
FORKED: Final = -1
"""In place of a generation: nobody waits for a fork, but it is known when it is done."""


Part: TypeAlias = tuple[int, int]
"""Who waits for what is written: a bucket and the generation of its phaser, or the atomic log."""


class Vault:
    """`happen` takes what has happened, and `persisted` what is on disk; both are called in the loop."""

    def __init__(
        self,
        home: Home,
        call: Callable[..., object],
        happen: Callable[[Event], None],
        persisted: Callable[[Sequence[Persisted]], None],
        failed: Callable[[BaseException], None],
        settings: StoreSettings | None = None,
        loop: AbstractEventLoop | None = None,
    ) -> None:
        self._home = home
        self._happen = happen
        self._tell = persisted
        try:
            log_store = home.atomic()
            self._atomic_log = atomic.recovered(log_store, BUCKET)
        except Corrupt as damage:
            raise AtomicLogDamaged(str(damage)) from damage
        try:
            self._stores = (log_store, home.buckets(settings))
        except Corrupt as damage:
            raise CopiesDamaged(str(damage)) from damage
        atomic_store, store = self._stores
        self._journals = [
            Journal(atomic_store, call, self._persisted, failed, hindered=lambda reason: self._hinder(0, reason)),
            Journal(store, call, self._persisted, failed, self._damaged, lambda reason: self._hinder(1, reason)),
        ]
        self._ways = [
            Shortcut(kept, journal, self._persisted, failed, loop)
            for kept, journal in zip(self._stores, self._journals, strict=True)
        ]
        self.damages = Damages(self.now, happen, self._journals[1].resume)
        self.scrubber = Scrubber(store, call, self.damages.looked)
        self._wanted: tuple[list[Item], list[Item]] = ([], [])
        """In this turn, of each store."""
        self._hindrances = ["", ""]
        self._handed: dict[int, int] = {}
        """The last ticket of each bucket that the journal was given, and the last that it has synced."""
        self._synced: dict[int, int] = {}
        self._forks: dict[int, int] = {}
        """Those that are not done yet: child and parent."""

    @property
    def buckets(self) -> Store:
        return self._stores[1]

    # What a start finds.

    def atomic_log(self) -> AtomicRecovered:
        return self._atomic_log

    def shelf(self) -> Mapping[int, Standing]:
        """A copy that is damaged so that nobody can say what it has is good for nothing."""
        found: dict[int, Standing] = {}
        for bucket in self.buckets.buckets():
            try:
                found[bucket] = shelved(bucket, standing(held(self.buckets, bucket)))
            except Corrupt as damage:
                self.damages.meet(damage)
                found[bucket] = shelved(bucket, Found(0, 0, 0), intact=False)
        return found

    # What a turn wants.

    def persist(self, persist: Persist) -> None:
        wanted: Any = persist.writes  # of which sort they are is known by whose they are
        if persist.part == ATOMIC:
            log_writes: tuple[consensus.Write, ...] = wanted
            writes = [each for write in log_writes for each in atomic.translated(BUCKET, write)]
            self._put(0, Job((ATOMIC, 0), persist.ticket, writes, 0))
            return
        own: tuple[phaser.Write, ...] = wanted
        bucket = persist.part
        length, listed = 0, list[stored.Write]()
        for each in own:
            if isinstance(each, phaser.Put):  # as it mostly is
                length += each.batch.length
                listed.append(stored.Append(bucket, each.batch))
            else:
                listed.append(translated(bucket, each))
        job = Job((bucket, persist.generation), persist.ticket, listed, length)
        self._handed[bucket] = persist.ticket
        self._wanted[1].append(job)

    def under_way(self, bucket: int) -> int:
        """How many of its groups are not on disk yet."""
        return self._handed.get(bucket, 0) - self._synced.get(bucket, 0)

    def alter(self, effect: Fork | Drop) -> None:
        if isinstance(effect, Fork):
            self._forks[effect.child] = effect.parent
            self._put(1, Job((effect.child, FORKED), 0, [stored.Fork(effect.child, effect.parent)], 0))
            return
        bucket = effect.bucket
        if effect.damaged:
            log.warning("the damaged copy of bucket %d here is dropped: it is fetched anew", bucket)
            self._journals[1].give_up(bucket)
        self._put(1, Job(NOBODY, 0, [stored.Drop(bucket)], 0))
        self._put(1, Errand(lambda _: None, lambda _: self.damages.dropped(bucket)))

    @property
    def forking(self) -> set[int]:
        """Buckets of which a copy is still to be made: it will have what they have then."""
        return set(self._forks.values())

    def load(self, load: Load) -> None:
        self._handed[load.bucket] = self._synced[load.bucket] = 0

        def found(recovered: Recovered | Spoiled) -> None:
            if isinstance(recovered, Spoiled):
                self.damages.meet(recovered.damage, load.generation, recovered.runs)
            else:
                self._happen(Loaded(load.bucket, load.generation, recovered))

        self._put(1, Errand(lambda store: loaded(store, load.bucket), found))

    def fetch(self, fetch: Fetch) -> None:
        """What is damaged is fetched once it is mended."""

        def found(fetched: tuple[list[Batch], int] | Corrupt) -> None:
            if isinstance(fetched, Corrupt):
                self.damages.when_mended(fetch.bucket, fetch.to, lambda: self._ways[1].put([errand]))
                self.damages.meet(fetched)
                return
            batches, start = fetched
            self._happen(Fetched(fetch.bucket, fetch.to, fetch.term, fetch.offset, start, batches))

        errand = Errand(lambda store: sought(store, fetch), found)
        self._put(1, errand)

    def now(self, errand: Errand) -> None:
        """Something to be done with what the buckets' store has, without waiting for anything to be written."""
        self._journals[1].read(errand)

    def _put(self, which: int, item: Item) -> None:
        self._wanted[which].append(item)

    def flush(self) -> None:
        """At the end of a turn."""
        logged, stored = self._wanted
        if logged or stored:
            self._wanted = ([], [])
            if logged:
                self._ways[0].put(logged)
            if stored:
                self._ways[1].put(stored)

    def _persisted(self, tickets: Mapping[Part, int]) -> None:
        events: list[Persisted] = []
        for (number, generation), ticket in tickets.items():
            if generation == FORKED:
                self._forks.pop(number, None)
                continue
            self._synced[number] = ticket
            events.append(Persisted(number, generation, ticket))
        self._tell(events)

    def _hinder(self, which: int, reason: str) -> None:
        """Both stores are on one disk: what is said of it is said once."""
        before = self.hindrance
        self._hindrances[which] = reason
        if bool(self.hindrance) == bool(before):
            return
        if self.hindrance:
            log.error("read-only: nothing can be written to the disk, %s; reads go on", self.hindrance)
        else:
            log.warning("the disk can be written to again: going on")
        self._happen(Hindered(self.hindrance))

    @property
    def hindrance(self) -> str:
        """Why nothing can be written; empty if it can."""
        return self._hindrances[0] or self._hindrances[1]

    def _damaged(self, damage: Corrupt) -> None:
        self.damages.meet(damage)

    @property
    def synced(self) -> tuple[int, float]:
        """How often the buckets' journal was synced, and how many seconds that took."""
        return self._journals[1].synced

    def status(self) -> dict[str, Any]:
        return {"read_only": self.hindrance, "scrub": self.scrubber.status(), **self.damages.status()}

    def finish(self, *, abandon: bool = False) -> None:
        """In the loop, before it is stopped or abandoned."""
        for way in self._ways:
            way.close(abandon=abandon)

    def stop(self) -> None:
        """What was handed over is written first. To be called in a thread: it waits."""
        self.scrubber.stop()
        for journal in self._journals:
            journal.stop()

    def abandon(self) -> None:
        """The same without writing anything more: as if the process had been killed."""
        self.scrubber.stop()
        for journal in self._journals:
            journal.abandon()

    def close(self) -> None:
        for store in self._stores:
            store.close()
        self._home.close()


class Spoiled(NamedTuple):
    """Damage that a copy cannot be loaded with, and which term wrote what of its log."""

    damage: Corrupt
    runs: tuple[Run, ...]


def loaded(store: Store, bucket: int) -> Recovered | Spoiled:
    try:
        return recovered(store, bucket, read=True)
    except Corrupt as damage:
        return Spoiled(damage, runs_of(store, bucket))


def sought(store: Store, fetch: Fetch) -> tuple[list[Batch], int] | Corrupt:
    try:
        return read(store, fetch.bucket, fetch.offset, fetch.bytes_max)
    except Corrupt as damage:
        return damage
