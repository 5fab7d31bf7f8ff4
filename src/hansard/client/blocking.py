"""The client for programs without an event loop: the same interface, and each call returns when it is done.

A thread of its own runs an event loop with an `AsyncClient` in it, so that many threads may share one client, and what
they submit at the same time goes as one batch. A call that is interrupted (Ctrl-C) is cancelled: what it has submitted
may be stored.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import datetime
from ssl import SSLContext
from types import TracebackType
from typing import Any, Final, Generic, Self, TypeVar

from hansard.batch import Batch, Text
from hansard.bookmark import Bookmark

from .bootstrap import Bootstrap
from .change import Checked, Value, checked
from .checkpoints import Checkpoint
from .client import AsyncClient
from .cursor import PAGE_BYTES
from .errors import ClientError
from .following import HOLD_S, Follow, Reading
from .library import Place
from .loop import Loop
from .page import Change, Page
from .producer import LINGER_S, WINDOW, Producer
from .reading import Match, Order
from .receipts import Receipt
from .settings import Settings

Result = TypeVar("Result")
Iterated = TypeVar("Iterated", bound=Reading)

LOT: Final = 100
"""Changes of a producer that are handed over together."""


class BlockingReading(Generic[Iterated]):
    """An iterator over changes, as `Reading` is an asynchronous one."""

    def __init__(self, loop: Loop, reading: Iterated) -> None:
        self._loop = loop
        self._reading = reading

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Change:
        """It is taken here, as the last thing: whoever is interrupted before that gets it the next time."""
        while (change := self._reading.ready()) is None:
            if not self._loop.run(self._reading.fill):
                raise StopIteration
        return change

    @property
    def bookmark(self) -> Bookmark:
        return self._reading.bookmark

    def begin(self) -> None:
        self._loop.run(self._reading.begin)


class BlockingFollow(BlockingReading[Follow]):
    """An iterator that never ends, as `Follow` is."""

    def commit(self) -> Bookmark:
        return self._loop.run(self._reading.commit)


class BlockingBootstrap(BlockingReading[Bootstrap]):
    @property
    def checkpoint(self) -> Checkpoint | None:
        return self._reading.checkpoint

    @property
    def is_loaded(self) -> bool:
        return self._reading.is_loaded

    def state(self) -> list[Change]:
        return self._loop.run(self._reading.state)


class BlockingProducer:
    """As `Producer`: a context manager that flushes. What is put is handed over to the other thread in lots, because
    each time costs more than a change does; it waits here no longer than `linger_s`."""

    def __init__(self, loop: Loop, producer: Producer, linger_s: float) -> None:
        self._loop = loop
        self._producer = producer
        self._linger_s = linger_s
        self._lock = threading.Lock()
        self._gathered: deque[Checked] = deque()
        self._is_due = False
        """What is gathered will be handed over when its time has come."""
        self._is_closed = False
        self._outcomes: deque[Receipt | ClientError] = deque()
        """Receipts that are here and not taken yet."""
        self._handing_over = asyncio.Lock()
        """In the loop: what is put first goes first."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            self._is_closed = True
            self._loop.run(lambda: self._producer.__aexit__(kind, error, trace))

    def put(self, key: Text | None = None, value: Value | None = None, tags: Sequence[str] = ()) -> None:
        change, failure = checked(key, value, tags), self._producer.failure
        if self._is_closed:
            raise ValueError("the producer is closed")
        if failure is not None:
            raise failure.again()
        with self._lock:
            if not self._is_due:
                self._loop.later(self._linger_s, self._hand_over_late)
                self._is_due = True
            self._gathered.append(change)
            count = len(self._gathered)
        if count >= LOT:
            self._loop.run(self._hand_over)

    async def _hand_over(self) -> None:
        async with self._handing_over:
            for _ in range(len(self._gathered)):
                await self._producer.put_checked(self._gathered[0])
                self._gathered.popleft()  # only now: whoever is interrupted leaves the rest to the next

    async def _hand_over_late(self) -> None:
        with self._lock:
            self._is_due = False
        with suppress(ClientError, ValueError):  # who puts the next one, or flushes, is told
            await self._hand_over()

    def flush(self) -> None:
        self._loop.run(self._hand_over)
        self._loop.run(self._producer.flush)

    def close(self) -> None:
        self._is_closed = True
        try:
            self._loop.run(self._hand_over)
        finally:
            self._loop.run(self._producer.close)

    def __iter__(self) -> Self:
        aiter(self._producer)
        return self

    def __next__(self) -> Receipt:
        """It is taken here, as the last thing, as changes are."""
        while not self._outcomes:
            if not self._loop.run(self._fill):
                raise StopIteration
        outcome = self._outcomes.popleft()
        if isinstance(outcome, ClientError):
            raise outcome
        return outcome

    async def _fill(self) -> bool:
        try:
            self._outcomes.append(await anext(self._producer))
        except StopAsyncIteration:
            return False
        except ClientError as error:
            self._outcomes.append(error)
        return True


class Client:
    """Made by `connect`; may be used from several threads. See AsyncClient for what each call does."""

    def __init__(self, loop: Loop, client: AsyncClient) -> None:
        self._loop = loop
        self._client = client

    @classmethod
    def connect(
        cls,
        addresses: Sequence[str],
        *,
        timeout_s: float = 10.0,
        token: str = "",
        tls: SSLContext | None = None,
        name: str = "",
        settings: Settings | None = None,
    ) -> Self:
        loop = Loop()
        client: AsyncClient | None = None
        try:
            client = loop.run(
                lambda: AsyncClient.connect(
                    addresses, timeout_s=timeout_s, token=token, tls=tls, name=name, settings=settings
                )
            )
        finally:
            if client is None:
                loop.close(_nothing)
        return cls(loop, client)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._loop.close(self._client.close)

    @property
    def connection(self) -> int:
        return self._client.connection

    @property
    def buckets(self) -> int:
        return self._client.buckets

    @property
    def log_id(self) -> str:
        return self._client.log_id

    def renew(self) -> int:
        return self._loop.run(self._client.renew)

    def ask(self, question: dict[str, Any]) -> Any:
        return self._loop.run(lambda: self._client.ask(question))

    # Submitting.

    def submit(self, key: Text | None = None, value: Value | None = None, tags: Sequence[str] = ()) -> Receipt:
        return self._loop.run(lambda: self._client.submit(key, value, tags))

    def submit_many(
        self, keys: Sequence[Text | None], values: Sequence[Value | None], tags: Sequence[Sequence[str]] | None = None
    ) -> Sequence[Receipt]:
        return self._loop.run(lambda: self._client.submit_many(keys, values, tags))

    def submit_batch(self, batch: Batch) -> Sequence[Receipt]:
        return self._loop.run(lambda: self._client.submit_batch(batch))

    def producer(
        self,
        *,
        window: int = WINDOW,
        linger_s: float = LINGER_S,
        batch_bytes: int | None = None,
        receipts: bool = False,
    ) -> BlockingProducer:
        async def made() -> Producer:
            return self._client.producer(window=window, linger_s=linger_s, batch_bytes=batch_bytes, receipts=receipts)

        return BlockingProducer(self._loop, self._loop.run(made), linger_s)

    # Reading.

    def page(
        self,
        *,
        since: Place | None = None,
        until: Place | None = None,
        tags: Collection[str] = (),
        match: Match = "any",
        key: Text | None = None,
        buckets: Collection[int] | None = None,
        limit: int = 1_000,
        block_s: float = 0.0,
        order: Order = "asc",
        bytes_max: int = PAGE_BYTES,
    ) -> Page:
        return self._loop.run(
            lambda: self._client.page(
                since=since,
                until=until,
                tags=tags,
                match=match,
                key=key,
                buckets=buckets,
                limit=limit,
                block_s=block_s,
                order=order,
                bytes_max=bytes_max,
            )
        )

    def read(
        self,
        *,
        since: Place | None = None,
        until: Place | None = None,
        tags: Collection[str] = (),
        match: Match = "any",
        key: Text | None = None,
        buckets: Collection[int] | None = None,
    ) -> BlockingReading[Reading]:
        reading = self._client.read(since=since, until=until, tags=tags, match=match, key=key, buckets=buckets)
        return BlockingReading(self._loop, reading)

    def follow(
        self,
        *,
        since: Place | None = None,
        tags: Collection[str] = (),
        match: Match = "any",
        key: Text | None = None,
        buckets: Collection[int] | None = None,
        name: str = "",
        hold_s: float = HOLD_S,
    ) -> BlockingFollow:
        follow = self._client.follow(
            since=since, tags=tags, match=match, key=key, buckets=buckets, name=name, hold_s=hold_s
        )
        return BlockingFollow(self._loop, follow)

    def bootstrap(self, *, tags: Collection[str] = (), match: Match = "any", location: str = "") -> BlockingBootstrap:
        return BlockingBootstrap(self._loop, self._client.bootstrap(tags=tags, match=match, location=location))

    def checkpoints(self, *, tags: Collection[str] = (), match: Match = "any", limit: int = 10) -> list[Checkpoint]:
        return self._loop.run(lambda: self._client.checkpoints(tags=tags, match=match, limit=limit))

    def bookmark(self, at: datetime | None = None, *, tags: Collection[str] = (), match: Match = "any") -> Bookmark:
        return self._loop.run(lambda: self._client.bookmark(at, tags=tags, match=match))

    def let_go(self, name: str) -> None:
        self._loop.run(lambda: self._client.let_go(name))


async def _nothing() -> None:
    pass
