"""The bench of the data source works: everything is written and read. Nothing is said of how fast. It is here and not
with the other ones because of the session."""

from pathlib import Path

from pyspark.sql import SparkSession

from bench.spark import BUCKETS, rows_of
from hansard.testing import cluster as running


def test_every_run_comes_to_its_end(spark: SparkSession, tmp_path: Path) -> None:
    with running(buckets=BUCKETS) as three:
        rows = list(rows_of(spark, three.addresses, tmp_path, 2_000, rounds=1))
    assert [row.claim.partition(" (")[0] for row in rows] == [
        "cluster, batches built before, without Spark",
        "written once by Spark, 2,000 rows",
        "read: Hansard",
        "read: Hansard to in memory, the same record batches",
        "read: Hansard to JSON lines",
        "read: Hansard to Parquet",
        "read: Hansard to in memory, tuples",
    ]
