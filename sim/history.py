"""The life of one store, lived for real and written down: what it did, and what must be there at each moment.

A life is drawn from a seed: appends to several buckets, cuts, filings, retention, holds, clean restarts, on a store
with tiny files, so that a few hundred operations of the disk roll everything over. After each record that could be the
last one to survive, the expected content is noted; a crash must leave one of those, and not one from before the last
acknowledgement.
"""

from random import Random
from typing import NamedTuple

from hansard.batch import Batch, build
from hansard.storage.identity import Identity
from hansard.storage.manifest import Hold
from hansard.storage.reading import Query
from hansard.storage.retention import Retention, droppable, held_from
from hansard.storage.settings import StoreSettings
from hansard.storage.store import Store, open_store
from sim.disk import SimDisk

SETTINGS = StoreSettings(
    journal_file_bytes=4 << 10,
    unfiled_bytes_max=24 << 10,
    unfiled_records_max=60,
    segment_bytes=6 << 10,
    block_bytes=1 << 10,
)
IDENTITY = Identity("a log", "a cluster", "a node")
BUCKETS = 3
TAGS = ("red", "green", "blue", "rare")

Row = tuple[int, int, bytes | None, bytes | None, tuple[str, ...]]
Content = tuple[tuple[int, tuple[Row, ...]], ...]
"""For each bucket its first retained offset and its changes."""


class Moment(NamedTuple):
    """What is there once operation `begun` has started; `acknowledged` is the operation at which it was promised."""

    begun: int
    acknowledged: int | None
    content: Content


class History:
    """Lives a life on a disk. Invariant: the store's content is that of the last moment."""

    def __init__(
        self, disk: SimDisk, random: Random, store: Store | None = None, content: Content | None = None
    ) -> None:
        self.disk, self._random = disk, random
        self.store = store or open_store(disk, create=IDENTITY, settings=SETTINGS)
        self._rows: dict[int, list[Row]] = {bucket: [] for bucket in range(BUCKETS)}
        self._start = dict.fromkeys(range(BUCKETS), 0)
        self._batch_ends: dict[int, list[int]] = {bucket: [0] for bucket in range(BUCKETS)}
        self._clock = 1_000
        if content is not None:
            self._take_over(content)
        self.moments = [Moment(0, disk.operation_count, self._content())]
        self.counts: dict[str, int] = {}

    def _take_over(self, content: Content) -> None:
        for bucket, (start, rows) in enumerate(content):
            self._rows[bucket], self._start[bucket] = list(rows), start
            log = self.store.log(bucket)
            self._batch_ends[bucket] = [log.end]
            self._clock = max(self._clock, log.timestamp)

    def _content(self) -> Content:
        return tuple((self._start[bucket], tuple(self._rows[bucket])) for bucket in range(BUCKETS))

    def live(self, steps: int) -> None:
        choices = (
            [self.append] * 14 + [self.truncate] * 2 + [self.file, self.retain, self.hold, self.release, self.reopen]
        )
        for _ in range(steps):
            step = self._random.choice(choices)
            self.counts[step.__name__] = self.counts.get(step.__name__, 0) + 1
            step()

    def _acknowledge(self, begun: int) -> None:
        self.moments.append(Moment(begun, self.disk.operation_count, self._content()))

    def append(self) -> None:
        """A group of batches for one or several buckets; a crash may keep any number of its first ones."""
        begun, group = self.disk.operation_count, []
        ends: dict[int, int] = {}
        for _ in range(self._random.choice((1, 1, 1, 2, 4))):
            bucket = self._random.randrange(BUCKETS)
            end = ends.get(bucket, self.store.bounds(bucket)[1])
            batch = self._batch(end + self._random.choice((0, 0, 0, 0, 3)))
            group.append((bucket, batch))
            ends[bucket] = batch.header.end_offset
        partial = []
        for bucket, batch in group:
            if not self._rows[bucket]:
                self._start[bucket] = batch.header.base_offset
            self._rows[bucket] += rows_of(batch)
            self._batch_ends[bucket].append(batch.header.end_offset)
            partial.append(self._content())
        self.moments += [Moment(begun, None, content) for content in partial[:-1]]
        self.store.append(group)
        self._acknowledge(begun)

    def _batch(self, base: int) -> Batch:
        count = self._random.choice((1, 1, 2, 5, 20))
        self._clock += self._random.randrange(3)
        keys = [None if self._random.random() < 0.1 else f"key {self._random.randrange(50)}" for _ in range(count)]
        values = [self._random.randbytes(self._random.choice((0, 3, 40, 300))) for _ in range(count)]
        tags = [[tag for tag in TAGS[:3] if self._random.random() < 0.3] for _ in range(count)]
        if self._random.random() < 0.05:
            tags[0] = [*tags[0], "rare"]
        batch = build(keys, values, tags).stamped(epoch=1, base_offset=base, timestamp=self._clock)
        return batch.compressed() if self._random.random() < 0.2 else batch

    def truncate(self) -> None:
        bucket = self._random.randrange(BUCKETS)
        start, end = self.store.bounds(bucket)
        places = [place for place in self._batch_ends[bucket] if start <= place < end]
        if not places:
            return
        place = self._random.choice(places[-6:])
        begun = self.disk.operation_count
        self._rows[bucket] = [row for row in self._rows[bucket] if row[0] < place]
        self._batch_ends[bucket] = [other for other in self._batch_ends[bucket] if other <= place]
        partial = self._content()
        self.store.truncate_after(bucket, place - 1)
        if not self._rows[bucket]:
            self._start[bucket] = self.store.bounds(bucket)[0]
        self.moments.append(Moment(begun, None, partial))
        self._acknowledge(begun)

    def file(self) -> None:
        self.store.file()

    def retain(self) -> None:
        """In two steps, of which a crash may leave the first: what is filed, and what is filed for this."""
        begun = self.disk.operation_count
        keep = {bucket: Retention(change_count=self._random.choice((0, 30, 100))) for bucket in range(BUCKETS)}
        for entry in self.store.manifest.buckets:
            held = held_from(self.store.manifest.holds, entry.bucket, self._clock)
            gone = entry.segments[: droppable(entry.segments, keep[entry.bucket], self._clock, held)]
            if gone and entry == self.store.log(entry.bucket).filed:
                self._start_at(entry.bucket, gone[-1].end)
        self.moments.append(Moment(begun, None, self._content()))
        self.store.retain(keep, self._clock)
        for bucket in range(BUCKETS):
            self._start_at(bucket, self.store.bounds(bucket)[0])
        self._acknowledge(begun)

    def _start_at(self, bucket: int, start: int) -> None:
        self._start[bucket] = start
        self._rows[bucket] = [row for row in self._rows[bucket] if row[0] >= start]

    def hold(self) -> None:
        bucket = self._random.randrange(BUCKETS)
        start, end = self.store.bounds(bucket)
        offset = self._random.randint(start, end)
        self.store.hold(Hold("a reader", bucket, offset, self._clock + self._random.choice((0, 50))))

    def release(self) -> None:
        self.store.release("a reader")

    def reopen(self) -> None:
        self.store.close()
        self.store = open_store(self.disk, expect=IDENTITY, settings=SETTINGS)

    def possible(self, at: int) -> list[Content]:
        """What a crash just after operation `at` may leave: the last acknowledged moment, or one begun since."""
        acknowledged = (place for place, moment in enumerate(self.moments) if (moment.acknowledged or at + 1) <= at)
        last = max(acknowledged, default=0)
        return [
            moment.content
            for place, moment in enumerate(self.moments)
            if place == last or (place > last and moment.begun < at)
        ]


def rows_of(batch: Batch) -> list[Row]:
    return [(change.offset, change.timestamp, change.key, change.value, change.tags) for change in batch.changes()]


def content_of(store: Store) -> Content:
    """What a reader finds, by plain forward scans."""
    content = []
    for bucket in range(BUCKETS):
        rows = [row for batch in store.scan(bucket, Query()) for row in rows_of(batch)]
        content.append((store.bounds(bucket)[0], tuple(rows)))
    return tuple(content)
