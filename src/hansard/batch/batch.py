"""A batch as received: the header unpacked, the columns as views over the body's own bytes.

Nothing is decoded until somebody asks for a column, and then only by laying a vector over the bytes. Whoever
makes a `Batch` from bytes of unknown origin calls `verify` (from outside) or `reopen` (from our own disk) instead
of the constructor, which believes what it is given.
"""

import itertools
from collections.abc import Iterator
from typing import TypeVar

import numpy as np
import pyarrow as pa
from crc32c import crc32c
from numpy.typing import NDArray

from .change import Change
from .compression import LEVEL, compress, decompress
from .errors import BadChecksum, TooShort
from .header import HEADER_BYTES, Buffer, Flag, Header, checked, octets, unpack, with_place
from .layout import ABSENT, BlobPositions, Layout, blob_positions, layout, names_length
from .lazy import lazy

Int64s = NDArray[np.int64]
Int32s = NDArray[np.int32]
Mask = NDArray[np.bool_]

Scalar = TypeVar("Scalar", bound=np.generic)

_BINARY = pa.binary()


class Batch:
    """Header and body are kept apart, so that a new header on an old body copies nothing.

    Invariant: `head` is the packed form of `header`, and the body is as long as the header says.
    """

    def __init__(self, header: Header, head: Buffer, body: Buffer) -> None:
        self.header = header
        self.head = head
        self.body = body
        self.length = HEADER_BYTES + header.body_length
        """Bytes as stored and sent."""
        if not header.flags & Flag.COMPRESSED:
            self.raw = body

    def __repr__(self) -> str:
        header = self.header
        offsets = f"{header.base_offset}..{header.end_offset - 1}"
        return f"<Batch epoch {header.epoch} offsets {offsets}, {header.change_count} changes>"

    def __len__(self) -> int:
        return self.header.change_count

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Batch) and self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]

    def to_bytes(self) -> bytes:
        return b"".join((self.head, self.body))

    def stamped(self, *, epoch: int, base_offset: int, timestamp: int) -> "Batch":
        """The same changes with the leader's epoch, place and time, on the very same body."""
        assert not self.header.flags & Flag.TIMESTAMPS, "changes that carry their own times keep them"
        return self._headed(with_place(self.head, epoch, base_offset, timestamp, timestamp))

    def placed(self, *, epoch: int, base_offset: int) -> "Batch":
        """The same changes with epoch and place, and the times that they have."""
        header = self.header
        return self._headed(with_place(self.head, epoch, base_offset, header.first_timestamp, header.last_timestamp))

    def closed(self) -> "Batch":
        """The same changes, covering no offset after the last of them: a part covers what was left out of it, which may
        yet come by itself."""
        header = self.header
        if not header.flags & Flag.OFFSETS or not header.change_count:
            return self
        return self._headed(header._replace(span=int(self.offset_distances[-1]) + 1).packed())

    def marked_internal(self) -> "Batch":
        return self._headed(self.header._replace(flags=self.header.flags | Flag.INTERNAL).packed())

    def compressed(self, level: int = LEVEL) -> "Batch":
        """The same changes with a compressed body, or the batch itself where that would not be smaller."""
        if self.header.flags & Flag.COMPRESSED:
            return self
        body = compress(self.body, level)
        if len(body) >= len(self.body):
            return self
        return assemble(self.header._replace(flags=self.header.flags | Flag.COMPRESSED), body)

    def decompressed(self) -> "Batch":
        if not self.header.flags & Flag.COMPRESSED:
            return self
        return assemble(self.header._replace(flags=self.header.flags & ~Flag.COMPRESSED), self.raw)

    def _headed(self, head: bytes) -> "Batch":
        return Batch(unpack(head), head, self.body)

    # The columns. Vectors that the body does not have are made up from the header.

    @lazy
    def layout(self) -> Layout:
        return layout(self.header)

    @lazy
    def raw(self) -> Buffer:
        """The body, uncompressed."""
        return decompress(self.body, self.header.raw_length)

    @lazy
    def buffer(self) -> pa.Buffer:
        """The same bytes, for Arrow."""
        return pa.py_buffer(self.raw)

    def _int64s(self, position: int) -> Int64s:
        return np.frombuffer(self.raw, np.int64, self.header.change_count, position)

    def _int32s(self, position: int, count: int) -> Int32s:
        return np.frombuffer(self.raw, np.int32, count, position)

    def _bits(self, position: int) -> Mask:
        count = self.header.change_count
        packed = np.frombuffer(self.raw, np.uint8, (count + 7) // 8, position)
        return _fixed(np.unpackbits(packed, count=count, bitorder="little").view(np.bool_))

    @lazy
    def key_hashes(self) -> Int64s:
        return self._int64s(self.layout.hashes)

    @lazy
    def offsets(self) -> Int64s:
        header = self.header
        if self.layout.offsets == ABSENT:
            return _counting(header.base_offset, header.change_count)
        return _fixed(self.offset_distances.astype(np.int64) + header.base_offset)

    @property
    def offset_distances(self) -> Int32s:
        """The column of distances from the base offset; only where there are gaps."""
        return self._int32s(self.layout.offsets, self.header.change_count)

    @lazy
    def timestamps(self) -> Int64s:
        if self.layout.timestamps == ABSENT:
            return _constant(self.header.first_timestamp, self.header.change_count)
        return self._int64s(self.layout.timestamps)

    @lazy
    def connections(self) -> Int64s:
        if self.layout.connections == ABSENT:
            return _constant(self.header.connection, self.header.change_count)
        return self._int64s(self.layout.connections)

    @lazy
    def series(self) -> Int64s:
        """Of a client's changes; those of nobody all have 0."""
        header = self.header
        if self.layout.series != ABSENT:
            return self._int64s(self.layout.series)
        if not header.connection:
            return _constant(0, header.change_count)
        return _counting(header.first_series, header.change_count)

    @lazy
    def key_ends(self) -> Int32s:
        return self._int32s(self.layout.key_ends, self.header.change_count + 1)

    @lazy
    def value_ends(self) -> Int32s:
        return self._int32s(self.layout.value_ends, self.header.change_count + 1)

    @lazy
    def tag_ends(self) -> Int32s:
        return self._int32s(self.layout.tag_ends, self.header.change_count + 1)

    @lazy
    def tag_codes(self) -> Int32s:
        return self._int32s(self.layout.tag_codes, self.header.tag_codes)

    @lazy
    def name_ends(self) -> Int32s:
        return self._int32s(self.layout.name_ends, self.header.tag_names + 1)

    @lazy
    def has_key(self) -> Mask | None:
        """Which changes have a key; None says all."""
        return None if self.layout.key_bits == ABSENT else self._bits(self.layout.key_bits)

    @lazy
    def has_value(self) -> Mask | None:
        """Which changes have a value; None says all."""
        return None if self.layout.value_bits == ABSENT else self._bits(self.layout.value_bits)

    @lazy
    def blobs(self) -> BlobPositions:
        return blob_positions(self.header, self.layout, self.raw)

    @lazy
    def tag_blob(self) -> bytes:
        """The names of the dictionary, one after another."""
        where = self.layout
        return bytes(self.raw[where.blobs : where.blobs + names_length(self.header, where, self.raw)])

    @lazy
    def tag_names(self) -> list[bytes]:
        """The dictionary: the tags that occur in this batch, no others, each once."""
        blob = self.tag_blob
        return [blob[start:end] for start, end in itertools.pairwise(self.name_ends.tolist())]

    def changes(self) -> Iterator[Change]:
        """One by one, as Python values: for people and small programs."""
        names = [name.decode() for name in self.tag_names]
        codes, tag_ends = self.tag_codes.tolist(), self.tag_ends.tolist()
        rows = zip(
            self.offsets.tolist(),
            self.timestamps.tolist(),
            self.keys(),
            self.values(),
            itertools.pairwise(tag_ends),
            self.connections.tolist(),
            self.series.tolist(),
            strict=True,
        )
        for offset, timestamp, key, value, (start, end), connection, series in rows:
            tags = tuple([names[code] for code in codes[start:end]])
            yield Change(offset, timestamp, key, value, tags, connection, series)

    def keys(self) -> list[bytes | None]:
        keys: list[bytes | None] = self.key_array().to_pylist()
        return keys

    def values(self) -> list[bytes | None]:
        values: list[bytes | None] = self.value_array().to_pylist()
        return values

    def key_array(self) -> pa.Array:
        """The keys as Arrow has them, over the same bytes."""
        where, blobs = self.layout, self.blobs
        return self._blob_array(where.key_ends, where.key_bits, blobs.keys, blobs.values)

    def value_array(self) -> pa.Array:
        """The values as Arrow has them, over the same bytes."""
        where, blobs = self.layout, self.blobs
        return self._blob_array(where.value_ends, where.value_bits, blobs.values, blobs.end)

    def _blob_array(self, ends: int, bits: int, start: int, stop: int) -> pa.Array:
        count, buffer = self.header.change_count, self.buffer
        bitmap = None if bits == ABSENT else buffer.slice(bits, (count + 7) // 8)
        vectors = [bitmap, buffer.slice(ends, 4 * (count + 1)), buffer.slice(start, stop - start)]
        return pa.Array.from_buffers(_BINARY, count, vectors)


# Vectors that are made up are kept like those that are found, and like them nobody may write to them.


def _constant(number: int, count: int) -> Int64s:
    vector = np.empty(count, np.int64)
    vector.fill(number)
    return _fixed(vector)


def _counting(first: int, count: int) -> Int64s:
    return _fixed(np.arange(first, first + count, dtype=np.int64))


def _fixed(vector: NDArray[Scalar]) -> NDArray[Scalar]:
    vector.setflags(write=False)
    return vector


def assemble(header: Header, body: Buffer) -> Batch:
    """A batch of a header and a new body, of which it gets the length and the checksums here."""
    length = len(body)
    raw_length = header.raw_length if header.flags & Flag.COMPRESSED else length
    head = header.packed_for(length, raw_length, crc32c(body))
    return Batch(unpack(head), head, body)


def trust(buffer: Buffer, position: int = 0) -> Batch:
    """The batch at a position of bytes that were verified already: nothing is looked at but the header."""
    view = octets(buffer)
    header = unpack(view, position)
    start = position + HEADER_BYTES
    return Batch(header, view[position:start], view[start : start + header.body_length])


def reopen(buffer: Buffer, position: int = 0) -> Batch:
    """The batch at a position of bytes that we stored ourselves: the checksums are tried, the columns believed."""
    view = octets(buffer)
    header = checked(view, position)
    start = position + HEADER_BYTES
    body = view[start : start + header.body_length]
    if len(body) < header.body_length:
        raise TooShort(header.length, len(view) - position)
    if crc32c(body) != header.body_crc:
        raise BadChecksum("body")
    return Batch(header, view[position:start], body)
