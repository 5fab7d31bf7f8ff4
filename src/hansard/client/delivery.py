"""What one caller waits for who has submitted many changes at once: the changes of each bucket have a fate of their
own."""

from asyncio import Future
from collections.abc import Sequence

from .errors import ClientError, PartlyStored
from .receipts import Mosaic, Receipt


class Delivery:
    """Tells the caller when all is known. Invariant: no change is told of twice."""

    __slots__ = ("_count", "_failures", "_future", "_open", "_stored")

    def __init__(self, count: int, future: "Future[Sequence[Receipt]]") -> None:
        self._count = self._open = count
        self._future = future
        self._stored: list[tuple[Sequence[int], Sequence[Receipt]]] = []
        self._failures: list[tuple[Sequence[int], ClientError]] = []

    def stored(self, places: Sequence[int], receipts: Sequence[Receipt]) -> None:
        self._stored.append((places, receipts))
        self._settle(len(places))

    def failed(self, places: Sequence[int], error: ClientError) -> None:
        self._failures.append((places, error))
        self._settle(len(places))

    def _settle(self, count: int) -> None:
        self._open -= count
        assert self._open >= 0
        if self._open or self._future.done():
            return
        if not self._failures:
            self._future.set_result(self._receipts())
        elif not self._stored and len({type(error) for _, error in self._failures}) == 1:
            self._future.set_exception(self._failures[0][1].again())
        else:
            self._future.set_exception(PartlyStored(self._outcomes()))

    def _receipts(self) -> Sequence[Receipt]:
        """Nothing is made for each change."""
        places, receipts = self._stored[0]
        if len(self._stored) == 1 and isinstance(places, range):  # all in one bucket, in the order of the call
            return receipts
        return Mosaic(self._count, self._stored)

    def _outcomes(self) -> list[Receipt | ClientError]:
        outcomes: dict[int, Receipt | ClientError] = {}
        for places, receipts in self._stored:
            outcomes.update(zip(places, receipts, strict=True))
        for places, error in self._failures:
            outcomes.update(dict.fromkeys(places, error))
        return [outcomes[place] for place in range(self._count)]
