"""Retention: what our copies may drop, and what is held on to, by the log (distributor/holds.py).

A leader's disk is looked at now and then (`looks`): what the settings do not keep and nobody holds is proposed as the
bucket's floor (`Surplus`). When that is in the log, everybody who has a copy drops what is before it (`drops`), as far
as its own phaser can do without it. Whoever runs us does both, and says `Trimmed` when something is gone.

Nothing is dropped, and nothing is proposed, by one who does not know the cluster's time or is no member by the log.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from hansard.distributor import command
from hansard.distributor.holds import LASTS_US_MIN, malformed
from hansard.distributor.settings import Keep
from hansard.phaser.leader import Phase
from hansard.storage import retention
from hansard.storage.manifest import Segment

from .copies import Copies
from .effect import AnswerHold
from .event import Hold, LetGo, Retention, Surplus
from .here import Here
from .timekeeping import Timekeeping

WAITING_MAX: Final = 1_000
"""Requests for holds that are on their way into the log."""
FLOORS_MAX: Final = 64
"""So many are said at once; the rest comes with the next look."""
UNKNOWN_TIME: Final = "the cluster's time is not known here yet: ask again"
CHANGED: Final = "it was changed meanwhile, or did not come through: ask again"


class Looks(Struct, frozen=True):
    """What to look for on the disk, in the buckets that we lead."""

    keep: Keep
    wall_us: int
    """The cluster's time."""
    limits: Mapping[int, int]
    """What is before this offset may go, if it need not be kept."""


def surplus(looks: Looks, segments: Mapping[int, Sequence[Segment]]) -> Surplus | None:
    """What a look at the disk finds: of each bucket the segments that are filed, in order."""
    keep = looks.keep
    limits = retention.Retention(keep.age_us or None, keep.byte_count or None, keep.change_count or None)
    floors: dict[int, int] = {}
    for bucket, limit in looks.limits.items():
        filed = segments.get(bucket, ())
        count = retention.droppable(filed, limits, looks.wall_us, limit)
        if count:
            floors[bucket] = filed[count - 1].end
    return Surplus(keep, floors) if floors else None


class Asking(Struct, frozen=True):
    """On its way into the log, and who asked."""

    id: int
    command: command.Hold | command.LetGo | command.Retire


class Retaining:
    def __init__(self, here: Here, copies: Copies, time: Timekeeping) -> None:
        self._here = here
        self._copies = copies
        self._time = time
        self._retiring = False
        self._waiting = 0

    # What may be dropped.

    @property
    def _acts(self) -> bool:
        return self._here.member is not None and self._time.known

    def looks(self) -> Looks | None:
        """None where there is nothing to look for."""
        table = self._here.distributor
        if not self._acts or self._retiring or table.settings.keep == Keep():
            return None
        limits: dict[int, int] = {}
        wall_us = self._time.stamp_us
        for number, copy in self._copies.running.items():
            phaser = copy.phaser
            if phaser is not None and phaser.leading is not None and phaser.leading.phase is Phase.OPEN:
                first = table.holds.first(number, wall_us)
                limit = phaser.droppable if first is None else min(phaser.droppable, first)
                if limit > table.holds.floor(number):
                    limits[number] = limit
        return Looks(table.settings.keep, wall_us, limits) if limits else None

    def drops(self) -> dict[int, int]:
        """Of which buckets something may be here that may go, and before which offset."""
        found: dict[int, int] = {}
        floors = self._here.distributor.holds.floors if self._acts else {}
        for number in sorted(floors):
            copy = self._copies.running.get(number)
            if copy is not None and copy.phaser is not None:
                before = min(floors[number], copy.phaser.droppable)
                if before > copy.phaser.ledger.start:
                    found[number] = before
        return found

    # What is asked of the log.

    def take(self, event: Retention) -> Asking | None:
        """What is to be proposed; None if nothing comes of it, and whoever asked was told."""
        if isinstance(event, Surplus):
            return self._retire(event)
        assert isinstance(event, Hold | LetGo)
        refusal = self._refusal(event)
        if refusal:
            self._here.effects.append(AnswerHold(event.id, refusal))
            return None
        self._waiting += 1
        wall_us = self._time.stamp_us
        if isinstance(event, LetGo):
            return Asking(event.id, command.LetGo(event.name, wall_us))
        return Asking(event.id, command.Hold(event.name, dict(event.offsets), event.lasts_us, wall_us))

    def _refusal(self, event: Hold | LetGo) -> str:
        """What does not even get into the log. What is there decides about the rest: our table may be behind."""
        if not event.name.isprintable():
            return "the name of a hold is printable text"
        lasts_us, offsets = (event.lasts_us, event.offsets) if isinstance(event, Hold) else (LASTS_US_MIN, {})
        trouble = malformed(command.Hold(event.name, dict(offsets), lasts_us, 0))
        if trouble:
            return trouble
        if self._waiting >= WAITING_MAX:
            return f"{WAITING_MAX} others wait for a hold here: ask again"
        return "" if self._time.known else UNKNOWN_TIME

    def _retire(self, surplus: Surplus) -> Asking | None:
        holds, running = self._here.distributor.holds, self._copies.running
        floors = [(bucket, floor) for bucket, floor in sorted(surplus.floors.items()) if floor > holds.floor(bucket)]
        ours = [(bucket, floor) for bucket, floor in floors if bucket in running][:FLOORS_MAX]
        if not ours or not self._acts or self._retiring:
            return None
        self._retiring = True
        return Asking(0, command.Retire(tuple(ours), surplus.keep, self._time.stamp_us))

    def settled(self, asking: Asking) -> None:
        """It is in the log. What came of it is seen from what is there now."""
        settled, holds, buckets = asking.command, self._here.distributor.holds, self._here.distributor.buckets
        if isinstance(settled, command.Retire):
            self._retiring = False
            return
        known, refusal, expires_us = holds.held.get(settled.name), "", 0
        if isinstance(settled, command.Hold):
            if known is not None and (known.offsets, known.asked_us) == (settled.offsets, settled.wall_us):
                expires_us = known.expires_us
            else:
                refusal = holds.refusal(settled, buckets) or CHANGED
        elif known is not None:
            later = known.asked_us > settled.wall_us
            refusal = f"{settled.name!r} was set by a later request" if later else CHANGED
        self._waiting -= 1
        self._here.effects.append(AnswerHold(asking.id, refusal, expires_us))
