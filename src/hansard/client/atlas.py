"""What a client knows of the table: which buckets there are, at which level, who leads them and who has copies.

It may be old: then a bucket's answer says at which level it lives by now, or somebody hops, and sooner or later a newer
table comes. Levels only grow, so that nothing which is known of a split is forgotten for a table that is behind. It
does no IO.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hansard.wire.request import Tabled

from .recut import descendants

NOBODY: Final = -1


class Atlas:
    """Invariant: for every key there is one bucket, the deepest one on its way that has a level."""

    def __init__(self, seeds: Iterable[str]) -> None:
        self.seeds = tuple(seeds)
        """The addresses that were given."""
        self.version = -1
        self.log_id = ""
        self._levels: dict[int, int] = {0: 1}
        self._table: Tabled | None = None
        self._homes: list[int] = [0]
        self._home_vector = np.zeros(1, np.int64)
        """The same."""

    @classmethod
    def even(cls, buckets: int) -> "Atlas":
        """So many buckets, and nothing is known of where they are: lanes of a client that has no table."""
        atlas = cls(())
        atlas._levels = dict.fromkeys(range(buckets), buckets)
        atlas._chart()
        return atlas

    @property
    def buckets(self) -> list[int]:
        """All that have keys of their own."""
        return sorted(self._levels)

    def level(self, bucket: int) -> int:
        return self._levels[bucket]

    def known_level(self, bucket: int) -> int:
        """0 of one that is not known yet."""
        return self._levels.get(bucket, 0)

    # Keys.

    def home(self, hash: int) -> int:
        return self._homes[hash & (len(self._homes) - 1)]

    def homes(self, hashes: NDArray[np.int64]) -> NDArray[np.int64]:
        found: NDArray[np.int64] = self._home_vector[hashes & (len(self._homes) - 1)]
        return found

    def _chart(self) -> None:
        size = max(self._levels.values())
        self._homes = []
        for place in range(size):
            mask = size - 1
            while place & mask not in self._levels:
                assert mask > 0, "some key has no bucket"
                mask >>= 1
            self._homes.append(place & mask)
        self._home_vector = np.array(self._homes, np.int64)

    # Learning.

    def begin(self, tabled: Tabled) -> None:
        """With the first table: before it there is one bucket, wherever it is."""
        assert self._table is None and tabled.buckets
        self._table, self.version, self.log_id = tabled, tabled.version, tabled.log
        self._levels = {bucket: where.level for bucket, where in enumerate(tabled.buckets) if where.level}
        self._chart()

    def update(self, tabled: Tabled) -> Iterator[tuple[int, int]]:
        """Takes a table in, unless it is older. Yields each bucket that it shows to be split, with the level that it
        has by now: the caller does that, before it asks for the next one."""
        if tabled.version < self.version or len(tabled.buckets) < len(self._table.buckets if self._table else ()):
            return
        self._table, self.version, self.log_id = tabled, tabled.version, tabled.log
        yield from self._split_since(tabled)

    def _split_since(self, tabled: Tabled) -> Iterator[tuple[int, int]]:
        """One after the other: what is split off first may be among those that are split next."""
        while True:
            found = [
                (bucket, tabled.buckets[bucket].level)
                for bucket, level in sorted(self._levels.items())
                if bucket < len(tabled.buckets) and tabled.buckets[bucket].level > level
            ]
            if not found:
                return
            yield found[0]

    def split(self, bucket: int, to: int) -> None:
        """It lives under so many buckets now, and what was split off from it beside it."""
        for half, least in descendants(bucket, self._levels[bucket], to):
            assert half == bucket or half not in self._levels, f"bucket {half} was split off twice"
            self._levels[half] = least
        self._chart()

    # Who has what.

    def leader(self, bucket: int) -> str | None:
        """Where its leader is; None if that is not known."""
        table = self._table
        if table is None or bucket >= len(table.buckets):
            return None
        place = table.buckets[bucket].leader
        return table.nodes[place][1] or None if place != NOBODY else None

    def members(self, bucket: int) -> list[str]:
        """Where its copies are; of one that was just split off, where those of the whole were."""
        table = self._table
        while table is not None and bucket:
            if bucket < len(table.buckets) and table.buckets[bucket].level:
                break
            bucket -= 1 << bucket.bit_length() - 1
        if table is None:
            return []
        return [address for place in table.buckets[bucket].members if (address := table.nodes[place][1])]

    def everybody(self) -> list[str]:
        """All addresses, those of participants first, each once."""
        nodes: list[Any] = self._table.nodes if self._table is not None else []
        return list(dict.fromkeys([*[address for _, address in nodes if address], *self.seeds]))
