"""Writing with a real Spark: tasks that die, are tried again and get their rows in another order."""

from collections import Counter
from collections.abc import Iterable, Iterator
from random import Random
from threading import Event, Thread

import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from hansard.testing import Cluster
from tests.spark.local import everything, options
from tests.spark.session import ATTEMPTS
from tests.spark.workers import kill_a_worker

ROWS = 40_000


def rows_of(spark: SparkSession, tag: str, count: int = ROWS) -> DataFrame:
    """Each value twice, under two keys."""
    return spark.range(count).selectExpr(
        "concat('k', id) as key",
        "cast(repeat(cast(id % 20000 as string), 20) as binary) as value",
        f"array('{tag}') as tags",
    )


def in_another_order(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What a shuffle does: each attempt gets the rows as they happen to come."""
    context = TaskContext.get()
    assert context is not None
    table = pa.Table.from_batches(list(batches))
    places = list(range(len(table)))
    Random(context.taskAttemptId()).shuffle(places)
    yield from table.take(pa.array(places)).to_batches(max_chunksize=1_000)


def write(frame: DataFrame, cluster: Cluster, **more: object) -> None:
    frame.write.format("hansard").options(**options(cluster, **more)).mode("append").save()


def keys(cluster: Cluster, tag: str) -> Counter[bytes]:
    return Counter(row["key"] for row in everything(cluster, tags=tag))


def test_a_job_whose_tasks_die_stores_each_row_once(spark: SparkSession, cluster: Cluster) -> None:
    frame = (
        rows_of(spark, "killed")
        .repartition(6)
        .mapInArrow(in_another_order, "key string, value binary, tags array<string>")
    )
    is_over, kills = Event(), list[bool]()

    def storm() -> None:
        random = Random(7)
        while not is_over.wait(0.3) and sum(kills) < ATTEMPTS - 1:
            kills.append(kill_a_worker(random))

    thread = Thread(target=storm)
    thread.start()
    try:
        write(frame, cluster, sinkId="killed")
    finally:
        is_over.set()
        thread.join()
    assert sum(kills) > 0, "nothing was killed"
    wanted = Counter({f"k{n}".encode(): 1 for n in range(ROWS)})
    assert keys(cluster, "killed") == wanted
    write(frame, cluster, sinkId="killed")
    assert keys(cluster, "killed") == wanted, "the whole job again, in yet another order"
    with pytest.raises(PySparkException, match="batch 0 of the sink 'killed' was begun before with"):
        write(frame.where("key != 'k5'"), cluster, sinkId="killed")
    assert keys(cluster, "killed") == wanted
    runs = {row["value"] for row in everything(cluster, tags="hansard:run:killed")}
    assert len(runs) == 3, "all tasks and attempts of a job say that they are of the same run, and no other job does"


def test_columns_and_options_of_a_write(spark: SparkSession, cluster: Cluster) -> None:
    frame = spark.createDataFrame([(1, "one", "a"), (2, None, "b")], "id int, body string, label string")
    shaped = frame.selectExpr("cast(id as string) as id", "body", "array('shaped', label) as labels")
    columns = {"keyColumn": "id", "valueColumn": "body", "tagsColumn": "labels"}
    write(shaped, cluster, **columns)
    found = {row["key"]: (row["value"], row["tags"]) for row in everything(cluster, tags="shaped")}
    assert found == {b"1": (b"one", ["shaped", "a"]), b"2": (None, ["shaped", "b"])}
    for wrong, said in (
        ({"sinkId": ""}, "sinkId is a name"),
        ({"batchId": "1"}, "batchId is given without the sinkId"),
        ({"since": "latest"}, "since is of no use for a batch write"),
        ({"keyColumn": "nothing"}, "there is no column 'nothing' to be written as key"),
    ):
        with pytest.raises(PySparkException, match=said):
            write(shaped, cluster, **{**columns, **wrong})
    with pytest.raises(PySparkException, match="a log cannot be overwritten"):
        frame.write.format("hansard").options(**options(cluster)).mode("overwrite").save()
