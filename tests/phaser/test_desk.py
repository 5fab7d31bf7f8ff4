import random
from collections.abc import Sequence

import numpy as np
import pytest

from hansard.batch import BATCH_BYTES_MAX, CHANGES_MAX, Batch, Flag, bucket_of, build, key_hash, select
from hansard.phaser import Phaser, Recovered, Settings
from hansard.phaser.effect import Persist, Put
from hansard.phaser.event import Continues, Doubled, Paused, Submit
from hansard.phaser.government import Government, first_term
from hansard.phaser.outcome import (
    Broken,
    Busy,
    Expired,
    Gap,
    Invalid,
    Misplaced,
    NotLeader,
    Receipt,
    Repeated,
    Stored,
    Unknown,
)
from tests.phaser.joined import FAR, Joined, batch, formed, series_of, submit

ALONE = Government(1, "a", ("a",))
BOTH = Government(1, "a", ("a", "b"))


def clients(joined: Joined) -> list[Batch]:
    return [content for content in joined.disks["a"].log if not content.header.flags & Flag.INTERNAL]


def answers(joined: Joined, *submits: Submit) -> list[object]:
    """What becomes of submissions that come in one turn."""
    joined.happen("a", *submits)
    return [joined.answers[each.id] for each in submits]


# What is stored, and where.


def test_a_submission_is_answered_with_its_place() -> None:
    joined = formed(ALONE)
    assert answers(joined, submit(1, 0, count=3)) == [Stored(Receipt(1, 1))]
    assert answers(joined, submit(2, 3)) == [Stored(Receipt(4, 1))]


def test_small_submissions_of_one_turn_become_one_batch_with_a_receipt_each() -> None:
    joined = formed(ALONE)
    given = [submit(1, 0, 7, count=2), submit(2, 0, 8), submit(3, 0, 9, count=3)]
    assert answers(joined, *given) == [Stored(Receipt(1, 1)), Stored(Receipt(3, 1)), Stored(Receipt(4, 1))]
    assert len(clients(joined)) == 1


def test_two_submissions_of_one_connection_are_judged_one_after_the_other() -> None:
    joined = formed(ALONE)
    given = [submit(1, 0), submit(2, 1), submit(3, 1), submit(4, 3, previous=2)]
    stored = Receipt(2, 1)
    assert answers(joined, *given) == [Stored(Receipt(1, 1)), Stored(stored), Repeated(stored), Gap(1)]
    assert series_of(joined.disks["a"].log) == [0, 1]


def test_a_large_submission_stays_the_batch_that_it_is_whatever_comes_with_it() -> None:
    large = batch(0, 7, random.Random(1).randbytes(100_000))
    joined = formed(ALONE)
    answers(joined, submit(1, 0, 8), Submit(2, large, FAR), submit(3, 0, 9), submit(4, 0, 10))
    assert [len(content) for content in clients(joined)] == [1, 1, 2]
    assert bytes(clients(joined)[1].body) == bytes(large.body)


def test_a_compressed_submission_and_a_small_one_do_not_bring_the_leader_down() -> None:
    values = [bytes(1 << 20)] * ((BATCH_BYTES_MAX >> 20) - 1) + [bytes((1 << 20) - 600)]
    large = build([b"k"] * len(values), values, connection=7).compressed()
    joined = formed(ALONE)
    answers(joined, Submit(1, large, FAR), Submit(2, batch(0, 8, bytes(1000)), FAR))
    assert len(clients(joined)) == 2


def test_many_small_submissions_become_batches_of_no_more_changes_than_one_may_have() -> None:
    joined = formed(ALONE, Settings(merge_bytes=BATCH_BYTES_MAX // 4))
    count = 300
    small = [build([None] * count, [b""] * count, connection=1 + n, previous_series=-1) for n in range(250)]
    outcomes = answers(joined, *[Submit(number, content, FAR) for number, content in enumerate(small)])
    assert all(isinstance(outcome, Stored) for outcome in outcomes)
    sizes = [len(content) for content in clients(joined)]
    assert sizes == [CHANGES_MAX // count * count, 250 * count - CHANGES_MAX // count * count]


def test_no_setting_makes_merged_batches_of_nearly_the_largest_size() -> None:
    with pytest.raises(AssertionError, match="merged"):
        Settings(merge_bytes=BATCH_BYTES_MAX // 4 + 1)


def test_of_a_partial_duplicate_the_rest_is_stored_and_has_the_receipt() -> None:
    joined = formed(ALONE)
    answers(joined, submit(1, 0, count=3))
    outcome = answers(joined, submit(2, 1, count=4))[0]
    assert isinstance(outcome, Stored)
    assert outcome.repeated == 2
    changes = [change for content in clients(joined) for change in content.changes()]
    assert [change.series for change in changes] == [0, 1, 2, 3, 4]
    assert outcome.receipt.offset == changes[3].offset


def test_a_partial_duplicate_among_others_in_one_batch_gets_the_right_receipts() -> None:
    joined = formed(ALONE)
    answers(joined, submit(1, 0, count=3))
    outcomes = answers(joined, submit(2, 0, 8), submit(3, 1, count=4), submit(4, 0, 9))
    places = {(change.connection, change.series): change.offset for c in clients(joined) for change in c.changes()}
    expected = [places[8, 0], places[7, 3], places[9, 0]]
    assert [outcome.receipt.offset for outcome in outcomes if isinstance(outcome, Stored)] == expected


def test_changes_of_nobody_are_stored_as_often_as_they_come() -> None:
    joined = formed(ALONE)
    anonymous = build([b"k"], [b"v"])
    assert answers(joined, Submit(1, anonymous, FAR), Submit(2, anonymous, FAR)) == [
        Stored(Receipt(1, 1)),
        Stored(Receipt(2, 1)),
    ]


def test_times_never_go_back_though_the_clock_does() -> None:
    joined = formed(ALONE)
    joined.wall_us = 1000
    answers(joined, submit(1, 0))
    joined.wall_us = 500
    assert answers(joined, submit(2, 1)) == [Stored(Receipt(2, 1000))]


# What is refused: it is certainly not stored.


def test_a_gap_is_refused_with_what_is_expected() -> None:
    joined = formed(ALONE)
    assert answers(joined, submit(1, 0), submit(2, 5, previous=4)) == [Stored(Receipt(1, 1)), Gap(0)]
    assert answers(joined, submit(3, 5, 8, previous=4)) == [Gap(-1)]


def test_a_forgotten_stream_is_broken_even_its_first_batch() -> None:
    joined = formed(Government(1, "a", ("a",), memory_us=1000))
    answers(joined, submit(1, 0))
    joined.wall_us = 5000
    answers(joined, submit(2, 0, 9))
    assert answers(joined, submit(3, 0), submit(4, 1)) == [Broken(), Broken()]


def test_what_only_a_leader_writes_is_invalid_from_a_client() -> None:
    joined = formed(ALONE)
    several = build([b"k"] * 2, [b"v"] * 2, connections=[7, 8], series=[0, 0])
    internal = build([b"k"], [b"v"]).marked_internal()
    timed = build([b"k"] * 2, [b"v"] * 2, timestamps=[5, 6])
    empty = select(build([b"k"], [b"v"]), np.zeros(1, np.bool_))
    given = [Submit(number, content, FAR) for number, content in enumerate((several, internal, timed, empty))]
    assert all(isinstance(outcome, Invalid) for outcome in answers(joined, *given))
    assert not clients(joined)


def test_a_deadline_that_has_passed_is_expired_and_nothing_is_stored() -> None:
    joined = formed(ALONE)
    joined.now_us = 100
    assert answers(joined, Submit(1, batch(0), 100)) == [Expired()]
    joined.happen("a", Paused(True), Submit(2, batch(0), 200))
    joined.now_us = 200
    joined.happen("a", Paused(False))
    assert joined.answers[2] == Expired()
    assert not clients(joined)


def test_a_full_backlog_is_busy() -> None:
    joined = formed(ALONE, Settings(backlog_count_max=2))
    joined.happen("a", Paused(True), submit(1, 0), submit(2, 1), submit(3, 2))
    assert joined.answers == {3: Busy()}
    joined.happen("a", Paused(False))
    assert joined.answers[2] == Stored(Receipt(2, 1))


def _keys(bucket: int, buckets: int) -> Sequence[bytes]:
    return [key for key in [b"%d" % number for number in range(50)] if bucket_of(key_hash(key), buckets) == bucket]


def test_after_doubling_a_batch_with_keys_of_the_other_half_is_misplaced() -> None:
    joined = formed(ALONE)
    joined.happen("a", Doubled(2))
    mine, others = _keys(0, 2)[0], _keys(1, 2)[0]
    mixed = build([mine, others], [b"v"] * 2)
    pure = build([mine], [b"v"])
    assert answers(joined, Submit(1, mixed, FAR), Submit(2, pure, FAR)) == [Misplaced(2), Stored(Receipt(1, 1))]


def test_after_doubling_a_stream_is_cut_anew_even_where_all_of_a_batch_is_ours() -> None:
    """What it names as the one before may be in the other half."""
    joined = formed(ALONE)
    joined.happen("a", Doubled(2))
    pure = build([_keys(0, 2)[0]], [b"v"], connection=7)
    assert answers(joined, Submit(1, pure, FAR), Submit(2, pure, FAR, buckets=2)) == [
        Misplaced(2),
        Stored(Receipt(1, 1)),
    ]


def test_what_was_cut_for_as_many_buckets_as_there_are_is_not_looked_at_again() -> None:
    joined = formed(ALONE)
    joined.happen("a", Doubled(2))
    others = build([_keys(1, 2)[0]], [b"v"], connection=7)
    assert answers(joined, Submit(1, others, FAR, buckets=2)) == [Stored(Receipt(1, 1))]


def test_a_finer_cut_than_the_buckets_own_is_refused() -> None:
    joined = formed(ALONE)
    pure = build([_keys(0, 2)[0]], [b"v"], connection=7)
    assert answers(joined, Submit(1, pure, FAR, buckets=2)) == [Misplaced(1)]


def test_at_a_split_only_what_is_wholly_ours_is_still_answered_for() -> None:
    joined = formed(BOTH)
    mine, others = _keys(0, 2)[0], _keys(1, 2)[0]
    joined.stalled = {"b"}
    batches = [build(keys, [b"v"] * len(keys)) for keys in ([mine], [mine, others], [others], [mine, mine])]
    joined.happen("a", *[Submit(number, batch, FAR) for number, batch in enumerate(batches, 1)])
    assert joined.answers == {}
    joined.happen("a", Doubled(2))
    assert joined.answers == {2: Unknown(), 3: Unknown()}
    joined.resume("b")
    assert {number: type(outcome) for number, outcome in joined.answers.items()} == {
        1: Stored,
        2: Unknown,
        3: Unknown,
        4: Stored,
    }


# Streams that go on under a new number.


def test_a_stream_continues_on_a_new_connection_also_in_the_same_turn() -> None:
    joined = formed(ALONE)
    new = build([b"k"], [b"v"], connection=8, first_series=0)
    outcomes = answers(joined, submit(1, 0), Submit(2, new, FAR, continues=Continues(7, 0)))
    assert outcomes == [Stored(Receipt(1, 1)), Stored(Receipt(2, 1))]


def test_a_continuation_waits_for_the_end_of_what_it_continues() -> None:
    joined = formed(ALONE)
    new = build([b"k"], [b"v"], connection=8, first_series=0)
    early = Submit(2, new, FAR, continues=Continues(7, 1))
    assert answers(joined, submit(1, 0), early) == [Stored(Receipt(1, 1)), Gap(0)]


def test_once_begun_a_continuation_is_judged_by_its_own_series() -> None:
    """The old connection may be forgotten by the time that the first batch is sent again."""
    joined = formed(Government(1, "a", ("a",), memory_us=1000))
    first = Submit(2, build([b"k"], [b"v"], connection=8), FAR, continues=Continues(7, 0))
    answers(joined, submit(1, 0))
    joined.wall_us = 900
    answers(joined, first)
    joined.wall_us = 1500
    answers(joined, submit(3, 1, 8))
    assert joined.phasers["a"].ledger.streams.last(7) is None
    again = Submit(4, first.batch, FAR, continues=first.continues)
    assert answers(joined, again) == [Repeated(Receipt(2, 900))]


# Answers come when they are true.


def test_nothing_is_answered_before_everybody_has_it_on_disk() -> None:
    joined = formed(BOTH)
    joined.stalled = {"b"}
    joined.happen("a", submit(1, 0))
    assert not joined.answers
    joined.resume("b")
    assert joined.answers == {1: Stored(Receipt(1, 1))}


def test_a_duplicate_is_answered_only_once_its_first_copy_is_committed() -> None:
    joined = formed(BOTH)
    joined.stalled = {"b"}
    joined.happen("a", submit(1, 0))
    joined.happen("a", submit(2, 0))
    joined.happen("a", submit(3, 1))
    assert not joined.answers
    joined.resume("b")
    assert joined.answers == {1: Stored(Receipt(1, 1)), 2: Repeated(Receipt(1, 1)), 3: Stored(Receipt(2, 1))}
    assert series_of(joined.disks["b"].log) == [0, 1]


def test_journalled_and_not_committed_in_time_is_unknown_while_the_backlog_expires() -> None:
    joined = formed(BOTH)
    joined.stalled = {"b"}
    joined.happen("a", Submit(1, batch(0), 1_000_000))
    joined.happen("a", Paused(True), Submit(2, batch(1), 1_000_000))
    joined.tick()
    assert joined.answers == {1: Unknown(), 2: Expired()}
    joined.resume("b")
    joined.happen("a", Paused(False), submit(3, 0))
    assert joined.answers[3] == Repeated(Receipt(1, 1)), "it was stored after all, and it can be found out"


def test_handed_over_what_waited_is_not_stored_and_what_was_journalled_is_unknown() -> None:
    joined = formed(BOTH)
    joined.stalled = {"b"}
    joined.happen("a", submit(1, 0))
    joined.happen("a", Paused(True), submit(2, 1), Submit(3, batch(2), FAR, epoch=9))
    joined.appoint(Government(2, "b", ("a", "b")), "a")
    assert joined.answers == {1: Unknown(), 2: NotLeader("b", 2)}
    assert len(joined.phasers["a"].desk.backlog) == 1, "meant for a government that is not known here yet"


def test_what_is_journalled_and_not_committed_is_bounded() -> None:
    joined = formed(BOTH, Settings(flight_bytes_max=1000, merge_bytes=1))
    joined.stalled = {"b"}
    for number in range(30):
        joined.happen("a", submit(number, number))
    assert joined.phasers["a"].ledger.uncommitted_bytes < 1000 + batch(0).length
    assert len(joined.phasers["a"].desk.backlog) > 20
    joined.resume("b")
    assert sorted(joined.answers) == list(range(30))
    assert series_of(joined.disks["b"].log) == list(range(30))


def test_a_batch_is_journalled_in_the_turn_in_which_it_comes() -> None:
    joined = formed(ALONE)
    writes = [e.writes for e in joined.happen("a", submit(1, 0)) if isinstance(e, Persist)]
    assert [type(write) for write in writes[0]] == [Put]


def test_a_bucket_that_restarts_takes_what_was_cut_for_as_many_buckets_as_there_are() -> None:
    key = next(key for key in (b"%d" % number for number in range(99)) if bucket_of(key_hash(key), 4) == 3)
    phaser = Phaser("a", 3, Settings(), Recovered(), buckets=4)
    phaser.turn([Submit(1, build([key], [b"v"], connection=7), FAR, buckets=4)], 0, 1)
    assert len(phaser.desk.backlog) == 1
    phaser.desk.drain(first_term(1), 0, 1)
    assert len(phaser.desk.pending) == 1
