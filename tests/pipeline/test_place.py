"""Rows are judged by their keys: which bookmark is where, whatever bucket they were read from."""

import pytest
from pyspark.sql import SparkSession

from hansard.batch import bucket_of, key_hash
from hansard.bookmark import Bookmark
from hansard.pipeline import place
from tests.pipeline.rows import frame_of, in_frame, some_rows

SPLIT = Bookmark("log", {0: 10, 1: 12, 2: 9, 3: 11, 5: 20})
"""Of bucket 1 the half 5 was split off, and read further."""


def home(row: tuple[object, ...], level: int) -> int:
    assert row[3] is None or isinstance(row[3], bytes)
    return bucket_of(key_hash(row[3]), level)


@pytest.mark.parametrize("bookmark", [Bookmark("log", {0: 30}), Bookmark("log", {0: 3, 1: 5, 2: 0, 3: 9}), SPLIT])
def test_what_is_before_and_what_is_after_a_bookmark(spark: SparkSession, bookmark: Bookmark) -> None:
    rows = some_rows(200)
    frame = frame_of(spark, rows)
    after = sorted(row for row in rows if row[1] >= (bookmark.offset(home(row, 8)) or 0))
    assert 0 < len(after) < len(rows)
    assert [row[:2] for row in in_frame(place.since(frame, bookmark))] == [row[:2] for row in after]
    assert len(in_frame(place.before(frame, bookmark))) == len(rows) - len(after)


def test_each_row_is_labelled_with_the_bucket_of_its_key(spark: SparkSession) -> None:
    rows = some_rows(100)
    for buckets in ({0}, {0, 1, 2, 3}, {0, 1, 2, 3, 5}, set(range(8))):
        found = in_frame(place.relabelled(frame_of(spark, rows), buckets))
        assert [row[0] for row in found] == [place.nearest(home(row, 8), buckets) for row in found]


def test_the_level_of_each_bucket_follows_from_all_of_them() -> None:
    assert place.levels([0]) == {0: 1}
    assert place.levels([0, 1, 2, 3]) == dict.fromkeys(range(4), 4)
    assert place.levels([0, 1, 2, 3, 5]) == {0: 4, 1: 8, 2: 4, 3: 4, 5: 8}
    assert place.levels([*range(8), 8]) == {**dict.fromkeys(range(1, 8), 8), 0: 16, 8: 16}


def test_a_long_way_is_gone_in_steps_that_meet_its_end() -> None:
    start, end = Bookmark("log", {0: 5, 1: 0}), Bookmark("log", {0: 105, 1: 900, 3: 40})
    steps = [start]
    while steps[-1] != end:
        steps.append(place.stepped(steps[-1], end, 100))
        before = steps[-2].resolve("log", end.offsets)
        assert 0 < place.distance(before, steps[-1].offsets) <= 103
        assert all(before[bucket] <= at <= end.offsets[bucket] for bucket, at in steps[-1].offsets.items())
    assert len(steps) > 10
    assert place.stepped(start, end, 10_000) is end


def test_the_later_of_two_bookmarks_by_bucket() -> None:
    one, other = Bookmark("log", {0: 5, 1: 7}), Bookmark("log", {0: 4, 1: 9, 2: 8, 3: 6})
    assert place.later(one, other) == Bookmark("log", {0: 5, 1: 9, 2: 8, 3: 7})
