"""What a submission is answered with: where each change lies, and the time that the leader gave it.

A batch has consecutive offsets and one time, so that the receipts of ten thousand changes are a few numbers until
somebody asks for one of them.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, overload


class Receipt(NamedTuple):
    """The change is on the disk of every member of its bucket.

    A change that had to be sent several times may have been stored so long ago that the bucket no longer knows where:
    offset and timestamp are None then.
    """

    bucket: int
    offset: int | None
    timestamp: int | None
    """Microseconds since 1970, UTC."""


class Receipts(Sequence[Receipt]):
    """A receipt for each change of one batch, in its order."""

    __slots__ = ("_count", "bucket", "offset", "repeated", "timestamp")

    def __init__(self, bucket: int, count: int, offset: int | None, timestamp: int | None, repeated: int = 0) -> None:
        self.bucket = bucket
        self.offset = offset
        """Of the first change after those that are repeated."""
        self.timestamp = timestamp
        self.repeated = repeated
        """Changes at the beginning that had been stored before, nobody knows where."""
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Receipt]:
        return map(self._receipt, range(self._count))

    def _receipt(self, place: int) -> Receipt:
        if self.offset is None or place < self.repeated:
            return Receipt(self.bucket, None, None)
        return Receipt(self.bucket, self.offset + place - self.repeated, self.timestamp)

    @overload
    def __getitem__(self, index: int) -> Receipt: ...
    @overload
    def __getitem__(self, index: slice) -> list[Receipt]: ...
    def __getitem__(self, index: int | slice) -> Receipt | list[Receipt]:
        if isinstance(index, slice):
            return [self._receipt(place) for place in range(*index.indices(self._count))]
        place = index + self._count if index < 0 else index
        if not 0 <= place < self._count:
            raise IndexError(f"receipt {index} of {self._count}")
        return self._receipt(place)

    def __repr__(self) -> str:
        return f"<{self._count} receipts of bucket {self.bucket}, from offset {self.offset}>"
