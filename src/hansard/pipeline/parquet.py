"""Files of changes: how rows are cut into them, written, described and read.

Steps are functions of DataFrames. A file has changes of one day, sorted as they came: bucket by bucket, by offset. So
the statistics that Parquet keeps for each group of rows say which of them may be left out, by time, bucket and offset.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as fn

from .columns import BUCKET, CHANGES, NAMES, OFFSET, TIMESTAMP, fingerprint
from .folder import Folder
from .manifest import DATA, Checksum, File

DAY: Final = "day"
ROWS_PER_FILE: Final = 1_000_000
"""Less than a task has to do at most, and many times what a small file has."""
ROWS_WORTH_A_TASK: Final = 100_000
WRITERS_MAX: Final = 64
"""Days that a task writes at once without sorting its rows by them first."""
WRITTEN: Final = {
    "parquet.enable.dictionary#value": "false",  # values are seldom the same
    "parquet.column.statistics.enabled#value": "false",  # nobody prunes by them, and every one would be compared
}
READ: Final = {"parquet.page.verify-checksum.enabled": "true"}
"""What is not as it was written is an error, and never other rows."""
_PATH: Final = re.compile(rf"{DATA}/run=.*/{DAY}=([^/]*)/[^/]*$")


def dated(changes: DataFrame) -> DataFrame:
    """With the day of each change, in UTC. As a date: a text for each row would cost a quarter of the writing."""
    return changes.withColumn(DAY, fn.to_date(TIMESTAMP))


def checksum_columns(print_: Column | None = None) -> list[Column]:
    """What a `Checksum` is made of; of rows that have their fingerprint in a column already, by that."""
    print_ = fingerprint() if print_ is None else print_
    return [
        fn.count(fn.lit(1)).alias("rows"),
        fn.coalesce(fn.bit_xor(print_), fn.lit(0)).alias("xored"),
        fn.coalesce(fn.sum(fn.shiftrightunsigned(print_, 32)), fn.lit(0)).alias("added"),
    ]


def described(files: DataFrame, by: str) -> DataFrame:
    """Of rows that were read from files: a row for each file, by its `file_name` or `file_path`, and bucket in it."""
    return files.groupBy(fn.col(f"_metadata.{by}").alias("file"), BUCKET).agg(
        fn.min(OFFSET).alias("first"),
        (fn.max(OFFSET) + 1).alias("end"),
        fn.unix_micros(fn.min(TIMESTAMP)).alias("first_us"),
        fn.unix_micros(fn.max(TIMESTAMP)).alias("last_us"),
        *checksum_columns(),
    )


def write(changes: DataFrame, folder: Folder, run: str, tasks: int) -> None:
    """Into a folder of its own. Rows of neighbouring tasks of the read are put together; none changes its place."""
    changes.sparkSession.conf.set("spark.sql.maxConcurrentOutputFileWriters", str(WRITERS_MAX))
    writer = dated(changes).coalesce(max(1, tasks)).write.partitionBy(DAY).options(**WRITTEN)
    writer.mode("error").parquet(folder.path(run))


def files_of(spark: SparkSession, folder: Folder, run: str) -> list[File]:
    """All that a run has written, synced and read back."""
    there = {found.path: found.byte_count for found in folder.files(run)}
    folder.sync(there)
    return files_at(spark, folder, there)


def files_at(spark: SparkSession, folder: Folder, sizes: Mapping[str, int]) -> list[File]:
    """What was written, read back: so what a manifest says is what whoever reads it later finds."""
    if not sizes:
        return []
    names = {path.rpartition("/")[2] for path in sizes}
    by = "file_name" if len(names) == len(sizes) else "file_path"  # what is short is grouped by in half the time
    rows: dict[str, list[Row]] = {}
    for row in described(frame(spark, folder, sizes), by).collect():
        rows.setdefault(row["file"].rpartition(f"/{DATA}/")[2], []).append(row)
    found: list[File] = []
    for path, byte_count in sorted(sizes.items()):
        file = path.rpartition("/")[2] if by == "file_name" else path.removeprefix(f"{DATA}/")
        mine = rows.get(file, [])
        match = _PATH.search(path)
        assert match is not None, path
        checksum = sum((Checksum(row["rows"], row["xored"], row["added"]) for row in mine), Checksum())
        if not checksum.rows:
            continue  # a task that had nothing of the day
        found.append(
            File(
                path=path,
                byte_count=byte_count,
                day=match[1],
                first_us=min(row["first_us"] for row in mine),
                last_us=max(row["last_us"] for row in mine),
                buckets={row[BUCKET]: (row["first"], row["end"], row["rows"]) for row in mine},
                checksum=checksum,
            )
        )
    return found


def frame(spark: SparkSession, folder: Folder, paths: Iterable[str]) -> DataFrame:
    """The rows of these files, by Spark's own reader; nothing but these is looked at."""
    whole = [folder.path(path) for path in paths]
    reading = spark.read.schema(CHANGES).options(**READ)
    return reading.parquet(*whole) if whole else spark.createDataFrame([], CHANGES)


def merged(changes: DataFrame, tasks: int) -> DataFrame:
    """The rows of many small files, in as many parts, each of a range of buckets and offsets and in order."""
    return changes.select(*NAMES).repartitionByRange(tasks, BUCKET, OFFSET).sortWithinPartitions(BUCKET, OFFSET)


def tasks_for(rows: int, rows_per_file: int = ROWS_PER_FILE, cores: int = 1) -> int:
    """So that no file is too large, and where there is enough to do everybody has as much of it."""
    tasks = max(1, -(-rows // rows_per_file), min(cores, rows // ROWS_WORTH_A_TASK))
    even = -(-tasks // cores) * cores  # three tasks of two would take as long as four
    return even if rows // even >= ROWS_WORTH_A_TASK else tasks


def total(checksums: Sequence[Checksum]) -> Checksum:
    return sum(checksums, Checksum())
