"""The life of one store, lived for real and written down: what it did, and what must be there at each moment.

A life is drawn from a seed: writes of every kind to several buckets, filings, retention, holds, clean restarts, on a
store with tiny files, so that a few hundred operations of the disk roll everything over. After each write that could be
the last one to survive, the expected content is noted; a crash must leave one of those, and not one from before the
last acknowledgement. Lives that fork also make buckets of others, which go on, are cut, dropped or forked in turn.
"""

from collections.abc import Sequence
from random import Random
from typing import NamedTuple, assert_never

from hansard.batch import Batch, build
from hansard.storage.identity import Identity
from hansard.storage.manifest import Hold
from hansard.storage.reading import Query
from hansard.storage.retention import Retention, droppable, held_from
from hansard.storage.settings import StoreSettings
from hansard.storage.store import Store, open_store
from hansard.storage.write import Append, Cut, Discard, Drop, Fork, Keep, Note, Reset, Trim, Write
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
NAMES = ("snapshot", "votes-2")
"""Of documents."""

SIGHTINGS = ("filed", "unfiled", "cut", "trimmed", "forked", "with documents", "dropped then", "trimmed then")
"""What is counted of the sources of forks."""

Row = tuple[int, int, bytes | None, bytes | None, tuple[str, ...]]


class Held(NamedTuple):
    """What a bucket holds."""

    is_there: bool = False
    """It has a log, even if an empty one, or a note."""
    end: int = 0
    rows: tuple[Row, ...] = ()
    note: bytes = b""
    documents: tuple[tuple[str, bytes], ...] = ()


Content = tuple[Held, ...]
"""For each bucket."""


def after(content: Content, write: Write) -> Content:
    """What there is once a write is done."""
    held = content[write.source] if isinstance(write, Fork) else _after(content[write.bucket], write)
    return (*content[: write.bucket], held, *content[write.bucket + 1 :])


def _after(held: Held, write: Write) -> Held:
    """What a write leaves of its bucket."""
    match write:
        case Append(_, batch):
            return held._replace(is_there=True, end=batch.header.end_offset, rows=(*held.rows, *rows_of(batch)))
        case Note(_, content):
            return held._replace(is_there=True, note=content)
        case Cut(_, end):
            return held._replace(end=min(end, held.end), rows=tuple(row for row in held.rows if row[0] < end))
        case Trim():  # what goes depends on how the log lies in segments
            return held
        case Reset(_, start):
            return held._replace(is_there=True, end=start, rows=())
        case Keep(_, name, content):
            return held._replace(documents=tuple(sorted({**dict(held.documents), name: content}.items())))
        case Discard(_, name):
            return held._replace(documents=tuple(kept for kept in held.documents if kept[0] != name))
        case Drop():
            return Held()
        case Fork():
            raise AssertionError("it takes the source to tell")
        case _:
            assert_never(write)


class Moment(NamedTuple):
    """What is there once operation `begun` has started; `acknowledged` is the operation at which it was promised."""

    begun: int
    acknowledged: int | None
    content: Content


class History:
    """Lives a life on a disk. Invariant: the store's content is that of the last moment."""

    def __init__(
        self,
        disk: SimDisk,
        random: Random,
        store: Store | None = None,
        content: Content | None = None,
        *,
        forks: bool = False,
    ) -> None:
        self.disk, self._random, self.forks = disk, random, forks
        self.store = store or open_store(disk, create=IDENTITY, settings=SETTINGS)
        self._held = list(content or [Held()] * BUCKETS)
        self._batch_ends = {bucket: [self.store.bounds(bucket)[1]] for bucket in range(BUCKETS)}
        self._clock = max([1_000, *(self.store.log(bucket).timestamp for bucket in range(BUCKETS))])
        self.moments = [Moment(0, disk.operation_count, self._content())]
        self.counts: dict[str, int] = {}
        self.sightings: dict[str, int] = {}

    def _content(self) -> Content:
        return tuple(self._held)

    def live(self, steps: int) -> None:
        choices = (
            [self.append] * 12
            + [self.mix] * 4
            + [self.truncate, self.truncate, self.note, self.keep, self.reset, self.drop]
            + [self.file, self.retain, self.hold, self.release, self.reopen]
        )
        if self.forks:
            choices += [self.fork] * 8 + [self.trim] * 3
        for _ in range(steps):
            step = self._random.choice(choices)
            self.counts[step.__name__] = self.counts.get(step.__name__, 0) + 1
            step()

    def _acknowledge(self, begun: int) -> None:
        self.moments.append(Moment(begun, self.disk.operation_count, self._content()))

    def _write(self, writes: Sequence[Write]) -> None:
        """A crash may keep any number of the first ones."""
        begun = self.disk.operation_count
        self.store.write(writes)
        for write in writes:
            self._held = list(after(self._content(), write))
            self.moments.append(Moment(begun, None, self._content()))
        self.moments.pop()
        self._acknowledge(begun)

    def append(self) -> None:
        """A group of batches for one or several buckets."""
        self._write(self._appends(self._random.choice((1, 1, 1, 2, 4))))

    def _appends(self, count: int, bucket: int | None = None, end: int | None = None) -> list[Write]:
        """To one bucket from `end` on, or to any where they end."""
        writes: list[Write] = []
        ends: dict[int, int] = {} if bucket is None or end is None else {bucket: end}
        for _ in range(count):
            place = self._random.randrange(BUCKETS) if bucket is None else bucket
            batch = self._batch(ends.get(place, self._held[place].end) + self._random.choice((0, 0, 0, 0, 3)))
            writes.append(Append(place, batch))
            ends[place] = batch.header.end_offset
            self._batch_ends[place].append(batch.header.end_offset)
        return writes

    def note(self) -> None:
        self._write([self._note(self._random.randrange(BUCKETS)) for _ in range(self._random.choice((1, 1, 2)))])

    def _note(self, bucket: int) -> Note:
        return Note(bucket, self._random.randbytes(self._random.choice((0, 4, 40, 700))))

    def mix(self) -> None:
        """What a member of a bucket writes: batches and notes together; often after a cut, sometimes from scratch."""
        bucket = self._random.randrange(BUCKETS)
        writes: list[Write] = self._appends(self._random.choice((0, 1, 2)))
        match self._random.randrange(6):
            case 0 | 1 if not writes and (place := self._cut_place(bucket)) is not None:
                writes += [self._note(bucket), Cut(bucket, place)]
                writes += self._appends(1, bucket, place)
            case 2:
                start = self._random.randrange(100)
                writes += [Reset(bucket, start), self._note(bucket)]
                self._batch_ends[bucket] = [start]
                writes += self._appends(2, bucket, start)
            case 3:
                writes += [self._keep(bucket), self._note(bucket)]
            case _:
                pass
        self._write([*writes, self._note(self._random.randrange(BUCKETS))])

    def keep(self) -> None:
        """A document, twice or not for long."""
        bucket = self._random.randrange(BUCKETS)
        kept = self._keep(bucket)
        more: list[Write] = [Discard(bucket, kept.name)] if self._random.random() < 0.3 else []
        self._write([kept, *more] if self._random.random() < 0.7 else [kept, self._keep(bucket)])

    def _keep(self, bucket: int) -> Keep:
        size = self._random.choice((0, 30, 2_000))
        return Keep(bucket, self._random.choice(NAMES), self._random.randbytes(size))

    def reset(self) -> None:
        bucket, start = self._random.randrange(BUCKETS), self._random.randrange(200)
        self._batch_ends[bucket] = [start]
        self._write([Reset(bucket, start)])

    def drop(self) -> None:
        """A bucket goes, and may come back at once."""
        bucket = self._random.randrange(BUCKETS)
        self._batch_ends[bucket] = [0]
        back: list[Write] = []
        if self._random.random() < 0.5:
            back = [*self._appends(1, bucket, 0), self._keep(bucket)]
        self._write([Drop(bucket), *back])
        assert all(hold.bucket != bucket for hold in self.store.manifest.holds)

    def fork(self) -> None:
        """A bucket becomes what another one is; then one of the two goes on or ends, or a third joins them."""
        bucket, source, third = self._random.sample(range(BUCKETS), 3)
        if source not in self.store.buckets():
            return
        end, ends = self._held[source].end, self._batch_ends[source]
        self._batch_ends[bucket] = list(ends)
        writes: list[Write] = [Drop(bucket)] if bucket in self.store.buckets() else []
        writes += [Fork(bucket, source)]
        self._see(source)
        one, other = self._random.sample((bucket, source), 2)
        match self._random.randrange(8):
            case 0 if places := self._cut_places(source):
                place = self._random.choice(places[-6:])
                self._batch_ends[one] = [end for end in ends if end <= place]
                writes += [Cut(one, place), *self._appends(1, one, place)]
            case 1:
                writes += [*self._appends(1, bucket, end), *self._appends(2, source, end), self._note(one)]
            case 2:
                writes += [Drop(source)]
                self._batch_ends[source] = [0]
                self._count("dropped then")
            case 3:
                self._batch_ends[third] = list(ends)
                writes += [Drop(third), Fork(third, bucket), *self._appends(1, one, end)]
            case 4:
                writes += [self._keep(one), Discard(one, self._random.choice(NAMES)), self._keep(one)]
            case 5:
                writes += [Drop(one), Fork(one, other), self._note(one)]
            case 6:
                start = self._random.randrange(50)
                self._batch_ends[one] = [start]
                writes += [Reset(one, start), *self._appends(1, one, start)]
            case _:
                pass
        self._write(writes)
        if self._random.random() < 0.4:
            self._trim(one)

    def _see(self, source: int) -> None:
        """What a fork is of."""
        log = self.store.log(source)
        listed = next((entry for entry in self.store.manifest.buckets if entry.bucket == source), None)
        for name, there in (
            ("filed", log.filed.segments),
            ("unfiled", log.tail),
            ("cut", any(segment.sealed for segment in log.filed.segments[-1:]) or (listed and listed.end > log.end)),
            ("trimmed", log.filed.segments and log.start),
            ("forked", log.filed.forked),
            ("with documents", self._held[source].documents),
        ):
            if there:
                self._count(name)

    def _count(self, name: str) -> None:
        self.sightings[name] = self.sightings.get(name, 0) + 1

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
        place = self._cut_place(bucket)
        if place is not None:
            self._write([Cut(bucket, place)])

    def _cut_place(self, bucket: int) -> int | None:
        """Between two batches of a bucket, where it has any."""
        places = self._cut_places(bucket)
        if not places:
            return None
        place = self._random.choice(places[-6:])
        self._batch_ends[bucket] = [other for other in self._batch_ends[bucket] if other <= place]
        return place

    def _cut_places(self, bucket: int) -> list[int]:
        start, end = self.store.bounds(bucket)
        return [place for place in self._batch_ends[bucket] if start <= place < end]

    def file(self) -> None:
        self.store.file()

    def retain(self) -> None:
        """In two steps, of which a crash may leave the first: what is filed, and what is filed for this."""
        begun = self.disk.operation_count
        keep = {bucket: Retention(change_count=self._random.choice((0, 30, 100))) for bucket in range(BUCKETS)}
        for entry in self.store.thinnable(keep):
            held = held_from(self.store.manifest.holds, entry.bucket, self._clock)
            gone = entry.segments[: droppable(entry.segments, keep[entry.bucket], self._clock, held)]
            if gone:
                self._start_at(entry.bucket, gone[-1].end)
        self.moments.append(Moment(begun, None, self._content()))
        self.store.retain(keep, self._clock)
        for bucket in range(BUCKETS):
            self._start_at(bucket, self.store.bounds(bucket)[0])
        self._acknowledge(begun)

    def trim(self) -> None:
        """Up to some offset of a bucket, or past its end. Among the choices of lives that fork only."""
        self._trim(self._random.randrange(BUCKETS))

    def _trim(self, bucket: int) -> None:
        start, end = self.store.bounds(bucket)
        begun, place = self.disk.operation_count, self._random.randint(start, end + 3)
        unfiled = any(log.filed.forked for log in self.store.logs.values())
        self.store.write([Trim(bucket, place)])
        self._start_at(bucket, self.store.bounds(bucket)[0])
        if unfiled and self.store.bounds(bucket)[0] > start:
            self._count("trimmed then")
        assert self.store.bounds(bucket)[0] <= place, "more went than was allowed"
        self._acknowledge(begun)

    def _start_at(self, bucket: int, start: int) -> None:
        held = self._held[bucket]
        self._held[bucket] = held._replace(rows=tuple(row for row in held.rows if row[0] >= start))

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
    return tuple(_held(store, bucket) for bucket in range(BUCKETS))


def _held(store: Store, bucket: int) -> Held:
    rows = tuple(row for batch in store.scan(bucket, Query()) for row in rows_of(batch))
    documents = tuple((name, store.document(bucket, name) or b"") for name in store.documents(bucket))
    assert (bucket in store.buckets()) == (bucket in store.logs or bool(documents))
    return Held(bucket in store.logs, store.bounds(bucket)[1], rows, store.note(bucket), documents)
