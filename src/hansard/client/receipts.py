"""What a submission is answered with: where each change lies, and the time that the leader gave it.

A batch has consecutive offsets and one time, so that the receipts of ten thousand changes are a few numbers until
somebody asks for one of them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, repeat
from typing import Any, Final, NamedTuple, overload


class Receipt(NamedTuple):
    """The change is on the disk of every member of its bucket.

    A change that had to be sent several times may have been stored so long ago that the bucket no longer knows where:
    offset and timestamp are None then.
    """

    bucket: int
    offset: int | None
    timestamp: int | None
    """Microseconds since 1970, UTC."""


_receipt: Callable[[Iterable[Any]], Receipt] = partial(tuple.__new__, Receipt)  # what Receipt does, within C


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
        """Made within C, because callers of single changes get one each."""
        if self.offset is None:
            return repeat(Receipt(self.bucket, None, None), self._count)
        fresh = range(self.offset, self.offset + self._count - self.repeated)
        receipts = map(_receipt, zip(repeat(self.bucket), fresh, repeat(self.timestamp)))
        return chain(repeat(Receipt(self.bucket, None, None), self.repeated), receipts) if self.repeated else receipts

    def between(self, start: int, end: int) -> "Receipts":
        """Of the changes from one place to another."""
        repeated = min(max(self.repeated - start, 0), end - start)
        offset = None if self.offset is None else self.offset + max(start - self.repeated, 0)
        return Receipts(self.bucket, end - start, offset, self.timestamp, repeated)

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


class Mosaic(Sequence[Receipt]):
    """A receipt for each change of one call, of which some lie in one bucket and some in another. They are made when
    somebody looks at them."""

    __slots__ = ("_count", "_made", "_pieces")

    def __init__(self, count: int, pieces: Sequence[tuple[Sequence[int], Sequence[Receipt]]]) -> None:
        assert sum([len(places) for places, _ in pieces]) == count
        self._count = count
        self._pieces = pieces
        """Places in the call, and the receipts of what is there."""
        self._made: list[Receipt] | None = None

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Receipt]:
        return iter(self._receipts())

    @overload
    def __getitem__(self, index: int) -> Receipt: ...
    @overload
    def __getitem__(self, index: slice) -> list[Receipt]: ...
    def __getitem__(self, index: int | slice) -> Receipt | list[Receipt]:
        return self._receipts()[index]

    def _receipts(self) -> list[Receipt]:
        if self._made is None:
            made = [_UNKNOWN] * self._count
            for places, receipts in self._pieces:
                for place, receipt in zip(places, receipts, strict=True):
                    made[place] = receipt
            self._made, self._pieces = made, ()
        return self._made

    def __repr__(self) -> str:
        return f"<{self._count} receipts of several buckets>"


_UNKNOWN: Final = Receipt(-1, None, None)


def between(receipts: Sequence[Receipt], start: int, end: int) -> Sequence[Receipt]:
    return receipts.between(start, end) if isinstance(receipts, Receipts) else receipts[start:end]
