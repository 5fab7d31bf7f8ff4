"""Bookmarks and DataFrames: which rows are before a place, and in which bucket each is by now.

A row says the bucket in which it was read, and that may have been split since. But a key says at any time where it
lives: so rows are judged by their keys. A bookmark has a place for each bucket that the log had, or for the one that it
came from (`hansard.bookmark`). So for the finest buckets that a bookmark knows of there is a table of places, and the
home of a key in these says which of them counts.
"""

from collections.abc import Collection, Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from hansard.bookmark import Bookmark, parent

from .columns import BUCKET, OFFSET, home


def finest(buckets: Collection[int]) -> int:
    """How many buckets there would be if all were as small as the smallest of these."""
    return 1 << max(buckets).bit_length() if max(buckets, default=0) else 1


def nearest(bucket: int, buckets: Collection[int]) -> int:
    """Of these, which cover the log, the one that the bucket is, or comes from."""
    while bucket not in buckets:
        assert bucket, f"{sorted(buckets)} do not cover the log"
        bucket = parent(bucket)
    return bucket


def place(bookmark: Bookmark) -> Column:
    """Of each row, by its key: the offset at which the bookmark is."""
    count = finest(bookmark.offsets)
    return _looked_up([bookmark.offset(bucket) or 0 for bucket in range(count)], "bigint", count)


def since(changes: DataFrame, bookmark: Bookmark) -> DataFrame:
    """What comes after the bookmark."""
    return changes.where(fn.col(OFFSET) >= place(bookmark))


def before(changes: DataFrame, bookmark: Bookmark) -> DataFrame:
    return changes.where(fn.col(OFFSET) < place(bookmark))


def relabelled(changes: DataFrame, buckets: Collection[int]) -> DataFrame:
    """Each row in the one of these buckets in which its key lives."""
    return changes.withColumn(BUCKET, label(buckets))


def label(buckets: Collection[int]) -> Column:
    count = finest(buckets)
    if len(buckets) == count:
        return home(count)
    return _looked_up([nearest(bucket, buckets) for bucket in range(count)], "int", count)


def _looked_up(numbers: Sequence[int], kind: str, count: int) -> Column:
    if len(set(numbers)) == 1:
        return fn.lit(numbers[0]).cast(kind)
    array = fn.array(*[fn.lit(number).cast(kind) for number in numbers])
    return fn.element_at(array, home(count) + 1)


def levels(buckets: Collection[int]) -> dict[int, int]:
    """At which level each of these is, where together they cover the log: it has the keys with hash mod level = it."""
    halves: dict[int, int] = {bucket: 1 << bucket.bit_length() for bucket in buckets}
    for bucket in buckets:
        if bucket:
            whole = parent(bucket)
            halves[whole] = max(halves[whole], 2 * (bucket - whole))
    return halves


def is_before(one: Bookmark, other: Bookmark) -> bool:
    """Whether nowhere the one is further than the other."""
    buckets = {*one.offsets, *other.offsets}
    return all((one.offset(bucket) or 0) <= (other.offset(bucket) or 0) for bucket in buckets)


def later(one: Bookmark, other: Bookmark) -> Bookmark:
    """In each bucket the later of two places of one log."""
    buckets = {*one.offsets, *other.offsets}
    return Bookmark(one.log_id, {bucket: max(one.offset(bucket) or 0, other.offset(bucket) or 0) for bucket in buckets})


def distance(start: Mapping[int, int], end: Mapping[int, int]) -> int:
    """So many changes lie between at the most."""
    return sum(max(0, end[bucket] - start[bucket]) for bucket in end)


def stepped(start: Bookmark, end: Bookmark, count_max: int) -> Bookmark:
    """Not further than `end`, and so that about `count_max` changes at the most are between: each bucket goes the same
    part of its way."""
    places = start.resolve(end.log_id, end.offsets)
    total = distance(places, end.offsets)
    if total <= count_max:
        return end
    stepped = {
        bucket: first + -(-max(0, end.offsets[bucket] - first) * count_max // total) for bucket, first in places.items()
    }
    return Bookmark(end.log_id, stepped)
