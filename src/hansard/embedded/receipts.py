"""What an append is answered with: where each change stands, and when it came.

A batch has one time, so the receipts of ten thousand changes are two numbers until somebody asks for one of them.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, overload

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Receipt(NamedTuple):
    """The change is on disk: at this offset, with this time (microseconds since 1970, UTC)."""

    offset: int
    timestamp: int

    @property
    def time(self) -> datetime:
        return EPOCH + timedelta(microseconds=self.timestamp)


class Run(NamedTuple):
    """Changes of one batch: consecutive offsets, and one time for all or a time for each."""

    first: int
    change_count: int
    timestamp: int
    timestamps: tuple[int, ...] | None = None

    @property
    def offsets(self) -> range:
        return range(self.first, self.first + self.change_count)

    def receipt(self, index: int) -> Receipt:
        timestamp = self.timestamp if self.timestamps is None else self.timestamps[index]
        return Receipt(self.first + index, timestamp)


class Receipts(Sequence[Receipt]):
    """A receipt for each change, in the order in which they were given."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self.runs = tuple(runs)
        self._starts: list[int] = []
        self._count = 0
        for run in self.runs:
            self._starts.append(self._count)
            self._count += run.change_count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Receipt]:
        for run in self.runs:
            yield from map(run.receipt, range(run.change_count))

    @overload
    def __getitem__(self, index: int) -> Receipt: ...
    @overload
    def __getitem__(self, index: slice) -> list[Receipt]: ...
    def __getitem__(self, index: int | slice) -> Receipt | list[Receipt]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(self._count))]
        place = index + self._count if index < 0 else index
        if not 0 <= place < self._count:
            raise IndexError(f"receipt {index} of {self._count}")
        number = bisect_right(self._starts, place) - 1
        return self.runs[number].receipt(place - self._starts[number])

    def __repr__(self) -> str:
        parts = [f"{run.first}..{run.first + run.change_count - 1}" for run in self.runs[:3]]
        more = ", ..." if len(self.runs) > 3 else ""
        return f"<{self._count} receipts, offsets {', '.join(parts) or 'none'}{more}>"
