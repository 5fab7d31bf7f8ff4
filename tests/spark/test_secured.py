"""Clusters that are not open to everybody, read and written by a real Spark: TLS, and tokens."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from threading import Event, Thread

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from hansard.client import Client, InvalidSubmission
from hansard.testing import cluster as running
from pyspark_hansard.options import Reach
from pyspark_hansard.rows import Mapping, gathered
from pyspark_hansard.sink import Task, store
from tests.client.countdown import addresses
from tests.client.test_secured_cluster import Secured
from tests.server.papers import papers
from tests.server.trio import run
from tests.spark.local import record_batches

TRIPLE = Mapping("key", "value", "tags")
COUNT = 500


@contextmanager
def secured(home: Path) -> Iterator[dict[str, str]]:
    """Options that reach a cluster with TLS; without tlsCa they do not. It has a thread of its own, because a session
    is at home in the one that it was made in."""
    told, is_over = Queue[str](), Event()

    async def held() -> None:
        async with Secured(home, "abc", 2) as company:
            told.put(",".join(addresses(company)))
            await asyncio.to_thread(is_over.wait, 120)

    authority = papers(home / "papers", *"abc") / "ca.pem"
    thread = Thread(target=run, args=(held(),), kwargs={"timeout_s": 180})
    thread.start()
    try:
        yield {"endpoints": told.get(timeout=60), "timeoutSeconds": "20", "tlsCa": str(authority)}
    finally:
        is_over.set()
        thread.join()


def rows_of(spark: SparkSession, tag: str) -> DataFrame:
    rows = spark.range(0, COUNT, 1, 1)
    return rows.selectExpr("cast(id as string) as key", "'v' as value", f"array('{tag}') as tags")


def written(frame: DataFrame, said: dict[str, str], **more: str) -> None:
    frame.write.format("hansard").options(**said, **more).mode("append").save()


def counted(spark: SparkSession, said: dict[str, str], **more: str) -> int:
    return spark.read.format("hansard").options(**said, **more).load().count()


def test_a_cluster_with_tls_is_read_and_written_by_who_trusts_its_authority(
    spark: SparkSession, tmp_path: Path
) -> None:
    with secured(tmp_path) as said:
        written(rows_of(spark, "x"), said, sinkId="tls")
        assert counted(spark, said, tags="x") == COUNT
        del said["tlsCa"]
        with pytest.raises(PySparkException, match="could not be had in time"):
            counted(spark, said | {"timeoutSeconds": "1"})


def test_a_token_reads_and_writes_what_it_may_and_all_else_is_an_error_of_sparks(spark: SparkSession) -> None:
    with running(buckets=2, guarded=True) as guarded:
        token = guarded.ask(ask="grant", name="acme", scopes=["read", "submit"], prefixes=["acme:"])["token"]
        acme = {"endpoints": ",".join(guarded.addresses), "timeoutSeconds": "20", "token": str(token)}
        with Client.connect(guarded.addresses, token=guarded.token) as client:
            client.submit_many(["a", "b", "c"], ["v"] * 3, [["acme:orders"], ["acme:orders"], ["umbrella:orders"]])
        assert counted(spark, acme, tags="acme:orders") == 2
        with pytest.raises(PySparkException, match="this takes a token that allows it"):
            counted(spark, acme, tags="umbrella:orders")
        written(rows_of(spark, "acme:orders"), acme)
        with pytest.raises(PySparkException, match="the sink 's' cannot note what it stores, so nothing is stored"):
            written(rows_of(spark, "acme:users"), acme, sinkId="s")
        strange = gathered(record_batches([(b"k", b"v", ("umbrella:orders",))]), TRIPLE, is_sorted=False)
        with pytest.raises(InvalidSubmission, match="this takes a token that allows it"):
            asyncio.run(store(Reach(tuple(guarded.addresses), str(token)), strange, Task("")))
        with Client.connect(guarded.addresses, token=guarded.token) as client:
            assert len(list(client.read(tags=["acme:orders"]))) == 2 + COUNT
            assert len(list(client.read(tags=["umbrella:orders", "acme:users"]))) == 1
