"""The data source without Spark: what its driver and its tasks do, called by hand, in this process."""

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from hansard.client import AsyncClient
from hansard.testing import Cluster
from pyspark_hansard.carrier import batches
from pyspark_hansard.entrance import entered
from pyspark_hansard.options import BATCH_READ, STREAM_READ, Given, Reach
from pyspark_hansard.reader import BatchReader
from pyspark_hansard.register import Register, base
from pyspark_hansard.rows import Mapping, Rows, gathered
from pyspark_hansard.sink import Task, store
from pyspark_hansard.streaming import StreamReader

SCHEMA = StructType(
    [
        StructField("bucket", IntegerType()),
        StructField("offset", LongType()),
        StructField("timestamp", TimestampType()),
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
        StructField("tags", ArrayType(StringType())),
        StructField("connection", LongType()),
        StructField("series", LongType()),
    ]
)
Triple = tuple[bytes | None, bytes | None, tuple[str, ...]]


def options(cluster: Cluster, **more: object) -> dict[str, str]:
    given = {"endpoints": ",".join(cluster.addresses), "timeoutSeconds": "20"}
    return given | {name: str(value) for name, value in more.items()}


def batch_reader(cluster: Cluster, **more: object) -> BatchReader:
    return BatchReader(Given(options(cluster, **more), BATCH_READ, "a batch read"), SCHEMA)


def stream_reader(cluster: Cluster, **more: object) -> StreamReader:
    return StreamReader(Given(options(cluster, **more), STREAM_READ, "a streaming read"), SCHEMA)


def taken(reader: BatchReader | StreamReader, partitions: Iterable[Any]) -> list[dict[str, Any]]:
    """All that the tasks of these partitions read, in order."""
    return [row for partition in partitions for batch in reader.read(partition) for row in batch.to_pylist()]


def everything(cluster: Cluster, **more: object) -> list[dict[str, Any]]:
    reader = batch_reader(cluster, **more)
    return taken(reader, reader.partitions())


def submit(cluster: Cluster, keys: Sequence[str], value: str, tags: Sequence[str]) -> None:
    async def submitted() -> None:
        async with await AsyncClient.connect(cluster.addresses, timeout_s=20) as client:
            await client.submit_many(keys, [f"{value}-{key}" for key in keys], [list(tags)] * len(keys))

    asyncio.run(submitted())


def record_batches(rows: Sequence[Triple], size: int = 1_000) -> list[pa.RecordBatch]:
    """As Spark hands them to a writer."""
    schema = pa.schema([("key", pa.binary()), ("value", pa.binary()), ("tags", pa.list_(pa.string()))])
    table = pa.table([list(column) for column in zip(*rows, strict=True)], schema=schema)
    found: list[pa.RecordBatch] = table.to_batches(max_chunksize=size)
    return found


def attempt(
    cluster: Cluster,
    rows: Sequence[Triple],
    sink: str,
    batch: int = 0,
    partition: int = 0,
    run: str = "first",
    timeout_s: float = 20,
) -> Coroutine[Any, Any, None]:
    """One attempt of a task that writes these rows: a coroutine."""
    return store(_reach(cluster, timeout_s), _gathered(rows), Task(sink, batch, partition, run))


async def half_an_attempt(
    cluster: Cluster, rows: Sequence[Triple], sink: str, batch: int = 0, run: str = "first"
) -> None:
    """One that dies when all rows of half of the buckets are stored."""
    found, reach = _gathered(rows), _reach(cluster)
    async with await AsyncClient.connect(reach.endpoints) as client, entered(reach) as entrance:
        record = await Register(entrance, client, sink, 0, run).settle(batch, len(found), found.digest())
        await client.adopt(record.connection)
        homes = entrance.atlas.homes(found.hashes)
        for each in batches(found, homes, client.connection, base(batch)):
            if int(each.key_hashes[0]) & 1:
                await client.submit_batch(each)


def _gathered(rows: Sequence[Triple]) -> Rows:
    return gathered(record_batches(rows), Mapping("key", "value", "tags"), is_sorted=True)


def _reach(cluster: Cluster, timeout_s: float = 20) -> Reach:
    return Reach(tuple(cluster.addresses), timeout_s=timeout_s)
