"""One batch on its way, and what is known of it: a draft that changes gather in, or a batch as it was given.

Every attempt to submit it is a message with an id of its own, and gets one answer or none. What the attempts so far
tell is in two fields: `doubt`, that some attempt ended without a conclusive answer; and `refusal`, what the last one
was refused with. Where neither a doubt nor an attempt is under way, it is certainly not stored.
"""

from collections.abc import Sequence

from hansard.batch import Batch, build
from hansard.batch.header import unpack

from .callers import Callers
from .change import Checked
from .columns import Columns
from .errors import NotStored

NO_SERIES = -1


class Submission:
    """What a stream keeps of a batch. `first`, `last` and `previous` are its series, once it has been sent."""

    __slots__ = (
        "batch",
        "callers",
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

    def __init__(self, deadline: float, callers: Callers) -> None:
        self.deadline = deadline
        self.callers = callers
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

    def number_as(self, batch: Batch) -> None:
        """It has the numbers that the batch has."""
        self.numbered = True
        self.first, self.last = batch.header.first_series, int(batch.series[-1])
        self.previous = self.sent_previous = batch.header.previous_series
        self.is_sparse = self.last - self.first != self.change_count - 1

    @property
    def certainly_not_stored(self) -> bool:
        return self.sent_id is None and not self.doubt

    def built(self) -> Batch:
        assert self.batch is not None
        return self.batch


class Draft(Submission):
    """Changes that gather until the batch is sent: single ones, or columns of them."""

    __slots__ = ("_keys", "_singles", "_tags", "_values", "open_until")

    def __init__(self, deadline: float, callers: Callers, open_until: float) -> None:
        super().__init__(deadline, callers)
        self.open_until = open_until
        self._singles: list[Checked] = []
        self._keys: list[bytes | None] = []
        self._values: list[bytes | None] = []
        self._tags: list[tuple[str, ...]] = []

    def add(self, change: Checked) -> None:
        assert self.batch is None
        self._singles.append(change)
        self.change_count += 1
        self.length += change.byte_count
        self.weight += change.byte_count

    def extend(self, columns: Columns) -> None:
        assert self.batch is None
        self._keys += columns.keys
        self._values += columns.values
        self._tags += columns.tags
        self.change_count += len(columns.keys)
        self.length += columns.byte_count
        self.weight += columns.byte_count

    def built(self) -> Batch:
        if self.batch is None:
            assert not (self._singles and self._keys)
            if self._singles:
                keys, values, tags, _ = zip(*self._singles, strict=True)
                self.batch = build(keys, values, tags)
            else:
                self.batch = build(self._keys, self._values, self._tags)
            self._singles, self._keys, self._values, self._tags = [], [], [], []
        return self.batch


def parcel(deadline: float, batch: Batch, callers: Callers) -> Submission:
    """A batch as it was given, or the part of it that lives in one bucket."""
    submission = Submission(deadline, callers)
    submission.batch = batch
    submission.change_count = len(batch)
    submission.length = submission.weight = batch.length
    return submission


def parted(whole: Submission, batch: Batch, places: Sequence[int]) -> Submission:
    """A part that takes the whole's place among all that was submitted, and inherits what is known of it."""
    part = parcel(whole.deadline, batch, whole.callers.part(places))
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
