"""For many changes, one after the other: gathers them into batches by bytes and time, and bounds what is on its way.

    async with client.producer() as producer:
        for reading in readings:
            await producer.put(reading.device, reading.value, ["telemetry"])

`put` returns when there is room; leaving the block waits until everything is stored, and raises what became of the
first change that is not. With `receipts=True` the producer yields receipts, in the order of the changes:

        async for receipt in producer: ...
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import Final, Self

from hansard.batch import BatchError, Text
from hansard.batch.limits import BATCH_BYTES_MAX

from .change import Checked, Value, checked
from .errors import ClientError, InvalidSubmission, OutcomeUnknown, PartlyStored
from .receipts import Receipt

WINDOW: Final = 20_000
"""Changes that are on their way, or whose receipts nobody has taken."""
LINGER_S: Final = 0.005
CHANGES_MAX: Final = 5_000
"""In one batch."""
LOT_BYTES_MAX: Final = BATCH_BYTES_MAX // 4
"""With one change more, as large as any, it is still a batch."""

SubmitMany = Callable[
    [Sequence[bytes | None], Sequence[bytes | None], Sequence[Sequence[str]]], Awaitable[Sequence[Receipt]]
]


class Lot:
    """What is submitted together."""

    __slots__ = ("byte_count", "keys", "outcomes", "tags", "values")

    def __init__(self) -> None:
        self.keys: list[bytes | None] = []
        self.values: list[bytes | None] = []
        self.tags: list[tuple[str, ...]] = []
        self.byte_count = 0
        self.outcomes: deque[Receipt | ClientError] | None = None
        """When they are known."""


def _caused(error: ClientError, cause: Exception) -> ClientError:
    error.__cause__ = cause
    return error


class Producer:
    """Used by one task that puts and, if there is one, one that takes receipts. After a failure nothing more is put;
    what is on its way is still settled."""

    def __init__(
        self, submit_many: SubmitMany, window: int, linger_s: float, batch_bytes: int, *, receipts: bool
    ) -> None:
        if window < 1 or linger_s < 0 or not 1 <= batch_bytes <= LOT_BYTES_MAX:
            raise ValueError(
                f"a window of {window} changes, {batch_bytes} bytes in a batch (up to {LOT_BYTES_MAX}) and {linger_s} "
                "s cannot be"
            )
        self._submit_many = submit_many
        self._window = window
        self._linger_s = linger_s
        self._batch_bytes = batch_bytes
        self._gives_receipts = receipts
        self._loop = asyncio.get_running_loop()
        self._lot = Lot()
        self._lots: deque[Lot] = deque()
        """On their way, or with receipts that nobody has taken, in order."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._count = 0
        """Of changes in the window."""
        self._timer: asyncio.TimerHandle | None = None
        self._changed = asyncio.Event()
        self._is_closed = False
        self.failure: ClientError | None = None
        """What became of the first change that is not stored, as far as it is known."""
        self.stored = 0
        """Changes for which there is a receipt."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            await self.close()
        else:
            self._stop()

    # Putting.

    async def put(self, key: Text | None = None, value: Value | None = None, tags: Sequence[str] = ()) -> None:
        """Waits while the window is full; raises what became of an earlier one that is not stored."""
        await self.put_checked(checked(key, value, tags))

    async def put_checked(self, change: Checked) -> None:
        while self._count >= self._window and self.failure is None:
            self._send()
            await self._change()
        if self._is_closed:
            raise ValueError("the producer is closed")
        if self.failure is not None:
            raise self.failure.again()
        lot = self._lot
        lot.keys.append(change.key)
        lot.values.append(change.value)
        lot.tags.append(change.tags)
        lot.byte_count += change.byte_count
        self._count += 1
        if lot.byte_count >= self._batch_bytes or len(lot.keys) >= CHANGES_MAX:
            self._send()
        elif self._timer is None:
            self._timer = self._loop.call_later(self._linger_s, self._send)

    async def flush(self) -> None:
        """Until everything that was put is settled; raises what became of the first one that is not stored."""
        self._send()
        while self._tasks:
            await self._change()
        if self.failure is not None:
            raise self.failure.again()

    async def close(self) -> None:
        """Flushes. Receipts can still be taken."""
        self._is_closed = True
        try:
            await self.flush()
        finally:
            self._stop()

    def _stop(self) -> None:
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._wake()

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    def _wake(self) -> None:
        self._changed.set()

    def _send(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        lot = self._lot
        if not lot.keys:
            return
        self._lot = Lot()
        self._lots.append(lot)
        task = self._loop.create_task(self._deliver(lot))
        self._tasks.add(task)
        task.add_done_callback(self._delivered)

    async def _deliver(self, lot: Lot) -> None:
        count = len(lot.keys)
        try:
            lot.outcomes = deque(await self._submit_many(lot.keys, lot.values, lot.tags))
        except PartlyStored as error:
            lot.outcomes = deque(error.outcomes)
        except ClientError as error:
            lot.outcomes = deque([error] * count)
        except BatchError as error:  # before anything was sent
            lot.outcomes = deque([_caused(InvalidSubmission(str(error)), error)] * count)
        except Exception as error:  # whatever it is, its changes are not forgotten
            lot.outcomes = deque([_caused(OutcomeUnknown(f"{type(error).__name__}: {error}"), error)] * count)
        lot.keys, lot.values, lot.tags = [], [], []
        failures = [outcome for outcome in lot.outcomes if isinstance(outcome, ClientError)]
        self.stored += count - len(failures)
        if failures and self.failure is None:
            self.failure = failures[0]
        if not self._gives_receipts:
            self._count -= count
            self._lots.remove(lot)

    def _delivered(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._loop.call_exception_handler({"message": "a producer's batch", "exception": error})
        self._wake()

    # Receipts.

    def __aiter__(self) -> Self:
        if not self._gives_receipts:
            raise ValueError("this producer keeps no receipts: producer(receipts=True) does")
        return self

    async def __anext__(self) -> Receipt:
        """In the order in which the changes were put; raises what became of one that is not stored. Ends when the
        producer is closed and everything is taken."""
        while True:
            lots = self._lots
            if lots and lots[0].outcomes:
                outcome = lots[0].outcomes.popleft()
                if not lots[0].outcomes:
                    lots.popleft()
                self._count -= 1
                self._wake()
                if isinstance(outcome, ClientError):
                    raise outcome.again()
                return outcome
            if self._is_closed and not lots and not self._lot.keys:
                raise StopAsyncIteration
            await self._change()
