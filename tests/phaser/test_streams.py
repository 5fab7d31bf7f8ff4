import msgspec
import pytest

from hansard.batch import Batch, build, merge
from hansard.phaser import streams as module
from hansard.phaser.government import Government
from hansard.phaser.outcome import Receipt, Repeated
from hansard.phaser.streams import RECEIPTS_MAX, Early, Forgotten, Fresh, Image, Known, Streams
from tests.phaser.joined import batch, formed, submit

HOUR = 3_600_000_000


def stamped(content: Batch, offset: int, timestamp: int = 1) -> Batch:
    return content.stamped(epoch=1, base_offset=offset, timestamp=timestamp)


def filled(*batches: Batch, committed: int = 0) -> Streams:
    streams = Streams(HOUR)
    for number in batches:
        streams.append(number)
    streams.commit(committed)
    return streams


def test_a_new_connection_begins_with_any_series() -> None:
    assert Streams(HOUR).judge(7, first=5, last=6, previous=-1) == Fresh()


def test_what_follows_the_last_series_is_appended_whether_that_is_committed_or_not() -> None:
    for committed in (0, 1):
        streams = filled(stamped(batch(0), 0), committed=committed)
        assert streams.judge(7, first=1, last=1, previous=0) == Fresh()


def test_a_missing_series_is_told_with_the_last_that_is_there() -> None:
    assert filled(stamped(batch(0), 0)).judge(7, first=2, last=2, previous=1) == Early(0)
    assert Streams(HOUR).judge(7, first=2, last=2, previous=1) == Early(-1)


def test_series_need_not_be_contiguous() -> None:
    """After a split, a client's series are sparse in each half."""
    streams = filled(stamped(batch(4), 0), stamped(batch(9, previous=4), 1))
    assert streams.judge(7, first=20, last=22, previous=9) == Fresh()
    assert streams.judge(7, first=20, last=22, previous=10) == Early(9)


def test_a_duplicate_waits_for_its_first_copy_and_gets_its_receipt() -> None:
    streams = filled(stamped(batch(0, count=3), 10, timestamp=5))
    assert streams.judge(7, first=0, last=2, previous=-1) == Known(11, Receipt(10, 5))
    streams.commit(13)
    assert streams.judge(7, first=0, last=2, previous=-1) == Known(0, Receipt(10, 5))


def test_a_part_of_a_batch_gets_its_own_place_as_receipt() -> None:
    streams = filled(stamped(batch(4, count=5), 10), committed=15)
    assert streams.judge(7, first=6, last=7, previous=5) == Known(0, Receipt(12, 1))


def test_a_part_of_a_sparse_batch_has_no_receipt_that_could_be_told() -> None:
    sparse = build([b"k"] * 3, [b"v"] * 3, connection=7, series=[2, 5, 9], previous_series=-1)
    streams = filled(stamped(sparse, 10), committed=13)
    assert streams.judge(7, first=2, last=9, previous=-1) == Known(0, Receipt(10, 1))
    assert streams.judge(7, first=5, last=9, previous=2) == Known(0, None)


def test_of_a_partial_duplicate_the_rest_is_appended() -> None:
    streams = filled(stamped(batch(0, count=3), 0))
    assert streams.judge(7, first=1, last=5, previous=0) == Fresh(after=2)


def test_receipts_are_kept_for_the_last_batches_of_a_connection() -> None:
    many = RECEIPTS_MAX + 5
    streams = filled(*[stamped(batch(number), number) for number in range(many)], committed=many)
    assert streams.judge(7, first=4, last=4, previous=3) == Known(0, None)
    assert streams.judge(7, first=5, last=5, previous=4) == Known(0, Receipt(5, 1))
    assert len(streams.settled[7].pieces) == RECEIPTS_MAX


def test_each_of_those_merged_into_one_batch_gets_the_receipt_of_its_own_place() -> None:
    merged = merge([batch(3, 7, count=2), build([b"k"], [b"v"]), batch(0, 8), batch(6, 9, count=3)])
    streams = filled(stamped(merged, 20, timestamp=4))
    assert streams.judge(7, first=3, last=4, previous=2) == Known(21, Receipt(20, 4))
    assert streams.judge(8, first=0, last=0, previous=-1) == Known(24, Receipt(23, 4))
    assert streams.judge(9, first=7, last=8, previous=6) == Known(25, Receipt(25, 4))
    assert streams.last(0) is None


def test_a_stream_is_forgotten_by_the_logs_own_time() -> None:
    streams = filled(stamped(batch(0, 7), 0, timestamp=1), stamped(batch(0, 8), 1, timestamp=HOUR + 1), committed=2)
    assert streams.last(7) == 0
    streams.append(stamped(batch(1, 8), 2, timestamp=HOUR + 2))
    assert streams.last(7) == 0, "not before that is committed"
    streams.commit(3)
    assert streams.last(7) is None


def test_an_unknown_number_up_to_the_highest_forgotten_is_forgotten_and_not_new() -> None:
    streams = filled(stamped(batch(0, 7), 0), stamped(batch(0, 9), 1, timestamp=2 * HOUR), committed=2)
    assert streams.judge(7, first=0, last=0, previous=-1) == Forgotten()
    assert streams.judge(5, first=0, last=0, previous=-1) == Forgotten()
    assert streams.judge(8, first=0, last=0, previous=-1) == Fresh()
    assert streams.judge(9, first=1, last=1, previous=0) == Fresh()


def test_who_was_heard_of_again_is_forgotten_later() -> None:
    streams = filled(
        stamped(batch(0, 7), 0, timestamp=1),
        stamped(batch(0, 8), 1, timestamp=2),
        stamped(batch(1, 7), 2, timestamp=HOUR),
        stamped(batch(0, 9), 3, timestamp=HOUR + 3),
        committed=4,
    )
    assert (streams.last(7), streams.last(8), streams.forgotten) == (1, None, 8)


def test_a_continuation_needs_what_the_old_connection_sent_last() -> None:
    streams = filled(stamped(batch(0, 7), 0), stamped(batch(1, 7), 1))
    assert streams.judge_continuation(7, 1) is None
    assert streams.judge_continuation(7, 2) == Early(1)
    assert streams.judge_continuation(6, 0) == Early(-1)
    assert streams.judge_continuation(6, -1) is None, "the old one sent nothing here"


def test_nothing_continues_a_forgotten_connection() -> None:
    streams = filled(stamped(batch(0, 7), 0), stamped(batch(0, 9), 1, timestamp=2 * HOUR), committed=2)
    assert streams.judge_continuation(7, 0) == Forgotten()


def test_unrolled_entries_are_as_if_they_had_never_been() -> None:
    streams = filled(stamped(batch(0), 0), stamped(batch(1), 1), stamped(batch(0, 8), 2), committed=1)
    streams.cut(1)
    assert (streams.last(7), streams.last(8)) == (0, None)
    assert streams.judge(7, first=1, last=1, previous=0) == Fresh()


def test_an_image_goes_over_the_wire_and_comes_back_the_same() -> None:
    streams = filled(
        stamped(batch(0, 7), 0),
        stamped(batch(3, 9, count=2), 1, timestamp=2 * HOUR),
        stamped(batch(0, 11), 3),
        committed=3,
    )
    content = msgspec.msgpack.encode(streams.image())
    restored = Streams(HOUR)
    restored.append(stamped(batch(0, 5), 0))
    restored.restore(msgspec.msgpack.decode(content, type=Image))
    assert restored.image() == streams.image()
    assert restored.last(5) is None and restored.last(11) is None, "only what is settled, and nothing else"
    assert restored.judge(9, first=4, last=4, previous=3) == streams.judge(9, first=4, last=4, previous=3)


def test_a_settled_duplicate_gets_its_receipt_at_once_while_later_series_are_pending() -> None:
    streams = filled(stamped(batch(0), 0, timestamp=5), stamped(batch(1), 1), committed=1)
    assert streams.judge(7, first=0, last=0, previous=-1) == Known(0, Receipt(0, 5))


def test_what_lies_before_the_first_pending_series_waits_for_it_and_has_no_receipt() -> None:
    streams = filled(stamped(batch(10, previous=-1), 20), stamped(batch(11), 21))
    assert streams.judge(7, first=3, last=4, previous=-1) == Known(21, None)
    streams.commit(22)
    assert streams.judge(7, first=3, last=4, previous=-1) == Known(0, None)


def test_those_heard_of_in_turn_are_forgotten_in_turn_all_of_them() -> None:
    rounds = [stamped(batch(n // 50, 1 + n % 50), n, timestamp=n) for n in range(200)]
    streams = filled(*rounds, stamped(batch(0, 99), 200, timestamp=HOUR + 175), committed=200)
    assert list(streams.settled) == list(range(1, 51))
    streams.commit(201)
    assert list(streams.settled) == [*range(26, 51), 99] and streams.forgotten == 25
    streams.append(stamped(batch(1, 99), 201, timestamp=3 * HOUR))
    streams.commit(202)
    assert list(streams.settled) == [99] and streams.forgotten == 50


# Receipts in all.


def test_receipts_are_bounded_in_all_and_those_silent_the_longest_lose_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RECEIPTS_TOTAL_MAX", 4)
    order = [7, 8, 7, 9, 9]
    streams = filled(*[stamped(batch(n, connection, previous=-1), n) for n, connection in enumerate(order)])
    streams.commit(4)
    assert [len(stream.pieces) for stream in streams.settled.values()] == [1, 2, 1]
    streams.commit(5)
    assert {connection: len(stream.pieces) for connection, stream in streams.settled.items()} == {8: 0, 7: 2, 9: 2}
    assert streams.judge(8, first=1, last=1, previous=-1) == Known(0, None), "it is stored, that is all"
    assert streams.judge(8, first=2, last=2, previous=1) == Fresh()
    assert streams.judge(7, first=0, last=0, previous=-1) == Known(0, Receipt(0, 1))


def test_who_lost_its_receipts_gets_new_ones_and_is_forgotten_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RECEIPTS_TOTAL_MAX", 2)
    order = [7, 8, 9, 7]
    streams = filled(*[stamped(batch(n, connection, previous=-1), n) for n, connection in enumerate(order)])
    streams.commit(4)
    assert {connection: len(stream.pieces) for connection, stream in streams.settled.items()} == {8: 0, 9: 1, 7: 1}
    assert streams.judge(7, first=3, last=3, previous=0) == Known(0, Receipt(3, 1))
    streams.append(stamped(batch(0, 10), 4, timestamp=2 * HOUR))
    streams.commit(5)
    assert [len(stream.pieces) for stream in streams.settled.values()] == [1] and streams.forgotten == 9


def test_copies_keep_the_same_receipts_wherever_they_began(monkeypatch: pytest.MonkeyPatch) -> None:
    """One has seen the whole log; others began with an image, each at another place."""
    monkeypatch.setattr(module, "RECEIPTS_TOTAL_MAX", 6)
    order = [7, 8, 7, 9, 9, 9, 10, 7, 8, 8, 11, 11, 7, 7, 7, 7, 7, 7, 7, 12, 9, 8, 9, 8]
    log = [stamped(batch(n, connection, previous=-1), n, timestamp=1 + n) for n, connection in enumerate(order)]
    whole = filled(*log)
    for at in range(len(log)):
        whole.commit(at)
        assert sum(len(stream.pieces) for stream in whole.settled.values()) <= 6
        one, other = filled(*log, committed=len(log)), Streams(HOUR)
        other.restore(whole.image())
        for entry in log[at:]:
            other.append(entry)
        other.commit(len(log))
        assert other.image() == one.image()


def test_phasers_go_on_when_receipts_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RECEIPTS_TOTAL_MAX", 2)
    joined = formed(Government(1, "a", ("a", "b")))
    for number in range(4):
        joined.happen("a", submit(number, 0, 7 + number))
    one, other = (joined.phasers[node].ledger.streams for node in "ab")
    assert one.image() == other.image() and one.receipt_count == 2
    joined.happen("a", submit(10, 0, 7), submit(11, 0, 10))
    assert joined.answers[10] == Repeated(None) and joined.answers[11] != Repeated(None)


def test_a_series_that_was_skipped_has_no_receipt() -> None:
    streams = filled(stamped(batch(1), 0), stamped(batch(3), 1))
    assert streams.judge(7, first=2, last=2, previous=-1) == Known(1, None)
