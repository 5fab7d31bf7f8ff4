"""Reading a bucket: forwards or backwards, by offsets, filtered by tags, a page at a time, while writes go on."""

from bisect import bisect_left
from collections.abc import Iterator
from copy import copy
from typing import NamedTuple

import numpy as np

from hansard.batch import SPAN_MAX, Batch, Change, Flag, Int64s, Part, gather, tag_mask

from .bucket import BucketLog
from .errors import Corrupt, Trimmed
from .extent import Extent, Moved, SegmentExtent, Wanted, segment_extent, tail_extent
from .index import Fingerprints, SegmentIndex, fingerprint
from .manifest import Segment
from .segment import missing
from .shelf import Shelf

FIRST_EXTENT_BYTES = 128 << 10
MANY_CHANGES = 10_000
"""A page of so many changes begins with a large extent, a smaller one with a small."""
GATHERED_CHANGES = 1_000
"""Parts of batches are gathered into one of about this many changes."""
CHANGE_BYTES = 24
"""What a change takes of a page beside its key and value."""
UNLIMITED = 1 << 62
EXTENT_BYTES_MAX = 4 << 20
"""A page that wants more reads more at a time, up to this: finding and fetching an extent costs as much as a batch, and
what a filter leaves of an extent is gathered into one."""


class Query(NamedTuple):
    """Changes with offsets from `first` up to, not including, `end`; None for the log's own bounds."""

    first: int | None = None
    end: int | None = None
    tags: frozenset[bytes] = frozenset()
    every: bool = False
    """All of the tags, not any."""
    descending: bool = False
    changes_max: int = UNLIMITED
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
    reader, start, end = _begin(shelf, log, query)
    byte_count = EXTENT_BYTES_MAX if query.changes_max >= MANY_CHANGES else FIRST_EXTENT_BYTES
    while not reader.is_done:
        reader.step(byte_count if query.tags else min(byte_count, reader.bytes_left))
        byte_count = min(4 * byte_count, EXTENT_BYTES_MAX)
    at_end = reader.high >= end and log.doubt is None
    return Page(reader.taken(), reader.low, reader.high, reader.low <= start, at_end, query.descending)


def scan(shelf: Shelf, log: BucketLog, query: Query) -> Iterator[Batch]:
    """All that a query asks for and is there when it begins, an extent at a time: what the caller lets go of is not
    held. Damage is raised when the scan comes to it."""
    reader, _, _ = _begin(shelf, log, query._replace(bytes_max=UNLIMITED))
    while not reader.is_done:
        reader.step(EXTENT_BYTES_MAX)
        yield from reader.taken()
        if reader.met is not None:
            raise reader.met
    if log.doubt is not None and query.end is None:
        raise copy(log.doubt)


def batches(shelf: Shelf, log: BucketLog, start: int, bytes_max: int) -> list[Batch]:
    """Whole batches, as a member of the bucket stores them. What is raised is what a page raises."""
    query = Query(start, bytes_max=bytes_max)
    first, stop, _, _ = _bounds(shelf, log, query)
    reader = _Copier(shelf, log, query, first, stop)
    while not reader.is_done:
        reader.step(min(EXTENT_BYTES_MAX, reader.bytes_left))
    return reader.batches


def _begin(shelf: Shelf, log: BucketLog, query: Query) -> tuple["_Reader", int, int]:
    """A reader for what there is of a query, and the bounds of the log."""
    first, stop, start, end = _bounds(shelf, log, query)
    return _Reader(shelf, log, query, first, stop), start, end


def _bounds(shelf: Shelf, log: BucketLog, query: Query) -> tuple[int, int, int, int]:
    """The first offset of what there is of a query, and where it stops; and the bounds of the log."""
    with shelf.lock:
        start, end, doubt = log.start, log.end, log.doubt
    first = start if query.first is None else query.first
    stop = end if query.end is None else min(query.end, end)
    if first < start and not query.descending:
        raise Trimmed(log.bucket, first, start)
    if doubt is not None and query.end is None and (query.descending or first >= end):
        raise copy(doubt)
    first = max(first, start)
    return first, max(first, stop), start, end


def is_listed(shelf: Shelf, log: BucketLog, segment: Segment) -> bool:
    """Whether a segment is still the bucket's, as it was or longer."""
    with shelf.lock:
        return any(other.id == segment.id for other in log.filed.segments)


class _Reader:
    """The state of one page being read."""

    def __init__(self, shelf: Shelf, log: BucketLog, query: Query, first: int, end: int) -> None:
        self.shelf, self.log, self.query = shelf, log, query
        self.first, self.end = first, end
        self.low = end if query.descending else first
        self.high = self.low
        """Every offset between these two is settled."""
        self.batches: list[Batch] = []
        self.is_full = False
        self.met: Corrupt | None = None
        """Damage that the page ends before."""
        self._parts: list[Part] = []
        self._part_changes = 0
        self.changes_left, self.bytes_left = query.changes_max, query.bytes_max
        self.wanted = Wanted(frozenset(map(fingerprint, query.tags)), query.every)
        self._hits: tuple[Segment, Fingerprints] | None = None

    @property
    def is_done(self) -> bool:
        """The page is full, the bounds are reached, or there is damage in the way."""
        settled = self.low <= self.first if self.query.descending else self.high >= self.end
        return settled or self.is_full or self.met is not None

    def step(self, byte_count: int) -> None:
        """Reads the next extent, of about so many bytes. Damage is raised if it is the first thing that is met."""
        extent = self._next_extent(self.low if self.query.descending else self.high, byte_count)
        if self._trimmed_since():
            self.is_full = True
            return
        if extent is None or extent.end <= self.first or extent.first >= self.end:
            self.low, self.high = self.first, self.end
            return
        try:
            before = self.bytes_left
            is_full = self._take(extent) or not self.changes_left
            self.is_full = is_full or self.bytes_left < before - self.bytes_left  # as much again would not fit
        except Moved:
            self._check_still_listed(extent)
        except Corrupt as error:
            if not self.batches and not self._parts:
                raise
            self.met = error

    def taken(self) -> list[Batch]:
        """The batches read so far, which are the caller's from now on."""
        self.flush()
        batches, self.batches = self.batches, []
        return batches

    def _next_extent(self, at: int, byte_count: int) -> Extent | None:
        backwards = self.query.descending
        while True:
            with self.shelf.lock:
                tail = tail_extent(self.log, at, byte_count, self.wanted, backwards=backwards)
                segment = self.log.segment_before(at) if backwards else self.log.segment_at(at)
                in_tail = backwards and tail is not None
            if in_tail or segment is None:
                return tail
            index = self._index(segment)
            if index is None:
                continue
            hits = self._segment_hits(segment, index)
            found = segment_extent(self.log.bucket, segment, index, at, byte_count, hits, backwards=backwards)
            if found is not None:
                return found
            at = segment.base if backwards else segment.end

    def _index(self, segment: Segment) -> SegmentIndex | None:
        """The segment's index; None if retention has dropped the segment in this very moment."""
        try:
            return self.shelf.index(self.log.bucket, segment)
        except Corrupt:
            if is_listed(self.shelf, self.log, segment):
                raise
            return None

    def _segment_hits(self, segment: Segment, index: SegmentIndex) -> Fingerprints | None:
        if not self.wanted.fingerprints:
            return None
        if self._hits is None or self._hits[0] != segment:
            self._hits = segment, index.blocks_with(self.wanted.fingerprints, every=self.wanted.every)
        return self._hits[1]

    def _trimmed_since(self) -> bool:
        """Whether retention has overtaken the page: it ends here, or was never there."""
        with self.shelf.lock:
            start = self.log.start
        if self.query.descending:
            self.first = max(self.first, start)
            return False
        if start > self.high and not self.batches and not self._parts:
            raise Trimmed(self.log.bucket, self.high, start)
        return start > self.high

    def _check_still_listed(self, extent: Extent) -> None:
        """A file that is gone was dropped or filed anew; if it is still listed it is missing."""
        if isinstance(extent, SegmentExtent) and is_listed(self.shelf, self.log, extent.segment):
            raise missing(self.log.bucket, extent.segment)

    def _take(self, extent: Extent) -> bool:
        """Adds an extent's changes to the page, as many as it has room for; whether it is full.

        What a filter skipped on the way to the extent holds nothing wanted, and is settled with it."""
        fetched = extent.fetch(self.shelf.disk)
        if self.query.descending:
            for batch in reversed(list(fetched)):
                if isinstance(batch, Corrupt):
                    self._meet(batch, self.first, self.low)
                elif batch.header.base_offset < self.low:
                    least = max(batch.header.base_offset, self.first)
                    self.low = self._add(batch, least, self.low)
                    if self.low != least:
                        return True
            self.low = max(extent.first, self.first)
            return False
        for batch in fetched:
            if isinstance(batch, Corrupt):
                self._meet(batch, self.high, self.end)
            elif batch.header.end_offset > self.high:
                most = min(batch.header.end_offset, self.end)
                self.high = self._add(batch, self.high, most)
                if self.high != most:
                    return True
        self.high = max(min(extent.end, self.end), self.high)
        return False

    def _meet(self, damage: Corrupt, first: int, end: int) -> None:
        """Damage matters where it lies among what is still to be read."""
        if (damage.first or 0) < end and (damage.end is None or damage.end > first):
            raise damage

    def _add(self, batch: Batch, first: int, end: int) -> int:
        """Adds what is wanted of a batch between two offsets; how far that came before the page was full: `end` (or
        `first` for a descending read) if it never was."""
        done, backwards = (first, True) if self.query.descending else (end, False)
        if batch.header.flags & Flag.INTERNAL:
            return done
        places = self._wanted_places(batch, first, end)
        if places is None:
            return done
        room = self._room(batch, places, backwards=backwards)
        if room < len(places):
            if not room:
                return end if backwards else first
            places = places[-room:] if backwards else places[:room]
            offsets = batch.offsets[places[[0, -1]]]
            done = int(offsets[0]) if backwards else int(offsets[-1]) + 1
        self._keep(batch, places)
        return done

    def _wanted_places(self, batch: Batch, first: int, end: int) -> Int64s | None:
        """The places in a batch of the changes that are asked for; None if there is none."""
        header = batch.header
        if self.query.tags:
            mask = tag_mask(batch, self.query.tags, every=self.query.every)
            if mask is None:
                return None
            places = mask.nonzero()[0]
        else:
            places = np.arange(header.change_count)
        if first > header.base_offset or end < header.end_offset:
            low, high = np.searchsorted(batch.offsets[places], (first, end))
            places = places[low:high]
        return places if len(places) else None

    def _keep(self, batch: Batch, places: Int64s) -> None:
        """Whole batches as they are; of others the parts are gathered. Each of what is handed on is of one epoch: from
        that a split bucket tells whether others' changes may be in it."""
        whole = len(places) == len(batch)
        if whole or (self._parts and not self._fits(batch)):
            self.flush()
        if whole:
            self.batches.append(batch)
        else:
            self._parts.append(Part(batch, places))
            self._part_changes += len(places)
            if self._part_changes >= GATHERED_CHANGES:
                self.flush()

    def _fits(self, batch: Batch) -> bool:
        """Whether a part of it can be gathered with those that there are."""
        other, header = self._parts[0].batch.header, batch.header
        span = max(other.end_offset, header.end_offset) - min(other.base_offset, header.base_offset)
        return span <= SPAN_MAX and header.epoch == other.epoch

    def flush(self) -> None:
        """What is in parts so far becomes a batch."""
        if self._parts:
            self.batches.append(gather(self._parts[::-1] if self.query.descending else self._parts))
            self._parts, self._part_changes = [], 0

    def _room(self, batch: Batch, places: Int64s, *, backwards: bool) -> int:
        """How many of these changes, from the first or from the last on, fit into what is left of the page."""
        if len(places) <= self.changes_left and batch.length <= self.bytes_left:
            self._take_room(len(places), batch.length * len(places) // len(batch))
            return len(places)
        sizes = np.diff(batch.key_ends)[places] + np.diff(batch.value_ends)[places] + CHANGE_BYTES
        ends = np.cumsum(sizes[::-1] if backwards else sizes)
        room = min(int(np.searchsorted(ends, self.bytes_left, side="right")), self.changes_left)
        if not self.batches and not self._parts and self.changes_left:
            room = max(room, 1)
        elif room < min(len(places), self.changes_left) and len(places) == len(batch):
            room = 0  # a page ends between whole batches if it can
        if room:
            self._take_room(room, int(ends[room - 1]))
        return room

    def _take_room(self, changes: int, byte_count: int) -> None:
        self.changes_left -= changes
        self.bytes_left -= byte_count


class _Copier(_Reader):
    """Takes each batch as it is."""

    def _add(self, batch: Batch, first: int, end: int) -> int:
        if self.batches and batch.length > self.bytes_left:
            return first
        self.batches.append(batch)
        self.bytes_left -= batch.length
        return end


def offset_since(shelf: Shelf, log: BucketLog, timestamp: int) -> int:
    """The first offset whose change is not before a time; the end of the log if there is none. Times never go back
    within a bucket, so this is found by searching."""
    first, end = _block_since(shelf, log, timestamp)
    while first < end:
        page = read(shelf, log, Query(first=first, changes_max=1_000))
        for batch in page.batches:
            if batch.header.last_timestamp >= timestamp:
                return int(batch.offsets[np.searchsorted(batch.timestamps, timestamp, side="left")])
        first = page.end
    return end


def _block_since(shelf: Shelf, log: BucketLog, timestamp: int) -> tuple[int, int]:
    """Where to begin looking for a time, and where the log ends."""
    while True:
        with shelf.lock:
            end, segments, tail = log.end, log.filed.segments, log.tail
            place = bisect_left(segments, timestamp, key=lambda segment: segment.last_timestamp)
            segment = segments[place] if place < len(segments) else None
            entry = bisect_left(tail, timestamp, key=lambda entry: entry.last_timestamp)
            in_tail = tail[entry].base if entry < len(tail) else end
        if segment is None:
            return in_tail, end
        try:
            index = shelf.index(log.bucket, segment)
        except Corrupt:
            if is_listed(shelf, log, segment):
                raise
            continue  # dropped meanwhile
        return int(index.offsets[min(index.block_since(timestamp), len(index.offsets) - 1)]), end
