"""Reading a bucket: forwards or backwards, by offsets, filtered by tags, a page at a time, while writes go on."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from hansard.batch import Batch, Change, Flag, between, select, tag_mask

from .bucket import BucketLog
from .errors import Corrupt, Trimmed
from .extent import Extent, Moved, SegmentExtent, Wanted, segment_extent, tail_extent
from .index import Fingerprints, fingerprint
from .manifest import Segment
from .segment import missing
from .shelf import Shelf

FIRST_EXTENT_BYTES = 128 << 10
EXTENT_BYTES_MAX = 1 << 20
"""A page that wants more reads more at a time, up to this: large enough for the disk, small enough for the cache."""


class Query(NamedTuple):
    """Changes with offsets from `first` up to, not including, `end`; None for the log's own bounds."""

    first: int | None = None
    end: int | None = None
    tags: frozenset[bytes] = frozenset()
    every: bool = False
    """All of the tags, not any."""
    descending: bool = False
    changes_max: int = 1_000_000
    bytes_max: int = 8 << 20
    """A page holds at least one change, and stops before this many bytes of batches if it can."""


class Page(NamedTuple):
    """Batches in the order asked for; within each, changes rise (`changes` turns them where needed)."""

    batches: list[Batch]
    first: int
    """The page settles every offset from here..."""
    end: int
    """...up to, not including, this one: ascending reads go on here, descending ones before `first`."""
    at_start: bool
    at_end: bool
    descending: bool

    def changes(self) -> Iterator[Change]:
        for batch in self.batches:
            yield from reversed(list(batch.changes())) if self.descending else batch.changes()

    @property
    def change_count(self) -> int:
        return sum(len(batch) for batch in self.batches)


def read(shelf: Shelf, log: BucketLog, query: Query) -> Page:
    """One page. Raises Trimmed for what is no longer there, and Corrupt where damage lies at the very beginning; a
    page that would run into damage ends before it."""
    return _page(shelf, log, query, min(FIRST_EXTENT_BYTES, query.bytes_max), once=False)


def scan(shelf: Shelf, log: BucketLog, query: Query) -> Iterator[Batch]:
    """All that a query asks for, an extent at a time: what the caller lets go of is not held."""
    while True:
        page = _page(shelf, log, query, EXTENT_BYTES_MAX, once=True)
        yield from page.batches
        if query.descending:
            if page.at_start or page.first <= (query.first or 0):
                return
            query = query._replace(end=page.first)
        else:
            if page.at_end or (query.end is not None and page.end >= query.end):
                return
            query = query._replace(first=page.end)
        del page


def _page(shelf: Shelf, log: BucketLog, query: Query, byte_count: int, *, once: bool) -> Page:
    with shelf.lock:
        start, end, doubt = log.start, log.end, log.doubt
    first = start if query.first is None else query.first
    stop = end if query.end is None else min(query.end, end)
    if first < start and not query.descending:
        raise Trimmed(log.bucket, first, start)
    if doubt is not None and query.end is None and (query.descending or first >= end):
        raise doubt
    first = max(first, start)
    reader = _Reader(shelf, log, query, first, max(first, stop))
    low, high = reader.run(byte_count, once=once)
    return Page(reader.batches, low, high, low <= start, high >= end and doubt is None, query.descending)


class _Reader:
    """The state of one page being read."""

    def __init__(self, shelf: Shelf, log: BucketLog, query: Query, first: int, end: int) -> None:
        self.shelf, self.log, self.query = shelf, log, query
        self.first, self.end = first, end
        self.low = end if query.descending else first
        self.high = self.low
        """Every offset between these two is settled."""
        self.batches: list[Batch] = []
        self.changes_left, self.bytes_left = query.changes_max, query.bytes_max
        self.wanted = Wanted(frozenset(map(fingerprint, query.tags)), query.every)
        self._hits: tuple[Segment, Fingerprints] | None = None

    def run(self, byte_count: int, *, once: bool) -> tuple[int, int]:
        """Reads until the page is full or the bounds are reached, or one extent if it shall be `once`; the offsets
        that are settled then. It begins with an extent of `byte_count`."""
        while self.low > self.first if self.query.descending else self.high < self.end:
            extent = self._next_extent(self.low if self.query.descending else self.high, byte_count)
            if self._trimmed_since():
                break
            if extent is None or extent.end <= self.first or extent.first >= self.end:
                return self.first, self.end
            try:
                full = self._take(extent)
            except Moved:
                self._check_still_listed(extent)
                continue
            except Corrupt:
                if not self.batches:
                    raise
                break
            if full or once or not self.changes_left:
                break
            byte_count = min(4 * byte_count, EXTENT_BYTES_MAX)
        return self.low, self.high

    def _next_extent(self, at: int, byte_count: int) -> Extent | None:
        backwards = self.query.descending
        while True:
            with self.shelf.lock:
                tail = tail_extent(self.log, at, byte_count, self.wanted, backwards=backwards)
                segment = self.log.segment_before(at) if backwards else self.log.segment_at(at)
                in_tail = backwards and tail is not None
            if in_tail or segment is None:
                return tail
            index = self.shelf.index(self.log.bucket, segment)
            hits = self._segment_hits(segment)
            found = segment_extent(self.log.bucket, segment, index, at, byte_count, hits, backwards=backwards)
            if found is not None:
                return found
            at = segment.base if backwards else segment.end

    def _segment_hits(self, segment: Segment) -> Fingerprints | None:
        if not self.wanted.fingerprints:
            return None
        if self._hits is None or self._hits[0] != segment:
            index = self.shelf.index(self.log.bucket, segment)
            self._hits = segment, index.blocks_with(self.wanted.fingerprints, every=self.wanted.every)
        return self._hits[1]

    def _trimmed_since(self) -> bool:
        """Whether retention has overtaken the page: it ends here, or was never there."""
        with self.shelf.lock:
            start = self.log.start
        if self.query.descending:
            self.first = max(self.first, start)
            return False
        if start > self.high and not self.batches:
            raise Trimmed(self.log.bucket, self.high, start)
        return start > self.high

    def _check_still_listed(self, extent: Extent) -> None:
        """A file that is gone was dropped or filed anew; if it is still listed it is missing."""
        with self.shelf.lock:
            if isinstance(extent, SegmentExtent) and extent.segment in self.log.filed.segments:
                raise missing(self.log.bucket, extent.segment)

    def _take(self, extent: Extent) -> bool:
        """Adds an extent's changes to the page, as many as it has room for; whether it is full.

        What a filter skipped on the way to the extent holds nothing wanted, and is settled with it."""
        fetched = extent.fetch(self.shelf.disk)
        if self.query.descending:
            for batch in reversed(list(fetched)):
                if isinstance(batch, Corrupt):
                    if (batch.first or 0) < self.low:
                        raise batch
                elif batch.header.base_offset < self.low:
                    least = max(batch.header.base_offset, self.first)
                    self.low = self._add(batch, least, self.low)
                    if self.low != least:
                        return True
            self.low = max(extent.first, self.first)
            return False
        for batch in fetched:
            if isinstance(batch, Corrupt):
                if batch.end is None or batch.end > self.high:
                    raise batch
            elif batch.header.end_offset > self.high:
                most = min(batch.header.end_offset, self.end)
                self.high = self._add(batch, self.high, most)
                if self.high != most:
                    return True
        self.high = max(min(extent.end, self.end), self.high)
        return False

    def _add(self, batch: Batch, first: int, end: int) -> int:
        """Adds what is wanted of a batch between two offsets; how far that came before the page was full: `end` (or
        `first` for a descending read) if it never was."""
        done, backwards = (first, True) if self.query.descending else (end, False)
        if batch.header.flags & Flag.INTERNAL:
            return done
        if not self.changes_left:
            return end if backwards else first
        part = between(batch, first, end)
        if self.query.tags:
            mask = tag_mask(part, self.query.tags, every=self.query.every)
            if mask is None:
                return done
            part = select(part, mask)
        if not len(part):
            return done
        room = _fitting(part, self.changes_left, self.bytes_left, at_least_one=not self.batches, backwards=backwards)
        if not room:
            return end if backwards else first
        if room < len(part):
            chosen = np.zeros(len(part), np.bool_)
            chosen[-room:] = True
            part = select(part, chosen if backwards else chosen[::-1])
            done = int(part.offsets[0]) if backwards else int(part.offsets[-1]) + 1
        self.batches.append(part)
        self.changes_left -= len(part)
        self.bytes_left -= part.length
        return done


def _fitting(batch: Batch, changes_max: int, bytes_max: int, *, at_least_one: bool, backwards: bool) -> int:
    """How many changes of a batch, from its beginning or from its end, fit into what is left of a page."""
    if len(batch) <= changes_max and batch.length <= bytes_max:
        return len(batch)
    if not at_least_one and batch.length > bytes_max:
        return 0  # a page ends between batches if it can
    fixed = 24
    sizes = np.diff(batch.key_ends) + np.diff(batch.value_ends) + fixed
    ends = np.cumsum(sizes[::-1] if backwards else sizes)
    count = min(int(np.searchsorted(ends, bytes_max, side="right")), changes_max)
    return max(count, 1) if at_least_one and changes_max else count


def offset_since(shelf: Shelf, log: BucketLog, timestamp: int) -> int:
    """The first offset whose change is not before a time; the end of the log if there is none. Times never go back
    within a bucket, so this is found by searching."""
    with shelf.lock:
        first, end = log.start, log.end
        segment = next((segment for segment in log.filed.segments if segment.last_timestamp >= timestamp), None)
        entry = next((entry for entry in log.tail if entry.last_timestamp >= timestamp), None)
    if segment is not None:
        index = shelf.index(log.bucket, segment)
        first = int(index.offsets[min(index.block_since(timestamp), len(index.offsets) - 1)])
    elif entry is not None:
        first = entry.base
    else:
        return end
    while first < end:
        page = read(shelf, log, Query(first=first, changes_max=1_000))
        for batch in page.batches:
            if batch.header.last_timestamp >= timestamp:
                return int(batch.offsets[np.searchsorted(batch.timestamps, timestamp, side="left")])
        first = page.end
    return end
