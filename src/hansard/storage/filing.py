"""Filing: copying the journal's entries into segments, so that their journal files can be used again.

For each bucket the entries go to its last segment, or to new ones; the segment is synced, and its index grows by a
chunk that is not. Nothing of this counts before the manifest names it: a filing that a crash interrupts is done again,
over the same places, from the same entries.
"""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from hansard.batch import SPAN_MAX, Batch, covering

from .bucket import Entry
from .disk import Disk, File
from .errors import Corrupt, NotABoundary
from .extent import REACH_BYTES, TailExtent
from .index import IndexBuilder, extend_digest, fingerprints
from .manifest import BucketEntry, Segment, index_path, segment_path
from .segment import Damage, walk
from .settings import StoreSettings

RUN_BYTES = 1 << 20
"""Read and written at a time: little enough for the allocator to use the same memory again, as new memory costs more
than the reading. And writes of four megabytes were seen to take the kernel five times as long as the same in four."""


class SegmentWriter:
    """Appends batches to one bucket's segments, rolling to a new one when one is full."""

    def __init__(self, disk: Disk, settings: StoreSettings, filed: BucketEntry, next_id: int) -> None:
        self._disk, self._settings = disk, settings
        self._bucket = filed.bucket
        self.segments = list(filed.segments)
        self.next_id = next_id
        self._file: File | None = None
        self._builder: IndexBuilder | None = None
        self._pending: list[Batch] = []
        """Its segment grows by them when they are written."""
        self._written = 0

    def add(self, batch: Batch, known: frozenset[int] | None) -> None:
        """`known`: the fingerprints of its tags, if somebody has looked."""
        builder = self._builder
        if self._file is None or builder is None or builder.position >= self._settings.segment_bytes:
            builder = self._next_segment()
        builder.add(batch.header, known if known is not None else fingerprints(batch))
        self._pending.append(batch)

    def flush(self) -> None:
        """Writes what was added, without sync."""
        if self._file is None or not self._pending:
            return
        assert self._builder is not None
        position, digest = self._builder.position, self._builder.digest
        self._file.write(self._written, [part for batch in self._pending for part in (batch.head, batch.body)])
        self.segments[-1] = _grown(self.segments[-1], self._pending, position, digest)
        self._written, self._pending = position, []

    def finish(self) -> None:
        """Syncs the segment and adds to its index; to be called when all is added."""
        if self._file is None:
            return
        assert self._builder is not None
        self.flush()
        self._file.sync()
        self._file.close()
        self._file = None
        index = self._disk.open(index_path(self._bucket, self.segments[-1].id), create=True)
        try:
            index.write(index.size(), [self._builder.chunk()])
        finally:
            index.close()

    def abandon(self) -> None:
        if self._file is not None:
            self._file.close()

    def _next_segment(self) -> IndexBuilder:
        self.finish()
        last = self.segments[-1] if self.segments else None
        if last is None or last.sealed or last.length >= self._settings.segment_bytes:
            if last is not None and not last.sealed:
                self.segments[-1] = sealed(last)
            self.segments.append(Segment(self.next_id, -1, -1, 0, 0, 0, 0, 0, 0, sealed=False))
            self.next_id += 1
            path = segment_path(self._bucket, self.segments[-1].id)
            folder = path.rpartition("/")[0]
            self._disk.make_folder(folder)
            self._file = self._disk.open(path, create=True)
            self._disk.sync_folder(folder)
        else:
            self._file = self._disk.open(segment_path(self._bucket, last.id))
        current = self.segments[-1]
        self._written = current.length
        self._builder = IndexBuilder(current.length, current.digest, self._settings.block_bytes)
        return self._builder


def _grown(segment: Segment, batches: Sequence[Batch], length: int, digest: int) -> Segment:
    """With more batches, and so of this length and digest."""
    first, last, empty = batches[0].header, batches[-1].header, segment.length == 0
    return Segment(
        segment.id,
        first.base_offset if empty else segment.base,
        last.end_offset,
        length,
        first.first_timestamp if empty else segment.first_timestamp,
        last.last_timestamp,
        segment.change_count + sum([batch.header.change_count for batch in batches]),
        last.epoch,
        digest,
        segment.sealed,
    )


def sealed(segment: Segment) -> Segment:
    return replace(segment, sealed=True)


def all_sealed(filed: BucketEntry) -> BucketEntry:
    """The same, without a segment that would take more batches. Only the last one ever does."""
    if not filed.segments or filed.segments[-1].sealed:
        return filed
    return replace(filed, segments=(*filed.segments[:-1], sealed(filed.segments[-1])))


def file_entries(
    disk: Disk,
    settings: StoreSettings,
    filed: BucketEntry,
    entries: Sequence[Entry],
    next_id: int,
    *,
    give_up_damaged: bool = False,
) -> tuple[BucketEntry, int]:
    """The bucket with these entries in its segments, all of it on disk; and the next free segment number."""
    if not entries:
        return filed, next_id
    writer = SegmentWriter(disk, settings, filed, next_id)
    try:
        for run in runs(filed.bucket, entries):
            _file_run(disk, run, writer, give_up_damaged=give_up_damaged)
        writer.finish()
    finally:
        writer.abandon()
    last = entries[-1]
    segments = tuple(writer.segments)
    filed = replace(filed, end=last.end, epoch=last.epoch, timestamp=last.last_timestamp, segments=segments)
    return filed, writer.next_id


def _file_run(disk: Disk, run: TailExtent, writer: SegmentWriter, *, give_up_damaged: bool) -> None:
    """Apart, so that nothing holds on to the bytes when those of the next run are read."""
    for entry, batch in zip(run.entries, run.fetch(disk), strict=True):
        if not isinstance(batch, Corrupt):
            writer.add(batch, entry.fingerprints)
        elif give_up_damaged:
            for base in range(entry.base, entry.end, SPAN_MAX):
                end = min(base + SPAN_MAX, entry.end)
                writer.add(covering(base, end, entry.epoch, entry.last_timestamp), frozenset())
        else:
            raise batch
    writer.flush()


def runs(bucket: int, entries: Sequence[Entry]) -> Iterator[TailExtent]:
    """Entries that lie together in a file, to be read at once."""
    start, first, behind = 0, entries[0], entries[0].position
    for place, entry in enumerate(entries):
        position, end = entry.position, entry.position + entry.length
        near = position - behind <= REACH_BYTES and end - first.position <= RUN_BYTES
        if place > start and not (near and entry.file is first.file):
            yield TailExtent(bucket, first.file, tuple(entries[start:place]), first.base, entries[place - 1].end)
            start, first = place, entry
        behind = end
    yield TailExtent(bucket, first.file, tuple(entries[start:]), first.base, entries[-1].end)


def cut_back(disk: Disk, filed: BucketEntry, end: int) -> BucketEntry:
    """The filed part without anything from `end` on. Files stay as they are: only lengths and lists change."""
    kept = [segment for segment in filed.segments if segment.base < end]
    if kept and kept[-1].end > end:
        kept[-1] = _cut_segment(disk, filed.bucket, kept[-1], end)
    start = min(filed.start, end)
    if not kept:  # what came before is unknown, and so is not held against what comes next
        return BucketEntry(filed.bucket, start, min(end, filed.end), note=filed.note)
    last = kept[-1]
    return BucketEntry(filed.bucket, start, last.end, last.epoch, last.last_timestamp, tuple(kept), filed.note)


def _cut_segment(disk: Disk, bucket: int, segment: Segment, end: int) -> Segment:
    """The beginning of a segment, up to the batch that begins at or after `end`. It takes no more batches: what its
    file and its index hold beyond the cut must never be mistaken for them."""
    short = Segment(segment.id, -1, -1, 0, 0, 0, 0, 0, 0, sealed=True)
    for position, item in walk(disk, bucket, segment):
        if isinstance(item, Damage):
            path = segment_path(bucket, segment.id)
            raise Corrupt(path, position, item.length, item.reason, bucket=bucket, first=short.end)
        if item.header.base_offset >= end:
            break
        if item.header.end_offset > end:
            raise NotABoundary(bucket, end, item.header.base_offset, item.header.end_offset)
        short = _grown(short, [item], short.length + item.length, extend_digest(short.digest, item.header))
    return short
