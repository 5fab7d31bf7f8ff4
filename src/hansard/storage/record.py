"""A record of the journal: 64 bytes that say what happens to which bucket, then the batch, if there is one.

A record is in its place only if it carries the number of its file, its own position, and the checksum of the
record before it. So neither what is left in a recycled file nor what a crash left behind a torn record can ever be
taken for the journal's continuation.

`synced` is how far the file was known to be on disk when the record was written. A bad record below a later
one's `synced` was on disk and is damaged; a bad record that nobody vouches for is a write that a crash cut short.
"""

import struct
from collections.abc import Iterator
from enum import IntEnum
from typing import Final, NamedTuple

from crc32c import crc32c

from hansard.batch import Batch, Malformed, reopen

MAGIC: Final = b"HNSR"
RECORD_BYTES: Final = 64
_PACKED = struct.Struct("<4sQIIIqqIIIIII")
_CRC_POSITION: Final = 56
_CRC = struct.Struct("<I")
assert _PACKED.size == RECORD_BYTES


class Kind(IntEnum):
    BATCH = 1
    """The batch that follows is appended to the bucket."""
    TRUNCATE = 2
    """The bucket's log is cut back: it ends at `after`."""
    MARK = 3
    """Nothing happens; it vouches for what was synced before it."""


class Record(NamedTuple):
    kind: int
    bucket: int
    before: int
    """Where the bucket's log ended before this record."""
    after: int
    """Where it ends after it."""
    position: int
    """Of the record in its file; the batch begins RECORD_BYTES later."""
    length: int
    """Of the batch."""
    crc: int
    batch: Batch | None = None
    problem: str = ""
    """Why the batch cannot be read, where it cannot."""


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
    content_crc = record.batch.header.crc if record.batch is not None else 0
    bare = _PACKED.pack(
        MAGIC,
        number,
        record.kind,
        record.position,
        synced,
        record.before,
        record.after,
        record.bucket,
        record.length,
        content_crc,
        previous_crc,
        0,
        0,
    )[:_CRC_POSITION]
    crc = crc32c(bare)
    return bare + _CRC.pack(crc) + bytes(4), crc


class _Found(NamedTuple):
    record: Record
    synced: int
    content_crc: int
    previous_crc: int


def _unpack(data: bytes, position: int, number: int) -> _Found | None:
    """The record at a position, if one of this file lies there: whole, and written for this very place."""
    if len(data) - position < RECORD_BYTES:
        return None
    fields = _PACKED.unpack_from(data, position)
    magic, file, kind, place, synced, before, after, bucket, length, content_crc, previous_crc, crc, _ = fields
    if magic != MAGIC or file != number or place != position:
        return None
    if crc32c(memoryview(data)[position : position + _CRC_POSITION]) != crc:
        return None
    return _Found(Record(kind, bucket, before, after, position, length, crc), synced, content_crc, previous_crc)


def scan(data: bytes, number: int, start: int, known_end: int | None = None) -> Scan:
    """All the records of a file from `start` on; `known_end` where a later file tells how far this one was synced."""
    items: list[Record | Gap] = []
    position, last_crc, after_gap, synced = start, 0, False, start
    limit = len(data) if known_end is None else known_end
    while position < limit:
        found = _unpack(data, position, number)
        if found is not None and (after_gap or found.previous_crc == last_crc):
            record = _with_batch(found, data)
            end = position + RECORD_BYTES + record.length
            if not record.problem or (end <= limit and _vouched(data, position, number, known_end)):
                items.append(record)
                position, last_crc, after_gap, synced = end, record.crc, False, found.synced
                continue
        if not _vouched(data, position, number, known_end):
            break
        following = next(_later(data, position, number), None)
        stop = limit if following is None else following.record.position
        items.append(Gap(position, stop - position))
        position, after_gap = stop, True
    return Scan(items, position, last_crc, synced)


def _with_batch(found: _Found, data: bytes) -> Record:
    record = found.record
    if record.kind != Kind.BATCH:
        return record
    try:
        batch = reopen(data, record.position + RECORD_BYTES)
    except Malformed as error:
        return record._replace(problem=str(error))
    if batch.header.crc != found.content_crc or batch.length != record.length:
        return record._replace(problem="another batch than the one that was written lies here")
    return record._replace(batch=batch)


def _vouched(data: bytes, position: int, number: int, known_end: int | None) -> bool:
    """Whether the bytes at a position were on disk once."""
    if known_end is not None:
        return position < known_end
    return any(later.synced > position for later in _later(data, position, number))


def _later(data: bytes, position: int, number: int) -> Iterator[_Found]:
    """The records after a position, wherever they are, chain or no chain."""
    pattern = MAGIC + number.to_bytes(8, "little")
    while (position := data.find(pattern, position + 1)) >= 0:
        found = _unpack(data, position, number)
        if found is not None:
            yield found
