"""Streaming queries that are killed and started again, while buckets double and leaders die."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from hansard.client import Client
from hansard.testing import Cluster
from hansard.testing import cluster as running
from tests.spark.local import everything, options

LOTS = 12
LOT = 2_000


@pytest.fixture
def small() -> Iterator[Cluster]:
    with running(buckets=2) as three:
        yield three


def start(spark: SparkSession, cluster: Cluster, home: Path, *, to_end: bool = False) -> StreamingQuery:
    """From the log back into it: each change with another tag, in order of the offsets that it had."""
    source = spark.readStream.format("hansard").options(**options(cluster, tags="original", maxRowsPerTrigger=3_000))
    copied = source.load().selectExpr("key", "value", "array('copy') as tags", "offset")
    sink = copied.writeStream.format("hansard").options(**options(cluster, orderBy="offset"))
    sink = sink.option("checkpointLocation", str(home))
    return (sink.trigger(availableNow=True) if to_end else sink.trigger(processingTime="0 seconds")).start()


def test_a_query_that_is_killed_over_and_over_copies_each_change_once(
    spark: SparkSession, small: Cluster, tmp_path: Path
) -> None:
    def submit() -> None:
        with Client.connect(small.addresses, timeout_s=30) as client:
            for lot in range(LOTS):
                keys = [f"k{n}" for n in range(LOT)]
                client.submit_many(keys, [f"{lot}-{key}" for key in keys], [["original"]] * LOT)

    producer = Thread(target=submit)
    producer.start()
    dead = ""
    for life in range(4):
        query = start(spark, small, tmp_path)
        before = len(everything(small, tags="copy"))
        small.until(
            lambda query=query, before=before: (
                query.exception() is not None  # type: ignore[misc]
                or len(everything(small, tags="copy")) > before
            ),
            "nothing is copied",
            60,
        )
        assert query.exception() is None
        if life == 0:
            small.double()
        if life == 1:
            dead = small.leader(0)
            small.kill(dead)
        if life == 2:
            small.start(dead)
        query.stop()
        if life == 2:
            small.double()
    producer.join()
    query = start(spark, small, tmp_path, to_end=True)
    query.awaitTermination()
    progress = query.lastProgress
    assert progress is not None and progress["sources"][0]["latestOffset"] is not None
    copies = everything(small, tags="copy")
    assert Counter((row["key"], row["value"]) for row in copies) == Counter(
        (f"k{n}".encode(), f"{lot}-k{n}".encode()) for lot in range(LOTS) for n in range(LOT)
    )
    of_one_key = [row["value"] for row in copies if row["key"] == b"k7"]
    assert of_one_key == [f"{lot}-k7".encode() for lot in range(LOTS)], "per key the order stays"
