"""Batch reads of a real cluster with a real Spark."""

from pyspark.sql import SparkSession

from hansard.client import Client
from hansard.testing import Cluster


def test_all_changes_are_read_with_the_columns_that_are_promised(spark: SparkSession, cluster: Cluster) -> None:
    count = 1_000
    with Client.connect(cluster.addresses) as client:
        client.submit_many([f"k{n}" for n in range(count)], [f"v{n}" for n in range(count)], [["first", "x"]] * count)
    frame = spark.read.format("hansard").options(endpoints=",".join(cluster.addresses), tags="first").load()
    assert [(field.name, field.dataType.simpleString()) for field in frame.schema] == [
        ("bucket", "int"),
        ("offset", "bigint"),
        ("timestamp", "timestamp"),
        ("key", "binary"),
        ("value", "binary"),
        ("tags", "array<string>"),
        ("connection", "bigint"),
        ("series", "bigint"),
    ]
    rows = frame.collect()
    assert sorted((bytes(row.key), bytes(row.value)) for row in rows) == sorted(
        (f"k{n}".encode(), f"v{n}".encode()) for n in range(count)
    )
    assert {tuple(row.tags) for row in rows} == {("first", "x")}
    assert frame.where("bucket != pmod(xxhash64(key), 4)").count() == 0
