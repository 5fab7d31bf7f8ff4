"""The rules of a stream, one by one; test_interleavings.py has them all at once."""

import pytest

from hansard.client import InvalidSubmission, NotStored, OutcomeUnknown, Receipts, SeriesGap, Settings, StreamEnded
from hansard.client.numbering import Numbering
from hansard.client.stream import Stream
from hansard.wire.submission import Broken, Busy, Gap, Invalid, Repeated, Stored, Unknown
from tests.client.world import TIMEOUT_S, Noted

SETTINGS = Settings(timeout_s=TIMEOUT_S, window_batches=3)


def stream(connection: int = 7, *, by_caller: bool = False) -> Stream:
    one = Stream(0, Numbering(connection), SETTINGS, lambda changes, byte_count: None)
    one.by_caller = by_caller
    return one


def put(one: Stream, *counts: int, deadline: float = TIMEOUT_S) -> list[Noted]:
    submissions = [Noted(deadline, [b"v"] * count) for count in counts]
    for submission in submissions:
        one.put(submission)
    return submissions


def sent(one: Stream) -> list[tuple[int, int, int]]:
    """Takes what is to be sent: id, first series, previous series."""
    taken = []
    for submission in one.take():
        assert submission.sent_id is not None and submission.batch is not None
        header = submission.batch.header
        taken.append((submission.sent_id, header.first_series, header.previous_series))
    return taken


def stored(number: int) -> Stored:
    return Stored([number], [100], [5])


def test_series_count_up_over_batches_and_the_window_is_kept() -> None:
    one = stream()
    put(one, 2, 3, 1, 4)
    assert sent(one) == [(1, 0, -1), (2, 2, 1), (3, 5, 4)]
    assert sent(one) == []
    one.answered(stored(1))
    assert sent(one) == [(4, 6, 5)]


def test_one_batch_is_sent_however_large_it_is() -> None:
    one = Stream(0, Numbering(7), Settings(window_bytes=250), lambda changes, byte_count: None)
    put(one, 10, 1)
    assert len(sent(one)) == 1 and sent(one) == []


def test_what_is_answered_or_lost_makes_room_in_the_window() -> None:
    one = Stream(0, Numbering(7), Settings(window_bytes=2000), lambda changes, byte_count: None)
    put(one, *[1] * 200)
    first = len(sent(one))
    assert 2 < first < 20
    for number in range(1, first + 1):
        one.answered(stored(number))
    assert len(sent(one)) == first
    one.lost()
    assert len(sent(one)) == first and sent(one) == []


def test_after_a_refusal_nothing_is_sent_until_all_is_answered_and_then_all_in_order() -> None:
    one = stream()
    first, *_ = put(one, 1, 1, 1, 1)
    sent(one)
    one.answered(Gap(2, -1))
    one.answered(Busy(1))
    assert sent(one) == [] and not one.has_more
    one.answered(Gap(3, -1))
    one.rewind()
    assert sent(one) == [(4, 0, -1), (5, 1, 0), (6, 2, 1)]
    one.answered(stored(4))
    assert isinstance(first.told, Receipts)


def test_what_is_refused_for_good_is_stepped_over_and_its_series_are_not_used_again() -> None:
    one = stream()
    _, bad, behind, _ = put(one, 2, 2, 2, 2)
    sent(one)
    one.answered(stored(1))
    one.answered(Invalid(2, "no"))
    one.answered(Gap(3, 1))
    assert isinstance(bad.told, InvalidSubmission) and behind.told is None
    one.rewind()
    assert sent(one) == [(4, 4, 1), (5, 6, 5)]


def test_what_is_refused_last_is_stepped_over_too() -> None:
    one = stream()
    put(one, 2, 2)
    sent(one)
    one.answered(stored(1))
    one.answered(Invalid(2, "no"))
    put(one, 1)
    assert sent(one) == [(3, 4, 1)]


def test_what_was_never_sent_has_no_series_when_it_is_given_up() -> None:
    one = stream()
    (never,) = put(one, 5, deadline=1)
    put(one, 1)
    one.expire(2, None)
    assert isinstance(never.told, NotStored)
    assert sent(one) == [(1, 0, -1)]


def test_a_batch_in_flight_has_a_little_longer_than_its_deadline() -> None:
    one = stream()
    (late,) = put(one, 1)
    sent(one)
    one.expire(TIMEOUT_S + SETTINGS.answer_grace_s / 2, None)
    assert late.told is None
    one.expire(TIMEOUT_S + SETTINGS.answer_grace_s, None)
    assert isinstance(late.told, OutcomeUnknown)


def test_a_doubt_given_up_ends_the_stream_and_what_is_in_flight_still_gets_its_answer() -> None:
    one = stream()
    doubtful, _ = put(one, 1, 1, deadline=5)
    behind, waiting = put(one, 1, 1)
    sent(one)
    one.expire(6, None)
    assert isinstance(doubtful.told, OutcomeUnknown)
    assert isinstance(one.ended, StreamEnded) and isinstance(waiting.told, StreamEnded)
    one.answered(stored(3))
    assert isinstance(behind.told, Receipts)
    assert one.is_idle


def test_in_an_ended_stream_nothing_goes_again() -> None:
    one = stream()
    put(one, 1, deadline=5)
    refused, unknown = put(one, 1, 1)
    sent(one)
    one.expire(6, None)
    one.answered(Gap(2, -1))
    one.answered(Unknown(3))
    assert isinstance(refused.told, StreamEnded) and isinstance(unknown.told, OutcomeUnknown)
    assert one.is_idle


def test_a_doubt_outlives_later_refusals() -> None:
    one = stream()
    (doubtful,) = put(one, 1)
    sent(one)
    one.lost()
    sent(one)
    one.answered(Busy(2))
    one.rewind()
    one.expire(TIMEOUT_S, None)
    assert isinstance(doubtful.told, OutcomeUnknown) and isinstance(one.ended, StreamEnded)


def test_a_gap_at_the_head_is_not_our_doing() -> None:
    one = stream()
    first, second = put(one, 1, 1)
    sent(one)
    one.answered(stored(1))
    one.answered(Gap(2, -1))
    assert isinstance(first.told, Receipts)
    assert isinstance(second.told, SeriesGap) and second.told.expected == -1


def test_a_repetition_that_nobody_asked_for_is_somebody_elses() -> None:
    one = stream()
    first, second = put(one, 1, 1)
    sent(one)
    one.answered(Repeated(1, 5, 5))
    assert isinstance(first.told, NotStored) and second in one.unsettled()
    one.answered(Broken(2))
    assert isinstance(second.told, NotStored) and one.is_idle


def test_late_answers_tell_nobody_anything() -> None:
    one = stream(0)
    (gone,) = put(one, 1, deadline=1)
    sent(one)
    one.expire(2, None)
    told = gone.told
    for answer in (stored(1), Busy(1), Unknown(1), Broken(1), stored(99)):
        one.answered(answer)
    assert gone.told is told and one.is_idle and one.ended is None


@pytest.mark.parametrize("connection", [0, 7])
def test_closing_tells_everybody(connection: int) -> None:
    one = stream(connection)
    submissions = put(one, 1, 1, 1, 1, 1)
    sent(one)
    one.close(NotStored())
    kinds = [type(submission.told) for submission in submissions]
    assert kinds == [OutcomeUnknown] * 3 + [NotStored] * 2 and one.is_idle
