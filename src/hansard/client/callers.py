"""Who waits for the changes of one batch, in its order: for single changes one caller each, or callers with many.

A batch may be cut anew when its bucket was split: then its callers are told by the parts, each of its own changes.
"""

from abc import ABC, abstractmethod
from asyncio import Future
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Self

from .delivery import Delivery
from .errors import ClientError
from .receipts import Receipt, between


class Callers(ABC):
    """Places are those in the batch, rising."""

    __slots__ = ()

    @abstractmethod
    def part(self, places: Sequence[int]) -> Self:
        """Of some changes, which become a batch of their own."""

    @abstractmethod
    def stored(self, receipts: Sequence[Receipt]) -> None:
        """One for each change."""

    @abstractmethod
    def stored_in_part(self, receipts: Mapping[int, Receipt]) -> None:
        """Those at these places; what becomes of the others is told later, and of these not again."""

    @abstractmethod
    def failed(self, error: ClientError) -> None: ...


class Singles(Callers):
    """Each waits for one change."""

    __slots__ = ("futures",)

    def __init__(self, futures: "list[Future[Receipt]]") -> None:
        self.futures = futures

    def part(self, places: Sequence[int]) -> "Singles":
        return Singles([self.futures[place] for place in places])

    def stored(self, receipts: Sequence[Receipt]) -> None:
        for future, receipt in zip(self.futures, receipts, strict=True):
            if not future.done():
                future.set_result(receipt)

    def stored_in_part(self, receipts: Mapping[int, Receipt]) -> None:
        for place, receipt in receipts.items():
            if not self.futures[place].done():
                self.futures[place].set_result(receipt)

    def failed(self, error: ClientError) -> None:
        for future in self.futures:
            if not future.done():
                future.set_exception(error.again())


class Shares(Callers):
    """Each has a run of changes in the batch, and knows them by other places: those in its own call."""

    __slots__ = ("_ends", "_shares", "_told")

    def __init__(self) -> None:
        self._shares: list[tuple[Delivery, Sequence[int]]] = []
        self._ends = [0]
        """Where the run of each ends in the batch, with a zero in front."""
        self._told: set[int] = set()
        """Changes that are stored, and told of."""

    def add(self, delivery: Delivery, places: Sequence[int]) -> None:
        """So many changes more, which are at these places for who waits."""
        self._shares.append((delivery, places))
        self._ends.append(self._ends[-1] + len(places))

    def part(self, places: Sequence[int]) -> "Shares":
        part = Shares()
        for (delivery, own), (start, end) in zip(self._shares, pairwise(self._ends), strict=True):
            chosen = places[bisect_left(places, start) : bisect_left(places, end)]
            if chosen:
                part.add(delivery, [own[place - start] for place in chosen])
        part._told = {number for number, place in enumerate(places) if place in self._told} if self._told else set()
        return part

    def stored(self, receipts: Sequence[Receipt]) -> None:
        if self._told:
            self.stored_in_part(dict(enumerate(receipts)))
            return
        for (delivery, own), (start, end) in zip(self._shares, pairwise(self._ends), strict=True):
            delivery.stored(own, between(receipts, start, end))

    def stored_in_part(self, receipts: Mapping[int, Receipt]) -> None:
        news = {place: receipt for place, receipt in receipts.items() if place not in self._told}
        for (delivery, own), (start, end) in zip(self._shares, pairwise(self._ends), strict=True):
            its = {own[place - start]: receipt for place, receipt in news.items() if start <= place < end}
            if its:
                delivery.stored(list(its), list(its.values()))
        self._told |= news.keys()

    def failed(self, error: ClientError) -> None:
        for (delivery, own), (start, end) in zip(self._shares, pairwise(self._ends), strict=True):
            untold = [own[place - start] for place in range(start, end) if place not in self._told]
            if untold:
                delivery.failed(untold, error)
