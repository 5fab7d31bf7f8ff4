"""Writing: the rows of each task become changes, once under a sinkId, at least once without."""

import asyncio
import secrets
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import uvloop
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from hansard.client import AsyncClient, InvalidSubmission, Refused

from .carrier import carry
from .entrance import Entrance, entered
from .options import BadOption, Given, Reach
from .register import BATCHES_MAX, ROWS_MAX, Postponed, Register, base, check_sink
from .rows import Rows, gathered, mapping

BATCH_PROPERTY = "streaming.sql.batchId"
QUERY_PROPERTY = "sql.streaming.queryId"


@dataclass(frozen=True)
class Written(WriterCommitMessage):
    rows: int
    postponed: str = ""
    """Why nothing of it is stored. The task has ended all the same: what it waited for may wait for its place."""


class TooManyRows(ValueError):
    pass


class NotAllowed(Exception):
    def __init__(self, sink: str, refusal: Exception) -> None:
        super().__init__(sink, refusal)

    def __str__(self) -> str:
        sink, refusal = self.args
        return (
            f"the sink {sink!r} cannot note what it stores, so nothing is stored: {refusal}. It takes a token that may "
            "submit and read, and is not limited to tags; with one that is, a batch write without a sinkId stores each "
            "row at least once"
        )


class Task(NamedTuple):
    """Which part of what it is that somebody stores."""

    sink: str
    """Empty: it is stored at least once."""
    batch: int = 0
    partition: int = 0
    run: str = ""


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
        self.run = secrets.token_hex(8)
        """It is made by the driver, for all tasks of the job or the query."""

    def stored(self, iterator: Iterator[pa.RecordBatch], sink_id: str, batch: int) -> Written:
        rows = gathered(iterator, self.which, is_sorted=bool(sink_id))
        task = Task(sink_id, batch, _context().partitionId(), self.run)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            try:
                runner.run(store(self.reach, rows, task))
            except Postponed as error:
                return Written(0, str(error))
        return Written(len(rows))

    @staticmethod
    def commit(messages: Iterable[WriterCommitMessage | None]) -> None:
        for message in messages:
            if isinstance(message, Written) and message.postponed:
                raise RuntimeError(message.postponed)


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

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        self.sink.commit(messages)


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

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: ARG002, N803 (Spark's)
        self.sink.commit(messages)


def _context() -> TaskContext:
    context = TaskContext.get()
    assert context is not None, "rows are written by tasks"
    return context


async def store(reach: Reach, rows: Rows, task: Task) -> None:
    if not task.sink:
        if len(rows):
            async with await _client(reach) as client, entered(reach) as entrance:
                await carry(client, rows, _homes(entrance, rows), 0)
        return
    if len(rows) > ROWS_MAX or task.batch >= BATCHES_MAX:
        raise TooManyRows(
            f"{len(rows)} rows as batch {task.batch}: a sink takes {ROWS_MAX} in each of {BATCHES_MAX} batches"
        )
    async with await _client(reach) as client, entered(reach) as entrance:
        register = Register(entrance, client, task.sink, task.partition, task.run)
        try:
            record = await register.settle(task.batch, len(rows), rows.digest())
        except (Refused, InvalidSubmission) as error:
            raise NotAllowed(task.sink, error) from error
        await client.adopt(record.connection)
        await carry(client, rows, _homes(entrance, rows), base(task.batch))


async def _client(reach: Reach) -> AsyncClient:
    return await AsyncClient.connect(
        reach.endpoints, timeout_s=reach.timeout_s, token=reach.token, tls=reach.tls(), guarded=bool(reach.token)
    )


def _homes(entrance: Entrance, rows: Rows) -> np.ndarray[Any, np.dtype[np.int64]]:
    return entrance.atlas.homes(rows.hashes)
