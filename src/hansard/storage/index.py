"""The index of a segment: where to begin reading for an offset or a time, and which parts can hold a tag.

A segment is seen as blocks, runs of whole batches of at least `block_bytes`. The index keeps for each block where
it begins, its first offset and its times; and, for each tag, the blocks in which it occurs (as sorted pairs of the
tag's 32-bit fingerprint and the block: a clash of fingerprints costs a needless read, never a missed change).

It is kept beside the segment as a file of chunks, one for each filing, written without sync. Each chunk says which
bytes it covers and the digest of the segment's content before and after them. An index whose last digest is not the
one that the manifest names is of other content, whatever its checksums say; it is made anew from the segment.
"""

import struct
from collections.abc import Collection
from functools import lru_cache
from itertools import chain, pairwise
from typing import Final, NamedTuple

import numpy as np
from crc32c import crc32c
from numpy.typing import NDArray
from xxhash import xxh32_intdigest

from hansard.batch import Batch, Header
from hansard.batch.layout import layout, names_length

from .disk import Buffer

MAGIC: Final = b"HNSX"
_CHUNK = struct.Struct("<4sIqqIIII")
_CRC_BYTES: Final = 4
_MARK_SHIFT: Final = np.uint64(32)

Places = NDArray[np.int64]
Fingerprints = NDArray[np.uint32]


def fingerprint(tag: bytes) -> int:
    number: int = xxh32_intdigest(tag)
    return number


def fingerprints(batch: Batch) -> frozenset[int]:
    """Of all tags that occur in it."""
    header, raw = batch.header, batch.raw
    where = layout(header)
    stop = where.blobs + names_length(header, where, raw)
    return _fingerprints(header.tag_names, where.blobs - where.name_ends, bytes(raw[where.name_ends : stop]))


@lru_cache(maxsize=1024)
def _fingerprints(count: int, names: int, dictionary: bytes) -> frozenset[int]:
    """Of a dictionary as it lies in a batch: ends, what may be between, and from `names` on the names. Clients of one
    kind tend to have the same tags."""
    ends = struct.unpack_from(f"<{count + 1}i", dictionary)
    return frozenset([fingerprint(dictionary[names + start : names + end]) for start, end in pairwise(ends)])


def extend_digest(digest: int, header: Header) -> int:
    """The digest of a segment with one more batch."""
    return crc32c(header.crc.to_bytes(4, "little"), digest)


class SegmentIndex(NamedTuple):
    positions: Places
    offsets: Places
    first_timestamps: Places
    last_timestamps: Places
    fingerprints: Fingerprints
    """Sorted, each with its block beside it."""
    blocks: Fingerprints
    end: int
    """Bytes of the segment that it covers."""
    complete: bool = True
    """False where damage hides what tags some block has: then any may have any."""

    @property
    def byte_count(self) -> int:
        return sum(column.nbytes for column in self[:6])

    def block_of(self, offset: int) -> int:
        """The block that holds an offset, or the last one before it."""
        return max(int(np.searchsorted(self.offsets, offset, side="right")) - 1, 0)

    def block_since(self, timestamp: int) -> int:
        """The first block with anything at or after a time."""
        return int(np.searchsorted(self.last_timestamps, timestamp, side="left"))

    def bounds(self, first: int, stop: int) -> tuple[int, int]:
        """Where blocks `first` up to, not including, `stop` begin and end in the segment."""
        end = self.end if stop >= len(self.positions) else int(self.positions[stop])
        return int(self.positions[first]), end

    def blocks_with(self, wanted: Collection[int], *, every: bool) -> Fingerprints:
        """The blocks in which any of these fingerprints occurs, or every one; rising."""
        if not self.complete:
            return np.arange(len(self.positions), dtype=np.uint32)
        runs = [
            self.blocks[
                np.searchsorted(self.fingerprints, mark, side="left") : np.searchsorted(
                    self.fingerprints, mark, side="right"
                )
            ]
            for mark in wanted
        ]
        found = runs[0]
        for run in runs[1:]:
            found = np.intersect1d(found, run) if every else np.union1d(found, run)
        return np.unique(found)


class IndexBuilder:
    """Takes batches in order and makes one chunk of them."""

    def __init__(self, position: int, digest: int, block_bytes: int) -> None:
        self._start, self._digest_before = position, digest
        self._block_bytes = block_bytes
        self._rows: list[tuple[int, int, int]] = []
        """Of each block the position, the first offset and the first time."""
        self._last_timestamps: list[int] = []
        self._marks: list[set[int]] = []
        """The fingerprints that occur in each block."""
        self.position = position
        self.digest = digest

    def add(self, header: Header, fingerprints: Collection[int]) -> None:
        """The next batch of the segment."""
        position = self.position
        if not self._rows or position - self._rows[-1][0] >= self._block_bytes:
            self._begin(header.base_offset, header.first_timestamp, header.last_timestamp)
        else:
            self._last_timestamps[-1] = header.last_timestamp
        self._marks[-1].update(fingerprints)
        self.position = position + header.length
        self.digest = extend_digest(self.digest, header)

    def skip(self, length: int, base: int, timestamp: int) -> None:
        """Damaged bytes: they stay with the block before them, or make one, so that a read stumbles over them."""
        if not self._rows:
            self._begin(base, timestamp, timestamp)
        self.position += length

    def _begin(self, base: int, first_timestamp: int, last_timestamp: int) -> None:
        self._rows.append((self.position, base, first_timestamp))
        self._last_timestamps.append(last_timestamp)
        self._marks.append(set())

    def chunk(self) -> bytes:
        rows = np.array(self._rows, np.int64).reshape(-1, 3)
        lasts = np.array(self._last_timestamps, np.int64)
        postings = self._postings()
        head = _CHUNK.pack(
            MAGIC, 0, self._start, self.position, self._digest_before, self.digest, len(rows), len(postings)
        )
        marks, blocks = (postings >> _MARK_SHIFT).astype(np.uint32), postings.astype(np.uint32)
        columns = b"".join([rows.T.tobytes(), lasts.tobytes(), marks.tobytes(), blocks.tobytes()])
        return head + columns + crc32c(columns, crc32c(head)).to_bytes(_CRC_BYTES, "little")

    def _postings(self) -> NDArray[np.uint64]:
        """Sorted; each is one number, of the fingerprint and below it the block."""
        counts = np.array([len(marks) for marks in self._marks], np.int64)
        marks = np.fromiter(chain.from_iterable(self._marks), np.uint64)
        return np.sort(marks << _MARK_SHIFT | np.repeat(np.arange(len(counts), dtype=np.uint64), counts))


class _Chunk(NamedTuple):
    start: int
    end: int
    digest_before: int
    digest: int
    rows: Places
    postings: Fingerprints


def load(data: Buffer, length: int, digest: int) -> SegmentIndex | None:
    """The index in these bytes, if it is that of a segment of this length and digest."""
    chunks: list[_Chunk] = []
    position = 0
    while (read := _read_chunk(data, position)) is not None:
        chunk, position = read
        while chunks and chunks[-1].end > chunk.start:  # a filing that a crash undid wrote these
            chunks.pop()
        before = (chunks[-1].end, chunks[-1].digest) if chunks else (0, 0)
        if (chunk.start, chunk.digest_before) == before:
            chunks.append(chunk)
    if not chunks or (chunks[-1].end, chunks[-1].digest) != (length, digest):
        return None
    return _joined(chunks)


def _read_chunk(data: Buffer, position: int) -> tuple[_Chunk, int] | None:
    if len(data) - position < _CHUNK.size:
        return None
    magic, _, start, end, before, digest, rows, postings = _CHUNK.unpack_from(data, position)
    columns = position + _CHUNK.size
    stop = columns + 32 * rows + 8 * postings
    if magic != MAGIC or stop + _CRC_BYTES > len(data):
        return None
    if crc32c(memoryview(data)[position:stop]).to_bytes(_CRC_BYTES, "little") != data[stop : stop + _CRC_BYTES]:
        return None
    table = np.frombuffer(data, np.int64, 4 * rows, columns).reshape(4, rows)
    pairs = np.frombuffer(data, np.uint32, 2 * postings, columns + 32 * rows).reshape(2, postings)
    return _Chunk(start, end, before, digest, table, pairs), stop + _CRC_BYTES


def _joined(chunks: list[_Chunk]) -> SegmentIndex:
    rows = np.concatenate([chunk.rows for chunk in chunks], axis=1)
    pairs, first = [], 0
    for chunk in chunks:
        pairs.append(chunk.postings + np.array([[0], [first]], np.uint32))
        first += chunk.rows.shape[1]
    postings = np.concatenate(pairs, axis=1)
    if len(chunks) > 1:
        postings = postings[:, np.argsort(postings[0], kind="stable")]
    return SegmentIndex(rows[0], rows[1], rows[2], rows[3], postings[0], postings[1], chunks[-1].end)
