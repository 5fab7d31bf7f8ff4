"""A record of the journal: 64 bytes that say what happens to which bucket, then what belongs to it: a batch or a note.

A record is in its place only if it carries the number of its file, its own position, and the checksum of the
record before it. So neither what is left in a recycled file nor what a crash left behind a torn record can ever be
taken for the journal's continuation.

`synced` is how far the file was known to be on disk when the record was written. A bad record below a later
one's `synced` was on disk and is damaged; a bad record that nobody vouches for is a write that a crash cut short.

As `before` tells whether batches of a bucket are missing before a record, so `note_mark` tells it of notes: it is that
of the note that the bucket had before the record.
"""

import struct
from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import Final, NamedTuple

from crc32c import crc32c

from hansard.batch import Batch, Malformed, reopen

MAGIC: Final = b"HNSR"
RECORD_BYTES: Final = 64
WINDOW_BYTES: Final = 1 << 20
_PACKED = struct.Struct("<4sQIIIqqIIIIII")
_BARE = struct.Struct("<4sQIIIqqIIII")
"""What its checksum is of."""
_KIND_BITS: Final = 8
_CRC_POSITION: Final = _BARE.size
_SEAL = struct.Struct("<II")
assert _PACKED.size == _BARE.size + _SEAL.size == RECORD_BYTES


class Kind(IntEnum):
    BATCH = 1
    """The batch that follows is appended to the bucket."""
    TRUNCATE = 2
    """The bucket's log is cut back: it ends at `after`."""
    MARK = 3
    """Nothing happens; it vouches for what was synced before it."""
    NOTE = 4
    """The note that follows takes the place of the bucket's."""
    RESET = 5
    """The bucket's log is thrown away; an empty one begins at `after`. The note stays."""
    DROP = 6
    """All of the bucket goes."""
    FORK = 7
    """The bucket becomes what another one is, its source; fork.py knows the content that follows. `after` and
    `note_mark` are the source's, which they also tell of."""


NOTE_LOST: Final = 0xFFFFFF
"""The mark of a note that is damaged; no other has it."""


def note_mark(content: bytes) -> int:
    """24 bits that stand for a note; 0 for none."""
    return min(crc32c(content) & 0xFFFFFF, NOTE_LOST - 1)


class Moment(NamedTuple):
    """A place in the journal, and so a time that orders what was done."""

    number: int
    position: int


class Record(NamedTuple):
    kind: int
    bucket: int
    before: int
    """Where the bucket's log ended before this record."""
    after: int
    """Where it ends after it."""
    position: int
    """Of the record in its file; the batch or other content begins RECORD_BYTES later."""
    length: int
    """Of the batch or other content."""
    crc: int
    batch: Batch | None = None
    problem: str = ""
    """Why the batch or other content cannot be read, where it cannot."""
    content: bytes = b""
    """The note, or what a fork is of."""
    note_mark: int = 0
    """Of the bucket's note before this record."""

    def at(self, position: int) -> "Record":
        """The same in its place. Half of what `_replace` costs, and done for each batch."""
        kind, bucket, before, after, _, length, crc, batch, problem, content, note_mark = self
        return Record(kind, bucket, before, after, position, length, crc, batch, problem, content, note_mark)


class Gap(NamedTuple):
    """Bytes of the journal that were on disk once and are no record now."""

    position: int
    length: int


class Scan(NamedTuple):
    """What a file of the journal holds, in order."""

    items: list[Record | Gap]
    end: int
    last_crc: int
    synced: int
    """Up to here some record vouches that the bytes were on disk."""


def pack(record: Record, number: int, synced: int, previous_crc: int) -> tuple[bytes, int]:
    """The record's bytes for its place in file `number`, and its checksum for the next one."""
    content_crc = record.batch.header.crc if record.batch is not None else crc32c(record.content)
    bare = _BARE.pack(
        MAGIC,
        number,
        record.kind | record.note_mark << _KIND_BITS,
        record.position,
        synced,
        record.before,
        record.after,
        record.bucket,
        record.length,
        content_crc,
        previous_crc,
    )
    crc = crc32c(bare)
    return bare + _SEAL.pack(crc, 0), crc


class _Found(NamedTuple):
    record: Record
    synced: int
    content_crc: int
    previous_crc: int


class Window:
    """A file seen through a piece of it at a time. Pieces are small enough for the allocator to use the same memory
    again, which a file read at once is not, and that costs more than the reading."""

    def __init__(self, read: Callable[[int, int], bytes], size: int) -> None:
        self._read = read
        self.size = size
        self.data = b""
        self.start = 0

    def at(self, position: int, length: int) -> int:
        """Where in `data` this place of the file lies, with so many bytes from there on, if the file has them."""
        if position < self.start or position + length > self.start + len(self.data):
            self.data = b""
            self.data, self.start = self._read(position, max(length, WINDOW_BYTES)), position
        return position - self.start


def scan(window: Window, number: int, start: int, known_end: int | None = None) -> Scan:
    """All the records of a file from `start` on; `known_end` where a later file tells how far this one was synced."""
    items: list[Record | Gap] = []
    position, last_crc, after_gap, synced = start, 0, False, start
    limit = window.size if known_end is None else known_end
    while position < limit:
        found = _unpack(window, position, number)
        if found is not None and (after_gap or found.previous_crc == last_crc):
            record = _with_content(found, window)
            end = position + RECORD_BYTES + record.length
            if not record.problem or (end <= limit and _vouched(window, position, number, known_end)):
                items.append(record)
                position, last_crc, after_gap, synced = end, record.crc, False, found.synced
                continue
        if not _vouched(window, position, number, known_end):
            break
        following = next(_later(window, position, number), None)
        stop = limit if following is None else following.record.position
        items.append(Gap(position, stop - position))
        position, after_gap = stop, True
    return Scan(items, position, last_crc, synced)


def _unpack(window: Window, position: int, number: int) -> _Found | None:
    """The record at a position, if one of this file lies there: whole, and written for this very place."""
    place = window.at(position, RECORD_BYTES)
    if len(window.data) - place < RECORD_BYTES:
        return None
    fields = _PACKED.unpack_from(window.data, place)
    magic, file, kind, written_at, synced, before, after, bucket, length, content_crc, previous_crc, crc, _ = fields
    if magic != MAGIC or file != number or written_at != position:
        return None
    if crc32c(memoryview(window.data)[place : place + _CRC_POSITION]) != crc:
        return None
    mark, kind = divmod(kind, 1 << _KIND_BITS)
    record = Record(kind, bucket, before, after, position, length, crc, note_mark=mark)
    return _Found(record, synced, content_crc, previous_crc)


def first_record_number(data: bytes) -> int:
    """The number of the file that begins with this record; -1 if it is none. Records are written after the header is
    on disk, so that a header which is not there was."""
    if len(data) < RECORD_BYTES or data[:4] != MAGIC:
        return -1
    crc, _ = _SEAL.unpack_from(data, _CRC_POSITION)
    return int.from_bytes(data[4:12], "little") if crc32c(data[:_CRC_POSITION]) == crc else -1


def leftovers(window: Window, end: int, number: int) -> Iterator[int]:
    """Where records lie behind the end of a file: a crash tore one before them."""
    return (found.record.position for found in _later(window, end - 1, number))


def _with_content(found: _Found, window: Window) -> Record:
    record = found.record
    if record.kind in {Kind.NOTE, Kind.FORK}:
        place = window.at(record.position, RECORD_BYTES + record.length) + RECORD_BYTES
        content = window.data[place : place + record.length]
        if len(content) != record.length or crc32c(content) != found.content_crc:
            what = "note" if record.kind == Kind.NOTE else "fork"
            return record._replace(problem=f"the {what}'s checksum does not match")
        return record._replace(content=content)
    if record.kind != Kind.BATCH:
        return record
    try:
        place = window.at(record.position, RECORD_BYTES + record.length) + RECORD_BYTES
        batch = reopen(window.data, place)
    except Malformed as error:
        return record._replace(problem=str(error))
    if batch.header.crc != found.content_crc or batch.length != record.length:
        return record._replace(problem="another batch than the one that was written lies here")
    return record._replace(batch=batch)


def _vouched(window: Window, position: int, number: int, known_end: int | None) -> bool:
    """Whether the bytes at a position were on disk once."""
    if known_end is not None:
        return position < known_end
    return any(later.synced > position for later in _later(window, position, number))


def _later(window: Window, position: int, number: int) -> Iterator[_Found]:
    """The records after a position, wherever they are, chain or no chain."""
    pattern = MAGIC + number.to_bytes(8, "little")
    position += 1
    while position < window.size:
        start = window.at(position, RECORD_BYTES)  # may load other data: before `window.data` is looked at
        place = window.data.find(pattern, start)
        if place < 0:
            position = max(position + 1, window.start + len(window.data) - len(pattern) + 1)
            continue
        position = window.start + place
        found = _unpack(window, position, number)
        if found is not None:
            yield found
        position += 1
