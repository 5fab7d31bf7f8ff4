"""Batches of many plain changes are recognized as good with few vectors; that nothing else is, test_single.py shows
with the same cases for all ways."""

import pytest

from hansard.batch import Batch, build, plain, reopen, verify, verify_at
from tests.batch.agreement import agreed
from tests.batch.sealing import with_bytes

KEYS = [b"key-%d" % number for number in range(100)]
VALUES = [bytes(number) for number in range(100)]


def tagged(count: int) -> Batch:
    tags = [("even",) if number % 2 == 0 else ("odd", "größe") for number in range(count)]
    return build(KEYS[:count], VALUES[:count], tags, connection=7, first_series=3, previous_series=2)


@pytest.mark.parametrize("batch", [build(KEYS, VALUES), tagged(100), tagged(2), build([b"", b""], [b"", b""])])
def test_plain_batches_take_few_vectors(batch: Batch) -> None:
    assert plain.is_sound(reopen(batch.to_bytes()), hashes=True)


@pytest.mark.parametrize(
    "batch",
    [
        build([b"k", None], [b"v", b"w"]),
        build([b"k", b"l"], [b"v", None]),
        build([b"k", b"l"], [b"v", b"w"], timestamps=[1, 2]),
        build([b"k", b"l"], [b"v", b"w"], connection=3, series=[1, 5]),
        tagged(100).compressed(),
    ],
)
def test_other_shapes_are_left_to_the_general_way(batch: Batch) -> None:
    assert not plain.is_sound(reopen(batch.to_bytes()), hashes=True)
    assert verify(batch.to_bytes()) == batch


def test_all_ways_agree_on_every_changed_byte() -> None:
    batch = tagged(3)
    raw, body = batch.to_bytes(), bytes(batch.body)
    for position, byte in enumerate(body):
        for change in (0x01, 0x80, 0xFF):
            agreed(with_bytes(raw, position, bytes([byte ^ change])))


def test_batches_that_lie_one_behind_the_other_are_verified_in_place() -> None:
    first, second = tagged(2), build([b"k"], [b"v"])
    both = memoryview(first.to_bytes() + second.to_bytes())
    assert (verify_at(both, 0), verify_at(both, first.length)) == (first, second)
