"""The fingerprint of a change as Spark's `columns.fingerprint` has it, of columns in Arrow: so what came to Python and
what Spark reads back can be compared.

It is Spark's `xxhash64`: the hash of each column is the seed of the next. Numbers are hashed as whole columns; for
bytes there is one call of xxHash for each, and no more Python than that.
"""

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from xxhash import xxh64_intdigest

from .columns import BUCKET, CONNECTION, KEY, OFFSET, SERIES, TAGS, TIMESTAMP, VALUE
from .manifest import Checksum

SEED: Final = 42
"""Spark's."""
_PRIME_1: Final = np.uint64(0x9E3779B185EBCA87)
_PRIME_2: Final = np.uint64(0xC2B2AE3D27D4EB4F)
_PRIME_3: Final = np.uint64(0x165667B19E3779F9)
_PRIME_4: Final = np.uint64(0x85EBCA77C2B2AE63)
_PRIME_5: Final = np.uint64(0x27D4EB2F165667C5)

Hashes = NDArray[np.uint64]


def checksum(changes: pa.RecordBatch) -> Checksum:
    """Of these changes."""
    hashes = fingerprints(changes)
    xored = int(np.bitwise_xor.reduce(hashes).view(np.int64)) if len(hashes) else 0
    return Checksum(len(hashes), xored, int((hashes >> np.uint64(32)).sum()))


def fingerprints(changes: pa.RecordBatch) -> Hashes:
    keys, values, tags = changes.column(KEY), changes.column(VALUE), changes.column(TAGS)
    hashes = np.full(len(changes), SEED, np.uint64)
    hashes = _of_ints(_numbers(changes.column(BUCKET)), hashes)
    for name in (OFFSET, TIMESTAMP):
        hashes = _of_longs(_numbers(changes.column(name)), hashes)
    for column in (keys, values):
        hashes = _of_bytes(column, hashes)
    hashes = _of_lists(tags, hashes)
    for name in (CONNECTION, SERIES):
        hashes = _of_longs(_numbers(changes.column(name)), hashes)
    missing = (~_present(keys)).astype(np.uint64) + np.uint64(2) * ~_present(values)
    hashes = _of_ints(missing, hashes)
    return _of_ints(_numbers(pc.list_value_length(tags)), hashes)


def _numbers(column: pa.Array) -> Hashes:
    """Those of 32 bits without their sign, as Spark takes them; none is missing."""
    assert not column.null_count, f"{column.null_count} numbers of changes are missing"
    is_short = column.type.bit_width == 32
    numbers: Hashes = column.view(pa.uint32() if is_short else pa.uint64()).to_numpy()
    return numbers.astype(np.uint64, copy=False)


def _present(column: pa.Array) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = column.is_valid().to_numpy(zero_copy_only=False)
    return found


def _of_longs(numbers: Hashes, seeds: Hashes) -> Hashes:
    hashes = seeds + (_PRIME_5 + np.uint64(8))
    hashes ^= _rotated(numbers * _PRIME_2, 31) * _PRIME_1
    return _mixed(_rotated(hashes, 27) * _PRIME_1 + _PRIME_4)


def _of_ints(numbers: Hashes, seeds: Hashes) -> Hashes:
    hashes = seeds + (_PRIME_5 + np.uint64(4))
    hashes ^= numbers * _PRIME_1
    return _mixed(_rotated(hashes, 23) * _PRIME_2 + _PRIME_3)


def _rotated(numbers: Hashes, bits: int) -> Hashes:
    return numbers << np.uint64(bits) | numbers >> np.uint64(64 - bits)


def _mixed(hashes: Hashes) -> Hashes:
    hashes ^= hashes >> np.uint64(33)
    hashes *= _PRIME_2
    hashes ^= hashes >> np.uint64(29)
    hashes *= _PRIME_3
    hashes ^= hashes >> np.uint64(32)
    return hashes


def _of_bytes(column: pa.Array, seeds: Hashes) -> Hashes:
    """What is missing leaves the seed as it was."""
    if not column.null_count:
        return _each(column, seeds)
    present, hashes = _present(column), seeds.copy()
    hashes[present] = _each(column.drop_null(), seeds[present])
    return hashes


def _each(column: pa.Array, seeds: Hashes) -> Hashes:
    contents = column.to_numpy(zero_copy_only=False)
    return np.fromiter(map(xxh64_intdigest, contents, seeds.tolist()), np.uint64, len(contents))


def _of_lists(lists: pa.Array, seeds: Hashes) -> Hashes:
    """The first tags of all lists, then the second ones, as long as there are any."""
    assert not lists.null_count, "changes have no tags, or some"
    hashes = seeds.copy()
    starts = lists.offsets.to_numpy()
    names = lists.values.cast(pa.binary())
    lengths = np.diff(starts)
    for place in range(int(lengths.max(initial=0))):
        rows = np.flatnonzero(lengths > place)
        hashes[rows] = _each(names.take(pa.array(starts[rows] + place)), hashes[rows])
    return hashes
