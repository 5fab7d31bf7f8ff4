"""Submissions on their way through a participant, and where each of them is.

parked   its bucket has no leader, or the table that says who leads is not here yet; it waits, in order
local    a phaser here has it
away     it hopped to the leader's node, which answers to where it came from
"""

from bisect import insort
from collections.abc import Callable
from enum import Enum, auto

from msgspec import Struct

from hansard.batch import Batch, bucket_mask
from hansard.distributor.settings import BUCKETS_MAX
from hansard.phaser.event import Continues, Event
from hansard.phaser.streams import NO_CONNECTION

from .event import Submit
from .message import SUBMITTED, Process


class Origin(Struct, frozen=True, gc=False):
    """It hopped here."""

    node: str
    process: Process
    number: int
    hops: int


class Place(Enum):
    PARKED = auto()
    LOCAL = auto()
    AWAY = auto()
    GONE = auto()
    """It was answered, or passed on."""


PARKED, LOCAL, AWAY, GONE = Place
"""By these names: each is looked up several times for every submission, and by the class's name that takes long."""


class Held(Struct, eq=False, gc=False):
    order: int
    """In which they came."""
    source: int | Origin
    """The id under which a client of ours asked for it; or where it hopped from."""
    bucket: int
    batch: Batch
    deadline_us: int
    buckets: int
    """The level for which it was cut."""
    continues: Continues | None
    follows: int = SUBMITTED
    """If it is imported: where the batch before it ends."""
    place: Place = PARKED
    node: str = ""
    """Where it is under way to, or is."""
    unknown: bool = False
    """An earlier attempt may have stored it: only that it is stored is conclusive from here on."""
    until_us: int = 0
    """While it is parked: no longer than that."""
    again_us: int = 0
    """While it is parked: then it is tried again, whatever is known."""
    version: int = 0
    """While it is parked: the table that it waits for."""
    epoch: int = 0
    """And the bucket's epoch."""

    @property
    def imported(self) -> bool:
        return self.follows != SUBMITTED

    @property
    def unmistakable(self) -> bool:
        """Whoever has it already knows it again: by its series, or by its place in the log."""
        return self.imported or self.batch.header.connection != NO_CONNECTION


class Straight(Struct, gc=False):
    """The way to a phaser here, on which others go in this turn."""

    level: int
    epoch: int
    inbox: list[Event]
    count: int = 0
    """Of those that went."""


def held_of(order: int, submit: Submit) -> Held:
    where = (submit.bucket, submit.batch, submit.deadline_us, submit.buckets, submit.continues)
    return Held(order, submit.id, *where)


def is_sound(submit: Submit) -> bool:
    """Whether all its keys are the bucket's at the level for which it was cut."""
    bucket, level = submit.bucket, submit.buckets
    if level == 1:
        return bucket == 0
    return is_bucket(submit) and bool(bucket_mask(submit.batch, bucket, level).all())


def is_bucket(held: Held | Submit) -> bool:
    """Whether there can be such a bucket at such a level."""
    return 0 <= held.bucket < held.buckets <= BUCKETS_MAX and held.buckets.bit_count() == 1


class Parked:
    """By bucket, each in the order in which they came: what comes back goes before what came later."""

    def __init__(self) -> None:
        self.queues: dict[int, list[Held]] = {}
        self._bytes: dict[int, int] = {}

    def __contains__(self, bucket: int) -> bool:
        return bucket in self.queues

    def count(self, bucket: int) -> int:
        return len(self.queues.get(bucket, ()))

    def bytes(self, bucket: int) -> int:
        return self._bytes.get(bucket, 0)

    def put(self, held: Held) -> None:
        held.place, held.node = PARKED, ""
        self._bytes[held.bucket] = self.bytes(held.bucket) + held.batch.length
        insort(self.queues.setdefault(held.bucket, []), held, key=lambda other: other.order)

    def take(self, bucket: int, ready: Callable[[Held], bool]) -> Held | None:
        """The first one, if it may go on."""
        queue = self.queues.get(bucket)
        if queue is None or not ready(queue[0]):
            return None
        held = queue.pop(0)
        self._keep(bucket, queue, held.batch.length)
        return held

    def _keep(self, bucket: int, queue: list[Held], taken: int) -> None:
        """What is left of a queue."""
        if queue:
            self.queues[bucket] = queue
            self._bytes[bucket] -= taken
        else:
            del self.queues[bucket], self._bytes[bucket]

    def expired(self, now_us: int) -> list[Held]:
        """Those that have waited for too long are not parked any more."""
        found: list[Held] = []
        for bucket, queue in list(self.queues.items()):
            over = [held for held in queue if held.until_us <= now_us]
            if over:
                found += over
                taken = sum([held.batch.length for held in over])
                self._keep(bucket, [held for held in queue if held.until_us > now_us], taken)
        return found


class Ways:
    """To which nodes something of a bucket is under way: what comes later waits before it goes another way."""

    def __init__(self) -> None:
        self._counts: dict[int, dict[str, int]] = {}

    def begin(self, bucket: int, node: str, count: int = 1) -> None:
        counts = self._counts.get(bucket)
        if counts is None:
            self._counts[bucket] = {node: count}
        else:
            counts[node] = counts.get(node, 0) + count

    def end(self, bucket: int, node: str, count: int = 1) -> bool:
        """Says whether there are no more on this way."""
        counts = self._counts[bucket]
        left = counts[node] - count
        if left:
            counts[node] = left
            return False
        del counts[node]
        if not counts:
            del self._counts[bucket]
        return True

    @property
    def total(self) -> int:
        return sum([sum(counts.values()) for counts in self._counts.values()])

    def elsewhere(self, bucket: int, node: str) -> bool:
        """Whether something is under way to another node than this."""
        counts = self._counts.get(bucket)
        return counts is not None and (len(counts) > 1 or node not in counts)
