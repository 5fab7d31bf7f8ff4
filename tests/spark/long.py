"""The long forms of the tests of the data source: `make spark`, or `python -m tests.spark.long read`.

read      2 million changes are read exactly, by several tasks, and again after buckets have doubled
storm     a query is killed and started again LIVES times while leaders die and buckets double; each change is once
workers   two workers of a standalone Spark, each a process: reads, and writes with speculative attempts
connect   reads, writes and a stream through Spark Connect (connect.py)
"""

import subprocess
import sys
import tempfile
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random
from threading import Event, Thread
from time import perf_counter

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession

from hansard.client import Client
from hansard.testing import Cluster
from hansard.testing import cluster as running
from tests.spark.local import everything, options
from tests.spark.session import builder, prepare
from tests.spark.standalone import standalone
from tests.spark.test_streaming import start
from tests.spark.workers import kill_a_worker

PARTS = ("read", "storm", "workers", "connect")
LOT = 10_000
SPECULATION_S = 20.0
"""So long a task waits for Spark to begin a second attempt of it."""
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "50ms",
    "spark.speculation.multiplier": "1.01",
    "spark.speculation.quantile": "0.3",
}


def say(text: str) -> None:
    print(f"spark: {text}", flush=True)


def read(count: int = 2_000_000) -> None:
    spark = builder().getOrCreate()
    with running(buckets=4) as cluster, Client.connect(cluster.addresses, timeout_s=60) as client:
        for first in range(0, count, LOT):
            numbers = range(first, first + LOT)
            client.submit_many([f"k{n}" for n in numbers], [f"{n}" for n in numbers], [["x"]] * LOT)
        say(f"{count:,} changes are stored")
        for buckets in (4, 8):
            frame = spark.read.format("hansard").options(**options(cluster, keyFormat="string", valueFormat="string"))
            began = perf_counter()
            found = frame.load().selectExpr(
                "count(*) as rows",
                "count(distinct key) as keys",
                "count(distinct bucket, offset) as places",
                "sum(cast(value as bigint)) as total",
                "count_if(key != concat('k', value)) as mixed",
                f"count_if(bucket != pmod(xxhash64(cast(key as binary)), {buckets})) as elsewhere",
            )
            row = found.collect()[0]
            say(f"{buckets} buckets: {row.rows:,} rows in {perf_counter() - began:.1f} s")
            assert tuple(row) == (count, count, count, count * (count - 1) // 2, 0, 0), row
            cluster.double()
    spark.stop()


def storm(lives: int) -> None:
    spark = builder().getOrCreate()
    random, produced, is_over = Random(1), list[int](), Event()
    with tempfile.TemporaryDirectory() as home, running(buckets=2) as cluster:

        def submit() -> None:
            with Client.connect(cluster.addresses, timeout_s=60) as client:
                while not is_over.is_set():
                    lot = len(produced)
                    keys = [f"k{n}" for n in range(500)]
                    client.submit_many(keys, [f"{lot}-{key}" for key in keys], [["original"]] * len(keys))
                    produced.append(lot)
                    is_over.wait(0.05)

        producer = Thread(target=submit)
        producer.start()
        for life in range(lives):
            query = start(spark, cluster, Path(home))
            query.awaitTermination(random.randint(1, 6))
            if life % 3 == 1:
                kill_a_worker(random)
            if life % 4 == 2:
                dead = cluster.leader(random.randrange(2))
                cluster.kill(dead)
                query.awaitTermination(random.randint(1, 3))
                cluster.start(dead)
            if life in (lives // 3, 2 * lives // 3):
                cluster.double()
            failure = query.exception()
            query.stop()
            say(f"life {life}: {len(produced)} lots produced" + (f"; it had failed: {failure}" if failure else ""))
        is_over.set()
        producer.join()
        start(spark, cluster, Path(home), to_end=True).awaitTermination()
        copies = Counter((row["key"], row["value"]) for row in everything(cluster, tags="copy"))
        wanted = Counter((f"k{n}".encode(), f"{lot}-k{n}".encode()) for lot in produced for n in range(500))
        say(f"{wanted.total():,} changes, {copies.total():,} copies, {(copies - wanted).total()} too many")
        assert copies == wanted
    spark.stop()


def workers() -> None:
    """Two workers of two cores each, in processes of their own; the slowest tasks are tried a second time beside."""
    prepare()
    with tempfile.TemporaryDirectory() as home, standalone(Path(home)) as master, running(buckets=4) as cluster:
        session = builder(master).config("spark.executor.memory", "768m")
        for name, value in SPECULATION.items():
            session = session.config(name, value)
        spark: SparkSession = session.getOrCreate()
        try:
            _attempted(spark, cluster, Path(home))
        finally:
            spark.stop()


def _attempted(spark: SparkSession, cluster: Cluster, home: Path) -> None:
    made = spark.range(200_000).selectExpr("concat('k', id) as key", "repeat('x', 200) as value", "array('x') as tags")
    frame = made.repartition(12).mapInArrow(in_two_attempts(home), made.schema)
    frame.write.format("hansard").options(**options(cluster, sinkId="workers")).mode("append").save()
    attempts = sorted(path.name for path in home.glob("attempt-*"))
    say(f"attempts of task 3: {', '.join(attempts)}")
    assert attempts[:2] == ["attempt-0", "attempt-1"], "Spark has begun no second attempt: so nothing is shown"
    found = spark.read.format("hansard").options(**options(cluster, tags="x", maxRowsPerPartition=20_000)).load()
    row = found.selectExpr("count(*) as rows", "count(distinct key) as keys").collect()[0]
    say(f"two worker processes: {row.rows:,} rows, {row['keys']:,} keys")
    assert tuple(row) == (200_000, 200_000), row


def in_two_attempts(home: Path) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Task 3 hands its rows on when a second attempt of it has begun: so both of them store at the same time."""

    def handed_on(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        rows = list(batches)
        if context.partitionId() == 3:
            (home / f"attempt-{context.attemptNumber()}").touch()
            deadline, never = perf_counter() + SPECULATION_S, Event()
            while not (home / "attempt-1").exists() and perf_counter() < deadline:
                never.wait(0.05)
        yield from rows

    return handed_on


def main() -> int:
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("which", nargs="*", help="read, storm, workers or connect; all of them if none is named")
    parser.add_argument("--lives", type=int, default=30)
    parser.add_argument("--rows", type=int, default=2_000_000)
    asked = parser.parse_args()
    if unknown := {*asked.which} - {*PARTS}:
        parser.error(f"there is no {', '.join(sorted(unknown))}: it is one of {', '.join(PARTS)}")
    for name in asked.which or PARTS:
        if name == "read":
            read(asked.rows)
        elif name == "storm":
            storm(asked.lives)
        elif name == "workers":
            workers()
        else:
            subprocess.run([sys.executable, "-m", "tests.spark.connect"], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
