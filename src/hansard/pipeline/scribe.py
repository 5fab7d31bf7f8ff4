"""Files of an archive, written by the tasks that read the log.

Batches of the log are Arrow's already, and so is what a writer of Parquet takes. Where tasks reach the archive's root
as a path, nothing of it has to become rows of the JVM and columns again: that is most of what it costs to have Spark
write them.

Each attempt at a task writes files under names that no other attempt has, and hands on what it has written. Spark takes
the answer of one attempt for each task; what the others leave behind is not in it, so it counts for nothing.
"""

import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from pyspark_hansard.columns import arrow_schema
from pyspark_hansard.places import Range
from pyspark_hansard.plan import Share
from pyspark_hansard.reader import BatchReader

from .columns import BUCKET, CHANGES, CONNECTION, KEY, OFFSET, SERIES, TIMESTAMP
from .folder import Folder, sync_path
from .manifest import ArchiveError, Checksum
from .prints import checksum

DAY_US: Final = 86_400_000_000
GROUP_ROWS: Final = 100_000
GROUP_BYTES: Final = 32 << 20
"""Of a group of rows, which Parquet's readers take or leave by its statistics."""
WAITING_BYTES_MAX: Final = 128 << 20
"""Of a task with many days, each of which has less than a group."""
OPEN_MAX: Final = 64

_TAG: Final = "tags.list.element"
_RISING: Final = (OFFSET, TIMESTAMP, SERIES)
FORMAT: Final = {
    "compression": "zstd",
    "compression_level": 3,
    "use_dictionary": [BUCKET, KEY, _TAG, CONNECTION],
    "column_encoding": dict.fromkeys(_RISING, "DELTA_BINARY_PACKED"),
    "write_statistics": [BUCKET, OFFSET, TIMESTAMP, KEY, _TAG, CONNECTION, SERIES],  # nobody prunes by values
    "write_page_index": True,
    "max_rows_per_page": 20_000,
    "write_page_checksum": True,
    "store_schema": False,
}
"""As Spark writes them, and every reader of Parquet reads them; only numbers that rise take less room."""
WRITTEN: Final = "path STRING, byte_count BIGINT, rows BIGINT, xored BIGINT, added BIGINT"


class Written(NamedTuple):
    path: str
    """Below the folder of the run."""
    byte_count: int
    checksum: Checksum
    """Of the changes as they came, before they were written."""


def written(spark: SparkSession, reader: BatchReader, home: Path, tasks: int) -> list[Written]:
    """All that the reader reads, as files below `home`, which driver and tasks reach by the same path."""
    ranges = [each for share in reader.partitions() if isinstance(share, Share) for each in share.ranges]
    parts = shared(ranges, tasks)

    def write(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in numbers:
            for number in batch.column("id").to_pylist():
                yield _told(attempt(reader, parts[number], home, number))

    if not parts:
        return []
    rows = spark.range(0, len(parts), 1, len(parts)).mapInArrow(write, WRITTEN).collect()
    return [Written(row.path, row.byte_count, Checksum(row.rows, row.xored, row.added)) for row in rows]


def counted(folder: Folder, run: str, told: Sequence[Written]) -> dict[str, int]:
    """The files that Spark's tasks have told of, and nothing else: what attempts have left that did not count is
    removed. So is whatever one of them still writes after this, like every file that no manifest names."""
    there = {found.path: found.byte_count for found in folder.files(run)}
    named = {f"{run}/{file.path}": file.byte_count for file in told}
    for path, byte_count in named.items():
        if there.get(path) != byte_count:
            found = f"has {there[path]} bytes here" if path in there else "is not here"
            folder.remove(run)
            raise ArchiveError(
                f"{folder.path(path)} {found}, and the task that wrote it says {byte_count}: the tasks of "
                "other machines need a root that all of them and this one share"
            )
    for path in sorted(there.keys() - named.keys()):
        folder.remove(path)
    return named


def shared(ranges: Sequence[Range], count: int) -> list[list[Range]]:
    """For so many tasks, all with as much to do, in the order of buckets and offsets; none where there is nothing."""
    total = sum(each.offsets for each in ranges)
    parts: list[list[Range]] = []
    for number in range(count):
        first, end = total * number // count, total * (number + 1) // count
        if first < end:
            parts.append(list(_between(ranges, first, end)))
    return parts


def _between(ranges: Iterable[Range], first: int, end: int) -> Iterator[Range]:
    """What lies there if all offsets of all ranges are counted through."""
    before = 0
    for each in ranges:
        start, stop = max(first - before, 0), min(end - before, each.offsets)
        if start < stop:
            yield each._replace(start=each.start + start, end=each.start + stop)
        before += each.offsets


def attempt(reader: BatchReader, ranges: Sequence[Range], home: Path, number: int) -> list[Written]:
    """One at a task. What fails removes what it has written, as far as it can."""
    with Scribe(home, f"part-{number:05}-{secrets.token_hex(6)}") as scribe:
        for batch in reader.read(Share(ranges, number)):
            scribe.take(batch)
        return scribe.end()


def _told(files: Sequence[Written]) -> pa.RecordBatch:
    columns = {
        "path": pa.array([file.path for file in files], pa.string()),
        "byte_count": pa.array([file.byte_count for file in files], pa.int64()),
        "rows": pa.array([file.checksum.rows for file in files], pa.int64()),
        "xored": pa.array([file.checksum.xored for file in files], pa.int64()),
        "added": pa.array([file.checksum.added for file in files], pa.int64()),
    }
    return pa.RecordBatch.from_pydict(columns)


def by_day(batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    """What it has of each day (UTC), counted from 1970. Nearly always that is one."""
    times = batch.column(TIMESTAMP).view(pa.int64()).to_numpy()
    if not len(times):
        return
    first, last = int(times.min()) // DAY_US, int(times.max()) // DAY_US
    if first == last:
        yield first, batch
        return
    days = times // DAY_US
    for day in np.unique(days).tolist():
        yield day, batch.filter(pa.array(days == day))


class Volume:
    """A file of one day. Its rows wait until they are worth a group."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.checksum = Checksum()
        self.waiting_bytes = 0
        self._waiting: list[pa.RecordBatch] = []
        self._writer: pq.ParquetWriter | None = None

    @property
    def is_open(self) -> bool:
        return self._writer is not None

    def take(self, batch: pa.RecordBatch) -> None:
        self.checksum += checksum(batch)
        self._waiting.append(batch)
        self.waiting_bytes += batch.nbytes

    @property
    def is_full(self) -> bool:
        return self.waiting_bytes >= GROUP_BYTES or sum(map(len, self._waiting)) >= GROUP_ROWS

    def write(self) -> None:
        if self._writer is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = pq.ParquetWriter(self.path, arrow_schema(CHANGES), **FORMAT)
        if self._waiting:
            self._writer.write_table(pa.Table.from_batches(self._waiting), GROUP_ROWS)
        self._waiting, self.waiting_bytes = [], 0

    def close(self) -> None:
        """It outlives the power from now on: this machine has written it, and no other could say so."""
        self.write()
        assert self._writer is not None
        self._writer.close()
        sync_path(self.path)

    def undo(self) -> None:
        with suppress(OSError, pa.ArrowException):
            if self._writer is not None:
                self._writer.close()
        self.path.unlink(missing_ok=True)


class Scribe:
    """Writes what comes to files, of each day one; more where that would take too many at once."""

    def __init__(self, home: Path, word: str) -> None:
        self._home = home
        self._word = word
        self._volumes: dict[int, Volume] = {}
        """By the day; the one that was written to last is the last."""
        self._closed: list[Volume] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            for volume in [*self._volumes.values(), *self._closed]:
                volume.undo()

    def take(self, batch: pa.RecordBatch) -> None:
        for day, part in by_day(batch):
            volume = self._volumes.get(day) or self._begun(day)
            volume.take(part)
            if volume.is_full:
                self._write(day)
        while sum(volume.waiting_bytes for volume in self._volumes.values()) > WAITING_BYTES_MAX:
            self._write(max(self._volumes, key=lambda day: self._volumes[day].waiting_bytes))

    def _begun(self, day: int) -> Volume:
        number = len(self._volumes) + len(self._closed)
        name = f"{self._word}-{number:04}.zstd.parquet"
        volume = self._volumes[day] = Volume(self._home / f"day={np.datetime64(day, 'D')}" / name)
        return volume

    def _write(self, day: int) -> None:
        volume = self._volumes[day] = self._volumes.pop(day)
        volume.write()
        opened = [day for day, volume in self._volumes.items() if volume.is_open]
        if len(opened) > OPEN_MAX:
            self._close(opened[0])

    def _close(self, day: int) -> None:
        volume = self._volumes[day]
        volume.close()
        self._closed.append(self._volumes.pop(day))

    def end(self) -> list[Written]:
        for day in list(self._volumes):
            self._close(day)
        return [
            Written(volume.path.relative_to(self._home).as_posix(), volume.path.stat().st_size, volume.checksum)
            for volume in self._closed
        ]
