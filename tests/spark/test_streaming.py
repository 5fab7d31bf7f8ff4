"""Streaming queries that are killed and started again, while buckets double and leaders die."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Self

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from hansard.client import Client
from hansard.testing import Cluster
from hansard.testing import cluster as running
from tests.spark.local import everything, options

LIVES = 4
LOT = 1_000


@pytest.fixture
def small() -> Iterator[Cluster]:
    with running(buckets=2) as three:
        yield three


def start(spark: SparkSession, cluster: Cluster, home: Path, *, to_end: bool = False) -> StreamingQuery:
    """From the log back into it: each change with another tag, in order of the offsets that it had."""
    source = spark.readStream.format("hansard").options(**options(cluster, tags="original", maxRowsPerTrigger=1_500))
    copied = source.load().selectExpr("key", "value", "array('copy') as tags", "offset")
    sink = copied.writeStream.format("hansard").options(**options(cluster, orderBy="offset"))
    sink = sink.option("checkpointLocation", str(home))
    return (sink.trigger(availableNow=True) if to_end else sink.trigger(processingTime="0 seconds")).start()


class Producer:
    """Submits as many lots as it was told to by now, beside all else that happens."""

    def __init__(self, cluster: Cluster) -> None:
        self.lots = 0
        self._cluster = cluster
        self._wanted: SimpleQueue[int | None] = SimpleQueue()
        self._thread = Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._wanted.put(None)
        self._thread.join()

    def release(self) -> None:
        """One more lot."""
        self._wanted.put(self.lots)
        self.lots += 1

    def _run(self) -> None:
        with Client.connect(self._cluster.addresses, timeout_s=30) as client:
            while (lot := self._wanted.get()) is not None:
                keys = [f"k{n}" for n in range(LOT)]
                client.submit_many(keys, [f"{lot}-{key}" for key in keys], [["original"]] * LOT)


def test_a_query_that_is_killed_over_and_over_copies_each_change_once(
    spark: SparkSession, small: Cluster, tmp_path: Path
) -> None:
    """In each life there is something that no life before it can have copied, and more of it when it ends."""
    dead = ""
    with Producer(small) as producer:
        for life in range(LIVES):
            before = len(everything(small, tags="copy"))
            producer.release()
            query = start(spark, small, tmp_path)
            small.until(
                lambda query=query, before=before: (
                    query.exception() is not None  # type: ignore[misc]
                    or len(everything(small, tags="copy")) > before
                ),
                "nothing is copied",
                60,
            )
            assert query.exception() is None
            producer.release()
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
    query = start(spark, small, tmp_path, to_end=True)
    query.awaitTermination()
    progress = query.lastProgress
    assert progress is not None and progress["sources"][0]["latestOffset"] is not None
    copies = everything(small, tags="copy")
    assert Counter((row["key"], row["value"]) for row in copies) == Counter(
        (f"k{n}".encode(), f"{lot}-k{n}".encode()) for lot in range(producer.lots) for n in range(LOT)
    )
    of_one_key = [row["value"] for row in copies if row["key"] == b"k7"]
    assert of_one_key == [f"{lot}-k7".encode() for lot in range(producer.lots)], "per key the order stays"
