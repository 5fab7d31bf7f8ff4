"""Clusters that are not open to everybody: TLS, and tokens."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from hansard.client import Client, ClientError, InvalidSubmission
from hansard.testing import cluster as running
from pyspark_hansard.options import BATCH_READ, Given, Reach
from pyspark_hansard.reader import BatchReader
from pyspark_hansard.rows import Mapping, gathered
from pyspark_hansard.sink import Task, store
from tests.client.countdown import addresses
from tests.client.test_secured_cluster import Secured
from tests.server.papers import papers
from tests.server.trio import run
from tests.spark.local import SCHEMA, Triple, record_batches, taken

TRIPLE = Mapping("key", "value", "tags")
COUNT = 500
ROWS: list[Triple] = [(f"k{n}".encode(), b"v", ("x",)) for n in range(COUNT)]


def rows_of(spark: SparkSession, tag: str) -> DataFrame:
    rows = spark.range(0, COUNT, 1, 1)
    return rows.selectExpr("cast(id as string) as key", "'v' as value", f"array('{tag}') as tags")


def written(frame: DataFrame, said: dict[str, str], **more: str) -> None:
    frame.write.format("hansard").options(**said, **more).mode("append").save()


def counted(spark: SparkSession, said: dict[str, str], **more: str) -> int:
    return spark.read.format("hansard").options(**said, **more).load().count()


def test_a_cluster_with_tls_is_read_and_written_by_who_trusts_its_authority(tmp_path: Path) -> None:
    """What the driver and the tasks do, by hand."""

    async def test() -> None:
        authority = papers(tmp_path / "papers", *"abc") / "ca.pem"
        async with Secured(tmp_path, "abc", 2) as company:
            reach = Reach(tuple(addresses(company)), tls_ca=str(authority))
            await store(reach, gathered(record_batches(ROWS), TRIPLE, is_sorted=True), Task("tls"))
            found = await asyncio.to_thread(read, reach)
            assert sorted((row["key"], row["value"], tuple(row["tags"])) for row in found) == sorted(ROWS)
            with pytest.raises(ClientError, match="could not be had in time"):
                await asyncio.to_thread(read, Reach(reach.endpoints, timeout_s=1))

    run(test(), timeout_s=120)


def read(reach: Reach) -> list[dict[str, Any]]:
    options = reach.options() | {"timeoutSeconds": f"{reach.timeout_s:.0f}"}
    reader = BatchReader(Given(options, BATCH_READ, "a batch read"), SCHEMA)
    return taken(reader, reader.partitions())


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
