"""Changes in plain Python: what a log has, and what a DataFrame has, in the same form, to be compared."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from hansard.batch import bucket_of, key_hash
from hansard.client import Change, Client
from hansard.pipeline.columns import CHANGES

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Row = tuple[Any, ...]


def in_log(client: Client, **place: Any) -> list[Row]:
    """All that the log has, by the client, which knows nothing of Spark."""
    return sorted(map(plain, client.read(**place)), key=lambda row: (row[0], row[1]))


def plain(change: Change) -> Row:
    return (
        change.bucket,
        change.offset,
        change.timestamp,
        change.key,
        change.value,
        change.tags,
        change.connection,
        change.series,
    )


def in_frame(frame: DataFrame) -> list[Row]:
    found = [
        (
            row.bucket,
            row.offset,
            (row.timestamp.astimezone(UTC) - EPOCH) // timedelta(microseconds=1),
            None if row.key is None else bytes(row.key),
            None if row.value is None else bytes(row.value),
            tuple(row.tags),
            row.connection,
            row.series,
        )
        for row in frame.collect()
    ]
    return sorted(found, key=lambda row: (row[0], row[1]))


def frame_of(spark: SparkSession, rows: Iterable[Row]) -> DataFrame:
    made = [(*row[:2], EPOCH + timedelta(microseconds=row[2]), *row[3:5], list(row[5]), *row[6:]) for row in rows]
    return spark.createDataFrame(made, CHANGES)


def some_rows(
    count: int, buckets: int = 4, *, first_us: int = 1_000_000, step_us: int = 1_000, tags: Sequence[str] = ()
) -> list[Row]:
    """As a log of so many buckets would have them: each key where it lives, offsets and times rising."""
    ends: dict[int, int] = {}
    rows: list[Row] = []
    for number in range(count):
        key = None if number % 11 == 10 else f"k{number % 37}".encode()
        value = None if number % 7 == 6 else f"v{number}".encode()
        bucket = bucket_of(key_hash(key), buckets)
        offset = ends.get(bucket, 0)
        ends[bucket] = offset + (2 if number % 13 == 0 else 1)  # offsets have gaps
        rows.append((bucket, offset, first_us + number * step_us, key, value, tuple(tags), 5, number))
    return rows
