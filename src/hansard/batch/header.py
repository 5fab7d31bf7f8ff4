"""The fixed header: all that routing, ordering and storing need to know of a batch.

Two checksums, so that a leader can fill in epoch, offset and time without touching the body: the body's is
made once by whoever built it, the header's covers the header (and with it the body's) and is made anew.
"""

import struct
from typing import Final, NamedTuple

from crc32c import crc32c

from .errors import BadChecksum, BadHeader, OverLimit, TooShort, UnknownFlags, UnknownVersion, WrongMagic
from .limits import BATCH_BYTES_MAX, CHANGES_MAX, INT64_MAX, SPAN_MAX, TIMESTAMP_MAX
from .numbering import client_problem

MAGIC: Final = b"HNSB"
VERSION: Final = 1
HEADER_BYTES: Final = 96

_PACKED = struct.Struct("<4sHHIIIIIIqqqqqqqII")
_CRC = struct.Struct("<I")
_CRC_POSITION = HEADER_BYTES - _CRC.size
assert _PACKED.size == HEADER_BYTES

Buffer = bytes | bytearray | memoryview


class Flag:
    """Which optional columns the body has, and how it is kept. Plain numbers: an IntFlag costs a microsecond a test."""

    COMPRESSED: Final = 1
    """The body is one zstd frame and zero padding."""
    INTERNAL: Final = 2
    """Written by the system itself; never shown to a reader."""
    OFFSETS: Final = 4
    """Offsets have gaps: a column of distances from the base offset."""
    TIMESTAMPS: Final = 8
    """Changes differ in time: a column. Without it all have the header's."""
    SERIES: Final = 16
    """Series have gaps: a column. Without it they count up from the first."""
    CONNECTIONS: Final = 32
    """Several clients' changes: a column of connections. Always with SERIES."""
    NULL_KEYS: Final = 64
    """Some changes have no key: a bitmap says which have."""
    NULL_VALUES: Final = 128
    """Some changes have no value (the key is deleted): a bitmap says which have."""


_KNOWN_FLAGS: Final = 0xFF


class Header(NamedTuple):
    magic: bytes
    version: int
    flags: int
    change_count: int
    span: int
    """Offsets covered: the log goes on at base_offset + span. Equals count unless there are gaps."""
    body_length: int
    raw_length: int
    """The body's length once uncompressed."""
    body_crc: int
    tag_names: int
    """Entries of the tag dictionary."""
    epoch: int
    base_offset: int
    first_timestamp: int
    """Microseconds since 1970, UTC; zero until a leader fills it in."""
    last_timestamp: int
    connection: int
    """Zero: nobody's, or several clients' (then there is a column)."""
    first_series: int
    previous_series: int
    """The series that this client sent to this bucket before; -1 if none."""
    tag_codes: int
    """Tags of all changes together."""
    crc: int

    @property
    def end_offset(self) -> int:
        """The first offset after this batch."""
        return self.base_offset + self.span

    @property
    def length(self) -> int:
        """Header and body, as stored."""
        return HEADER_BYTES + self.body_length

    def packed(self) -> bytes:
        """The header's bytes, with its checksum made anew."""
        bare = _PACKED.pack(*self)[:_CRC_POSITION]
        return bare + _CRC.pack(crc32c(bare))


def octets(buffer: Buffer) -> memoryview:
    """The buffer as plain bytes that cannot be written through: no vector laid over it may change a batch."""
    view = memoryview(buffer).toreadonly()
    return view if view.format == "B" and view.contiguous and view.ndim == 1 else memoryview(view.tobytes())


def unpack(buffer: Buffer, position: int = 0) -> Header:
    """The header at a position of bytes that are known to be good."""
    return Header._make(_PACKED.unpack_from(buffer, position))


def check(buffer: Buffer, position: int = 0) -> Header:
    """The header at a position of bytes that may be anything; raises the Malformed that fits.

    After this the header is as some builder wrote it, and its lengths may be used to find the body.
    """
    assert position >= 0
    head = octets(buffer)[position : position + HEADER_BYTES]
    if len(head) < HEADER_BYTES:
        raise TooShort(HEADER_BYTES, len(head))
    header = unpack(head)
    if header.magic != MAGIC:
        raise WrongMagic(header.magic)
    if header.version != VERSION:
        raise UnknownVersion(header.version)
    if crc32c(head[:_CRC_POSITION]) != header.crc:
        raise BadChecksum("header")
    if header.flags & ~_KNOWN_FLAGS:
        raise UnknownFlags(header.flags)
    _check_lengths(header)
    _check_place(header)
    problem = client_problem(
        connection=header.connection,
        first_series=header.first_series,
        previous_series=header.previous_series,
        change_count=header.change_count,
        series_column=bool(header.flags & Flag.SERIES),
        connections_column=bool(header.flags & Flag.CONNECTIONS),
    )
    if problem:
        raise BadHeader(*problem)
    return header


# A checksum says that the fields are as somebody wrote them, not that they make sense: they are held against the
# limits and against each other.


def _check_lengths(header: Header) -> None:
    if header.change_count > CHANGES_MAX:
        raise OverLimit("changes in a batch", CHANGES_MAX, header.change_count)
    for field, length in (("body_length", header.body_length), ("raw_length", header.raw_length)):
        if length > BATCH_BYTES_MAX - HEADER_BYTES:
            raise OverLimit(field, BATCH_BYTES_MAX - HEADER_BYTES, length)
        if length % 8:
            raise BadHeader(field, f"{length} is no multiple of 8")
    if not header.flags & Flag.COMPRESSED and header.body_length != header.raw_length:
        raise BadHeader("raw_length", "differs from the body's though that is not compressed")
    if header.tag_names > header.tag_codes:
        raise BadHeader("tag_names", f"{header.tag_names} tags cannot all occur among {header.tag_codes}")


def _check_place(header: Header) -> None:
    count, span, flags = header.change_count, header.span, header.flags
    if span > SPAN_MAX:
        raise OverLimit("span", SPAN_MAX, span)
    if span < max(count, 1) or (span != count and not flags & Flag.OFFSETS):
        raise BadHeader("span", f"is {span} for {count} changes")
    if header.epoch < 0:
        raise BadHeader("epoch", "is negative")
    if header.base_offset < 0 or header.base_offset > INT64_MAX - span:
        raise BadHeader("base_offset", f"{header.base_offset} is out of range")
    if not 0 <= header.first_timestamp <= header.last_timestamp <= TIMESTAMP_MAX:
        raise BadHeader("timestamps", "are out of order or out of range")
    if header.first_timestamp != header.last_timestamp and not (flags & Flag.TIMESTAMPS and count):
        raise BadHeader("last_timestamp", "differs from the first though no change has a time of its own")
