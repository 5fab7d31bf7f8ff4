"""Whoever is interrupted, or fails for whatever reason, loses nothing and is told: producers and blocking iterators."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any, TypeVar, cast

import pytest

from hansard.batch import LimitExceeded
from hansard.client import Change, ClientClosed, ClientError, InvalidSubmission, OutcomeUnknown, Producer, Receipt
from hansard.client.blocking import BlockingProducer, BlockingReading
from hansard.client.following import Reading
from hansard.client.library import Library, Wish
from hansard.client.loop import Loop
from tests.client.fake import run

Result = TypeVar("Result")


class Interruptible(Loop):
    """Ctrl-C comes when the work is done and its result is not here yet."""

    interrupts = False

    def run(self, work: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        result = super().run(work)
        if self.interrupts:
            self.interrupts = False
            raise KeyboardInterrupt
        return result


@pytest.fixture
def loop() -> Iterator[Interruptible]:
    loop = Interruptible()
    yield loop
    loop.close(nothing)


async def nothing() -> None: ...


class Sink:
    """Stores everything once it may."""

    def __init__(self) -> None:
        self.values: list[bytes | None] = []
        self.may = asyncio.Event()

    async def submit_many(
        self, keys: Sequence[bytes | None], values: Sequence[bytes | None], tags: Sequence[Sequence[str]]
    ) -> Sequence[Receipt]:
        await self.may.wait()
        self.values += values
        return [Receipt(0, len(self.values), 1) for _ in values]

    def producer(self, loop: Loop, window: int = 100, *, receipts: bool = False) -> BlockingProducer:
        async def made() -> Producer:
            return Producer(self.submit_many, window, 0.001, 1000, receipts=receipts)

        return BlockingProducer(loop, loop.run(made), 0.001)

    async def open(self) -> None:
        self.may.set()


@pytest.mark.parametrize(
    ("problem", "told"),
    [(LimitExceeded("bytes of a batch", 1, 2), InvalidSubmission), (RuntimeError("anything"), OutcomeUnknown)],
)
def test_whatever_becomes_of_a_batch_its_producer_is_told(problem: Exception, told: type[ClientError]) -> None:
    async def submit_many(*_: Any) -> Sequence[Receipt]:
        raise problem

    async def test() -> None:
        producer = Producer(submit_many, 10, 0.0, 1000, receipts=True)
        await producer.put("k", "v")
        with pytest.raises(told) as error:
            await producer.flush()
        assert error.value.__cause__ is problem
        with pytest.raises(told):
            await producer.put("k", "w")
        with pytest.raises(told):
            await anext(producer)

    run(test())


@pytest.mark.parametrize("batch_bytes", [0, -1, 5 << 20])
def test_batches_that_cannot_be_are_refused_at_once(batch_bytes: int) -> None:
    async def test() -> None:
        with pytest.raises(ValueError, match="bytes in a batch"):
            Producer(Sink().submit_many, 10, 0.0, batch_bytes, receipts=False)

    run(test())


def test_what_was_not_accepted_when_it_was_interrupted_is_handed_over_later(loop: Interruptible) -> None:
    sink = Sink()
    producer = sink.producer(loop, window=3)
    for number in range(10):
        producer.put("k", str(number))

    async def interrupted() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(producer._hand_over(), 0.05)

    loop.run(interrupted)
    loop.run(sink.open)
    producer.close()
    assert sink.values == [b"%d" % number for number in range(10)]


def test_nothing_is_put_when_it_is_closed(loop: Interruptible) -> None:
    producer = Sink().producer(loop)
    producer.close()
    with pytest.raises(ValueError, match="closed"):
        producer.put("k", "v")
    other = Sink().producer(loop)
    loop.close(nothing)
    with pytest.raises(ClientClosed):
        other.put("k", "v")


def test_a_receipt_is_not_lost_to_an_interruption(loop: Interruptible) -> None:
    sink = Sink()
    loop.run(sink.open)
    producer = sink.producer(loop, receipts=True)
    producer.put("k", "0")
    producer.put("k", "1")
    producer.close()
    loop.interrupts = True
    with pytest.raises(KeyboardInterrupt):
        next(producer)
    assert len(list(producer)) == 2


def test_a_change_is_not_lost_to_an_interruption(loop: Interruptible) -> None:
    class Two(Reading):
        has_more = True

        async def _more(self) -> bool:
            if not self.has_more:
                return False
            self.has_more = False
            self._ready.extend(Change(1, 0, offset, b"k", b"v", (), 0, 0) for offset in range(2))
            return True

    reading = BlockingReading(loop, Two(cast(Library, None), Wish(), 1.0))
    loop.interrupts = True
    with pytest.raises(KeyboardInterrupt):
        next(reading)
    assert [change.offset for change in reading] == [0, 1]
