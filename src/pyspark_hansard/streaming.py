"""Streaming reads. The driver's part has one process for a query and is asked there for offsets and partitions; tasks
have copies of it, which only read."""

import secrets
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from hansard.bookmark import Bookmark, WrongLog
from hansard.client.errors import Refused
from hansard.client.reading import Filter

from .admission import Admission
from .columns import arrow_schema, check_schema
from .entrance import Entrance, visit, wanted_of
from .feed import record_batches
from .offsets import StreamOffset, parsed, ranges
from .options import EARLIEST, Given
from .places import Place, Places
from .plan import Share, shares
from .reader import check_buckets, chosen

HOLD_S: Final = 7 * 24 * 3600.0
HOLD_PAUSE_S: Final = 5.0
"""A hold is moved on at most so often: it is an entry in the atomic log each time."""
HOLD_AGAIN_S: Final = 24 * 3600.0


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, given: Given, schema: StructType) -> None:
        self.reach = given.reach()
        self.choice = given.choice()
        check_schema(schema, self.choice)
        self.schema = schema
        self.since = given.place("since", EARLIEST)
        self.rows_per_partition = given.rows_per_partition
        self.rows_max = given.number("maxRowsPerTrigger")
        self.bytes_max = given.number("maxBytesPerTrigger")
        self.hold = given.text("hold")
        # Of the driver's copy alone:
        self.target: Places | None = None
        self.latest: StreamOffset | None = None
        self.held_s: float | None = None
        """When a place was last held."""
        self.may_hold = True

    @property
    def _wanted(self) -> Filter:
        return wanted_of(self.choice)._replace(key=None)

    # Offsets.

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 (Spark's names, here and below)
        began: StreamOffset = visit(self.reach, self._begin)
        return began.told()

    async def _begin(self, entrance: Entrance) -> StreamOffset:
        if self.choice.buckets is not None:
            check_buckets(self.choice.buckets, len(entrance.atlas.buckets))
        found = await entrance.offsets(self.since, self._wanted)
        places = {bucket: Place(0, offset) for bucket, offset in found.items()}
        hold = self.hold or f"spark-{secrets.token_hex(8)}"
        return StreamOffset(entrance.atlas.log_id, hold, places, is_initial=True)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self.target = visit(self.reach, lambda entrance: entrance.ends(self._wanted))

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        if self.rows_max is not None:
            return ReadMaxRows(self.rows_max)
        return ReadAllAvailable() if self.bytes_max is None else ReadMaxBytes(self.bytes_max)

    def latestOffset(self, start: Mapping[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        began = parsed(start)
        ended: StreamOffset = visit(self.reach, lambda entrance: self._end(entrance, began, limit))
        return dict(start) if ended is began else ended.told()

    async def _end(self, entrance: Entrance, start: StreamOffset, limit: ReadLimit) -> StreamOffset:
        """Where the next batch ends; `start` itself if there is nothing more."""
        if entrance.atlas.log_id != start.log:
            raise WrongLog(start.log, entrance.atlas.log_id)
        if self.held_s is None or time.monotonic() - self.held_s > HOLD_AGAIN_S:
            await self._keep(entrance, start)
        ends = await entrance.ends(self._wanted)
        self.latest = start.ended(ends)
        places: Places = self.target or ends
        behind = chosen(ranges(start, start.ended(places)), self.choice)
        if (
            isinstance(limit, ReadMinRows)
            and self.target is None
            and sum(each.offsets for each in behind) < limit.min_rows
        ):
            return start
        if not isinstance(limit, ReadAllAvailable):
            rows_max = limit.max_rows if isinstance(limit, ReadMaxRows) else None
            bytes_max = limit.max_bytes if isinstance(limit, ReadMaxBytes) else self.bytes_max
            admission = Admission(entrance, wanted_of(self.choice), rows_max, bytes_max)
            places = await admission.places(behind, places)
        ended = start.ended(places)
        return ended if chosen(ranges(start, ended), self.choice) else start

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        return None if self.latest is None else self.latest.told()

    # Batches.

    def partitions(self, start: Mapping[str, Any], end: Mapping[str, Any]) -> Sequence[InputPartition]:
        planned = chosen(ranges(parsed(start), parsed(end)), self.choice)
        return shares(planned, self.rows_per_partition)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        planned = partition.ranges if isinstance(partition, Share) else ()
        return record_batches(self.reach, self.choice, planned, arrow_schema(self.schema))

    def commit(self, end: Mapping[str, Any]) -> None:
        if self.held_s is None or time.monotonic() - self.held_s > HOLD_PAUSE_S:
            visit(self.reach, lambda entrance: self._keep(entrance, parsed(end)))

    async def _keep(self, entrance: Entrance, place: StreamOffset) -> None:
        """Nothing from here on is dropped, for a week. Who may not ask for that goes on without, unless it was asked
        for by name."""
        if not self.may_hold:
            return
        bookmark = Bookmark(place.log, place.offsets)
        question = {"ask": "hold", "name": place.hold, "lasts_s": HOLD_S, "bookmark": str(bookmark)}
        try:
            await entrance.ask(question)
        except Refused as error:
            if self.hold:
                raise
            self.may_hold = False
            warnings.warn(f"hansard: what this query has not read yet is not held: {error}", stacklevel=1)
        self.held_s = time.monotonic()
