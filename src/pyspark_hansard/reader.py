"""Batch reads: everything between two places, pinned to offsets when the query is planned, so that a task which is
tried again reads the same.

Filters that Spark pushes down narrow what is read, where the session has `spark.sql.python.filterPushdown.enabled`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

from hansard.batch import bucket_of, key_hash
from hansard.bookmark import Bookmark

from .columns import arrow_schema, check_schema
from .entrance import Entrance, visit, wanted_of
from .feed import record_batches
from .options import EARLIEST, LATEST, BadOption, Choice, Given
from .places import Range, between
from .plan import Share, shares
from .pushed import Bounds, narrowed


class BatchReader(DataSourceReader):
    def __init__(self, given: Given, schema: StructType) -> None:
        self.reach = given.reach()
        self.choice = given.choice()
        check_schema(schema, self.choice)
        self.schema = schema
        self.since = given.place("since", EARLIEST)
        self.until = given.place("until", LATEST)
        self.rows_max = given.rows_per_partition
        self.bounds = Bounds()

    def partitions(self) -> Sequence[InputPartition]:
        ranges: list[Range] = visit(self.reach, self._ranges)
        return shares(ranges, self.rows_max)

    async def _ranges(self, entrance: Entrance) -> list[Range]:
        """Where it ends is looked for last: by then there are at least the buckets that the places before it have."""
        bounds, wanted = self.bounds, wanted_of(self.choice)._replace(key=None)
        if self.choice.buckets is not None:
            check_buckets(self.choice.buckets, len(entrance.atlas.buckets))
        start = await entrance.offsets(self.since, wanted)
        later = [] if bounds.since is None else [await entrance.offsets(bounds.since, wanted)]
        until = [] if self.until == LATEST else [await entrance.offsets(self.until, wanted)]
        until += [] if bounds.until is None else [await entrance.offsets(bounds.until, wanted)]
        ranges = between(start, await entrance.ends(wanted), lenient=self.since == EARLIEST)
        return cut(chosen(ranges, self.choice, bounds), later, until, bounds)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        ranges = partition.ranges if isinstance(partition, Share) else ()
        return record_batches(self.reach, self.choice, ranges, arrow_schema(self.schema))


class PushingReader(BatchReader):
    """Where the session allows it: Spark takes a reader that overrides this for an error where it does not."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 (Spark's name)
        for each in filters:
            self.bounds = self.bounds.with_filter(each)
            self.choice = narrowed(self.choice, each)
        return filters


def check_buckets(buckets: Iterable[int], count: int) -> None:
    for bucket in buckets:
        if bucket >= count:
            raise BadOption(f"buckets: there is no bucket {bucket}; there are {count}, from 0 to {count - 1}")


def chosen(ranges: Sequence[Range], choice: Choice, bounds: Bounds | None = None) -> list[Range]:
    """Those in which something can be that is wanted."""
    hash = None if choice.key is None else key_hash(choice.key)
    return [
        each
        for each in ranges
        if (choice.buckets is None or each.bucket in choice.buckets)
        and (bounds is None or bounds.buckets is None or each.bucket in bounds.buckets)
        and (hash is None or bucket_of(hash, each.level) == each.bucket)
    ]


def cut(
    ranges: Sequence[Range],
    later: Sequence[Mapping[int, int]],
    until: Sequence[Mapping[int, int]],
    bounds: Bounds,
) -> list[Range]:
    """Up to places that were said by bucket, and within bounds."""
    found = []
    for each in ranges:
        starts = [Bookmark("", places).offset(each.bucket) or 0 for places in later]
        ends = [Bookmark("", places).offset(each.bucket) or 0 for places in until]
        ends += [] if bounds.end is None else [bounds.end]
        start, end = max([each.start, bounds.first, *starts]), min([each.end, *ends])
        if start < end:
            found.append(each._replace(start=start, end=end))
    return found
