"""A leader fills in epoch, place and time without touching the body; a header alone says where a batch ends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.batch import HEADER_BYTES, Batch, Flag, build, check_header, reopen, trust, verify
from hansard.batch.errors import BadChecksum, Malformed, TooShort
from hansard.batch.limits import TIMESTAMP_MAX

from .strategies import Example, examples

BATCH = build(["a", "b"], ["1", "2"], [["x"], []], connection=4, first_series=9, previous_series=2)
TIMED = build(["a", "b"], ["1", "2"], timestamps=[10, 20])

numbers = st.integers(0, 1 << 40)


@given(epoch=numbers, base_offset=numbers, timestamp=st.integers(0, TIMESTAMP_MAX))
def test_stamping_leaves_the_very_body_alone(epoch: int, base_offset: int, timestamp: int) -> None:
    stamped = BATCH.stamped(epoch=epoch, base_offset=base_offset, timestamp=timestamp)
    assert stamped.body is BATCH.body
    assert verify(stamped.to_bytes()) == stamped
    assert stamped.header.epoch == epoch
    assert stamped.offsets.tolist() == [base_offset, base_offset + 1]
    assert stamped.timestamps.tolist() == [timestamp, timestamp]
    assert stamped.series.tolist() == [9, 10]


def test_placing_and_marking_leave_the_very_body_alone() -> None:
    placed = TIMED.placed(epoch=3, base_offset=100)
    assert placed.body is TIMED.body
    assert [(change.offset, change.timestamp) for change in placed.changes()] == [(100, 10), (101, 20)]
    marked = placed.marked_internal()
    assert marked.body is TIMED.body
    assert marked.header.flags == placed.header.flags | Flag.INTERNAL
    assert verify(marked.to_bytes()) == marked


def test_the_first_batch_is_unchanged_by_stamping() -> None:
    before = BATCH.to_bytes()
    BATCH.stamped(epoch=1, base_offset=2, timestamp=3)
    assert BATCH.to_bytes() == before


def test_changes_with_their_own_times_are_not_stamped() -> None:
    with pytest.raises(AssertionError, match="keep them"):
        TIMED.stamped(epoch=1, base_offset=2, timestamp=3)


@given(examples(max_size=4))
def test_the_checked_header_says_what_is_in_the_batch(example: Example) -> None:
    header = check_header(b"before" + example.batch.to_bytes() + b"after", 6)
    assert header == example.batch.header
    assert header.length == example.batch.length
    assert header.end_offset == example.batch.header.base_offset + len(example.changes)


@pytest.mark.parametrize("open_at", [trust, reopen])
def test_batches_of_a_file_are_opened_one_after_another(open_at: object) -> None:
    assert callable(open_at)
    written = [BATCH, TIMED, BATCH.compressed(), TIMED.placed(epoch=1, base_offset=7)]
    file = b"".join(batch.to_bytes() for batch in written)
    position, found = 0, []
    while position < len(file):
        batch = open_at(file, position)
        position += batch.length
        found.append(batch)
    assert found == written


def test_a_header_at_the_torn_end_of_a_file_is_too_short() -> None:
    raw = BATCH.to_bytes()
    for position in (len(raw) - 95, len(raw), len(raw) + 1):
        with pytest.raises(TooShort) as refused:
            check_header(raw, position)
        assert refused.value.needed == HEADER_BYTES


@given(st.integers(0, 8 * BATCH.length - 1))
def test_one_flipped_bit_is_always_noticed(bit: int) -> None:
    raw = bytearray(BATCH.to_bytes())
    raw[bit // 8] ^= 1 << bit % 8
    with pytest.raises(Malformed):
        reopen(raw)


def test_reopening_tries_the_checksums_and_no_more() -> None:
    raw = BATCH.to_bytes()
    assert reopen(raw + b"and what follows it") == BATCH
    with pytest.raises(BadChecksum, match="body"):
        reopen(raw[:-1] + b"\1")
    with pytest.raises(TooShort):
        reopen(raw[:-1])


def test_batches_are_equal_when_their_bytes_are() -> None:
    same = verify(BATCH.to_bytes())
    assert same == BATCH
    assert same != BATCH.stamped(epoch=1, base_offset=0, timestamp=0)
    assert same != "a batch"
    assert "2 changes" in repr(BATCH)


def test_what_a_batch_was_opened_on_cannot_be_changed_through_it() -> None:
    received = bytearray(BATCH.to_bytes())
    for batch in (trust(received), reopen(received), verify(received)):
        assert isinstance(batch, Batch)
        with pytest.raises(TypeError):
            batch.body[0] = 1  # type: ignore[index]
