"""The job `restore`: an archive becomes a log again.

It goes into an empty cluster as it was: each bucket is sent its changes in order, with their offsets, times,
connections and series, and the log keeps its id. So every bookmark and every archive goes on with it. A task sends a
bucket; one that is done again, or a whole job, begins at the beginning and is told that it is there already. The
cluster opens when everything is there, and not before.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from hansard.batch import logged_from_arrow
from hansard.bookmark import Bookmark
from hansard.client.importing import PATIENCE_S, SPARE_CONNECTIONS, Inward

from . import manifest, place
from .columns import BUCKET, OFFSET, TIMESTAMP
from .folder import Folder
from .manifest import ArchiveError, Catalog
from .reading import Place, archived, micros, placed
from .source import Source

CHANGES_PER_BATCH: Final = 8_192
BATCH_BYTES: Final = 4 << 20
SENT: Final = "bucket INT, rows BIGINT, end BIGINT, last_us BIGINT, connection BIGINT"


class Restored(NamedTuple):
    log: str
    buckets: int
    rows: int
    until: Bookmark
    was_there: bool = False
    """All of it, before this began."""


@dataclass(frozen=True, slots=True)
class Restorer:
    """Of an archive to a cluster that was founded for its log."""

    spark: SparkSession
    target: Source
    root: str
    until: Place | None = None
    """Not further than this; else all that the archive has."""
    reached: Callable[[str], None] = lambda _: None

    def restore(self) -> Restored:
        folder = Folder(self.spark, self.root)
        catalog = existing(folder)
        assert catalog.until is not None
        table = asyncio.run(_table(self.target))
        there = len(table["buckets"])
        check_fits(catalog, table["log"], there)
        until = until_place(self.spark, folder, catalog, self.until)
        if any(bucket["opened"] for bucket in table["buckets"]):
            self._look(until)
            return Restored(catalog.log, there, 0, until, was_there=True)
        addresses = [bucket["address"] for bucket in table["buckets"]]
        changes = archived(self.spark, folder, catalog, None, until)
        self.reached("planned")
        sent = imported(ordered(changes, until), self.target, addresses, destinations(until, there)).collect()
        self.reached("sent")
        ends = [until.offset(bucket) or 0 for bucket in range(there)]
        last = {row[BUCKET]: (row["end"], row["last_us"]) for row in sent}
        connection = max([row["connection"] for row in sent], default=0) + SPARE_CONNECTIONS
        asyncio.run(_finish(self.target, addresses, ends, last, connection))
        self.reached("opened")
        return Restored(catalog.log, there, sum(row["rows"] for row in sent), until)

    def _look(self, until: Bookmark) -> None:
        """That everything is there; raises where it is not."""
        with self.target.client() as client:
            there = client.bookmark()
        if any((there.offset(bucket) or 0) < (until.offset(bucket) or 0) for bucket in until.offsets):
            raise ArchiveError("the cluster is open, and has not all of the archive: restore into an empty one")


def existing(folder: Folder) -> Catalog:
    catalog = manifest.load(folder)
    if catalog.until is None:
        raise ArchiveError(f"there is no archive at {folder.root}: hansard pipeline archive makes one")
    return catalog


def check_fits(catalog: Catalog, log: str, buckets: int) -> None:
    """Whether the archive can be brought to a cluster with this log and so many buckets."""
    assert catalog.until is not None
    if log != catalog.log:
        how = f"found an empty one with: hansard start --found --importing {catalog.log}"
        raise ArchiveError(f"the archive is of log {catalog.log}, and this cluster has {log}: {how}")
    least = place.finest(catalog.until.offsets)
    if buckets < least or buckets % least:
        wanted = "it needs as many, or twice as many"
        raise ArchiveError(f"the archive has {least} buckets, and the cluster {buckets}: {wanted}")


def until_place(spark: SparkSession, folder: Folder, catalog: Catalog, until: Place | None) -> Bookmark:
    """As offsets; the archive's end, if it is not said."""
    end = catalog.until
    assert end is not None
    stop = placed(until, catalog.log)
    if stop is None:
        return end
    if isinstance(stop, Bookmark):
        buckets = {*end.offsets, *stop.offsets}
        if any((stop.offset(bucket) or 0) > (end.offset(bucket) or 0) for bucket in buckets):
            raise ArchiveError("the archive ends before that bookmark: restore all of it, or up to an earlier one")
        return stop.split(catalog.log, buckets)
    return until_time(archived(spark, folder, catalog), end, stop)


def until_time(changes: DataFrame, end: Bookmark, time: datetime) -> Bookmark:
    """Before the first change of each bucket that is not before a time."""
    late = place.relabelled(changes, end.offsets).where(fn.unix_micros(TIMESTAMP) >= micros(time))
    first = {row[BUCKET]: row["first"] for row in late.groupBy(BUCKET).agg(fn.min(OFFSET).alias("first")).collect()}
    return Bookmark(end.log_id, {bucket: first.get(bucket, at) for bucket, at in end.offsets.items()})


def destinations(until: Bookmark, there: int) -> dict[int, list[int]]:
    """To which buckets of so many each one of the archive goes: what has become of it there."""
    found: dict[int, list[int]] = {bucket: [] for bucket in until.offsets}
    for bucket in range(there):
        found[place.nearest(bucket, found)].append(bucket)
    return found


def ordered(changes: DataFrame, until: Bookmark) -> DataFrame:
    """Each bucket in one part, by offset."""
    tasks = min(len(until.offsets), 4 * changes.sparkSession.sparkContext.defaultParallelism)
    labelled = place.relabelled(changes, until.offsets)
    return labelled.repartition(tasks, BUCKET).sortWithinPartitions(BUCKET, OFFSET)


def imported(
    changes: DataFrame, target: Source, addresses: list[str | None], buckets: Mapping[int, list[int]]
) -> DataFrame:
    """Sends them; for each bucket there how much it was sent, up to where."""

    def send(parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield asyncio.run(_send(parts, target, addresses, buckets))

    return changes.mapInArrow(send, SENT)


async def _send(
    parts: Iterator[pa.RecordBatch], target: Source, addresses: list[str | None], buckets: Mapping[int, list[int]]
) -> pa.RecordBatch:
    sent: dict[int, list[int]] = {}
    async with target.operator(PATIENCE_S) as operator:
        inward, follows = Inward(operator, list(addresses)), dict[int, int]()
        for bucket, rows in cut(parts):
            batch = logged_from_arrow(rows)
            for number in buckets[bucket]:
                await inward.bring(number, batch, follows.get(bucket, 0))
            follows[bucket] = batch.header.end_offset
            tally = sent.setdefault(bucket, [0, 0, 0, 0])
            tally[0] += len(batch)
            tally[1:3] = [batch.header.end_offset, batch.header.last_timestamp]
            tally[3] = max(tally[3], int(batch.connections.max(initial=0)))
    names = ["bucket", "rows", "end", "last_us", "connection"]
    rows_sent = [[bucket, *tally] for bucket, tally in sent.items()]
    columns = [pa.array([row[place] for row in rows_sent], kind) for place, kind in enumerate(_KINDS)]
    return pa.RecordBatch.from_arrays(columns, names=names)


_KINDS: Final = (pa.int32(), pa.int64(), pa.int64(), pa.int64(), pa.int64())


def cut(parts: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Rows that are sorted by bucket, in pieces of one bucket that a batch can hold."""
    for part in parts:
        labels = part.column(BUCKET).to_numpy()
        first = 0
        while first < len(labels):
            same = labels[first : first + CHANGES_PER_BATCH] == labels[first]
            count = len(same) if same.all() else int(same.argmin())
            piece = part.slice(first, count)
            while piece.nbytes > BATCH_BYTES and count > 1:
                count = max(1, count // 2)
                piece = part.slice(first, count)
            yield int(labels[first]), piece
            first += count


async def _table(target: Source) -> Any:
    async with target.operator() as operator:
        table = await operator.ask(ask="table")
    if not table["buckets"]:
        raise ArchiveError("the cluster has no buckets yet: start as many participants as its founding waits for")
    return table


async def _finish(
    target: Source,
    addresses: list[str | None],
    ends: list[int],
    last: Mapping[int, tuple[int, int]],
    connections: int,
) -> None:
    async with target.operator(PATIENCE_S) as operator:
        inward = Inward(operator, list(addresses))
        for bucket, end in enumerate(ends):
            inward.resume(bucket, *last.get(place.nearest(bucket, last) if last else bucket, (0, 0)))
            await inward.cover(bucket, end)
        await operator.order({"type": "finish", "connections": connections, "ends": ends}, wait_s=PATIENCE_S)
