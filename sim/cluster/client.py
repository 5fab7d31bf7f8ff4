"""Clients as real ones are: a connection number from the cluster, changes for all buckets, several batches of each in
flight, deadlines, retries in order with the same numbers. They ask anybody, and are never told who leads. What they
have cut for a bucket that was split since they cut anew (hansard/client/recut.py).

One client's series grow over all its buckets, so that each bucket sees some of them; with each batch it says which
one it has sent there before. At the end of its range of series it goes on under a connection that continues the old
one. One with a name asks for its number again now and then, and goes on with it.
"""

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, assert_never

from hansard.batch import build
from hansard.client.recut import Cut, recut
from hansard.phaser.event import Continues
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
from sim.world.client import TIMEOUT_US, Item

if TYPE_CHECKING:
    from .world import World

WINDOW: Final = 4


class Lane:
    """What a client does with one bucket."""

    def __init__(self, client: "Client", bucket: int, level: int) -> None:
        self.client = client
        self.bucket = bucket
        self.level = level
        """Under so many buckets it lives, as far as the client knows."""
        self.connection = 0
        """Under which the last batch went there."""
        self.previous = -1
        """Its last series."""
        self.items: deque[Item] = deque()
        self.asked: dict[int, Item] = {}
        """Submissions under way, by their numbers."""
        self.retry_planned = False

    def add(self, count: int) -> None:
        client, random = self.client, self.client.world.random
        first = client.next_series + (random.random() < 0.3)
        series = list(range(first, first + count))
        values = [b"%d:%d" % (client.number, client.serial + number) for number in range(1, count + 1)]
        client.serial += count
        continues = None
        if self.connection != client.connection:
            continues = Continues(self.connection, self.previous) if self.previous >= 0 else None
            self.connection, self.previous = client.connection, -1
        known = client.world.keys.of(self.bucket, self.level)
        keys = [random.choice(known) for _ in range(count)]
        batch = build(
            keys,
            values,
            connection=client.connection,
            first_series=first,
            previous_series=self.previous,
        )
        item = Item(batch, values, continues, series[-1])
        self.previous, client.next_series = series[-1], series[-1] + 1
        self.items.append(item)
        if not self.retry_planned:
            self._submit(item)

    # A split.

    def begin_again(self, connection: int, cuts: Sequence[Cut]) -> None:
        """With what has been cut for it."""
        self.asked = {}
        self.items = deque([_item(cut) for cut in cuts])
        self.connection, self.previous = connection, -1
        if self.items:
            last = self.items[-1]
            self.connection, self.previous = last.batch.header.connection, last.last
        if self.client.world.random.random() < 0.5 and not self.retry_planned:
            self._resubmit()
        else:
            self._retry(0)

    def _submit(self, item: Item) -> None:
        world = self.client.world
        number = world.next_number()
        self.asked[number] = item
        world.traffic.submit(self, number, (self.bucket, self.level), item.batch, item.continues, self.client.place)
        world.clock.after(TIMEOUT_US, lambda: self._timed_out(number))

    def _timed_out(self, number: int) -> None:
        item = self.asked.pop(number, None)
        if item is not None and item in self.items:
            self.client.go_elsewhere()
            self._retry(0)

    def _retry(self, retry_us: int) -> None:
        """All that is open, in order, a little later."""
        if not self.retry_planned:
            self.retry_planned = True
            delay_us = max(retry_us, 20_000 + int(self.client.world.random.random() * 200_000))
            self.client.world.clock.after(delay_us, self._resubmit)

    def _resubmit(self) -> None:
        self.retry_planned = False
        self.asked = {}
        for item in self.items:
            self._submit(item)

    def answered(self, number: int, outcome: Outcome, retry_us: int) -> None:
        item = self.asked.pop(number, None)
        if item is None or item not in self.items:
            return
        match outcome:
            case Stored() | Repeated():
                self.items.remove(item)
            case NotLeader() | Busy() | ReadOnly() | Expired() | Importing():
                if self.client.world.random.random() < 0.3:
                    self.client.go_elsewhere()
                self._retry(retry_us)
            case Gap() | Unknown():
                self._retry(retry_us)
            case Broken():
                self.client.give_up()
            case Misplaced(buckets=level) if level > self.level:
                self.client.recut(self, level)
            case Misplaced():
                self._retry(retry_us)  # who says that is behind
            case Invalid():
                raise AssertionError(f"a client's batch was refused: {outcome}")
            case _:
                assert_never(outcome)


def _item(cut: Cut) -> Item:
    values = [value for value in cut.batch.values() if value is not None]
    continues = Continues(*cut.continues) if cut.continues is not None else None
    return Item(cut.batch, values, continues, int(cut.batch.series[-1]))


class Client:
    def __init__(self, world: "World", number: int, name: str, range_end: int) -> None:
        self.world = world
        self.number = number
        self.name = name
        self.range_end = range_end if not name else 1 << 60
        """Series of a connection stay below it."""
        self.connection = 0
        """0 until there is one."""
        self.next_series = 0
        self.serial = 0
        self.place = world.random.choice(world.places)
        self.lanes = {bucket: Lane(self, bucket, world.plan.buckets) for bucket in range(world.plan.buckets)}
        self.producing = True
        self._asking = 0
        """The number under which a connection was asked for."""

    @property
    def waiting(self) -> int:
        return sum([len(lane.items) for lane in self.lanes.values()])

    def go_elsewhere(self) -> None:
        """Not to one that is known to be gone, if there are others."""
        world = self.world
        self.place = world.random.choice(world.places)
        if world.by_name[self.place].down_for_good:
            there = [node.name for node in world.nodes if not node.down_for_good]
            self.place = world.random.choice(there or world.places)

    # A connection.

    def connect(self) -> None:
        """Ask for a number; for another one, unless it has a name."""
        world = self.world
        self._asking = number = world.next_number()
        world.ask_to_connect(self, number, self.name, self.place)
        world.clock.after(TIMEOUT_US, lambda: self._timed_out(number))

    def _timed_out(self, number: int) -> None:
        if number == self._asking:
            self.go_elsewhere()
            self.connect()

    def connected(self, number: int, connection: int, retry_us: int) -> None:
        if number != self._asking:
            return
        self._asking = 0
        if not connection:
            self.go_elsewhere()
            self._asking = number
            self.world.clock.after(retry_us, lambda: self._timed_out(number))
        elif connection != self.connection:
            self.connection, self.next_series = connection, 0

    def give_up(self) -> None:
        """A bucket has forgotten the stream: what is open may or may not be stored, and is not sent again."""
        for lane in self.lanes.values():
            lane.items.clear()
            lane.asked.clear()
            lane.connection, lane.previous = 0, -1
        self.name, self.connection = "", 0
        self.connect()

    def recut(self, lane: Lane, level: int) -> None:
        """A bucket was split: what it has not answered for is sent again, each change to where it lives now."""
        counts, items, connection = self.world.coverage.counts, list(lane.items), lane.connection
        cuts = recut([item.batch for item in items], lane.bucket, lane.level, level)
        counts["batch cut anew"] += len(items)
        wholes = [cut.whole for one in cuts for cut in one.cuts]
        counts["batch cut into several"] += len(wholes) - len(set(wholes))
        counts["several batches cut anew"] += len(items) > 1
        counts["continuation cut anew"] += any(cut.continues for one in cuts for cut in one.cuts)
        counts["two splits learned at once"] += level > 2 * lane.level
        for one in cuts:
            if one.bucket != lane.bucket:
                self.lanes[one.bucket] = Lane(self, one.bucket, one.level)
            half = self.lanes[one.bucket]
            half.level = one.level
            half.begin_again(connection, one.cuts)

    # New changes.

    def produce(self) -> None:
        world, random = self.world, self.world.random
        if not self.producing:
            return
        world.clock.after(int(random.expovariate(1) * world.plan.gap_us), self.produce)
        lane = self.lanes[random.choice(list(self.lanes))]
        if not self.connection or self._asking or len(lane.items) >= WINDOW:
            return
        count = random.choice((1, 1, 1, 2, 5))
        if self.next_series + count + 2 > self.range_end:
            self.connect()
        else:
            lane.add(count)
