"""One batch on its way, and what is known of it: a draft that single changes gather in, or a batch as it was given.

Every attempt to submit it is a message with an id of its own, and gets one answer or none. What the attempts so far
tell is in two fields: `doubt`, that some attempt ended without a conclusive answer; and `refusal`, what the last one
was refused with. Where neither a doubt nor an attempt is under way, it is certainly not stored.
"""

from abc import ABC, abstractmethod
from asyncio import Future
from collections.abc import Mapping, Sequence

from hansard.batch import Batch, build
from hansard.batch.header import unpack

from .change import Checked
from .delivery import Delivery
from .errors import ClientError, NotStored
from .receipts import Receipt

NO_SERIES = -1


class Submission(ABC):
    """What a stream keeps of a batch. `first`, `last` and `previous` are its series, once it has been sent."""

    __slots__ = (
        "batch",
        "change_count",
        "deadline",
        "doubt",
        "first",
        "is_sparse",
        "last",
        "length",
        "numbered",
        "order",
        "previous",
        "refusal",
        "sent_id",
        "sent_previous",
        "weight",
    )

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self.order = 0
        """Its place among all that this client submits."""
        self.batch: Batch | None = None
        self.numbered = False
        """It has its numbers, once and for all: they may have reached the leader."""
        self.first = self.last = self.previous = NO_SERIES
        self.sent_previous = NO_SERIES
        """The previous series as the last attempt had it."""
        self.is_sparse = False
        """There are gaps in its series: it is part of what was cut for several buckets."""
        self.sent_id: int | None = None
        """Of the attempt that is under way."""
        self.doubt = False
        self.refusal: NotStored | None = None
        self.change_count = 0
        self.length = 0
        """Bytes to be sent, or an upper bound of them."""
        self.weight = 0
        """Bytes as the gate counted them."""

    def carry(self, batch: Batch) -> None:
        self.batch = batch
        self.change_count = len(batch)
        self.length = self.weight = batch.length

    def number_as(self, batch: Batch) -> None:
        """It has the numbers that the batch has."""
        self.numbered = True
        self.first, self.last = batch.header.first_series, int(batch.series[-1])
        self.previous = self.sent_previous = batch.header.previous_series
        self.is_sparse = self.last - self.first != self.change_count - 1

    @property
    def certainly_not_stored(self) -> bool:
        return self.sent_id is None and not self.doubt

    @abstractmethod
    def built(self) -> Batch: ...

    @abstractmethod
    def part(self, batch: Batch, places: Sequence[int]) -> "Submission":
        """Some of its changes, as a submission of their own to another bucket; their callers are told by that one."""

    @abstractmethod
    def stored(self, receipts: Sequence[Receipt]) -> None:
        """One for each change."""

    @abstractmethod
    def stored_in_part(self, receipts: Mapping[int, Receipt]) -> None:
        """Those at these places; what becomes of the others is told later, and of these not again."""

    @abstractmethod
    def failed(self, error: ClientError) -> None: ...


class Draft(Submission):
    """Single changes that gather until the batch is sent, each with a caller that waits for it alone."""

    __slots__ = ("_futures", "_keys", "_tags", "_values", "open_until")

    def __init__(self, deadline: float, open_until: float) -> None:
        super().__init__(deadline)
        self.open_until = open_until
        self._keys: list[bytes | None] = []
        self._values: list[bytes | None] = []
        self._tags: list[tuple[str, ...]] = []
        self._futures: list[Future[Receipt]] = []

    def add(self, change: Checked, future: "Future[Receipt]") -> None:
        assert self.batch is None
        key, value, tags, byte_count = change
        self._keys.append(key)
        self._values.append(value)
        self._tags.append(tags)
        self._futures.append(future)
        self.change_count += 1
        self.length += byte_count
        self.weight += byte_count

    def built(self) -> Batch:
        if self.batch is None:
            self.batch = build(self._keys, self._values, self._tags)
            self._keys, self._values, self._tags = [], [], []
        return self.batch

    def part(self, batch: Batch, places: Sequence[int]) -> "Draft":
        part = Draft(self.deadline, self.open_until)
        part.carry(batch)
        part._futures = [self._futures[place] for place in places]
        return part

    def stored_in_part(self, receipts: Mapping[int, Receipt]) -> None:
        for place, receipt in receipts.items():
            if not self._futures[place].done():
                self._futures[place].set_result(receipt)

    def stored(self, receipts: Sequence[Receipt]) -> None:
        for future, receipt in zip(self._futures, receipts, strict=True):
            if not future.done():
                future.set_result(receipt)

    def failed(self, error: ClientError) -> None:
        for future in self._futures:
            if not future.done():
                future.set_exception(error.again())


class Parcel(Submission):
    """A batch as it was given: all of what one caller waits for, or the part of it that lives in one bucket."""

    __slots__ = ("_delivery", "_places", "_told")

    def __init__(self, deadline: float, batch: Batch, delivery: Delivery, places: Sequence[int]) -> None:
        super().__init__(deadline)
        self.carry(batch)
        self._delivery = delivery
        self._places = places
        self._told: set[int] = set()
        """Changes that are stored, and told of."""

    def built(self) -> Batch:
        assert self.batch is not None
        return self.batch

    def part(self, batch: Batch, places: Sequence[int]) -> "Parcel":
        return Parcel(self.deadline, batch, self._delivery, [self._places[place] for place in places])

    def stored_in_part(self, receipts: Mapping[int, Receipt]) -> None:
        news = {place: receipt for place, receipt in receipts.items() if place not in self._told}
        self._told |= news.keys()
        self._delivery.stored([self._places[place] for place in news], list(news.values()))

    def stored(self, receipts: Sequence[Receipt]) -> None:
        if self._told:
            self.stored_in_part(dict(enumerate(receipts)))
        else:
            self._delivery.stored(self._places, receipts)

    def failed(self, error: ClientError) -> None:
        self._delivery.failed([where for place, where in enumerate(self._places) if place not in self._told], error)


def parted(whole: Submission, batch: Batch, places: Sequence[int]) -> Submission:
    """A part that takes the whole's place among all that was submitted, and inherits what is known of it."""
    part = whole.part(batch, places)
    part.order, part.doubt, part.refusal = whole.order, whole.doubt, whole.refusal
    if whole.numbered:
        part.number_as(batch)
    return part


def numbered(batch: Batch, connection: int, first: int, previous: int) -> Batch:
    """The same changes with their client's numbers, on the very same body."""
    header = batch.header._replace(connection=connection, first_series=first, previous_series=previous)
    head = header.packed()
    return Batch(unpack(head), head, batch.body)


def in_order(submissions: Sequence[Submission]) -> list[Submission]:
    return sorted(submissions, key=lambda submission: submission.order)
