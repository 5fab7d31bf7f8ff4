"""Clients as real ones are: several batches in flight, deadlines, retries in order with the same numbers, leader hints.

A client never skips a series whose outcome is unknown. On a broken stream it gives up what it has in flight and goes on
under a new connection; at the end of its range of series it goes on under a connection that continues the old one.
"""

from collections import deque
from typing import TYPE_CHECKING, Final, assert_never

from msgspec import Struct

from hansard.batch import Batch, build
from hansard.phaser.event import Continues, Submit
from hansard.phaser.outcome import (
    Broken,
    Busy,
    Expired,
    Gap,
    Importing,
    Invalid,
    Misplaced,
    NotLeader,
    Outcome,
    ReadOnly,
    Repeated,
    Stored,
    Unknown,
)

if TYPE_CHECKING:
    from .world import World

KEYS: Final = 4
WINDOW: Final = 5
TIMEOUT_US: Final = 3_000_000


class Item(Struct):
    """Changes that the client wants stored, with the numbers that it gave them."""

    batch: Batch
    values: list[bytes]
    continues: Continues | None
    last: int


class Client:
    def __init__(self, world: "World", number: int, range_end: int) -> None:
        self.world = world
        self.number = number
        self.range_end = range_end
        """Series of a connection stay below it."""
        self.connection = world.connect()
        self.previous = -1
        self.next_series = 0
        self.continues: Continues | None = None
        self.serial = 0
        self.items: deque[Item] = deque()
        self.asked: dict[int, Item] = {}
        """Submissions under way, by their numbers."""
        self.place = world.random.choice(world.places)
        self.epoch = 0
        self.retry_planned = False
        self.producing = True

    # New changes.

    def produce(self) -> None:
        world, random = self.world, self.world.random
        if self.producing:
            if len(self.items) < WINDOW:
                item = self._item(random.choice((1, 1, 1, 2, 5)))
                self.items.append(item)
                if not self.retry_planned:
                    self._submit(item)
            gap = random.expovariate(1) * world.plan.gap_us
            if world.plan.idle and random.random() < 0.01:
                gap += world.plan.memory_us * random.uniform(0.8, 1.5)
            world.clock.after(int(gap), self.produce)

    def _item(self, count: int) -> Item:
        random = self.world.random
        if self.next_series + 2 * count + 2 > self.range_end:
            self._wrap()
        first = self.next_series + (random.random() < 0.3)
        series = [first]
        for _ in range(count - 1):
            series.append(series[-1] + 1 + (random.random() < 0.1))
        values = []
        for _ in range(count):
            self.serial += 1
            values.append(b"%d:%d" % (self.number, self.serial))
        keys = [b"k%d" % random.randrange(KEYS) for _ in range(count)]
        dense = series[-1] - first == count - 1
        batch = build(
            keys,
            values,
            connection=self.connection,
            first_series=first,
            previous_series=self.previous,
            series=None if dense else series,
        )
        item = Item(batch, values, self.continues, series[-1])
        self.continues = None
        self.previous, self.next_series = series[-1], series[-1] + 1
        return item

    def _wrap(self) -> None:
        """The range is used up: go on under a new connection that names the old one."""
        self.continues = Continues(self.connection, self.previous)
        self._connect()

    def _connect(self) -> None:
        self.connection = self.world.connect()
        self.previous, self.next_series = -1, 0

    # Submitting, and what comes of it.

    def _submit(self, item: Item) -> None:
        number = self.world.next_number()
        self.asked[number] = item
        self.world.submit(self, Submit(number, item.batch, 0, self.epoch, 1, item.continues))
        self.world.clock.after(TIMEOUT_US, lambda: self._timed_out(number))

    def _timed_out(self, number: int) -> None:
        if number in self.asked:
            item = self.asked.pop(number)
            if item in self.items:
                self._go_elsewhere()
                self._retry()

    def _go_elsewhere(self) -> None:
        self.place = self.world.random.choice(self.world.places)

    def _retry(self) -> None:
        """All that is open, in order, a little later."""
        if not self.retry_planned:
            self.retry_planned = True
            self.world.clock.after(20_000 + int(self.world.random.random() * 200_000), self._resubmit)

    def _resubmit(self) -> None:
        self.retry_planned = False
        self.asked = {}
        items = list(self.items)
        if len(items) >= 2 and self.world.random.random() < 0.2:
            items = self._recut(items)
        for item in items:
            self._submit(item)

    def _recut(self, items: list[Item]) -> list[Item]:
        """The first two as one batch, as after a split: what is stored of it already is left out by the leader."""
        one, two = items[0], items[1]
        header, other = one.batch.header, two.batch.header
        if header.connection != other.connection:
            return items
        batch = build(
            one.batch.keys() + two.batch.keys(),
            one.values + two.values,
            connection=header.connection,
            first_series=header.first_series,
            previous_series=header.previous_series,
            series=one.batch.series.tolist() + two.batch.series.tolist(),
        )
        joined = Item(batch, one.values + two.values, one.continues, two.last)
        self.items.popleft()
        self.items[0] = joined
        return [joined, *items[2:]]

    def answered(self, number: int, outcome: Outcome) -> None:
        item = self.asked.pop(number, None)
        if item is None or item not in self.items:
            return
        match outcome:
            case Stored() | Repeated():
                self.items.remove(item)
            case NotLeader():
                if outcome.leader is not None and outcome.epoch >= self.epoch:
                    self.place, self.epoch = outcome.leader[0], outcome.epoch
                else:
                    self._go_elsewhere()
                self._retry()
            case Gap() | Busy() | ReadOnly() | Expired() | Unknown():
                self._retry()
            case Broken():
                self._give_up()
            case Invalid() | Misplaced() | Importing():
                raise AssertionError(f"a client's batch was refused: {outcome}")
            case _:
                assert_never(outcome)

    def _give_up(self) -> None:
        """The bucket has forgotten the stream: what is open may or may not be stored, and is not sent again."""
        self.items.clear()
        self.asked.clear()
        self.continues = None
        self._connect()


class Stranger:
    """A client without a connection: nothing tells its submissions apart, so it never repeats one whose outcome is
    unknown; what is refused it may try again, because a refusal is certain."""

    def __init__(self, world: "World", number: int, key: bytes = b"k") -> None:
        self.world = world
        self.number = number
        self.key = key
        self.serial = 0
        self.asked: dict[int, tuple[bytes, bool]] = {}
        self.refused: set[bytes] = set()
        """What it was told is certainly not stored, and never tried again."""
        self.place = world.random.choice(world.places)
        self.producing = True

    def produce(self) -> None:
        world = self.world
        if self.producing:
            self.serial += 1
            self._submit(b"%d:%d" % (self.number, self.serial))
            world.clock.after(int(world.random.expovariate(1) * 2 * world.plan.gap_us), self.produce)

    def _submit(self, value: bytes) -> None:
        number = self.world.next_number()
        again = self.world.random.random() < 0.5
        self.asked[number] = (value, again)
        self.world.submit(self, Submit(number, build([self.key], [value]), 0))

    def answered(self, number: int, outcome: Outcome) -> None:
        value, again = self.asked.pop(number)
        match outcome:
            case Stored() | Repeated() | Unknown():
                return
            case NotLeader(leader=str(leader)):
                self.place = leader[0]
            case _:
                self.place = self.world.random.choice(self.world.places)
        if again:
            self._submit(value)
        else:
            self.refused.add(value)
