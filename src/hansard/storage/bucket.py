"""One bucket as the store keeps it in memory: its note, its segments, and its tail, which is still in the journal.

The tail is read from the journal's files where it lies. Filing copies it into segments, many batches at a time,
and then forgets the entries; a reader does not notice.
"""

from bisect import bisect_left, bisect_right
from typing import Final, NamedTuple

from hansard.batch import Header

from .errors import Corrupt, NotABoundary, OutOfOrder
from .index import fingerprints
from .journal import JournalFile
from .manifest import BucketEntry, Segment
from .record import NOTE_LOST, RECORD_BYTES, Record, note_mark

NO_TAGS: Final[frozenset[int]] = frozenset()


class Entry(NamedTuple):
    """A batch in the journal, or the place of one that is damaged there."""

    base: int
    end: int
    first_timestamp: int
    last_timestamp: int
    epoch: int
    file: JournalFile
    position: int
    """Of the batch, past its record."""
    length: int
    fingerprints: frozenset[int] | None
    """Of its tags; None where nobody has looked."""


class BucketLog:
    """Invariants: what is filed, then the tail, are in order of offsets and do not overlap."""

    def __init__(self, filed: BucketEntry) -> None:
        self.filed = filed
        """The part that is in segments, as the manifest has it or will have it next."""
        self.tail: list[Entry] = []
        self.doubt: Corrupt | None = None
        """Damage in the journal after which nothing of this bucket is known: its end may be missing."""
        self.note = filed.note
        """The last one that can be read. What is filed may have an earlier one."""
        self.note_mark = note_mark(filed.note)
        self.lost_note: Corrupt | None = None
        """Damage in the journal that the bucket's note is, or may be, in: what it promised is not known."""

    @property
    def bucket(self) -> int:
        return self.filed.bucket

    @property
    def start(self) -> int:
        """The first offset that is retained."""
        return self.filed.start

    @property
    def end(self) -> int:
        return self.tail[-1].end if self.tail else self.filed.end

    @property
    def epoch(self) -> int:
        return self.tail[-1].epoch if self.tail else self.filed.epoch

    @property
    def timestamp(self) -> int:
        return self.tail[-1].last_timestamp if self.tail else self.filed.timestamp

    @property
    def standing(self) -> tuple[int, int, int, int]:
        """Where it ends, its epoch and time there, and the mark of its note: what the next record has to follow."""
        if self.tail:
            last = self.tail[-1]
            return last.end, last.epoch, last.last_timestamp, self.note_mark
        filed = self.filed
        return filed.end, filed.epoch, filed.timestamp, self.note_mark

    @property
    def tail_bytes(self) -> int:
        return sum([entry.length for entry in self.tail])

    def check_next(self, end: int, epoch: int, timestamp: int, header: Header) -> None:
        """Whether a batch may follow a log that ends so: offsets may have gaps, but nothing goes back."""
        if header.base_offset < end:
            raise OutOfOrder(self.bucket, "offset", header.base_offset, end)
        if header.epoch < epoch:
            raise OutOfOrder(self.bucket, "epoch", header.epoch, epoch)
        if header.first_timestamp < timestamp:
            raise OutOfOrder(self.bucket, "timestamp", header.first_timestamp, timestamp)

    def append(self, record: Record, file: JournalFile, *, with_tags: bool = True) -> None:
        """What a record says, once it is on disk."""
        position = record.position + RECORD_BYTES
        if record.batch is None:
            self.append_damaged(record.after, file, position, record.length)
            return
        header = record.batch.header
        if not header.tag_names:
            tags: frozenset[int] | None = NO_TAGS
        else:
            tags = fingerprints(record.batch) if with_tags else None
        self.tail.append(
            Entry(
                header.base_offset,
                header.end_offset,
                header.first_timestamp,
                header.last_timestamp,
                header.epoch,
                file,
                position,
                record.length,
                tags,
            )
        )

    def append_damaged(self, end: int, file: JournalFile, position: int, length: int) -> None:
        """The log up to `end` lies in a damaged part of the journal: the place is kept, so that reading it fails."""
        time = self.timestamp
        self.tail.append(Entry(self.end, end, time, time, self.epoch, file, position, length, None))

    def take_note(self, content: bytes) -> None:
        self.note, self.note_mark, self.lost_note = content, note_mark(content), None

    def lose_note(self, damage: Corrupt) -> None:
        self.note_mark, self.lost_note = NOTE_LOST, damage

    def settle(self) -> None:
        """Go on with what is known."""
        self.doubt = None
        self.take_note(self.note)

    def fork(self, filed: BucketEntry) -> "BucketLog":
        """Another bucket that is what this one is, damage and all; `filed` is what it has in segments."""
        other = BucketLog(filed)
        other.tail = list(self.tail)
        if self.doubt is not None:
            other.doubt = self.doubt.of(other.bucket)
        if self.lost_note is not None:
            other.lose_note(self.lost_note.of(other.bucket))
        return other

    def reset(self, start: int) -> None:
        """An empty log that begins at `start`, with the same note."""
        self.filed = BucketEntry(self.bucket, start, start, note=self.filed.note)
        self.tail, self.doubt = [], None

    def truncate_tail(self, end: int) -> None:
        """Forget what the tail has from `end` on."""
        cut = bisect_left(self.tail, end, key=lambda entry: entry.base)
        if cut and self.tail[cut - 1].end > end:
            raise NotABoundary(self.bucket, end, self.tail[cut - 1].base, self.tail[cut - 1].end)
        del self.tail[cut:]
        self.doubt = None

    def segment_at(self, offset: int) -> Segment | None:
        """The segment that holds an offset, or the first one after it."""
        place = bisect_right(self.filed.segments, offset, key=lambda segment: segment.end)
        return self.filed.segments[place] if place < len(self.filed.segments) else None

    def segment_before(self, offset: int) -> Segment | None:
        """The last segment with anything before an offset."""
        place = bisect_left(self.filed.segments, offset, key=lambda segment: segment.base)
        return self.filed.segments[place - 1] if place else None

    def tail_at(self, offset: int) -> int:
        """The place in the tail of the entry that holds an offset, or of the first one after it."""
        return bisect_right(self.tail, offset, key=lambda entry: entry.end)

    def tail_before(self, offset: int) -> int:
        """The place of the last entry with anything before an offset; -1 if there is none."""
        return bisect_left(self.tail, offset, key=lambda entry: entry.base) - 1

    def entries_below(self, number: int) -> list[Entry]:
        """The entries in journal files below `number`."""
        return self.tail[: bisect_left(self.tail, number, key=lambda entry: entry.file.number)]

    def take_filed(self, filed: BucketEntry, count: int) -> None:
        """The first `count` entries of the tail are in segments now."""
        self.filed = filed
        del self.tail[:count]
