"""The Spark data source beside what Spark itself can do: the same changes read from a cluster, from memory through the
same API, from Parquet, from JSON lines and as tuples; and written.

Three participants, each a process with a copy of every bucket, on the same two cores as Spark. What is timed is
`sum(octet_length(value))` over all columns of the source. The source in memory yields the same record batches as a task
of Hansard's does, made before: it is as fast as the API can be.

    python -m bench.spark                 5 million changes of 256 bytes: several minutes
    python -m bench.spark --rows 500000
"""

import asyncio
import os
import subprocess
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from bench.cluster import Cluster
from bench.processes import ROOT, Children, ended_by_signal
from bench.stores import directory
from bench.table import NO_TARGET, Row, show
from hansard.batch import Batch
from hansard.client import AsyncClient
from pyspark_hansard.carrier import batches
from pyspark_hansard.columns import TYPES, arrow_schema
from pyspark_hansard.rows import Mapping, gathered

ROWS: Final = 5_000_000
BUCKETS: Final = 4
ROWS_PER_BATCH: Final = 14_000
"""About what a page of the cluster has."""
BATCHED: Final = 400_000
"""Changes that are submitted without Spark, to see what the cluster takes."""
WINDOW: Final = 16
ROUNDS: Final = 2
WARMING: Final = 10
"""A part of the rows, one of so many, is written before what is timed."""
DDL: Final = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())


class Memory(DataSource):
    """What Hansard's source would yield, from memory; as tuples where it is told so."""

    @classmethod
    def name(cls) -> str:
        return "memory"

    def schema(self) -> str:
        return DDL

    def reader(self, schema: StructType) -> DataSourceReader:
        tasks, rows = int(self.options["tasks"]), int(self.options["rows"])
        return MemoryReader(schema, tasks, rows // tasks, tuples=self.options["yields"] == "tuples")


class MemoryReader(DataSourceReader):
    def __init__(self, schema: StructType, tasks: int, rows: int, *, tuples: bool) -> None:
        self.schema = schema
        self.tasks = tasks
        self.rows = rows
        self.tuples = tuples

    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(number) for number in range(self.tasks)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch] | Iterator[tuple[object, ...]]:
        columns = {
            "bucket": [partition.value] * ROWS_PER_BATCH,
            "offset": list(range(ROWS_PER_BATCH)),
            "timestamp": [0] * ROWS_PER_BATCH,
            "key": [b"key-%08d" % number for number in range(ROWS_PER_BATCH)],
            "value": [b"%064d" % number * 4 for number in range(ROWS_PER_BATCH)],
            "tags": [["bench"]] * ROWS_PER_BATCH,
            "connection": [1] * ROWS_PER_BATCH,
            "series": list(range(ROWS_PER_BATCH)),
        }
        arrow = arrow_schema(self.schema)
        batch = pa.RecordBatch.from_arrays([pa.array(columns[field.name], field.type) for field in arrow], schema=arrow)
        if self.tuples:
            rows = [tuple(row.values()) for row in batch.to_pylist()]
            return (rows[number % ROWS_PER_BATCH] for number in range(self.rows))
        sizes = [ROWS_PER_BATCH] * (self.rows // ROWS_PER_BATCH) + [self.rows % ROWS_PER_BATCH]
        return iter([batch.slice(0, size) for size in sizes if size])


def session(home: Path) -> SparkSession:
    java = subprocess.run([ROOT / "tools" / "java", "find"], capture_output=True, text=True, check=True)
    os.environ["JAVA_HOME"] = java.stdout.strip()
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    settings: dict[str, bool | float | int | str | None] = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.memory": "2g",
        "spark.local.dir": str(home / "spark"),
        "spark.log.level": "ERROR",
    }
    return SparkSession.builder.master("local[2]").appName("hansard-bench").config(map=settings).getOrCreate()


def best_s(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """The quickest of some rounds: the first one warms up what is new to the JVM."""
    found = []
    for _ in range(rounds):
        began = perf_counter()
        work()
        found.append(perf_counter() - began)
    return min(found)


async def batched_rate(addresses: Sequence[str], changes: int) -> float:
    """What the cluster takes of a client that has built its batches before: the same keys, values and tags."""
    keys = [b"key-%08d" % number for number in range(changes)]
    table = pa.table(
        {"key": keys, "value": [b"%064d" % number * 4 for number in range(changes)], "tags": [["batched"]] * changes}
    )
    rows = gathered(table.to_batches(), Mapping("key", "value", "tags"), is_sorted=False)
    async with await AsyncClient.connect(addresses, timeout_s=60) as client:
        made = list(batches(rows, rows.hashes & (BUCKETS - 1), client.connection, 0))
        room = asyncio.Semaphore(WINDOW)

        async def submit(batch: Batch) -> None:
            try:
                await client.submit_batch(batch)
            finally:
                room.release()

        tasks, began = [], perf_counter()
        for batch in made:
            await room.acquire()
            tasks.append(asyncio.ensure_future(submit(batch)))
        await asyncio.gather(*tasks)
        return changes / (perf_counter() - began)


def measure(rows: int = ROWS) -> list[Row]:
    with directory() as home, ended_by_signal(), Children(home / "logs") as children:
        cluster = Cluster(children, home, "spark", "abc", buckets=BUCKETS)
        cluster.start(*"abc")
        asyncio.run(cluster.settled("a", 3))
        addresses = [f"127.0.0.1:{port}" for port in cluster.ports.values()]
        spark = session(home)
        try:
            return list(rows_of(spark, addresses, home, rows))
        finally:
            spark.stop()


def rows_of(
    spark: SparkSession, addresses: Sequence[str], home: Path, rows: int, rounds: int = ROUNDS
) -> Iterator[Row]:
    """Of a cluster with nothing in it."""
    endpoints = ",".join(addresses)
    cluster_rate = asyncio.run(batched_rate(addresses, min(BATCHED, rows)))
    yield Row("cluster, batches built before, without Spark", f"{cluster_rate:,.0f} changes/s", NO_TARGET, True)
    yield _written(spark, endpoints, home, rows, min(200_000.0, cluster_rate))
    spark.dataSource.register(Memory)
    log = spark.read.format("hansard").options(endpoints=endpoints, tags="bench")
    whole = log.load()
    whole.selectExpr(
        "bucket", "offset", "timestamp", "cast(key as string) key", "cast(value as string) value", "tags", "connection",
        "series",
    ).write.parquet(str(home / "parquet"))  # fmt: skip
    parquet = spark.read.parquet(str(home / "parquet"))
    parquet.write.json(str(home / "json"))
    memory = spark.read.format("memory").options(rows=str(rows), tasks=str(max(2, rows // 500_000)))
    everything = spark.read.format("hansard").options(endpoints=endpoints)
    frames = {
        "Hansard": everything.load(),
        "in memory, the same record batches": memory.option("yields", "batches").load(),
        "JSON lines": spark.read.schema(parquet.schema).json(str(home / "json")),
        "Parquet": parquet,
        "in memory, tuples": memory.option("yields", "tuples").load(),
    }
    rates = {name: _rate(frame, 1 if "tuples" in name else rounds) for name, frame in frames.items()}
    ours = rates["Hansard"]
    targets = {"in memory, the same record batches": 0.5, "JSON lines": 1.0}
    yield Row("read: Hansard", f"{ours:,.0f} rows/s", NO_TARGET, True)
    for name, rate in rates.items():
        if name != "Hansard":
            target = targets.get(name)
            said = NO_TARGET if target is None else f">= {target}"
            yield Row(
                f"read: Hansard to {name} ({rate:,.0f}/s)", f"{ours / rate:.2f}", said, ours / rate >= (target or 0)
            )


def _written(spark: SparkSession, endpoints: str, home: Path, rows: int, target: float) -> Row:
    """After a smaller write, which warms up what is new to the JVM."""
    made = spark.range(0, rows, 1, max(2, rows // 625_000)).selectExpr(
        "concat('key-', lpad(id, 8, '0')) as key", "repeat(lpad(id, 64, '0'), 4) as value", "array('bench') as tags"
    )
    made.write.parquet(str(home / "rows"))
    frame = spark.read.parquet(str(home / "rows"))
    sink = {"endpoints": endpoints, "sinkId": "bench"}
    first = frame.where(f"key < 'key-{rows // WARMING:08}'").selectExpr("key", "value", "array('first') as tags")
    first.write.format("hansard").options(**sink, batchId="0").mode("append").save()
    began = perf_counter()
    frame.write.format("hansard").options(**sink, batchId="1").mode("append").save()
    rate = rows / (perf_counter() - began)
    return Row(f"written once by Spark, {rows:,} rows", f"{rate:,.0f} rows/s", f">= {target:,.0f}", rate >= target)


def _rate(frame: DataFrame, rounds: int) -> float:
    counted = 0

    def run() -> None:
        nonlocal counted
        counted, total = frame.selectExpr("count(*)", "sum(octet_length(value))").collect()[0]
        assert total == 256 * counted

    seconds = best_s(run, rounds)
    return counted / seconds


def main() -> int:
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=ROWS, help="changes that are written and read (%(default)s)")
    rows = measure(parser.parse_args().rows)
    show(rows)
    return 0 if all(row.ok for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
