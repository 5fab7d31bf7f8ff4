"""Which bytes to fetch next for a read: a run of blocks of a segment, or a run of entries of the journal.

Finding an extent looks at what is in memory; fetching it does not hold up writers. Damage is yielded in its place among
the batches: whether it matters is the reader's to say. In between finding and fetching, the bytes may have been
filed elsewhere or dropped by retention: then fetching says so (`Moved`), and the read looks again.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from hansard.batch import Batch, Malformed, reopen

from .bucket import BucketLog, Entry
from .disk import Disk
from .errors import Corrupt
from .index import Fingerprints, SegmentIndex
from .journal import JournalFile
from .manifest import Segment, segment_path
from .segment import Damage, open_batches

ALIGNMENT = 8
REACH_BYTES = 64 << 10
"""Entries of the journal that lie further apart than this are fetched one by one."""


class Moved(Exception):
    """The bytes are no longer where they were; look again."""


class Wanted(NamedTuple):
    """Fingerprints of the tags that a read filters by; none for an unfiltered read."""

    fingerprints: frozenset[int] = frozenset()
    every: bool = False

    def may_match(self, entry: Entry) -> bool:
        if not self.fingerprints or entry.fingerprints is None:
            return True
        if self.every:
            return self.fingerprints <= entry.fingerprints
        return not self.fingerprints.isdisjoint(entry.fingerprints)


class SegmentExtent(NamedTuple):
    """Blocks of a segment; `first` and `end` are the offsets that it settles, found or not."""

    bucket: int
    segment: Segment
    position: int
    length: int
    first: int
    end: int

    def fetch(self, disk: Disk) -> Iterator[Batch | Corrupt]:
        path = segment_path(self.bucket, self.segment.id)
        try:
            file = disk.open(path, read_only=True)
        except FileNotFoundError:
            raise Moved from None
        try:
            data = file.read(self.position, self.length)
        finally:
            file.close()
        end, missing = self.first, self.length - len(data)
        cut = len(data)
        for place, item in open_batches(data):
            if not isinstance(item, Damage):
                yield item
                end = item.header.end_offset
            elif missing and place + item.length == len(data):
                cut = place  # the beginning of what is missing: both are one damage
            else:
                yield self._damage(path, place, item, end, data)
        if missing:
            damage = Damage(cut, self.length - cut, "the file is cut short")
            yield self._damage(path, cut, damage, end, data)

    def _damage(self, path: str, place: int, damage: Damage, first: int, data: bytes) -> Corrupt:
        stop = place + damage.length
        end = self.end
        if stop < len(data):
            end = reopen_base(data, stop, self.end)
        return Corrupt(
            path, self.position + place, damage.length, damage.reason, bucket=self.bucket, first=first, end=end
        )


def reopen_base(data: bytes, position: int, fallback: int) -> int:
    try:
        return reopen(data, position).header.base_offset
    except Malformed:
        return fallback


class TailExtent(NamedTuple):
    """Entries in one file of the journal."""

    bucket: int
    file: JournalFile
    entries: tuple[Entry, ...]
    first: int
    end: int

    def fetch(self, disk: Disk) -> Iterator[Batch | Corrupt]:  # noqa: ARG002, the journal's files are open
        start = self.entries[0].position
        stop = self.entries[-1].position + self.entries[-1].length
        try:
            data = self.file.file.read(start, stop - start)
        except OSError:
            if self.file.retired:
                raise Moved from None
            raise
        if self.file.retired:
            raise Moved
        for entry in self.entries:
            try:
                batch = _reopen(data, entry.position - start, entry.length)
                header = batch.header
                if header.base_offset == entry.base and header.end_offset == entry.end:
                    yield batch
                    continue
                problem = "another batch than the one that was written lies here"
            except Malformed as error:
                problem = str(error)
            where = (self.file.path, entry.position, entry.length)
            yield Corrupt(*where, problem, bucket=self.bucket, first=entry.base, end=entry.end)


def _reopen(data: bytes, position: int, length: int) -> Batch:
    """Notes and forks in the journal take any length, and behind one a batch may lie where vectors cannot be used."""
    return reopen(data, position) if position % ALIGNMENT == 0 else reopen(data[position : position + length])


Extent = SegmentExtent | TailExtent


def tail_extent(log: BucketLog, offset: int, byte_count: int, wanted: Wanted, *, backwards: bool) -> TailExtent | None:
    """The entries to fetch for a read at `offset` (or, backwards, of what lies before it). To be called under the
    store's lock."""
    step = -1 if backwards else 1
    place = log.tail_before(offset) if backwards else log.tail_at(offset)
    chosen: list[Entry] = []
    while 0 <= place < len(log.tail):
        entry = log.tail[place]
        if wanted.may_match(entry):
            if chosen and not _near(chosen[0], chosen[-1], entry, byte_count):
                break
            chosen.append(entry)
        place += step
    if not chosen:
        return None
    if backwards:
        chosen.reverse()
    return TailExtent(log.bucket, chosen[0].file, tuple(chosen), chosen[0].base, chosen[-1].end)


def _near(first: Entry, last: Entry, entry: Entry, byte_count: int) -> bool:
    low, high = min(first.position, entry.position), max(first.position + first.length, entry.position + entry.length)
    apart = max(entry.position - last.position - last.length, last.position - entry.position - entry.length)
    return entry.file is first.file and high - low <= byte_count and apart <= REACH_BYTES


def segment_extent(
    bucket: int,
    segment: Segment,
    index: SegmentIndex,
    offset: int,
    byte_count: int,
    hits: Fingerprints | None,
    *,
    backwards: bool,
) -> SegmentExtent | None:
    """The blocks to fetch, None if no block will do; `hits` are those that may hold what is wanted (None: all)."""
    blocks = len(index.positions)
    here = index.block_of(offset - 1 if backwards else offset)
    step = -1 if backwards else 1
    if hits is None:
        hits, place = np.arange(blocks, dtype=np.uint32), here
    elif backwards:
        place = int(np.searchsorted(hits, here, side="right")) - 1
    else:
        place = int(np.searchsorted(hits, here, side="left"))
    if not 0 <= place < len(hits):
        return None
    first = last = int(hits[place])
    while 0 <= place + step < len(hits) and int(hits[place + step]) == int(hits[place]) + step:
        place += step
        low, high = index.bounds(min(first, int(hits[place])), max(last, int(hits[place])) + 1)
        if high - low > byte_count:
            break
        first, last = min(first, int(hits[place])), max(last, int(hits[place]))
    stop = last + 1
    low, high = index.bounds(first, stop)
    end = segment.end if stop >= blocks else int(index.offsets[stop])
    return SegmentExtent(bucket, segment, low, high - low, int(index.offsets[first]), end)
