"""Where each column of a body lies. All of it follows from the header, so finding a column costs the same
for one change and for ten thousand.

The wide vectors come first, then the narrow ones, then bitmaps, then bytes: everything is aligned without
padding in between. A body is padded with zeros to a multiple of 8, so that the next batch of a file is aligned too.
"""

import struct
import sys
from functools import lru_cache
from typing import Final, NamedTuple

from .header import Buffer, Flag, Header

assert sys.byteorder == "little", "columns are read in place, and their bytes are in little-endian order"

_INT32 = struct.Struct("<i")

ABSENT: Final = -1
"""The position of a column that this batch does not have."""


class Layout(NamedTuple):
    hashes: int
    timestamps: int
    connections: int
    series: int
    offsets: int
    key_ends: int
    value_ends: int
    tag_ends: int
    tag_codes: int
    name_ends: int
    key_bits: int
    value_bits: int
    blobs: int
    """Tag names, then keys, then values, each beginning where the one before ends."""


def layout(header: Header) -> Layout:
    return _layout(header.flags, header.change_count, header.tag_codes, header.tag_names)


@lru_cache(maxsize=1024)
def _layout(flags: int, count: int, tag_codes: int, tag_names: int) -> Layout:
    """Remembered, because small batches, for which it costs the most, are much alike."""
    wide, narrow, bits = 8 * count, 4 * count, (count + 7) // 8
    ends = narrow + 4
    position = wide
    timestamps = connections = series = offsets = key_bits = value_bits = ABSENT
    if flags & Flag.TIMESTAMPS:
        timestamps, position = position, position + wide
    if flags & Flag.CONNECTIONS:
        connections, position = position, position + wide
    if flags & Flag.SERIES:
        series, position = position, position + wide
    if flags & Flag.OFFSETS:
        offsets, position = position, position + narrow
    key_ends = position
    value_ends = key_ends + ends
    tag_ends = value_ends + ends
    codes = tag_ends + ends
    name_ends = codes + 4 * tag_codes
    position = name_ends + 4 * (tag_names + 1)
    if flags & Flag.NULL_KEYS:
        key_bits, position = position, position + bits
    if flags & Flag.NULL_VALUES:
        value_bits, position = position, position + bits
    return Layout(
        hashes=0,
        timestamps=timestamps,
        connections=connections,
        series=series,
        offsets=offsets,
        key_ends=key_ends,
        value_ends=value_ends,
        tag_ends=tag_ends,
        tag_codes=codes,
        name_ends=name_ends,
        key_bits=key_bits,
        value_bits=value_bits,
        blobs=position,
    )


class BlobPositions(NamedTuple):
    names: int
    keys: int
    values: int
    end: int
    """Where the values end, and at most 7 bytes of padding begin."""


def names_length(header: Header, where: Layout, raw: Buffer) -> int:
    length: int = _INT32.unpack_from(raw, where.name_ends + 4 * header.tag_names)[0]
    return length


def blob_positions(header: Header, where: Layout, raw: Buffer) -> BlobPositions:
    """Where the bytes of each kind lie. Only the last entry of each vector of ends is looked at."""
    keys_length: int = _INT32.unpack_from(raw, where.key_ends + 4 * header.change_count)[0]
    values_length: int = _INT32.unpack_from(raw, where.value_ends + 4 * header.change_count)[0]
    keys = where.blobs + names_length(header, where, raw)
    values = keys + keys_length
    return BlobPositions(where.blobs, keys, values, values + values_length)


def padding(length: int) -> int:
    """Zero bytes that fill up to a multiple of 8."""
    return -length % 8
