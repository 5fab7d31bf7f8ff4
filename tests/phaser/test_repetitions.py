"""Submissions that come again while their first copy is not committed yet."""

from hansard.phaser import Settings
from hansard.phaser.event import Submit
from hansard.phaser.government import Government
from hansard.phaser.message import Append
from hansard.phaser.outcome import Busy, Receipt, Repeated, Stored, Unknown
from tests.phaser.joined import FAR, Joined, batch, formed, series_of, submit

BOTH = Government(1, "a", ("a", "b"))


def uncommitted(count: int, settings: Settings | None = None) -> Joined:
    """Series 0 and so on are journalled, each in a batch of its own, and b's disk is stalled."""
    joined = formed(BOTH, settings)
    joined.stalled = {"b"}
    for number in range(count):
        joined.happen("a", submit(number, number))
    assert not joined.answers
    return joined


def test_repetitions_in_any_order_are_answered_in_the_order_of_the_log() -> None:
    joined = uncommitted(10)
    order = [9, 0, 5, 4, 8, 1, 7, 2, 6, 3]
    for series in order[:5]:
        joined.happen("a", submit(100 + series, series))
    joined.happen("a", *[submit(100 + series, series) for series in order[5:]])
    assert not joined.answers
    joined.resume("b")
    assert [number for number in joined.answers if number < 100] == list(range(10))
    assert [number for number in joined.answers if number >= 100] == list(range(100, 110))
    for series in range(10):
        assert joined.answers[100 + series] == Repeated(Receipt(series + 1, 1))
    assert series_of(joined.disks["b"].log) == list(range(10))


def test_a_repetition_waits_for_its_own_first_copy_and_for_no_later_one() -> None:
    joined = uncommitted(3)
    joined.lose = lambda sender, to, message: isinstance(message, Append)
    joined.happen("a", submit(3, 3))
    joined.happen("a", submit(4, 4))
    joined.happen("a", *[submit(100 + series, series) for series in (4, 0, 3, 2, 1)])
    joined.resume("b")
    assert list(joined.answers) == [0, 1, 2, 100, 101, 102]
    joined.lose = lambda sender, to, message: False
    joined.tick()
    assert list(joined.answers)[6:] == [3, 4, 103, 104]


def test_one_batch_repeated_many_times_is_answered_as_often() -> None:
    joined = uncommitted(2)
    joined.happen("a", *[submit(100 + number, 0) for number in range(20)])
    joined.resume("b")
    assert [joined.answers[100 + number] for number in range(20)] == [Repeated(Receipt(1, 1))] * 20


def test_repetitions_that_wait_are_bounded_and_more_are_busy() -> None:
    joined = uncommitted(1, Settings(backlog_count_max=10))
    for number in range(1, 31):
        joined.happen("a", submit(number, 0))
    assert joined.answers == {number: Busy() for number in range(11, 31)}
    joined.resume("b")
    assert joined.answers[0] == Stored(Receipt(1, 1))
    assert [joined.answers[number] for number in range(1, 11)] == [Repeated(Receipt(1, 1))] * 10
    joined.happen("a", submit(40, 0))
    assert joined.answers[40] == Repeated(Receipt(1, 1)), "what is committed can be told at any time"


def test_a_repetition_whose_time_is_over_is_unknown_and_the_others_wait_on_in_order() -> None:
    joined = uncommitted(8)
    short = {0, 1, 4, 7}
    for series in (6, 0, 7, 5, 1, 3, 4, 2):
        joined.happen("a", Submit(100 + series, batch(series), 1_000_000 if series in short else FAR))
    joined.tick()
    assert joined.answers == {100 + series: Unknown() for series in short}
    joined.resume("b")
    assert list(joined.answers)[4:] == [*range(8), 102, 103, 105, 106]


def test_handed_over_a_repetition_is_as_unknown_as_its_first_copy() -> None:
    joined = uncommitted(2)
    joined.happen("a", submit(100, 1), submit(101, 0))
    joined.appoint(Government(2, "b", ("a", "b")), "a")
    assert joined.answers == dict.fromkeys([0, 1, 100, 101], Unknown())


# Streams that go back.


def test_a_client_that_goes_back_before_its_first_series_stops_nobody() -> None:
    joined = formed(BOTH)
    joined.happen("a", submit(1, 10, previous=-1), submit(2, 3, previous=-1))
    joined.happen("a", submit(3, 11))
    assert joined.answers == {1: Stored(Receipt(1, 1)), 2: Repeated(None), 3: Stored(Receipt(2, 1))}
    assert series_of(joined.disks["b"].log) == [10, 11]


def test_the_first_batch_of_a_stream_that_is_forgotten_while_more_of_it_is_pending_stops_nobody() -> None:
    joined = formed(Government(1, "a", ("a", "b"), memory_us=1000))
    joined.happen("a", submit(1, 0))
    joined.wall_us += 5000
    joined.stalled = {"b"}
    joined.happen("a", submit(2, 0, 8))
    joined.lose = lambda sender, to, message: isinstance(message, Append)
    joined.happen("a", submit(3, 1))
    joined.resume("b")
    assert joined.answers[2] == Stored(Receipt(2, 5001))
    streams = joined.phasers["a"].ledger.streams
    assert 7 not in streams.settled and streams.last(7) == 1
    joined.happen("a", submit(4, 0))
    assert 4 not in joined.answers
    joined.lose = lambda sender, to, message: False
    joined.tick()
    assert joined.answers[3] == Stored(Receipt(3, 5001)) and joined.answers[4] == Repeated(None)
