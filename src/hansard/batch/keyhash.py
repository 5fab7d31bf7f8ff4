"""The hash that says in which bucket a key lives: XXH64 with seed 42, read as a signed number.

Spark's built-in `xxhash64(key)` gives the same number, so `pmod(xxhash64(key), buckets)` is the bucket there,
and a missing key hashes to the seed in both.
"""

from collections.abc import Sequence
from itertools import repeat
from typing import Final

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh64_intdigest

SEED: Final = 42
KEYLESS: Final = SEED


def key_hash(key: bytes | None) -> int:
    if key is None:
        return KEYLESS
    unsigned: int = xxh64_intdigest(key, SEED)
    return unsigned - (1 << 64) if unsigned >> 63 else unsigned


def key_hashes(keys: Sequence[bytes | None]) -> NDArray[np.int64]:
    """The hashes of many keys."""
    try:
        hashes = np.fromiter(map(xxh64_intdigest, keys, repeat(SEED)), np.uint64, len(keys))  # type: ignore[arg-type]
    except TypeError:  # a missing key cannot be hashed; it is rare, so it is not looked for beforehand
        hashes = np.array([KEYLESS if key is None else xxh64_intdigest(key, SEED) for key in keys], np.uint64)
    return hashes.view(np.int64)


def bucket_of(hash_: int, buckets: int) -> int:
    assert buckets > 0 and buckets & (buckets - 1) == 0, "the number of buckets is a power of two"
    return hash_ & (buckets - 1)
