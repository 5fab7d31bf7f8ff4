"""The fingerprint of a change is the same in Python and in Spark."""

import random

import pyarrow as pa
from pyspark.sql import SparkSession

from hansard.pipeline import parquet
from hansard.pipeline.columns import CHANGES, fingerprint
from hansard.pipeline.manifest import Checksum
from hansard.pipeline.prints import checksum, fingerprints
from pyspark_hansard.columns import arrow_schema
from tests.pipeline.rows import Row, frame_of


def batch_of(rows: list[Row]) -> pa.RecordBatch:
    schema = arrow_schema(CHANGES)
    return pa.RecordBatch.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)


def any_row(dice: random.Random) -> Row:
    def content() -> bytes | None:
        return None if dice.random() < 0.2 else dice.randbytes(dice.choice([0, 1, 3, 4, 7, 8, 12, 31, 32, 33, 64, 300]))

    return (
        dice.choice([0, 1, 1 << 20, (1 << 31) - 1]),
        dice.choice([0, 7, 1 << 40, (1 << 63) - 1]),
        dice.choice([-1, 0, 1_763_000_000_123_456]),
        content(),
        content(),
        tuple(dice.choice(["", "t:a", "ü", "long" * 20]) for _ in range(dice.choice([0, 0, 1, 2, 5]))),
        dice.choice([0, (1 << 63) - 1, -(1 << 63)]),
        dice.randrange(1 << 62),
    )


def test_of_any_change_python_and_spark_have_the_same(spark: SparkSession) -> None:
    dice = random.Random(5)
    rows = [any_row(dice) for _ in range(400)]
    frame, batch = frame_of(spark, rows).coalesce(1), batch_of(rows)
    spoken = [row[0] & (1 << 64) - 1 for row in frame.select(fingerprint()).collect()]
    assert fingerprints(batch).tolist() == spoken and len(set(spoken)) == len(rows)
    assert fingerprints(batch.slice(100, 50)).tolist() == spoken[100:150], "a part of columns, where they are in memory"
    whole = frame.agg(*parquet.checksum_columns()).collect()[0]
    assert checksum(batch) == Checksum(*whole)
    assert checksum(batch.slice(0, 9)) + checksum(batch.slice(9)) == Checksum(*whole)
    assert checksum(batch.slice(0, 0)) == Checksum()
