"""Batch reads of a real cluster with a real Spark."""

from datetime import UTC, datetime

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from hansard.client import Client
from hansard.testing import Cluster
from tests.spark.local import options

COUNT = 1_000


@pytest.fixture(scope="module")
def marks(cluster: Cluster) -> list[str]:
    """Bookmarks before, between and after two lots of changes; and the time between them."""
    with Client.connect(cluster.addresses) as client:
        before = client.bookmark()
        client.submit_many(
            [f"k{n}" for n in range(COUNT)],
            [f'{{"n": {n}, "name": "é{n}", "more": [1, 2]}}' if n % 10 else None for n in range(COUNT)],
            [["reading", f"mod:{n % 4}"] for n in range(COUNT)],
        )
        between = client.bookmark()
        (last,) = client.page(since=None, order="desc", limit=1, tags=["reading"]).changes
        time = datetime.now(UTC)
        cluster.until(lambda: datetime.now(UTC) > max(time, last.time), "the clock does not go on")
        time = datetime.now(UTC)
        client.submit_many([f"k{n}" for n in range(100)], ["again"] * 100, [["reading", "late"]] * 100)
        client.submit(None, b"\xff", ["reading", "odd"])
        return [str(before), str(between), str(client.bookmark()), time.isoformat()]


def frame(spark: SparkSession, cluster: Cluster, **more: object) -> DataFrame:
    return spark.read.format("hansard").options(**options(cluster, **more)).load()


def test_all_changes_are_read_with_the_columns_that_are_promised(
    spark: SparkSession, cluster: Cluster, marks: list[str]
) -> None:
    found = frame(spark, cluster, since=marks[0], until=marks[1], maxRowsPerPartition=200)
    assert [(field.name, field.dataType.simpleString()) for field in found.schema] == [
        ("bucket", "int"),
        ("offset", "bigint"),
        ("timestamp", "timestamp"),
        ("key", "binary"),
        ("value", "binary"),
        ("tags", "array<string>"),
        ("connection", "bigint"),
        ("series", "bigint"),
    ]
    assert found.rdd.getNumPartitions() >= 5
    rows = found.collect()
    assert len({(row.bucket, row.offset) for row in rows}) == len(rows) == COUNT
    assert sorted(bytes(row.key) for row in rows) == sorted(f"k{n}".encode() for n in range(COUNT))
    assert sum(row.value is None for row in rows) == COUNT // 10
    assert all(list(row.tags) == ["reading", f"mod:{int(row.key[1:]) % 4}"] for row in rows)
    assert {row.connection for row in rows} != {0} and len({row.series for row in rows}) == COUNT
    assert found.where("bucket != pmod(xxhash64(key), 4)").count() == 0


def test_options_choose(spark: SparkSession, cluster: Cluster, marks: list[str]) -> None:
    """Many small reads in one job: each costs Spark a round of planning, and little more."""
    here = {"since": marks[0], "until": marks[2]}
    counts = {
        "tags": (frame(spark, cluster, tags="mod:1,late", **here), COUNT // 4 + 100),
        "match": (frame(spark, cluster, tags="reading,mod:1", match="all", **here), COUNT // 4),
        "key": (frame(spark, cluster, key="k7", **here), 2),
        "since": (frame(spark, cluster, since=marks[1], tags="reading"), 101),
        "time": (frame(spark, cluster, since=marks[3], tags="reading"), 101),
        "until": (frame(spark, cluster, until=marks[3], tags="reading"), COUNT),
        "nothing": (frame(spark, cluster, since=marks[1], until=marks[1]), 0),
        "latest": (frame(spark, cluster, since="latest"), 0),
        "one column": (frame(spark, cluster, columns="offset", **here), COUNT + 101),
    }
    whole = None
    for name, (found, _) in counts.items():
        part = found.selectExpr(f"'{name}' as name")
        whole = part if whole is None else whole.union(part)
    assert whole is not None
    seen = {row["name"]: row["count"] for row in whole.groupBy("name").count().collect()}
    assert {name: seen.get(name, 0) for name in counts} == {name: count for name, (_, count) in counts.items()}


def test_buckets_are_chosen_by_their_numbers(spark: SparkSession, cluster: Cluster, marks: list[str]) -> None:
    found = frame(spark, cluster, buckets="1,3", columns="bucket", since=marks[0], until=marks[2])
    assert {row.bucket for row in found.distinct().collect()} == {1, 3}
    with pytest.raises(PySparkException, match="there is no bucket 9; there are 4"):
        frame(spark, cluster, buckets="9").collect()


def test_values_are_text_or_structs_of_json(spark: SparkSession, cluster: Cluster, marks: list[str]) -> None:
    here = {"since": marks[0], "until": marks[1], "keyFormat": "string", "columns": "key,value"}
    texts = {row.key: row.value for row in frame(spark, cluster, valueFormat="string", **here).collect()}
    assert texts["k11"] == '{"n": 11, "name": "é11", "more": [1, 2]}' and texts["k10"] is None
    parsed = frame(spark, cluster, valueFormat="json", schema="name STRING, n BIGINT, absent BOOLEAN", **here)
    rows = {row.key: row.value for row in parsed.collect()}
    assert rows["k11"] == ("é11", 11, None) and rows["k10"] is None
    odd = {"since": marks[1], "tags": "odd"}
    with pytest.raises(PySparkException, match=r"the value of the change at offset \d+ of bucket \d is not UTF-8"):
        frame(spark, cluster, valueFormat="string", **odd).collect()
    with pytest.raises(PySparkException, match=r"the value of the change at offset \d+ of bucket \d is no JSON"):
        frame(spark, cluster, valueFormat="json", schema="n INT", **odd).collect()


def test_filters_are_pushed_down_where_the_session_allows_it(
    spark: SparkSession, cluster: Cluster, marks: list[str]
) -> None:
    found = frame(spark, cluster, since=marks[0], until=marks[2], maxRowsPerPartition=50)
    condition = "bucket = 1 and offset >= 10 and key is not null and value is not null"
    plain = found.where(condition)
    tasks, wanted = plain.rdd.getNumPartitions(), sorted(row.offset for row in plain.collect())
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        pushed = frame(spark, cluster, since=marks[0], until=marks[2], maxRowsPerPartition=50).where(condition)
        assert sorted(row.offset for row in pushed.collect()) == wanted and wanted
        assert pushed.rdd.getNumPartitions() * 2 < tasks
        late = frame(spark, cluster, tags="reading").where(f"timestamp >= '{marks[3]}' and key = cast('k5' as binary)")
        assert late.count() == 1
        assert frame(spark, cluster, tags="reading").where("tags = array('reading', 'odd')").count() == 1
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")


def test_what_is_wrong_is_an_error_of_sparks_with_its_cause(
    spark: SparkSession, cluster: Cluster, marks: list[str]
) -> None:
    with pytest.raises(AnalysisException, match="no option 'tag': did you mean tags"):
        frame(spark, cluster, tag="x")
    with pytest.raises(PySparkException, match="sinkId is of no use for a batch read"):
        frame(spark, cluster, sinkId="x").collect()
    with pytest.raises(PySparkException, match=r"could not be had in time .*127\.0\.0\.1:9"):
        frame(spark, cluster, endpoints="127.0.0.1:9", timeoutSeconds=1).collect()
    other = "b1" + marks[0][2:]
    assert frame(spark, cluster, since=other, until=other).collect() == []
    with pytest.raises(AnalysisException, match="damaged"):
        frame(spark, cluster, since=marks[0][:-3]).collect()
