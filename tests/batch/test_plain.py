"""Batches of many plain changes are recognized as good with few vectors; that nothing else is, test_single.py shows
with the same cases for all ways."""

import struct

import pytest

from hansard.batch import HEADER_BYTES, Batch, build, plain, reopen, verify, verify_at
from hansard.batch.limits import VALUE_BYTES_MAX
from tests.batch.agreement import agreed
from tests.batch.sealing import with_bytes

KEYS = [b"key-%d" % number for number in range(100)]
VALUES = [bytes(number) for number in range(100)]


def tagged(count: int) -> Batch:
    tags = [("even",) if number % 2 == 0 else ("odd", "größe") for number in range(count)]
    return build(KEYS[:count], VALUES[:count], tags, connection=7, first_series=3, previous_series=2)


@pytest.mark.parametrize(
    "batch",
    [
        build(KEYS, VALUES),
        build(KEYS[10:], VALUES[10:]),
        tagged(100),
        tagged(2),
        build([b"", b""], [b"", b""]),
        build([b"\0", b"a"], [b"v", b"w"]),
        build([b"a\0", b"\0\0"], [b"v", b"w"]),
        build([b"ab", b""], [b"v", b"w"]),
    ],
)
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


@pytest.mark.parametrize("keys", [KEYS[:3], KEYS[9:12], [b"", b"", b""]])
def test_a_wrong_hash_is_found_in_keys_of_one_length_and_of_several(keys: list[bytes]) -> None:
    raw = build(keys, VALUES[:3]).to_bytes()
    for position in range(8 * len(keys)):
        assert agreed(with_bytes(raw, position, bytes([raw[HEADER_BYTES + position] ^ 1]))) == "WrongKeyHash"


def test_ends_that_go_once_around_are_refused() -> None:
    """Each value has a length that is allowed, modulo 2^32, and the last one ends where it should."""
    count = (1 << 32) // VALUE_BYTES_MAX
    batch = build([b""] * count, [b""] * count)
    ends = struct.pack(f"<{count + 1}I", *[number * VALUE_BYTES_MAX % (1 << 32) for number in range(count + 1)])
    assert agreed(with_bytes(batch.to_bytes(), batch.layout.value_ends, ends)) == "BadVector"


def test_batches_that_lie_one_behind_the_other_are_verified_in_place() -> None:
    first, second = tagged(2), build([b"k"], [b"v"])
    both = memoryview(first.to_bytes() + second.to_bytes())
    assert (verify_at(both, 0), verify_at(both, first.length)) == (first, second)
