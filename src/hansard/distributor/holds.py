"""What may be dropped, and what somebody still wants.

The *floor* of a bucket is the offset before which its members may drop what they have. Its leader proposes a higher one
when the settings say that something need not be kept, and nobody drops anything beyond the floor that its own table
has. A *hold* is a place in every bucket, under a name and until some time: no floor rises above it. Both are in the
log, so whichever comes first counts: a hold that is taken is above all floors, everywhere, and what is dropped was not
held. Who has not heard of a hold has not heard of any later floor either.

A hold's place is a bookmark's: a bucket that is not in it is where its parent is, and at 0 if none of its ancestors
is. Times are the cluster's, as proposers know it; a hold that is over goes with the next command that says so.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from hansard.bookmark import Bookmark

from .bucket import Bucket
from .command import Hold, LetGo, Retire
from .member import Member
from .settings import BUCKETS_MAX, Settings

HOLDS_MAX: Final = 500
PLACES_MAX: Final = 1 << 17
"""Of all holds together."""
NAME_BYTES_MAX: Final = 200
LASTS_US_MIN: Final = 1_000_000
LASTS_US_MAX: Final = 366 * 24 * 3600 * 1_000_000
OFFSET_MAX: Final = (1 << 63) - 1


class Held(Struct, frozen=True, array_like=True):
    offsets: dict[int, int]
    asked_us: int
    """When it was asked for: a request that comes later than it should does not undo a newer one."""
    expires_us: int

    def place(self, bucket: int) -> int:
        """Everything of the bucket from here on is held."""
        return Bookmark("", self.offsets).offset(bucket) or 0


class Image(Struct, frozen=True, array_like=True):
    wall_us: int = 0
    floors: tuple[tuple[int, int], ...] = ()
    held: tuple[tuple[str, Held], ...] = ()


def malformed(hold: Hold) -> str:
    """Why it cannot be one, whatever there is; empty if it can."""
    if not 0 < len(hold.name.encode()) <= NAME_BYTES_MAX:
        return f"the name of a hold has 1 to {NAME_BYTES_MAX} bytes"
    if not LASTS_US_MIN <= hold.lasts_us <= LASTS_US_MAX:
        return f"a hold lasts from {LASTS_US_MIN} to {LASTS_US_MAX} microseconds, not {hold.lasts_us}"
    for bucket, offset in hold.offsets.items():
        if not 0 <= bucket < BUCKETS_MAX:
            return f"there is no bucket {bucket}"
        if not 0 <= offset <= OFFSET_MAX:
            return f"{offset} is no offset"
    return ""


class Holds:
    """Invariant: no floor is above any hold."""

    def __init__(self, image: Image | None = None) -> None:
        image = image or Image()
        self.wall_us = image.wall_us
        """The latest time that was said with these. It only grows."""
        self.floors: dict[int, int] = dict(image.floors)
        """Of buckets that have one above 0."""
        self.held: dict[str, Held] = dict(image.held)

    def image(self) -> Image:
        return Image(self.wall_us, tuple(sorted(self.floors.items())), tuple(sorted(self.held.items())))

    def floor(self, bucket: int) -> int:
        return self.floors.get(bucket, 0)

    def first(self, bucket: int, wall_us: int = 0) -> int | None:
        """The first offset of a bucket that somebody holds at this time; None if nobody does. That a hold is over
        counts when it is said in the log."""
        return min([held.place(bucket) for held in self.held.values() if held.expires_us > wall_us], default=None)

    def split(self, parent: int, child: int) -> None:
        """Both halves have what there was; from here on each has a floor of its own."""
        if parent in self.floors:
            self.floors[child] = self.floors[parent]

    # Commands.

    def retire(self, member: Member, retire: Retire, buckets: Sequence[Bucket], settings: Settings) -> None:
        """By the leaders of these buckets, and under these very settings: what was not to be kept may be by now."""
        self._pass(retire.wall_us)
        if retire.keep != settings.keep:
            return
        for bucket, floor in retire.floors:
            if 0 <= bucket < len(buckets) and buckets[bucket].leader == member:
                first = self.first(bucket)
                allowed = floor if first is None else min(floor, first)
                if allowed > self.floor(bucket):
                    self.floors[bucket] = allowed

    def hold(self, hold: Hold, buckets: Sequence[Bucket]) -> None:
        self._pass(hold.wall_us)
        if not self.refusal(hold, buckets):
            # From the latest time that is known: nothing is over too early because its proposer's clock is behind.
            expires_us = self.wall_us + hold.lasts_us
            self.held[hold.name] = Held(dict(sorted(hold.offsets.items())), hold.wall_us, expires_us)

    def let_go(self, let_go: LetGo) -> None:
        self._pass(let_go.wall_us)
        known = self.held.get(let_go.name)
        if known is not None and known.asked_us <= let_go.wall_us:
            del self.held[let_go.name]

    def _pass(self, wall_us: int) -> None:
        """Time has passed: what is over goes."""
        self.wall_us = max(self.wall_us, wall_us)
        for name in [name for name, held in self.held.items() if held.expires_us <= self.wall_us]:
            del self.held[name]

    # Refusing.

    def refusal(self, hold: Hold, buckets: Sequence[Bucket]) -> str:
        """Why it cannot be; empty if it can."""
        known, trouble = self.held.get(hold.name), malformed(hold)
        if trouble:
            return trouble
        if known is not None and known.asked_us > hold.wall_us:
            return f"{hold.name!r} was set by a later request"
        if known is None and len(self.held) >= HOLDS_MAX:
            return f"there are {HOLDS_MAX} holds already: release one that is not needed"
        before = len(known.offsets) if known is not None else 0
        if sum([len(held.offsets) for held in self.held.values()]) - before + len(hold.offsets) > PLACES_MAX:
            return f"all holds together name {PLACES_MAX} places at the most: release one that is not needed"
        return self._misplaced(hold, buckets)

    def _misplaced(self, hold: Hold, buckets: Sequence[Bucket]) -> str:
        if not buckets:
            return "this cluster has no buckets yet"
        for bucket in hold.offsets:
            if bucket >= len(buckets) or not buckets[bucket].level:
                return f"there is no bucket {bucket}"
        held = Held(hold.offsets, 0, 0)
        gone = [(bucket, floor) for bucket, floor in sorted(self.floors.items()) if held.place(bucket) < floor]
        if not gone:
            return ""
        bucket, floor = gone[0]
        more = f", and {len(gone) - 1} more buckets have begun after their places" if len(gone) > 1 else ""
        return f"bucket {bucket} is retained from offset {floor} on, and not from {held.place(bucket)}{more}"
