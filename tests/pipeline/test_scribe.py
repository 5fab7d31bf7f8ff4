"""Tasks write the files of an archive by themselves: the same that Spark would write, and of each task once."""

import os
import random
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.datasource import InputPartition

import hansard
from hansard.bookmark import Bookmark
from hansard.pipeline import manifest, parquet, read, scribe
from hansard.pipeline.archive import Archiver
from hansard.pipeline.folder import Folder, Found
from hansard.pipeline.manifest import ArchiveError, Catalog
from hansard.pipeline.restore import Restorer
from hansard.pipeline.scribe import DAY_US, Scribe, by_day, shared
from hansard.pipeline.source import Source
from hansard.testing import Cluster, cluster
from pyspark_hansard.places import Range
from pyspark_hansard.reader import BatchReader
from tests.pipeline.rows import Row, frame_of, in_frame, in_log, some_rows
from tests.pipeline.test_prints import batch_of

LOG = "5ca1ab1e5ca1ab1e"
SPAN_US = 3 * DAY_US


def changes() -> list[Row]:
    """Of four days, the first and the last of them in part; with what is missing, empty, and tagged in any way."""
    made = some_rows(400, 2, first_us=DAY_US * 20_000 + DAY_US // 2, step_us=SPAN_US // 400)
    tags = [(), ("t:a",), ("t:a", "t:b", "t:c"), ("ü",)]
    values = {0: b"", 3: b"x" * 2_000}
    return [(*row[:4], values.get(number % 10, row[4]), tags[number % 4], *row[6:]) for number, row in enumerate(made)]


@pytest.fixture(scope="module")
def town(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A log of several days, in a few batches."""
    folder, rows = Folder(spark, str(tmp_path_factory.mktemp("made"))), changes()
    run = manifest.run_name(1, "aa")
    parquet.write(frame_of(spark, rows), folder, run, 1)
    ends = {bucket: 1 + max(row[1] for row in rows if row[0] == bucket) for bucket in range(2)}
    files, first = parquet.files_of(spark, folder, run), Bookmark(LOG, dict.fromkeys(range(2), 0))
    assert manifest.commit(folder, Catalog(), Bookmark(LOG, ends), 1, files, since=first)
    with cluster(participants=1, buckets=2, importing=LOG) as one:
        Restorer(spark, Source.of(one.addresses), folder.root).restore()
        yield one


def test_by_both_ways_the_same_is_written(spark: SparkSession, town: Cluster, tmp_path: Path) -> None:
    source, rows = Source.of(town.addresses), sorted(changes(), key=lambda row: (row[0], row[1]))
    found = {}
    for name in ("scribe", "spark"):
        archiver = Archiver(spark, source, str(tmp_path / name), rows_per_file=150, by_spark=name == "spark")
        went = archiver.catch_up()
        assert in_frame(read(spark, archive=str(tmp_path / name))) == rows and went.rows == len(rows)
        assert archiver.catch_up().rows == 0
        found[name] = sorted((tmp_path / name).glob("data/*/*/*.parquet"))
        assert sorted(str(path.relative_to(tmp_path / name)) for path in found[name]) == sorted(went.catalog.files)
    mine, sparks = found["scribe"], found["spark"]
    days = {path.parent.name for path in mine}
    assert days == {path.parent.name for path in sparks} and len(days) == 4 < len(mine)
    mixed = [pq.ParquetFile(path) for path in (mine[0], sparks[0])]
    assert mixed[0].schema.equals(mixed[1].schema)
    assert sum(pq.ParquetFile(path).metadata.num_rows for path in mine) == len(rows)
    for file in mixed:
        group = file.metadata.row_group(0)
        kept = {group.column(each).path_in_schema: group.column(each) for each in range(group.num_columns)}
        assert all(kept[name].statistics.has_min_max for name in ("bucket", "offset", "timestamp", "key"))
        assert kept["value"].statistics is None and {each.compression for each in kept.values()} == {"ZSTD"}


def test_a_log_without_changes_is_archived_too_and_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    with cluster(participants=1, buckets=1) as town, hansard.Client.connect(town.addresses) as client:
        archiver = Archiver(spark, Source.of(town.addresses), str(tmp_path / "archive"))
        assert archiver.catch_up().rows == 0
        assert in_frame(read(spark, archive=str(tmp_path / "archive"))) == []
        client.submit("k", "v")
        assert archiver.catch_up().rows == 1
        assert in_frame(read(spark, archive=str(tmp_path / "archive"))) == in_log(client)


def test_what_is_not_as_it_came_is_not_named(spark: SparkSession, town: Cluster, tmp_path: Path) -> None:
    def spoiling(how: str) -> Archiver:
        def reached(step: str) -> None:
            if step == "written":
                path = min((tmp_path / how).glob("data/*/*/*.parquet"))
                path.unlink() if how == "gone" else _empty_some_values(path)

        return Archiver(spark, Source.of(town.addresses), str(tmp_path / how), reached=reached)

    with pytest.raises(ArchiveError, match="is not here, and the task that wrote it says"):
        spoiling("gone").catch_up()
    with pytest.raises(ArchiveError, match="is not what came"):
        spoiling("changed").catch_up()
    assert not list(tmp_path.rglob("*.parquet")) and not list(tmp_path.rglob("*.json"))


def _empty_some_values(path: Path) -> None:
    """And make the file as long as it was."""
    table, byte_count = pq.read_table(path, partitioning=None), path.stat().st_size
    values = [value and b"" for value in table.column("value").to_pylist()]
    changed = table.set_column(4, "value", pa.array(values, pa.binary()))
    for padding in range(byte_count):
        with pq.ParquetWriter(path, changed.schema, **scribe.FORMAT) as writer:
            writer.write_table(changed)
            writer.add_key_value_metadata({"padding": "x" * padding})
        if path.stat().st_size == byte_count:
            return
    raise AssertionError(f"no such file has {byte_count} bytes")


class Failing(BatchReader):
    """Its first attempt has read everything, and fails then; or is killed."""

    def __init__(self, whole: BatchReader, root: Path, how: str) -> None:
        self.__dict__ |= whole.__dict__
        self.root, self.mark, self.how = root, root.with_suffix(".failed"), how

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        yield from super().read(partition)
        if not self.mark.exists():
            self.mark.write_text("\n".join(str(path) for path in self.root.rglob("*.parquet")))
            if self.how == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            raise OSError("the first attempt fails")


@pytest.mark.parametrize("how", ["killed", "failed"])
def test_what_an_attempt_leaves_that_did_not_count_counts_for_nothing(
    spark: SparkSession, tmp_path: Path, how: str
) -> None:
    root = tmp_path / "archive"

    class Unlucky(Source):
        def reader(self, since: Bookmark, until: Bookmark) -> BatchReader:
            return Failing(super().reader(since, until), root, how)

    began: list[str] = []

    def reached(step: str) -> None:
        if step == "written":  # and another one has ended its file, and was too late to say so
            began.extend(root.with_suffix(".failed").read_text().split())
            (one,) = (path for path in root.rglob("*.parquet") if str(path) not in began)
            shutil.copy(one, one.with_name("part-00000-late-0000.zstd.parquet"))

    with cluster(participants=1, buckets=2) as town, hansard.Client.connect(town.addresses) as client:
        for _ in range(4):
            client.submit_many([f"k{number}" for number in range(100)], [os.urandom(100_000)] * 100)
        went = Archiver(spark, Unlucky.of(town.addresses), str(root), reached=reached).catch_up()
        assert began, "the first attempt had written something"
        assert in_frame(read(spark, archive=str(root))) == in_log(client)
    there = {str(path.relative_to(root)) for path in root.rglob("*.parquet")}
    assert there == set(went.catalog.files) and len(there) == 1
    assert pq.ParquetFile(root / there.pop()).metadata.num_row_groups > 1


class Plain(Folder):
    """A folder of this machine, without a JVM."""

    def __init__(self, root: Path) -> None:
        self.root, self.local = str(root), root

    def files(self, below: str) -> list[Found]:
        paths = sorted((Path(self.root) / below).rglob("*.parquet"))
        return [Found(str(path.relative_to(self.root)), path.stat().st_size, 0) for path in paths]

    def remove(self, name: str) -> None:
        path = Path(self.root) / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def test_only_files_that_were_told_of_are_named_and_the_others_are_removed(tmp_path: Path) -> None:
    folder, run, rows = Plain(tmp_path), manifest.run_name(1, "aa"), batch_of(changes())
    told = []
    for word in ("part-00000-aa", "part-00000-bb"):  # two attempts at one task
        with Scribe(tmp_path / run, word) as writing:
            writing.take(rows)
            told.append(writing.end())
    named = scribe.counted(folder, run, told[1])
    assert list(named) == [f"{run}/{file.path}" for file in told[1]] and len(named) == 4
    assert {found.path: found.byte_count for found in folder.files(run)} == named
    with pytest.raises(ArchiveError, match="is not here, and the task that wrote it says"):
        scribe.counted(folder, run, told[0])
    assert not folder.files(run), "nothing can be made of what is left"


def test_tasks_share_all_offsets_evenly_and_in_order() -> None:
    dice = random.Random(3)
    for _ in range(200):
        lengths = [dice.choice([1, 2, 5, 1_000]) for _ in range(dice.randrange(1, 9))]
        ranges = [Range(bucket, 8, 10 * bucket, 10 * bucket + length) for bucket, length in enumerate(lengths)]
        count = dice.randrange(1, 12)
        parts = shared(ranges, count)
        told = [(each.bucket, at) for part in parts for each in part for at in range(each.start, each.end)]
        assert told == [(each.bucket, at) for each in ranges for at in range(each.start, each.end)]
        sizes = [sum(each.offsets for each in part) for part in parts]
        assert len(parts) == min(count, sum(lengths)) and max(sizes) - min(sizes) <= 1
    assert shared([], 3) == []


def test_days_are_cut_where_they_end_whatever_the_order_of_times() -> None:
    times = [DAY_US - 1, -1, DAY_US, 0, 5 * DAY_US]
    rows: list[Row] = [(0, at, time_us, b"k", None, (), 1, at) for at, time_us in enumerate(times)]
    cut = {day: part.column("offset").to_pylist() for day, part in by_day(batch_of(rows))}
    assert cut == {-1: [1], 0: [0, 3], 1: [2], 5: [4]}
    assert list(by_day(batch_of([]))) == []
    one = batch_of(rows[:1])
    assert [part is one for _, part in by_day(one)] == [True], "nothing is copied for a single day"


def test_many_days_at_once_take_no_more_files_or_room_than_they_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scribe, "OPEN_MAX", 2)
    monkeypatch.setattr(scribe, "WAITING_BYTES_MAX", 300)
    rows: list[Row] = [(0, at, (at % 7) * DAY_US, b"k", b"v%d" % at, (), 1, at) for at in range(210)]

    def opened() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before = opened()
    with Scribe(tmp_path, "part-00000-aa") as writing:
        for first in range(0, 210, 10):
            writing.take(batch_of(rows[first : first + 10]))
            assert opened() - before <= 3
        files = writing.end()
    found: list[dict[str, Any]] = []
    for file in files:
        table = pq.read_table(tmp_path / file.path, partitioning=None)
        times = table.column("timestamp").cast(pa.int64()).to_pylist()
        assert {f"day=1970-01-{1 + time // DAY_US:02}" for time in times} == {file.path.split("/")[0]}
        assert len(table) == file.checksum.rows and (tmp_path / file.path).stat().st_size == file.byte_count
        found += table.to_pylist()
    assert sorted(row["offset"] for row in found) == list(range(210))
    assert 7 < len(files) == len({Path(file.path).name for file in files})
