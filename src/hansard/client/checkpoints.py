"""Which checkpoints there are of some tags: found in the log, by the records of those who make them."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from hansard.bookmark import BadPlace, Bookmark
from hansard.checkpoint import BadRecord, Docket, End, Filed, Layer, Record, Subject, decoded

from .page import Change, Page

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Checkpoint(NamedTuple):
    """The latest change of each key among those that carry some tags, at a bookmark."""

    subject: Subject
    number: int
    bookmark: Bookmark
    """To follow from: everything before it is in it."""
    location: str
    layers: tuple[Layer, ...]
    """The oldest first; what a later one says of a key counts."""
    time: datetime
    id: str
    who: str

    def is_followed_from(self, start: Bookmark) -> bool:
        """Whether everything after it is there, where the log begins at `start`."""
        places = [(self.bookmark.offset(bucket), first) for bucket, first in start.offsets.items()]
        return start.log_id == self.bookmark.log_id and all((place or 0) >= first for place, first in places)

    def __str__(self) -> str:
        return f"checkpoint {self.number} of {self.subject}, made at {self.time:%Y-%m-%d %H:%M:%S} UTC"


def checkpoint_of(subject: Subject, filed: Filed[End]) -> Checkpoint | None:
    """None where the record names no place."""
    end = filed.record
    try:
        bookmark = Bookmark.parse(end.bookmark)
    except BadPlace:
        return None
    time = _EPOCH + timedelta(microseconds=filed.timestamp_us)
    return Checkpoint(subject, end.number, bookmark, end.location, end.layers, time, end.id, end.who)


def filed_of(change: Change) -> Filed[Record] | None:
    """The record that a change is; None if it is none."""
    try:
        return Filed(decoded(change.value), change.offset, change.timestamp)
    except BadRecord:
        return None


async def docket_of(before: Callable[[Bookmark | None], Awaitable[Page]], ends: int) -> Docket:
    """What follows from the last records of a subject. `before` gives a page of them, backwards, from a bookmark or
    from the end of the log. It is read back until there are as many ends as are wanted and the one before those:
    whatever is about their numbers comes after that, so that the first of each is among what was read."""
    found: list[Filed[Record]] = []
    until: Bookmark | None = None
    while True:
        page = await before(until)
        found += [filed for filed in map(filed_of, page.changes) if filed is not None]
        if page.at_start or not page.changes or _has_all([filed.record for filed in found], ends):
            break
        until = page.bookmark
    return Docket.of(reversed(found))


def _has_all(records: Sequence[Record], wanted: int) -> bool:
    ends = [record for record in records if isinstance(record, End)]
    numbers = sorted({end.number for end in ends}, reverse=True)
    if len(numbers) <= wanted:
        return False
    before = {end.base for end in ends if end.number == numbers[wanted - 1]}
    return any(end.id in before for end in ends)
