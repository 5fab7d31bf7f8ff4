"""The steps of checkpoints, on plain DataFrames, against the same in plain Python."""

import pytest
from pyspark.sql import SparkSession

from hansard.checkpoint import Layer, Subject
from hansard.client.state import COLUMNS
from hansard.pipeline import layers
from hansard.pipeline.building import planned
from hansard.pipeline.layers import FOLDER, SUBJECT, folder_of, merged_from

from .rows import Row, frame_of, some_rows

A, B = "tenant:a", "tenant:b"


def tagged(rows: list[Row]) -> list[Row]:
    """Some are a's, some b's, some both's, some nobody's, and some are records."""
    cycle = [(A,), (B, "red"), (A, B), (), ("red", A), (A, "hansard:checkpoint")]
    return [(*row[:5], cycle[place % len(cycle)], *row[6:]) for place, row in enumerate(rows)]


def expected(rows: list[Row], tags: set[str], *, every: bool = False) -> dict[bytes, tuple[int, bytes | None]]:
    """In the order of each bucket: the last one counts."""
    found: dict[bytes, tuple[int, bytes | None]] = {}
    for _, offset, _, key, value, mine, *_ in sorted(rows, key=lambda row: row[1]):
        matches = tags <= set(mine) if every else not tags or tags & set(mine)
        if key is not None and matches and not any(tag.startswith("hansard:") for tag in mine):
            found[key] = (offset, value)
    return found


def test_the_latest_matching_change_of_each_key(spark: SparkSession) -> None:
    rows = tagged(some_rows(500))
    changes = frame_of(spark, rows).repartition(3)
    for tags, match in (([A], "any"), ([A, "red"], "all"), ([B, "red"], "any"), ([], "any")):
        subject = Subject.of(tags, match)  # type: ignore[arg-type]
        found = layers.latest(layers.of_subject(changes, subject)).collect()
        wanted = expected(rows, set(tags), every=match == "all")
        assert wanted and {bytes(row.key): (row.offset, row.value) for row in found} == wanted, tags
        assert {(row[FOLDER], row[SUBJECT]) for row in found} == {(folder_of(subject.name), subject.name)}


def test_each_tag_with_a_prefix_by_itself_and_a_change_of_two_is_of_both(spark: SparkSession) -> None:
    rows = tagged(some_rows(500))
    found = layers.latest(layers.of_each(frame_of(spark, rows), "tenant:")).collect()
    for tag in (A, B):
        mine = [row for row in found if row[SUBJECT] == Subject.of([tag]).name]
        assert {bytes(row.key): (row.offset, row.value) for row in mine} == expected(rows, {tag})
        assert {row[FOLDER] for row in mine} == {folder_of(Subject.of([tag]).name)}
    assert len(found) == len(expected(rows, {A})) + len(expected(rows, {B}))


def test_after_a_split_the_highest_offset_is_the_latest_in_whatever_bucket_it_is(spark: SparkSession) -> None:
    rows: list[Row] = [(0, 7, 1, b"k", b"before", (A,), 1, 1), (2, 8, 1, b"k", b"after", (A,), 1, 2)]
    for given in (rows, rows[::-1]):
        (row,) = layers.latest(layers.of_subject(frame_of(spark, given), Subject.of([A]))).collect()
        assert (row.bucket, bytes(row.value)) == (2, b"after")


def test_merging_layers_is_the_same_as_making_one_of_all_and_may_be_done_twice(spark: SparkSession) -> None:
    rows = tagged(some_rows(300))
    subject = Subject.of([A])
    early, late = (layers.of_subject(frame_of(spark, part), subject) for part in (rows[:200], rows[100:]))
    merged = layers.latest(layers.latest(early).unionByName(layers.latest(late)))
    whole = layers.latest(layers.of_subject(frame_of(spark, rows), subject))
    same = layers.latest(merged.unionByName(merged))
    (one,), (other,) = (layers.described(frame).collect() for frame in (same, whole))
    assert one == other and one["rows"] == len(expected(rows, {A}))
    assert one["deleted"] == sum(value is None for _, value in expected(rows, {A}).values()) > 0
    kept = layers.without_deleted(whole, [folder_of(subject.name)])
    assert kept.count() == one["rows"] - one["deleted"]
    assert layers.without_deleted(whole, []).count() == layers.without_deleted(whole, ["other"]).count() == one["rows"]


@pytest.mark.parametrize("column", ["value", "offset", "tags", "timestamp_us"])
def test_a_digest_tells_rows_that_differ(spark: SparkSession, column: str) -> None:
    frame = layers.latest(layers.of_subject(frame_of(spark, tagged(some_rows(50))), Subject.of([A])))
    changed = [row.asDict() for row in frame.collect()]
    number = changed[3][column]
    changed[3][column] = {"value": None if number else b"", "tags": ["x"]}.get(column, 0)
    other = spark.createDataFrame(changed, frame.schema)
    assert layers.described(frame).collect() != layers.described(other).collect()


def test_layers_are_few_and_each_much_larger_than_the_next() -> None:
    assert merged_from([], 10) == 0
    assert merged_from([5_000_000], 50_000) == 1, "what has not changed is left alone"
    assert merged_from([5_000_000, 50_000], 50_000) == 1
    assert merged_from([100, 60], 10) == 2 and merged_from([100, 60], 40) == 0
    written = 0
    rows: list[int] = []
    for _ in range(1000):
        kept = merged_from(rows, 10)
        rows = [*rows[:kept], sum(rows[kept:]) + 10]
        written += rows[-1]
        assert len(rows) <= 12
    assert written < 10_000 * 12, "a row is written again about as often as the whole has doubled"


def test_what_is_new_is_planned_for_each_by_itself() -> None:
    base = (Layer(path="old", rows=100), Layer(path="newer", rows=10))
    plans = planned({"a": 1, "b": 10, "c": 1}, {"a": base, "b": base})
    assert (plans["a"].kept, plans["b"].kept, plans["c"].kept) == (2, 1, 0)
    assert [layer.path for layer in plans["b"].merged] == ["newer"] and not plans["c"].merged
    assert set(COLUMNS) < set(layers.ROW)
