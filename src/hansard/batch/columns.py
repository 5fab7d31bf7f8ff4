"""The columns of a batch that is being made, and the one place that writes them as a body."""

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from .batch import Batch, Int32s, Int64s, Mask, assemble
from .errors import LimitExceeded
from .header import HEADER_BYTES, MAGIC, VERSION, Buffer, Flag, Header
from .layout import layout, padding
from .limits import BATCH_BYTES_MAX, CHANGES_MAX
from .numbering import NO_SERIES

EMPTY_HEADER = Header(
    magic=MAGIC,
    version=VERSION,
    flags=0,
    change_count=0,
    span=0,
    body_length=0,
    raw_length=0,
    body_crc=0,
    tag_names=0,
    epoch=0,
    base_offset=0,
    first_timestamp=0,
    last_timestamp=0,
    connection=0,
    first_series=0,
    previous_series=NO_SERIES,
    tag_codes=0,
    crc=0,
)


class Blobs(NamedTuple):
    """A column of byte strings: where each ends, the bytes in any pieces, and which are there at all (None: all)."""

    ends: Int32s
    pieces: Sequence[Buffer]
    present: Mask | None


class Tags(NamedTuple):
    """The column of tags: where each change's codes end, the codes, and the dictionary they point into."""

    ends: Int32s
    codes: Int32s
    names: Sequence[bytes]

    @classmethod
    def none(cls, change_count: int) -> "Tags":
        return cls(np.zeros(change_count + 1, np.int32), np.zeros(0, np.int32), ())


class Columns(NamedTuple):
    """Everything that a body is made of. Columns that are None are not stored."""

    hashes: Int64s
    keys: Blobs
    values: Blobs
    tags: Tags
    timestamps: Int64s | None = None
    connections: Int64s | None = None
    series: Int64s | None = None
    offsets: Int32s | None = None


def pack(header: Header, columns: Columns) -> Batch:
    """The batch of these columns. What they say overrides the header."""
    keys, values, tags = columns.keys, columns.values, columns.tags
    first_timestamp, last_timestamp = header.first_timestamp, header.last_timestamp
    if columns.timestamps is not None and len(columns.timestamps):
        first_timestamp, last_timestamp = int(columns.timestamps[0]), int(columns.timestamps[-1])
    header = header._replace(
        flags=header.flags & Flag.INTERNAL | _flags(columns),
        change_count=len(columns.hashes),
        tag_names=len(tags.names),
        tag_codes=len(tags.codes),
        first_timestamp=first_timestamp,
        last_timestamp=last_timestamp,
    )
    name_ends = counted_ends(map(len, tags.names), len(tags.names))
    length = layout(header).blobs + int(name_ends[-1]) + int(keys.ends[-1]) + int(values.ends[-1])
    check_size(header.change_count, HEADER_BYTES + length)
    numbers = (columns.timestamps, columns.connections, columns.series, columns.offsets)
    bitmaps = [np.packbits(bits, bitorder="little") for bits in (keys.present, values.present) if bits is not None]
    pieces: tuple[Any, ...] = (  # buffers all, which mypy does not know of vectors
        columns.hashes,
        *[column for column in numbers if column is not None],
        keys.ends,
        values.ends,
        tags.ends,
        tags.codes,
        name_ends,
        *bitmaps,
        *tags.names,
        *keys.pieces,
        *values.pieces,
        bytes(padding(length)),
    )
    body = b"".join(pieces)
    assert len(body) == length + padding(length)
    return assemble(header, body)


def covering(base_offset: int, end_offset: int, epoch: int, timestamp: int) -> Batch:
    """A batch without changes, for offsets that nobody has any more: the log goes on after them."""
    header = EMPTY_HEADER._replace(
        flags=Flag.INTERNAL,
        span=end_offset - base_offset,
        epoch=epoch,
        base_offset=base_offset,
        first_timestamp=timestamp,
        last_timestamp=timestamp,
    )
    blobs = Blobs(np.zeros(1, np.int32), (), None)
    return pack(header, Columns(np.zeros(0, np.int64), blobs, blobs, Tags.none(0), offsets=np.zeros(0, np.int32)))


def check_size(change_count: int, byte_count: int) -> None:
    """Before anything of size is put together, and before a sum could overflow a vector of ends."""
    if change_count > CHANGES_MAX:
        raise LimitExceeded("changes in a batch", CHANGES_MAX, change_count)
    if byte_count > BATCH_BYTES_MAX:
        raise LimitExceeded("bytes in a batch", BATCH_BYTES_MAX, byte_count)


def _flags(columns: Columns) -> int:
    flags = 0
    for flag, column in (
        (Flag.OFFSETS, columns.offsets),
        (Flag.TIMESTAMPS, columns.timestamps),
        (Flag.SERIES, columns.series),
        (Flag.CONNECTIONS, columns.connections),
        (Flag.NULL_KEYS, columns.keys.present),
        (Flag.NULL_VALUES, columns.values.present),
    ):
        if column is not None:
            flags |= flag
    return flags


def check_longest(ends: Int32s, field: str, limit: int) -> None:
    if ends[-1] > limit and (longest := int((ends[1:] - ends[:-1]).max())) > limit:
        raise LimitExceeded(field, limit, longest)


def running_ends(lengths: Int32s) -> Int32s:
    """Where each of these lengths ends when they follow each other, with a zero in front."""
    ends = np.zeros(len(lengths) + 1, np.int32)
    np.add.accumulate(lengths, out=ends[1:])
    return ends


def counted_ends(lengths: Iterable[int], count: int) -> Int32s:
    """The same of Python's numbers; for a few it is much faster, for many no slower."""
    try:
        return np.fromiter(accumulate(lengths, initial=0), np.int32, count + 1)
    except OverflowError as error:
        raise LimitExceeded("bytes in a batch", BATCH_BYTES_MAX, 1 << 31) from error
