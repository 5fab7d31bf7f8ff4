"""Writing: the rows of each task become changes, once under a sinkId, at least once without."""

import asyncio
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import uvloop
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from hansard.client import AsyncClient

from .carrier import carry
from .entrance import Entrance, entered
from .options import BadOption, Given, Reach
from .register import BATCHES_MAX, ROWS_MAX, Register, base, check_sink
from .rows import Rows, gathered, mapping

BATCH_PROPERTY = "streaming.sql.batchId"
QUERY_PROPERTY = "sql.streaming.queryId"


@dataclass(frozen=True)
class Written(WriterCommitMessage):
    rows: int


class TooManyRows(ValueError):
    pass


class Sink:
    """What the writers of both kinds are. It travels to the executors."""

    def __init__(self, given: Given, schema: StructType, *, overwrite: bool) -> None:
        if overwrite:
            raise BadOption("a log cannot be overwritten, only added to: use mode('append')")
        self.reach = given.reach()
        self.which = mapping(given, schema)
        self.sink_id = given.text("sinkId")
        if given.has("sinkId"):
            check_sink(self.sink_id)

    def stored(self, iterator: Iterator[pa.RecordBatch], sink_id: str, batch: int) -> Written:
        rows = gathered(iterator, self.which, is_sorted=bool(sink_id))
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(store(self.reach, rows, sink_id, batch, _context().partitionId()))
        return Written(len(rows))


class BatchWriter(DataSourceArrowWriter):
    def __init__(self, given: Given, schema: StructType, *, overwrite: bool) -> None:
        self.sink = Sink(given, schema, overwrite=overwrite)
        batch = given.number("batchId", 0)
        if batch is not None and not self.sink.sink_id:
            raise BadOption("batchId is given without the sinkId whose batch it is")
        self.batch = batch or 0
        if not self.sink.sink_id:
            warnings.warn(
                "hansard: without a sinkId a task that is tried again stores its rows again: each is stored at least "
                "once. With option('sinkId', ...) it is stored once",
                stacklevel=1,
            )

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return self.sink.stored(iterator, self.sink.sink_id, self.batch)


class StreamWriter(DataSourceStreamArrowWriter):
    """The id of the query, which stays the same as long as its checkpoint, is its sink's if it has no other."""

    def __init__(self, given: Given, schema: StructType, *, overwrite: bool) -> None:
        self.sink = Sink(given, schema, overwrite=overwrite)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        context = _context()
        batch, query = context.getLocalProperty(BATCH_PROPERTY), context.getLocalProperty(QUERY_PROPERTY)
        if batch is None or not (self.sink.sink_id or query):
            raise RuntimeError("Spark does not say which batch of which query this is: give the option sinkId")
        return self.sink.stored(iterator, self.sink.sink_id or str(query), int(batch))


def _context() -> TaskContext:
    context = TaskContext.get()
    assert context is not None, "rows are written by tasks"
    return context


async def store(reach: Reach, rows: Rows, sink_id: str, batch: int, partition: int) -> None:
    if not sink_id:
        if len(rows):
            async with await _client(reach) as client, entered(reach) as entrance:
                await carry(client, rows, _homes(entrance, rows), 0)
        return
    if len(rows) > ROWS_MAX or batch >= BATCHES_MAX:
        raise TooManyRows(
            f"{len(rows)} rows as batch {batch}: a sink takes {ROWS_MAX} in each of {BATCHES_MAX} batches"
        )
    async with await _client(reach) as client, entered(reach) as entrance:
        record = await Register(entrance, sink_id, partition).settle(client, batch, len(rows), rows.digest())
        await client.adopt(record.connection)
        await carry(client, rows, _homes(entrance, rows), base(batch))


async def _client(reach: Reach) -> AsyncClient:
    return await AsyncClient.connect(
        reach.endpoints, timeout_s=reach.timeout_s, token=reach.token, tls=reach.tls(), guarded=bool(reach.token)
    )


def _homes(entrance: Entrance, rows: Rows) -> np.ndarray[Any, np.dtype[np.int64]]:
    return entrance.atlas.homes(rows.hashes)
