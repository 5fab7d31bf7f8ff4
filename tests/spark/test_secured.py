"""Clusters that are not open to everybody, read and written by a real Spark: TLS, and tokens."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from hansard.client import Client
from hansard.testing import cluster as running
from tests.client.countdown import addresses
from tests.client.test_secured_cluster import Secured
from tests.server.papers import papers
from tests.server.trio import run

COUNT = 500


def rows_of(spark: SparkSession, tag: str) -> DataFrame:
    return spark.range(COUNT).selectExpr("cast(id as string) as key", "'v' as value", f"array('{tag}') as tags")


def written(frame: DataFrame, said: dict[str, str], **more: str) -> None:
    frame.write.format("hansard").options(**said, **more).mode("append").save()


def counted(spark: SparkSession, said: dict[str, str], **more: str) -> int:
    return spark.read.format("hansard").options(**said, **more).load().count()


def test_a_cluster_with_tls_is_read_and_written_by_who_trusts_its_authority(
    spark: SparkSession, tmp_path: Path
) -> None:
    async def test() -> None:
        papers(tmp_path / "papers", *"abc")
        async with Secured(tmp_path, "abc", 2) as company:
            plain = {"endpoints": ",".join(addresses(company)), "timeoutSeconds": "20"}
            said = plain | {"tlsCa": str(company.papers / "ca.pem")}
            await asyncio.to_thread(written, rows_of(spark, "x"), said, sinkId="tls")
            assert await asyncio.to_thread(counted, spark, said) == COUNT
            with pytest.raises(PySparkException, match="could not be had in time"):
                await asyncio.to_thread(counted, spark, plain | {"timeoutSeconds": "1"})

    run(test(), timeout_s=120)


def test_a_token_reads_and_writes_what_it_may_and_all_else_is_an_error_of_sparks(spark: SparkSession) -> None:
    with running(buckets=2, guarded=True) as guarded:

        def granted(name: str, **what: Any) -> dict[str, str]:
            token = str(guarded.ask(ask="grant", name=name, **what)["token"])
            return {"endpoints": ",".join(guarded.addresses), "timeoutSeconds": "20", "token": token}

        acme = granted("acme", scopes=["read", "submit"], prefixes=["acme:"])
        with Client.connect(guarded.addresses, token=guarded.token) as client:
            client.submit_many(["a", "b", "c"], ["v"] * 3, [["acme:orders"], ["acme:orders"], ["umbrella:orders"]])
        assert counted(spark, acme, tags="acme:orders") == 2
        with pytest.raises(PySparkException, match="this takes a token that allows it"):
            counted(spark, acme, tags="umbrella:orders")
        written(rows_of(spark, "acme:orders"), acme)
        with pytest.raises(PySparkException, match="the sink 's' cannot note what it stores, so nothing is stored"):
            written(rows_of(spark, "acme:users"), acme, sinkId="s")
        with pytest.raises(PySparkException, match="this takes a token that allows it"):
            written(rows_of(spark, "umbrella:orders"), acme)
        with Client.connect(guarded.addresses, token=guarded.token) as client:
            assert len(list(client.read(tags=["acme:orders"]))) == 2 + COUNT
            assert len(list(client.read(tags=["umbrella:orders", "acme:users"]))) == 1
