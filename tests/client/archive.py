"""A log in memory that is read as a cluster's is: buckets that are split, and members that have not heard of it yet.

Whoever reads is answered by some member, which shows the bucket as it is or as it was a while ago: at a lower level, or
without what was committed since. What follows of that for a reader is held against what there is.
"""

import asyncio
from random import Random
from typing import Any, NamedTuple, cast

from hansard.batch import Batch, bucket_of, build, key_hash
from hansard.client import Change
from hansard.client.atlas import Atlas
from hansard.client.correspondence import Correspondence
from hansard.client.library import Library
from hansard.client.reading import Filter, Reader, Span
from hansard.client.recut import descendants
from hansard.wire.request import Page, Tabled, Whereabouts

LOG = "a-log"


class Entry(NamedTuple):
    offset: int
    timestamp: int
    key: bytes
    value: int


class View(NamedTuple):
    """A bucket as a member knows it at some time."""

    level: int
    committed: int


class Archive(Reader):
    """It is its own reader."""

    def __init__(self, seed: int, buckets: int = 2) -> None:
        self.random = Random(seed)
        self.entries: dict[int, list[Entry]] = {bucket: [] for bucket in range(buckets)}
        self.views = {bucket: [View(buckets, 0)] for bucket in range(buckets)}
        self.atlas = Atlas(["nowhere:1"])
        self.atlas.begin(self.table())
        self.keys = [b"%d" % number for number in range(12)]
        self.counts = dict.fromkeys(self.keys, 0)
        self.now = 1_000
        self.stored_end = lambda _: 0
        self.behind = self.random.choice((0.0, 0.2, 0.5))
        self.stale_pages = 0

    def table(self) -> Tabled:
        count = max(self.entries) + 1
        levels = [self.views[bucket][-1].level if bucket in self.views else 0 for bucket in range(count)]
        size = max(levels)
        levels += [0] * (size - count)
        return Tabled(0, size, LOG, [("n", "nowhere:1")], [Whereabouts(level, 0, (0,)) for level in levels])

    @property
    def levels(self) -> dict[int, int]:
        return {bucket: views[-1].level for bucket, views in self.views.items()}

    # What happens to it.

    def append(self, count: int = 1) -> None:
        for _ in range(count):
            key = self.random.choice(self.keys)
            bucket = self._home(key)
            self.now += self.random.choice((0, 1))
            log = self.entries[bucket]
            offset = log[-1].offset + self.random.choice((1, 1, 2)) if log else 0
            log.append(Entry(offset, self.now, key, self.counts[key]))
            self.counts[key] += 1
            self.views[bucket].append(View(self.levels[bucket], offset + 1))

    def _home(self, key: bytes) -> int:
        (home,) = [bucket for bucket, level in self.levels.items() if bucket_of(key_hash(key), level) == bucket]
        return home

    def split(self, bucket: int) -> None:
        """Both halves have the history, and each shows its own of it."""
        level = self.levels[bucket]
        if level >= 32:
            return
        for half, at in descendants(bucket, level, 2 * level):
            committed = self.views[bucket][-1].committed
            self.entries.setdefault(half, list(self.entries[bucket]))
            self.views.setdefault(half, []).append(View(at, committed))
        if self.random.random() < 0.5:
            for known, to in self.atlas.update(self.table()):
                self.atlas.split(known, to)

    # Reading it.

    async def read(self, bucket: int, span: Span, wanted: Filter, timeout_s: float) -> Page:
        for _ in range(self.random.randrange(3)):
            await asyncio.sleep(0)
        views = self.views[bucket]
        lag = self.random.randint(1, 5) if self.random.random() < self.behind and not span.linear else 0
        view = views[max(0, len(views) - 1 - lag)]
        self.stale_pages += view is not views[-1]
        stop = view.committed if span.end < 0 else min(view.committed, span.end)
        mine = [
            entry
            for entry in self.entries[bucket]
            if span.offset <= entry.offset < stop and bucket_of(key_hash(entry.key), view.level) == bucket
        ]
        mine = [entry for entry in mine if entry.timestamp >= wanted.since_us]
        if not span.changes_max:
            first = mine[0].offset if mine else max(span.offset, view.committed)
            return Page(0, [], first, at_end=not mine, level=view.level, first=first)
        if wanted.descending:
            mine = mine[::-1]
        taken = mine[: min(span.changes_max, self.random.randint(1, 4))]
        if wanted.descending:
            low = taken[-1].offset if len(taken) < len(mine) else span.offset
            end = stop if span.end < 0 else span.end
            return Page(
                0, [*map(_batch, taken)], end, end >= view.committed, view.level, low, low <= 0, low <= span.offset
            )
        end = taken[-1].offset + 1 if len(taken) < len(mine) else max(stop, span.offset)
        closed = 0 <= span.end <= end
        at_end = end >= view.committed or closed
        return Page(0, [*map(_batch, taken)], end, at_end, view.level, span.offset, span.offset <= 0, closed)

    def leave(self, bucket: int) -> None:
        pass

    def library(self) -> Library:
        async def refresh() -> None:
            for known, to in self.atlas.update(self.table()):
                self.atlas.split(known, to)

        return Library(self.atlas, cast(Correspondence, None), self, refresh, 10.0)


def _batch(entry: Entry) -> Batch:
    batch = build([entry.key], [b"%d" % entry.value])
    return batch.stamped(epoch=1, base_offset=entry.offset, timestamp=entry.timestamp)


def check(archive: Archive, seen: list[Change]) -> None:
    """Everything once, and of each key in its order."""
    found: dict[bytes, list[int]] = {key: [] for key in archive.keys}
    for change in seen:
        assert change.key is not None
        found[change.key].append(change.json())
    for key, numbers in found.items():
        assert numbers == list(range(archive.counts[key])), (key, numbers, archive.counts[key])


async def live(archive: Archive, steps: int, done: Any) -> None:
    """Changes come and buckets are split while somebody reads."""
    for _ in range(steps):
        for _ in range(archive.random.randrange(20)):
            await asyncio.sleep(0)
        if archive.random.random() < 0.12:
            archive.split(archive.random.choice(list(archive.levels)))
        else:
            archive.append(archive.random.randint(1, 4))
    done()
