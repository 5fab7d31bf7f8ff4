"""Damage on the disk of this participant: noted once, told to the core, mended as the core says, and said in the log.

Whoever meets it, be it a reader, a member that is fed, a start or the scrub, hands it over here and may wait until it
is mended. What is asked of whom, and what is given up, is the core's to decide (participant/mending.py).
"""

import asyncio
import logging
from collections.abc import Callable, Hashable
from typing import Any, Final

from msgspec import Struct

from hansard.batch import Batch
from hansard.participant.effect import Excerpt, GivenUp, Mend
from hansard.participant.event import Damaged, Event, Excerpted, Mended
from hansard.phaser.lineage import Run
from hansard.phaser.recovered import decode_note
from hansard.storage.errors import Corrupt, DiskFull, StorageError
from hansard.storage.repair import DoesNotFit, discard_index, is_index
from hansard.storage.store import Store

from .journal import FULL_RETRY_S, Errand

log = logging.getLogger("hansard")

LISTED_MAX: Final = 100
"""In the status."""


class Met(Struct, frozen=True):
    number: int
    damage: Corrupt


class Damages:
    """`read` has an errand done beside what is written; `happen` takes what has happened; `mended` is called when
    something that was in the way may be gone."""

    def __init__(
        self, read: Callable[[Errand], None], happen: Callable[[Event], None], mended: Callable[[], None]
    ) -> None:
        self._read = read
        self._happen = happen
        self._mended_any = mended
        self._last = 0
        self._met: dict[tuple[int | None, str, int], Met] = {}
        """What is damaged now, by bucket and place."""
        self._waiting: dict[int, dict[Hashable, Callable[[], None]]] = {}
        """Who waits until something of a bucket is mended."""
        self.given_up: tuple[int, ...] = ()
        self.repaired = 0

    def meet(self, damage: Corrupt, generation: int = 0, runs: tuple[Run, ...] = ()) -> None:
        """`generation`: of the load that it has stopped, with what the copy's note says of its log."""
        key = (damage.bucket, damage.path, damage.position)
        met = self._met.get(key)
        if met is None:
            self._last += 1
            met = self._met[key] = Met(self._last, damage)
            log.warning("%s", damage, extra={"bucket": damage.bucket, "path": damage.path})
        if damage.bucket is None:
            return  # what it hides is said of each bucket that may be touched by it
        if is_index(damage):
            self._read(Errand(lambda store: discard_index(store, damage), lambda _: self._over(key)))
            return
        known = (damage.first, damage.end, damage.length)
        self._happen(Damaged(damage.bucket, met.number, *known, generation, runs))

    def when_mended(self, bucket: int, who: Hashable, then: Callable[[], None]) -> None:
        """Something of the bucket. Whoever waits already waits for this instead."""
        self._waiting.setdefault(bucket, {})[who] = then

    def wait_no_more(self, bucket: int, who: Hashable) -> None:
        self._waiting.get(bucket, {}).pop(who, None)

    def looked(self, found: list[Corrupt]) -> None:
        """All that is damaged, as a scrub has seen it: what else was met has gone since, filed, trimmed or mended."""
        damaged = {(damage.bucket, damage.path, damage.position) for damage in found}
        for key in [key for key in self._met if key not in damaged]:
            self._over(key)
        for damage in found:
            self.meet(damage)

    def dropped(self, bucket: int) -> None:
        """There is no copy of it here any more."""
        for key in [key for key in self._met if key[0] == bucket]:
            self._over(key)

    # What the core wants.

    def mend(self, mend: Mend) -> None:
        met = next((met for met in self._met.values() if met.number == mend.number), None)
        if met is None:
            self._happen(Mended(mend.bucket, mend.number, fits=True))
            return

        def done(problem: str | None) -> None:
            damage = met.damage
            if problem is None:
                asyncio.get_running_loop().call_later(FULL_RETRY_S, self.mend, mend)
                return
            if problem:
                log.warning("%s: it cannot be repaired with %s's copy: %s", damage, mend.node, problem)
            else:
                self.repaired += 1
                fields = {"bucket": damage.bucket, "path": damage.path, "participant": mend.node}
                what = f"offsets {damage.first} to {(damage.end or 1) - 1} of bucket {damage.bucket}"
                log.warning("%s are repaired, with the copy that %s has", what, mend.node, extra=fields)
                self._over((damage.bucket, damage.path, damage.position))
            self._happen(Mended(mend.bucket, mend.number, fits=not problem))

        self._read(Errand(lambda store: repair(store, met.damage, mend.batches), done))

    def excerpt(self, wanted: Excerpt) -> None:
        def done(found: tuple[list[Batch], Corrupt | None]) -> None:
            batches, damage = found
            if damage is not None:
                self.meet(damage)
            self._happen(Excerpted(wanted.to, wanted.bucket, wanted.number, wanted.first, batches))

        self._read(Errand(lambda store: excerpt(store, wanted), done))

    def tell(self, given_up: GivenUp) -> None:
        for bucket in given_up.buckets:
            if bucket in self.given_up:
                continue
            fields = {"bucket": bucket}
            if bucket in given_up.alone:
                log.error("the copy of bucket %d here cannot be repaired, and nobody else has it", bucket, extra=fields)
            else:
                log.warning("the copy of bucket %d here is given up: it is fetched anew", bucket, extra=fields)
        self.given_up = given_up.buckets

    # What is known.

    def _over(self, key: tuple[int | None, str, int]) -> None:
        self._met.pop(key, None)
        self._mended_any()
        for then in self._waiting.pop(key[0], {}).values() if key[0] is not None else ():
            then()

    def status(self) -> dict[str, Any]:
        return {
            "damaged": [
                {
                    "bucket": met.damage.bucket,
                    "first": met.damage.first,
                    "end": met.damage.end,
                    "path": met.damage.path,
                    "position": met.damage.position,
                    "reason": met.damage.reason,
                }
                for met in list(self._met.values())[:LISTED_MAX]
            ],
            "damage_count": len(self._met),
            "repaired": self.repaired,
            "given_up": list(self.given_up),
        }


def runs_of(store: Store, bucket: int) -> tuple[Run, ...]:
    """Which term wrote what, by the note; nothing where that is lost."""
    try:
        return decode_note(store.note(bucket)).runs
    except Corrupt:
        return ()


def repair(store: Store, damage: Corrupt, batches: tuple[Batch, ...]) -> str | None:
    """Why it could not be done; empty if what was written is there again, or the damage is no longer the bucket's. None
    if there is no room for it now."""
    try:
        store.repair(damage, batches)
    except DoesNotFit as error:
        return str(error) if is_still_there(store, damage) else ""
    except DiskFull:
        return None
    except Corrupt as error:  # it fits, and yet the whole is not what was filed
        return error.reason
    return ""


def is_still_there(store: Store, damage: Corrupt) -> bool:
    """Whether these offsets cannot be read. Damage of another kind or place among them is met by itself."""
    assert damage.bucket is not None and damage.first is not None and damage.end is not None
    offset = damage.first
    while offset < damage.end:
        try:
            batches = store.batches(damage.bucket, offset, 1 << 20)
        except Corrupt as error:
            return (error.path, error.position) == (damage.path, damage.position)
        except StorageError:
            return False  # dropped
        if not batches:
            return False
        offset = batches[-1].header.end_offset
    return False


def excerpt(store: Store, wanted: Excerpt) -> tuple[list[Batch], Corrupt | None]:
    """What there is of the offsets that are asked for, from the first one on; and damage that is in the way."""
    try:
        batches = store.batches(wanted.bucket, wanted.first, wanted.bytes_max) if wanted.first < wanted.end else []
    except Corrupt as damage:
        return [], damage
    except StorageError:  # trimmed, or dropped
        return [], None
    if not batches or batches[0].header.base_offset != wanted.first:
        return [], None
    return [batch for batch in batches if batch.header.end_offset <= wanted.end], None
