"""Looking at every stored byte: checksums, order, digests and indexes, and with `deep` every column and key hash.

Damage is collected, not raised: the report names all of it, so that all of it can be fetched from elsewhere.
"""

from collections.abc import Callable
from typing import NamedTuple

from hansard.batch import Batch, Malformed, verify

from . import document, index
from .bucket import BucketLog, Entry
from .disk import Disk
from .errors import Corrupt
from .extent import Moved, TailExtent
from .manifest import Segment, index_path, segment_path
from .reading import is_listed
from .segment import Damage, walk
from .shelf import Shelf
from .store import Store


class Report(NamedTuple):
    segments: int
    batches: int
    changes: int
    byte_count: int
    damage: list[Corrupt]


def total_bytes(store: Store) -> int:
    """What a scrub reads, for its progress."""
    with store.shelf.lock:
        filed = sum(segment.length for log in store.logs.values() for segment in log.filed.segments)
        return filed + sum(entry.length for log in store.logs.values() for entry in log.tail)


def scrub(store: Store, *, deep: bool = False, progress: Callable[[int], None] | None = None) -> Report:
    """A look at all that was there when it began; `progress` is told the bytes read since it was last told."""
    scrubber = _Scrubber(store.shelf, deep, progress or (lambda _: None))
    scrubber.damage += [found for found in store.damage if found.bucket is None]
    for bucket in store.buckets():
        log = store.log(bucket)
        with store.shelf.lock:
            segments, tail = log.filed.segments, list(log.tail)
        scrubber.look_at(log, segments, tail)
        for name in store.documents(bucket):
            try:
                store.document(bucket, name)
            except Corrupt as error:
                scrubber.damage.append(error)
    return scrubber.report()


class _Scrubber:
    def __init__(self, shelf: Shelf, deep: bool, progress: Callable[[int], None]) -> None:
        self._shelf, self._disk, self._deep, self._progress = shelf, shelf.disk, deep, progress
        self._segments = self._batches = self._changes = self._bytes = 0
        self.damage: list[Corrupt] = []

    def report(self) -> Report:
        return Report(self._segments, self._batches, self._changes, self._bytes, self.damage)

    def look_at(self, log: BucketLog, segments: tuple[Segment, ...], tail: list[Entry]) -> None:
        end = 0
        for segment in segments:
            self._segments += 1
            end = self._segment(log, segment, end)
        for entry in tail:
            self._entry(log, entry)
        doubt = log.doubt or log.lost_note
        if doubt is not None:
            self.damage.append(doubt)

    def _segment(self, log: BucketLog, segment: Segment, end: int) -> int:
        bucket = log.bucket
        path = segment_path(bucket, segment.id)
        digest, at, whole = 0, max(end, segment.base), True
        lookup = _IndexCheck(self._disk, bucket, segment)
        lost: Damage | None = None
        try:
            for position, item in walk(self._disk, bucket, segment):
                if isinstance(item, Damage):
                    lost, whole = item._replace(position=position), False
                    continue
                header = item.header
                if lost is not None:
                    self._damaged(path, lost.position, lost.length, lost.reason, bucket, at, header.base_offset)
                    lost = None
                if header.base_offset < at:
                    reason = f"offset {header.base_offset} comes after {at - 1}"
                    self._damaged(path, position, item.length, reason, bucket, at, header.end_offset)
                self._batch(item, path, position, bucket)
                lookup.see(position, item)
                digest, at = index.extend_digest(digest, header), header.end_offset
        except Corrupt as error:
            if is_listed(self._shelf, log, segment):  # else retention dropped it meanwhile
                self.damage.append(error)
            return segment.end
        if lost is not None:
            self._damaged(path, lost.position, lost.length, lost.reason, bucket, at, segment.end)
        elif whole and digest != segment.digest:
            reason = "its batches are whole but not those that were filed"
            self._damaged(path, 0, segment.length, reason, bucket, segment.base, segment.end)
        if whole and not lookup.fits():
            reason = "it is not the index of its segment; without it, it is made anew"
            self._damaged(index_path(bucket, segment.id), 0, None, reason, bucket, None, None)
        return segment.end

    def _entry(self, log: BucketLog, entry: Entry) -> None:
        try:
            for batch in TailExtent(log.bucket, entry.file, (entry,), entry.base, entry.end).fetch(self._disk):
                if isinstance(batch, Corrupt):
                    self.damage.append(batch)
                else:
                    self._batch(batch, entry.file.path, entry.position, log.bucket)
        except Moved:
            return  # filed meanwhile: its bytes were checked on the way

    def _batch(self, batch: Batch, path: str, position: int, bucket: int) -> None:
        self._batches += 1
        self._changes += len(batch)
        self._bytes += batch.length
        self._progress(batch.length)
        if self._deep:
            try:
                verify(batch.to_bytes())
            except Malformed as error:
                header = batch.header
                self._damaged(path, position, batch.length, str(error), bucket, header.base_offset, header.end_offset)

    def _damaged(
        self, path: str, position: int, length: int | None, reason: str, bucket: int, first: int | None, end: int | None
    ) -> None:
        self.damage.append(Corrupt(path, position, length, reason, bucket=bucket, first=first, end=end))


class _IndexCheck:
    """Compares what an index says with the batches. One that is missing or of other content is no damage: it is made
    anew when it is needed."""

    def __init__(self, disk: Disk, bucket: int, segment: Segment) -> None:
        self._found: index.SegmentIndex | None = None
        self._block, self._postings, self._right = -1, set[tuple[int, int]](), True
        stored = document.read(disk, index_path(bucket, segment.id))
        if stored is not None:
            self._found = index.load(stored, segment.length, segment.digest)

    def see(self, position: int, batch: Batch) -> None:
        found, following = self._found, self._block + 1
        if found is None:
            return
        if following < len(found.positions) and position >= found.positions[following]:
            self._block = following
            self._right &= bool(
                position == found.positions[following] and batch.header.base_offset == found.offsets[following]
            )
        self._postings.update((index.fingerprint(name), self._block) for name in batch.tag_names)

    def fits(self) -> bool:
        if self._found is None:
            return True
        listed = zip(self._found.fingerprints.tolist(), self._found.blocks.tolist(), strict=True)
        return self._right and self._block + 1 == len(self._found.positions) and set(listed) == self._postings
