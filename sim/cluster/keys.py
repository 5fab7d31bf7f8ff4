"""Keys for every bucket that there may be in the end: so whatever is split, each half has some."""

from functools import cached_property
from typing import Final

from hansard.batch import bucket_of, key_hash

KEYS: Final = 3
"""Of each bucket, when there are as many as there may be; more where there are few."""
FEW: Final = 8


class Keys:
    def __init__(self, buckets_max: int) -> None:
        self._buckets_max = buckets_max
        self._by_place: dict[tuple[int, int], list[bytes]] = {}

    @cached_property
    def _leaves(self) -> list[list[bytes]]:
        """By the bucket in which they live in the end."""
        wanted = max(KEYS, FEW // self._buckets_max)
        found: list[list[bytes]] = [[] for _ in range(self._buckets_max)]
        number = 0
        while any(len(keys) < wanted for keys in found):
            key = b"k%d" % number
            place = found[bucket_of(key_hash(key), self._buckets_max)]
            if len(place) < wanted:
                place.append(key)
            number += 1
        return found

    def of(self, bucket: int, level: int) -> list[bytes]:
        """All that live in a bucket where there are so many."""
        place = (bucket, level)
        if place not in self._by_place:
            leaves = self._leaves[bucket :: min(level, self._buckets_max)]
            self._by_place[place] = [key for keys in leaves for key in keys]
        return self._by_place[place]
