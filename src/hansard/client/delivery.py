"""What one caller waits for who has submitted many changes at once: the changes of each bucket have a fate of their
own."""

from asyncio import Future
from collections.abc import Sequence

from .errors import ClientError, PartlyStored
from .receipts import Receipt


class Delivery:
    """Tells the caller when all is known. Invariant: no change is told of twice."""

    __slots__ = ("_count", "_future", "_open", "_outcomes", "_whole")

    def __init__(self, count: int, future: "Future[Sequence[Receipt]]") -> None:
        self._count = self._open = count
        self._future = future
        self._outcomes: list[Receipt | ClientError] | None = None
        self._whole: Sequence[Receipt] | None = None

    def stored(self, places: Sequence[int], receipts: Sequence[Receipt]) -> None:
        if len(places) == self._count:  # all in one bucket, and nothing is made for each
            self._whole = receipts
            self._settle(len(places))
            return
        outcomes = self._noted()
        for place, receipt in zip(places, receipts, strict=True):
            outcomes[place] = receipt
        self._settle(len(places))

    def failed(self, places: Sequence[int], error: ClientError) -> None:
        outcomes = self._noted()
        for place in places:
            outcomes[place] = error
        self._settle(len(places))

    def _noted(self) -> list[Receipt | ClientError]:
        if self._outcomes is None:
            self._outcomes = [Receipt(-1, None, None)] * self._count
        return self._outcomes

    def _settle(self, count: int) -> None:
        self._open -= count
        assert self._open >= 0
        if self._open or self._future.done():
            return
        if self._whole is not None:
            self._future.set_result(self._whole)
            return
        outcomes = self._noted()
        receipts = [outcome for outcome in outcomes if isinstance(outcome, Receipt)]
        errors = [outcome for outcome in outcomes if isinstance(outcome, ClientError)]
        if not errors:
            self._future.set_result(receipts)
        elif not receipts and len({type(error) for error in errors}) == 1:
            self._future.set_exception(errors[0].again())
        else:
            self._future.set_exception(PartlyStored(outcomes))
