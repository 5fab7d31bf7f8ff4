"""A key's bucket is the same here, in Spark and in any other XXH64."""

import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from hansard.batch import bucket_of, build, key_hash
from hansard.batch.keyhash import key_hashes

# What Spark answers to `SELECT xxhash64(...)`; the first is the example in PySpark's documentation of the function.
KNOWN = {
    b"ABC": 4105715581806190027,
    b"hello": -4367754540140381902,
    b"the quick brown fox": 6882318601984224800,
    "天地".encode(): -235771157374669727,
    b"": -7444071767201028348,
    None: 42,
}


@pytest.mark.parametrize(("key", "expected"), KNOWN.items())
def test_known_hashes(key: bytes | None, expected: int) -> None:
    assert key_hash(key) == expected


@given(st.lists(st.binary(max_size=80) | st.none()))
def test_a_column_of_hashes_is_that_of_each_key(keys: list[bytes | None]) -> None:
    assert key_hashes(keys).tolist() == [key_hash(key) for key in keys]


@given(st.binary())
def test_the_hash_is_xxh64_with_seed_42_as_a_signed_number(key: bytes) -> None:
    assert key_hash(key) % (1 << 64) == xxhash.xxh64(key, seed=42).intdigest()
    assert -(1 << 63) <= key_hash(key) < 1 << 63


@given(st.binary(), st.integers(0, 40))
def test_a_bucket_is_the_hash_modulo_their_number(key: bytes, doublings: int) -> None:
    assert bucket_of(key_hash(key), 1 << doublings) == key_hash(key) % (1 << doublings)


@given(st.binary(), st.integers(0, 20))
def test_doubling_the_buckets_leaves_a_key_or_moves_it_by_their_number(key: bytes, doublings: int) -> None:
    buckets = 1 << doublings
    before, after = bucket_of(key_hash(key), buckets), bucket_of(key_hash(key), 2 * buckets)
    assert after in (before, before + buckets)


def test_the_number_of_buckets_must_be_a_power_of_two() -> None:
    with pytest.raises(AssertionError):
        bucket_of(1, 3)


def test_batches_carry_the_hashes_of_their_keys() -> None:
    assert build(["ABC", None, ""], [None] * 3).key_hashes.tolist() == [KNOWN[b"ABC"], 42, KNOWN[b""]]
