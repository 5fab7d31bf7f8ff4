"""What can be written to a store, as data: a caller puts together a sequence, and the store does it strictly in order.

Each write is whole or absent after a crash, and none is there without those before it. A run of appends and notes is
one write of the journal and one sync, for any number of buckets; each of the others costs syncs of its own.
"""

import re
from collections.abc import Callable, Sequence
from copy import copy
from typing import Final, TypeAlias

import msgspec

from hansard.batch import Batch

from .bucket import BucketLog
from .record import NOTE_LOST, RECORD_BYTES, Kind, Record, note_mark

NOTE_BYTES_MAX: Final = 64 << 10
DOCUMENT_BYTES_MAX: Final = 64 << 20
BATCH: Final = Kind.BATCH
"""By this name: by the class's it takes longer."""
DOCUMENT_NAME: Final = re.compile(r"[a-z0-9-]{1,40}")


class Append(msgspec.Struct, frozen=True):
    """The batch follows the bucket's log."""

    bucket: int
    batch: Batch


class Note(msgspec.Struct, frozen=True):
    """The bucket's note, in place of the one it has."""

    bucket: int
    content: bytes

    def __post_init__(self) -> None:
        if len(self.content) > NOTE_BYTES_MAX:
            raise ValueError(f"a note of {len(self.content)} bytes; {NOTE_BYTES_MAX} is the most")


class Cut(msgspec.Struct, frozen=True):
    """The log ends at `end`, between two batches. One that ends there or before stays as it is."""

    bucket: int
    end: int


class Trim(msgspec.Struct, frozen=True):
    """What is before `start` may go. Whole segments go now, unless a reader holds them; of the rest what a later trim
    finds in whole segments. Where the log begins is told by its bounds."""

    bucket: int
    start: int


class Reset(msgspec.Struct, frozen=True):
    """The whole log goes, and an empty one begins at `start`, with any epoch and time. Note and documents stay."""

    bucket: int
    start: int

    def __post_init__(self) -> None:
        if self.start < 0:
            raise ValueError(f"no log begins at {self.start}")


class Keep(msgspec.Struct, frozen=True):
    """A document of the bucket, in place of any other of that name."""

    bucket: int
    name: str
    content: bytes

    def __post_init__(self) -> None:
        if not DOCUMENT_NAME.fullmatch(self.name):
            raise ValueError(f"{self.name!r} is no name for a document")
        if len(self.content) > DOCUMENT_BYTES_MAX:
            raise ValueError(f"a document of {len(self.content)} bytes; {DOCUMENT_BYTES_MAX} is the most")


class Discard(msgspec.Struct, frozen=True):
    """The document goes, if it is there."""

    bucket: int
    name: str


class Drop(msgspec.Struct, frozen=True):
    """All of the bucket goes: log, note, documents, and what readers hold of it."""

    bucket: int


class Fork(msgspec.Struct, frozen=True):
    """The bucket, of which there must be nothing, becomes what another one is at this moment: its log, note and
    documents. From then on both go their own ways. What readers hold is the source's alone."""

    bucket: int
    source: int


Grouped: TypeAlias = Append | Note
Alteration: TypeAlias = Cut | Trim | Reset | Keep | Discard | Drop | Fork
Write: TypeAlias = Grouped | Alteration


def records_of(run: Sequence[Grouped], log_of: Callable[[int], BucketLog], position: int = 0) -> list[Record]:
    """The journal's records of a run, checked against the logs, and against each other; as they lie from a position
    on."""
    ahead: dict[int, tuple[int, int, int, int]] = {}  # end, epoch, time and note mark as the run leaves them so far
    records: list[Record] = []
    for write in run:
        bucket = write.bucket
        log = log_of(bucket)
        if log.doubt is not None:
            raise copy(log.doubt)
        end, epoch, timestamp, mark = ahead.get(bucket) or log.standing
        if isinstance(write, Note):
            content = write.content
            records.append(Record(Kind.NOTE, bucket, end, end, position, len(content), 0, None, "", content, mark))
            ahead[bucket] = (end, epoch, timestamp, note_mark(content))
            position += RECORD_BYTES + len(content)
            continue
        if mark == NOTE_LOST:
            assert log.lost_note is not None
            raise copy(log.lost_note)
        batch, header = write.batch, write.batch.header
        log.check_next(end, epoch, timestamp, header)
        after, length = header.end_offset, batch.length
        records.append(Record(BATCH, bucket, end, after, position, length, 0, batch, "", b"", mark))
        ahead[bucket] = (after, header.epoch, header.last_timestamp, mark)
        position += RECORD_BYTES + length
    return records
