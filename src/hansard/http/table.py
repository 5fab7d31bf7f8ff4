"""Where keys live, by the table of now: which bucket has a hash, and at what level it has it."""

from collections.abc import Sequence

import numpy as np

from hansard.batch import Int64s
from hansard.distributor.bucket import Bucket


def home_of(hash_: int, buckets: Sequence[Bucket]) -> tuple[int, int]:
    """Bucket and level. A half that is not split off yet is part of what it comes from."""
    count = len(buckets)
    while True:
        bucket = hash_ & (count - 1)
        level = buckets[bucket].level
        if level:
            return bucket, level
        count >>= 1


def homes_of(hashes: Int64s, buckets: Sequence[Bucket]) -> dict[int, tuple[int, list[int]]]:
    """The same of many: of each bucket its level, and which of the hashes are its own, rising."""
    levels = np.array([bucket.level for bucket in buckets])
    count = len(buckets)
    found = hashes & (count - 1)
    while (idle := levels[found] == 0).any():
        count >>= 1
        found = np.where(idle, hashes & (count - 1), found)
    order = np.argsort(found, kind="stable")
    starts = np.flatnonzero(np.diff(found[order], prepend=-1)).tolist()
    ends = [*starts[1:], len(order)]
    homes: dict[int, tuple[int, list[int]]] = {}
    for start, end in zip(starts, ends, strict=True):
        bucket = int(found[order[start]])
        homes[bucket] = (int(levels[bucket]), order[start:end].tolist())
    return homes
