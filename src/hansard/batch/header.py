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
_PLACE = struct.Struct("<qqqq")
_PLACE_POSITION = 32
"""Epoch, offset and times stand together, so that a leader fills them in without taking the header apart."""
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
_PLAIN_FLAGS: Final = Flag.INTERNAL | Flag.NULL_KEYS | Flag.NULL_VALUES
"""Those that say nothing of the header's other fields."""


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
        return _sealed(_PACKED.pack(*self)[:_CRC_POSITION])

    def packed_for(self, body_length: int, raw_length: int, body_crc: int) -> bytes:
        """The same with what it says of the body; replacing these three fields first would take twice as long."""
        before, after = self[:_BODY_FIELD], self[_BODY_FIELD + 3 :]
        return _sealed(_PACKED.pack(*before, body_length, raw_length, body_crc, *after)[:_CRC_POSITION])


_BODY_FIELD: Final = Header._fields.index("body_length")
assert Header._fields[_BODY_FIELD : _BODY_FIELD + 3] == ("body_length", "raw_length", "body_crc")


def _sealed(bare: bytes) -> bytes:
    return bare + _CRC.pack(crc32c(bare))


def with_place(head: Buffer, epoch: int, base_offset: int, first_timestamp: int, last_timestamp: int) -> bytes:
    """A packed header with what is the leader's to fill in."""
    place = _PLACE.pack(epoch, base_offset, first_timestamp, last_timestamp)
    return _sealed(b"".join((head[:_PLACE_POSITION], place, head[_PLACE_POSITION + _PLACE.size : _CRC_POSITION])))


def octets(buffer: Buffer) -> memoryview:
    """The buffer as plain bytes that cannot be written through: no vector laid over it may change a batch."""
    view = buffer if type(buffer) is memoryview else memoryview(buffer)
    if not view.readonly:
        view = view.toreadonly()
    return view if view.format == "B" and view.contiguous and view.ndim == 1 else memoryview(view.tobytes())


def unpack(buffer: Buffer, position: int = 0) -> Header:
    """The header at a position of bytes that are known to be good."""
    return tuple.__new__(Header, _PACKED.unpack_from(buffer, position))  # as _make does, in half the time


def check(buffer: Buffer, position: int = 0) -> Header:
    """The header at a position of bytes that may be anything; raises the Malformed that fits.

    After this the header is as some builder wrote it, and its lengths may be used to find the body.
    """
    return checked(octets(buffer), position)


def checked(view: memoryview, position: int) -> Header:
    """The same for what are plain bytes for sure."""
    assert position >= 0
    head = view[position : position + HEADER_BYTES]
    if len(head) < HEADER_BYTES:
        raise TooShort(HEADER_BYTES, len(head))
    header = unpack(head)
    if crc32c(head[:_CRC_POSITION]) == header.crc and _is_usual(header):
        return header
    return _judged(head, header)


def _is_usual(header: Header) -> bool:
    """Whether it is one of a client's, as most are, in which nothing is wrong but the checksum at most. All at once:
    False says nothing, and `_judged` looks at one thing after the other."""
    (
        magic,
        version,
        flags,
        count,
        span,
        length,
        raw_length,
        _,
        names,
        epoch,
        base_offset,
        first_timestamp,
        last_timestamp,
        connection,
        first_series,
        previous_series,
        codes,
        _,
    ) = header
    return (
        magic == MAGIC
        and version == VERSION
        and not flags & ~_PLAIN_FLAGS
        and 0 < count == span <= CHANGES_MAX
        and length == raw_length <= BATCH_BYTES_MAX - HEADER_BYTES
        and not length & 7
        and names <= codes
        and epoch >= 0
        and 0 <= base_offset <= INT64_MAX - SPAN_MAX
        and 0 <= first_timestamp == last_timestamp <= TIMESTAMP_MAX
        and connection > 0
        and -1 <= previous_series < first_series <= INT64_MAX - CHANGES_MAX
    )


def _judged(head: memoryview, header: Header) -> Header:
    if header.magic != MAGIC:
        raise WrongMagic(header.magic)
    if header.version != VERSION:
        raise UnknownVersion(header.version)
    if crc32c(head[:_CRC_POSITION]) != header.crc:
        raise BadChecksum("header")
    flags = header.flags
    if flags & ~_KNOWN_FLAGS:
        raise UnknownFlags(flags)
    _check_lengths(header)
    _check_place(header)
    problem = client_problem(
        header.connection,
        header.first_series,
        header.previous_series,
        header.change_count,
        series_column=flags & Flag.SERIES != 0,
        connections_column=flags & Flag.CONNECTIONS != 0,
    )
    if problem:
        raise BadHeader(*problem)
    return header


# A checksum says that the fields are as somebody wrote them, not that they make sense: they are held against the
# limits and against each other.


def _check_lengths(header: Header) -> None:
    if header.change_count > CHANGES_MAX:
        raise OverLimit("changes in a batch", CHANGES_MAX, header.change_count)
    body_length, raw_length = header.body_length, header.raw_length
    if body_length > BATCH_BYTES_MAX - HEADER_BYTES or body_length % 8:
        _check_length("body_length", body_length)
    if raw_length != body_length:
        _check_length("raw_length", raw_length)
        if not header.flags & Flag.COMPRESSED:
            raise BadHeader("raw_length", "differs from the body's though that is not compressed")
    if header.tag_names > header.tag_codes:
        raise BadHeader("tag_names", f"{header.tag_names} tags cannot all occur among {header.tag_codes}")


def _check_length(field: str, length: int) -> None:
    if length > BATCH_BYTES_MAX - HEADER_BYTES:
        raise OverLimit(field, BATCH_BYTES_MAX - HEADER_BYTES, length)
    if length % 8:
        raise BadHeader(field, f"{length} is no multiple of 8")


def _check_place(header: Header) -> None:
    count, span, base_offset, flags = header.change_count, header.span, header.base_offset, header.flags
    first_timestamp, last_timestamp = header.first_timestamp, header.last_timestamp
    if span > SPAN_MAX:
        raise OverLimit("span", SPAN_MAX, span)
    if span < count or not span or (span != count and not flags & Flag.OFFSETS):
        raise BadHeader("span", f"is {span} for {count} changes")
    if header.epoch < 0:
        raise BadHeader("epoch", "is negative")
    if base_offset < 0 or base_offset > INT64_MAX - span:
        raise BadHeader("base_offset", f"{base_offset} is out of range")
    if not 0 <= first_timestamp <= last_timestamp <= TIMESTAMP_MAX:
        raise BadHeader("timestamps", "are out of order or out of range")
    if first_timestamp != last_timestamp and not (flags & Flag.TIMESTAMPS and count):
        raise BadHeader("last_timestamp", "differs from the first though no change has a time of its own")
