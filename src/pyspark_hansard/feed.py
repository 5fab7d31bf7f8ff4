"""What a task reads: pieces of its ranges, fetched ahead by a thread with a loop of its own, while Spark takes the ones
before. Whatever goes wrong there is raised where they are taken."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Final

import numpy as np
import pyarrow as pa
import uvloop

from hansard.batch import Batch

from .columns import record_batch, without_records
from .entrance import entered, wanted_of
from .halves import Halves, Piece
from .options import Choice, Reach
from .places import Range

AHEAD: Final = 3
"""Pieces that are fetched and not taken."""
LARGE: Final = 1_000
"""Changes of a batch that is worth a record batch of its own."""

Found = tuple[Range, Piece] | BaseException | None
"""None is the end."""


class Feed:
    def __init__(self, reach: Reach, choice: Choice, ranges: Sequence[Range]) -> None:
        self._reach = reach
        self._choice = choice
        self._ranges = ranges
        self._found: SimpleQueue[Found] = SimpleQueue()
        self._loop = uvloop.new_event_loop()
        self._room = asyncio.Semaphore(AHEAD)
        self._task: asyncio.Task[None] | None = None
        self._thread = Thread(target=self._run, name="hansard-feed", daemon=True)

    def pieces(self) -> Iterator[tuple[Range, Piece]]:
        self._thread.start()
        try:
            while True:
                found = self._found.get()
                if found is None:
                    return
                if isinstance(found, BaseException):
                    raise found
                yield found
                with suppress(RuntimeError):  # the loop has ended: there is nothing more to be fetched
                    self._loop.call_soon_threadsafe(self._room.release)
        finally:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._stop)
            self._thread.join()

    def _run(self) -> None:
        try:
            self._task = self._loop.create_task(self._fetch())
            with suppress(asyncio.CancelledError):
                self._loop.run_until_complete(self._task)
        except BaseException as error:
            self._found.put(error)
        else:
            self._found.put(None)
        finally:
            self._loop.close()

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _fetch(self) -> None:
        wanted = wanted_of(self._choice)
        async with entered(self._reach) as entrance:
            for each in self._ranges:
                halves = Halves(entrance, each, wanted, fail_on_loss=self._choice.fail_on_loss)
                async for piece in halves.pieces():
                    await self._room.acquire()
                    self._found.put((each, piece))


def record_batches(
    reach: Reach, choice: Choice, ranges: Sequence[Range], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """All changes of these ranges, as Spark takes them."""
    if not ranges:
        return
    for whole, piece in Feed(reach, choice, ranges).pieces():
        batches = piece.batches if choice.records else without_records(piece.batches)
        if piece.is_mixed and batches:
            order = np.argsort(np.concatenate([batch.offsets for batch in batches]))
            yield record_batch(batches, whole.bucket, schema).take(pa.array(order))
            continue
        for some in joined(batches):
            yield record_batch(some, whole.bucket, schema)


def joined(batches: Sequence[Batch]) -> Iterator[list[Batch]]:
    """Small ones together. A large one stands alone: then its bytes need not be copied."""
    small: list[Batch] = []
    for batch in batches:
        if len(batch) < LARGE:
            small.append(batch)
            continue
        if small:
            yield small
            small = []
        yield [batch]
    if small:
        yield small
