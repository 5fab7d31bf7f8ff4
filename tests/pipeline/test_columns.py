"""Where Spark says that a key lives is where a cluster keeps it, and a fingerprint tells all that a change is."""

from datetime import UTC, datetime
from typing import Any

from pyspark.sql import SparkSession

from hansard.batch import bucket_of, key_hash
from hansard.pipeline.columns import CHANGES, fingerprint, home

WHEN = datetime(2026, 11, 17, 9, 30, 0, 123456, tzinfo=UTC)
CHANGE: dict[str, Any] = {
    "bucket": 3,
    "offset": 17,
    "timestamp": WHEN,
    "key": b"k",
    "value": b"v",
    "tags": ["a", "b"],
    "connection": 5,
    "series": 9,
}


def test_the_home_of_a_key_is_the_clusters(spark: SparkSession) -> None:
    keys = [None, *[bytes([number]) * number for number in range(70)]]
    changes = [{**CHANGE, "key": key} for key in keys]
    found = spark.createDataFrame(changes, CHANGES).select("key", home(64).alias("home")).collect()
    assert [row.home for row in found] == [
        bucket_of(key_hash(None if row.key is None else bytes(row.key)), 64) for row in found
    ]
    assert len({row.home for row in found}) > 20


def test_no_two_changes_that_differ_have_one_fingerprint(spark: SparkSession) -> None:
    others: list[dict[str, Any]] = [
        {"bucket": 4},
        {"offset": 18},
        {"timestamp": WHEN.replace(microsecond=123457)},
        {"key": b"K"},
        {"key": None},
        {"value": None},
        {"value": b""},
        {"key": b"v", "value": b"k"},
        {"key": None, "value": b"k"},
        {"key": b"k", "value": None},
        {"tags": []},
        {"tags": ["b", "a"]},
        {"tags": ["a"]},
        {"tags": ["ab"]},
        {"connection": 6},
        {"series": 10},
        {"connection": 9, "series": 5},
    ]
    changes = [CHANGE, CHANGE, *[{**CHANGE, **other} for other in others]]
    prints = [row[0] for row in spark.createDataFrame(changes, CHANGES).select(fingerprint()).collect()]
    assert prints[0] == prints[1]
    assert len(set(prints)) == len(prints) - 2  # the first is there twice, and so is the one without a value
