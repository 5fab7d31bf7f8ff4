"""Slow ways, slow disks and slow newcomers: they are waited for, and what is sent to them stays bounded."""

from collections import deque

import pytest

from hansard.batch import build
from hansard.phaser import Settings
from hansard.phaser.effect import Achievement, Report
from hansard.phaser.event import Connected, Received, Submit, Trimmed
from hansard.phaser.feed import Feed
from hansard.phaser.government import Government, NodeId, Shape
from hansard.phaser.message import Append, Message, Part
from hansard.phaser.outcome import Expired, Stored
from tests.phaser.joined import FAR, Joined, batch, formed, series_of, submit

LENGTH = batch(0).length
RESEND_US = 500_000

# Patience.


def sent_to_a_slow_one() -> Feed:
    feed = Feed("b", 0, RESEND_US)
    feed.introduced = True
    for number in range(3):
        feed.sent(number + 1, 100)
    return feed


def test_each_time_something_seems_lost_it_is_waited_for_twice_as_long_up_to_a_bound() -> None:
    feed = sent_to_a_slow_one()
    losses = [now_us for now_us in range(0, 60_000_000, RESEND_US) if feed.seems_lost(0, now_us)]
    waits = [later - earlier for earlier, later in zip([0, *losses], losses, strict=False)]
    assert [wait // RESEND_US for wait in waits] == [1, 2, 4, 8, 16, 16, 16, 16, 16, 16]


def test_nothing_seems_lost_while_the_other_gets_on_or_has_it_all() -> None:
    feed = sent_to_a_slow_one()
    assert not feed.seems_lost(1, RESEND_US), "it has something new"
    feed.floor = 1
    assert not feed.seems_lost(1, 2 * RESEND_US - 1)
    assert feed.seems_lost(1, 2 * RESEND_US)
    assert not feed.seems_lost(3, 99 * RESEND_US), "it has everything, though not on disk"


def test_patience_is_as_short_as_before_once_nothing_is_under_way() -> None:
    feed = sent_to_a_slow_one()
    assert feed.seems_lost(0, RESEND_US)
    assert feed.patience_us == 2 * RESEND_US
    feed.acknowledged(2, RESEND_US)
    assert feed.patience_us == 2 * RESEND_US
    feed.acknowledged(3, RESEND_US)
    assert feed.patience_us == RESEND_US


# A slow way.


class SlowWay:
    """Carries batches in order and loses none, so many bytes a second; everything else gets there at once."""

    def __init__(self, joined: Joined, bytes_a_second: int) -> None:
        self.joined = joined
        self.bytes_a_second = bytes_a_second
        self.queue: deque[tuple[NodeId, NodeId, Append]] = deque()
        self.room = 0
        self.carried = 0
        self.most_bytes = 0
        joined.lose = self._take

    def _take(self, sender: NodeId, to: NodeId, message: Message) -> bool:
        if not isinstance(message, Append):
            return False
        self.queue.append((sender, to, message))
        return True

    def pass_quarter_second(self) -> None:
        self.room += self.bytes_a_second // 4
        while self.queue and self.queue[0][2].batch.length <= self.room:
            sender, to, message = self.queue.popleft()
            self.room -= message.batch.length
            self.carried += 1
            self.joined.happen(to, Received(sender, message))
        if not self.queue:
            self.room = 0
        self.most_bytes = max(self.most_bytes, sum(message.batch.length for _, _, message in self.queue))
        self.joined.tick(0.25)


def over_a_slow_way(count: int, patience_us: int, seconds: int) -> tuple[Joined, SlowWay]:
    """Each batch takes over three times as long as it takes for something to seem lost; two are in flight at a time."""
    length = 64 << 10
    settings = Settings(flight_bytes_max=2 * length, resend_us=RESEND_US, patience_us=patience_us)
    joined = formed(Government(1, "a", ("a", "b")), settings)
    way = SlowWay(joined, length * 5 // 8)
    for number in range(count):
        content = build([b"k"], [bytes(length - 500)], connection=7, first_series=number, previous_series=number - 1)
        joined.happen("a", Submit(number, content, FAR))
    for _ in range(4 * seconds):
        way.pass_quarter_second()
    assert sorted(joined.answers) == list(range(count))
    assert way.most_bytes <= 6 * settings.flight_bytes_max
    return joined, way


def test_a_way_that_needs_long_for_each_batch_is_not_filled_with_copies() -> None:
    joined, way = over_a_slow_way(12, patience_us=5_000_000, seconds=60)
    outcomes = [type(joined.answers[number]) for number in range(12)]
    assert outcomes == [Stored] * 6 + [Expired] * 6, "the rest has waited too long for room"
    assert way.carried <= 24 and not way.queue


@pytest.mark.parametrize(("count", "seconds"), [(12, 60), (40, 120)])
def test_the_more_is_carried_over_a_slow_way_the_smaller_is_the_share_of_copies(count: int, seconds: int) -> None:
    """They are made until it is known how slow it is, and no more then."""
    joined, way = over_a_slow_way(count, patience_us=600_000_000, seconds=seconds)
    assert all(isinstance(outcome, Stored) for outcome in joined.answers.values())
    assert series_of(joined.disks["b"].log) == list(range(count))
    assert way.carried - count <= 16 and not way.queue


# A slow disk.


SMALL = Settings(flight_bytes_max=10 * LENGTH, tail_bytes_max=20 * LENGTH, fetch_bytes=3 * LENGTH)
FLIGHT = SMALL.flight_bytes_max + SMALL.fetch_bytes + LENGTH
"""As much as may be under way, for what is read from disk together is sent together."""


def stalled_newcomer(shape: Shape) -> Joined:
    """d has promised to follow; the first batches for it were lost, and its disk is stalled from now on."""
    joined = formed(Government(1, "a", ("a", "b"), shape=shape), SMALL)
    for number in range(200):
        joined.happen("a", submit(number, number))
    joined.add("d")
    joined.lose = lambda sender, to, message: to == "d" and isinstance(message, Append)
    joined.appoint(Government(2, "a", ("a", "b"), ("d",), shape=shape))
    joined.stalled = {"d"}
    joined.lose = lambda sender, to, message: False
    joined.sent.clear()
    return joined


def test_a_newcomer_whose_disk_is_stalled_is_sent_a_bounded_number_of_bytes(shape: Shape) -> None:
    joined = stalled_newcomer(shape)
    for _ in range(60):
        joined.tick()
    assert 0 < joined.phasers["d"].ledger.tail_bytes <= FLIGHT
    assert sum(message.batch.length for message in joined.messages(Append, to="d")) <= FLIGHT
    joined.resume("d")
    for _ in range(3):
        joined.tick()
    assert series_of(joined.disks["d"].log) == list(range(200))


def test_it_is_sent_no_more_where_the_way_to_it_is_lost_again_and_again(shape: Shape) -> None:
    joined = stalled_newcomer(shape)
    for _ in range(30):
        joined.tick()
        joined.happen("a", Connected("d"))
    assert 0 < joined.phasers["d"].ledger.tail_bytes <= FLIGHT
    assert sum(message.batch.length for message in joined.messages(Append, to="d")) <= 2 * FLIGHT


# Slow newcomers, and retention.


def trimmed(shape: Shape) -> Joined:
    """a's log begins late enough that a newcomer needs a snapshot."""
    settings = Settings(part_bytes=30, checkpoint_batches=1, tail_bytes_max=1)
    joined = formed(Government(1, "a", ("a", "b"), shape=shape), settings)
    for number in range(30):
        joined.happen("a", submit(number, number, 7 + number % 5, previous=-1))
    joined.happen("a", Trimmed(joined.disks["a"].trim(3)))
    joined.add("c")
    return joined


def test_retention_waits_for_a_snapshot_that_is_being_sent_and_for_the_log_behind_it(shape: Shape) -> None:
    joined = trimmed(shape)
    leader = joined.phasers["a"]
    assert leader.droppable > 20
    joined.lose = lambda sender, to, message: isinstance(message, Part) and message.number > 1
    joined.appoint(Government(2, "a", ("a", "b"), ("c",), shape=shape))
    assert leader.droppable == leader.ledger.start == 3
    joined.lose = lambda sender, to, message: isinstance(message, Append) and message.previous_end >= 10 and to == "c"
    joined.tick()
    assert joined.phasers["c"].ledger.collection is None
    assert leader.droppable == 10, "so far it has the log"
    joined.lose = lambda sender, to, message: False
    for number in range(5):
        joined.tick()
        joined.happen("a", submit(100 + number, number, 99))
    assert leader.droppable > 30


def test_retention_waits_for_nobody_who_is_not_in_the_government_any_more(shape: Shape) -> None:
    joined = trimmed(shape)
    joined.lose = lambda sender, to, message: isinstance(message, Part)
    joined.appoint(Government(2, "a", ("a", "b"), ("c",), shape=shape))
    assert joined.phasers["a"].droppable == 3
    joined.appoint(Government(3, "a", ("a", "b"), shape=shape))
    joined.happen("a", submit(100, 0, 99))
    assert joined.phasers["a"].droppable > 30


def test_a_newcomer_gets_there_though_retention_goes_on_all_the_time(shape: Shape) -> None:
    """One message to it or from it at a time; meanwhile a client goes on, and the oldest entry is dropped if it may."""
    joined = trimmed(shape)
    held: deque[tuple[NodeId, NodeId, Message]] = deque()

    def hold(sender: NodeId, to: NodeId, message: Message) -> bool:
        if "c" in (sender, to):
            held.append((sender, to, message))
        return "c" in (sender, to)

    joined.lose = hold
    joined.appoint(Government(2, "a", ("a", "b"), ("c",), shape=shape))
    leader = joined.phasers["a"]
    for step in range(600):
        if not held:
            joined.tick()
            continue
        sender, to, message = held.popleft()
        joined.happen(to, Received(sender, message))
        if step % 8 == 0:
            joined.happen("a", submit(1000 + step, step, 99, previous=-1))
            joined.happen("a", Trimmed(joined.disks["a"].trim(min(leader.droppable, leader.ledger.start + 1))))
        if joined.reports[-1] == ("a", Report(Achievement.EXPANDED, 2)):
            break
    assert joined.reports[-1] == ("a", Report(Achievement.EXPANDED, 2))
    assert len({message.collection for message in joined.messages(Part, "a", "c")}) == 1, "one snapshot was enough"
