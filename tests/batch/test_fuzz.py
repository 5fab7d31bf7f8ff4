"""Whatever comes in: a Malformed, or a batch on which everything works. `tests.batch.fuzz` goes on for longer."""

from collections import Counter

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hansard.batch import HEADER_BYTES, MAGIC, Malformed, build, verify
from tests.batch.fuzz import case, outcome
from tests.batch.sealing import resealed, with_body, with_frame, zstd

SMALL = build(["a", None, "b"], ["1", None, "3"], [["x", "y"], [], ["x"]], connection=3).to_bytes()


@given(st.binary(max_size=300))
@example(b"")
@example(MAGIC)
@example(MAGIC + bytes(HEADER_BYTES))
def test_random_bytes_are_refused(raw: bytes) -> None:
    with pytest.raises(Malformed):
        verify(raw)
    with pytest.raises(Malformed):
        verify(SMALL[:HEADER_BYTES] + raw)


@settings(max_examples=300)
@given(st.binary(max_size=40).map(lambda body: body + bytes(-len(body) % 8)), st.integers(0, 255), st.integers(0, 3))
def test_random_bodies_under_a_good_header_are_refused_or_work(body: bytes, flags: int, count: int) -> None:
    """Bodies so small that hypothesis finds the ones that come near to a batch."""
    head = with_body(SMALL, body, flags=flags & ~1, change_count=count, span=max(count, 1), tag_names=0, tag_codes=0)
    outcome(head, hashes=False)
    outcome(resealed(head, connection=0, first_series=0), hashes=True)


@given(st.binary(max_size=60), st.booleans())
def test_random_frames_are_refused(frame: bytes, is_frame: bool) -> None:
    with pytest.raises(Malformed):
        verify(with_frame(SMALL, zstd(frame) if is_frame else frame, raw_length=len(frame) // 8 * 8))


def test_damaged_batches_are_refused_or_work() -> None:
    """Cases of the long fuzz, with numbers that are the same on every run, and of every outcome there is."""
    outcomes = Counter(outcome(case(number), hashes=number % 2 == 0) for number in range(1500))
    assert set(outcomes) == {"accepted", *(error.__name__ for error in Malformed.__subclasses__())}
    assert outcomes["accepted"] > 150
