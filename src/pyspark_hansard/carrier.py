"""Carries the rows of a task to their buckets, as few large batches; each row has a series of its own."""

import asyncio
from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hansard.batch import Batch, from_arrow
from hansard.client import AsyncClient

from .rows import Rows, are_together, by_bucket

BATCH_BYTES: Final = 1 << 20
BATCH_CHANGES: Final = 10_000
WINDOW: Final = 24
"""Batches that are on their way."""
CHANGE_BYTES: Final = 32
"""About what a change takes in a batch, beside its key and value."""


async def carry(client: AsyncClient, rows: Rows, homes: NDArray[np.int64], base: int) -> None:
    """All of them, or the first error. `homes` says where each lives, as far as it is known: what lives elsewhere by
    now finds its way."""
    window, tasks = asyncio.Semaphore(WINDOW), set[asyncio.Task[object]]()
    failures: list[BaseException] = []

    def done(task: "asyncio.Task[object]") -> None:
        tasks.discard(task)
        window.release()
        if not task.cancelled() and (error := task.exception()) is not None:
            failures.append(error)

    try:
        for batch in batches(rows, homes, client.connection, base):
            await window.acquire()
            if failures:
                break
            task: asyncio.Task[object] = asyncio.ensure_future(client.submit_batch(batch))
            tasks.add(task)
            task.add_done_callback(done)
        while tasks and not failures:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for task in tasks:
            task.cancel()
    if failures:
        raise failures[0]


def batches(rows: Rows, homes: NDArray[np.int64], connection: int, base: int) -> Iterator[Batch]:
    """Of each bucket in the order of its rows, the buckets taking turns: all leaders have something to do."""
    weights = rows.weights + CHANGE_BYTES
    turns = [_of_bucket(rows, places, weights[places], connection, base) for _, places in by_bucket(homes)]
    while turns:
        going_on = []
        for turn in turns:
            batch = next(turn, None)
            if batch is not None:
                going_on.append(turn)
                yield batch
        turns = going_on


def _of_bucket(
    rows: Rows, places: NDArray[np.int64], weights: NDArray[np.int64], connection: int, base: int
) -> Iterator[Batch]:
    ends = np.cumsum(weights)
    first = 0
    while first < len(places):
        before = int(ends[first - 1]) if first else 0
        last = int(np.searchsorted(ends, before + BATCH_BYTES, side="right"))
        last = max(first + 1, min(last, first + BATCH_CHANGES))
        some = places[first:last]
        yield from_arrow(
            rows.some(some),
            connection=connection,
            first_series=base + int(some[0]),
            series=None if are_together(some) else base + some,
            hashes=rows.hashes[some],
        )
        first = last
