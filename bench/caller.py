"""A client that speaks the binary protocol and nothing more, for what no other client measures: any number of requests
at once to one participant, each answered or not."""

import asyncio
import json
from itertools import count
from types import TracebackType
from typing import Any, Self

from hansard.batch import Batch, reopen
from hansard.wire import request as wire
from hansard.wire import submission
from hansard.wire.codec import Codec
from hansard.wire.frame import FrameReader
from hansard.wire.handshake import Hello, Role, greeting, understood

ASK_US = 10_000_000


class Caller(asyncio.BufferedProtocol):
    """Whoever waits when the connection ends is told by a ConnectionError."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._reader = FrameReader()
        self._greeted = False
        self._requests: Codec[wire.Request] = Codec(wire.Request, reopen)
        self._answers: Codec[wire.Answer] = Codec(wire.Answer, reopen)
        self._ids = count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}

    @classmethod
    async def dial(cls, port: int) -> Self:
        caller = cls()
        caller._transport, _ = await asyncio.get_running_loop().create_connection(lambda: caller, "127.0.0.1", port)
        caller._transport.writelines(greeting(Hello(Role.CLIENT)))
        return caller

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    async def connect(self) -> int:
        """A connection number."""
        id = next(self._ids)
        connected = await self._exchange(id, wire.Connect(id, ASK_US))
        assert isinstance(connected, wire.Connected) and connected.connection, connected
        return connected.connection

    async def ask(self, **question: Any) -> Any:
        id = next(self._ids)
        told = await self._exchange(id, wire.Ask(id, json.dumps(question).encode()))
        assert isinstance(told, wire.Told), told
        return json.loads(told.answer)

    async def submit(self, bucket: int, batch: Batch, level: int, wait_us: int) -> Any:
        """Whatever the answer is."""
        id = next(self._ids)
        return await self._exchange(id, submission.Submit(id, bucket, batch, wait_us, level))

    async def _exchange(self, id: int, request: wire.Request) -> Any:
        if self._transport is None or self._transport.is_closing():
            raise ConnectionError("the participant went away")
        future = self._waiting[id] = asyncio.get_running_loop().create_future()
        self._transport.writelines(self._requests.encode([request]))
        return await future

    # What the loop calls.

    def get_buffer(self, _sizehint: int) -> memoryview:
        return self._reader.room()

    def buffer_updated(self, nbytes: int) -> None:
        for frame in self._reader.filled(nbytes):
            if not self._greeted:
                understood(frame)
                self._greeted = True
                continue
            for answer in self._answers.decode(frame):
                for id in answer.ids if isinstance(answer, submission.Stored) else [answer.id]:
                    waiting = self._waiting.pop(id)
                    if not waiting.done():  # or else nobody waits any more
                        waiting.set_result(answer)

    def connection_lost(self, _error: Exception | None) -> None:
        self._transport = None
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(ConnectionError("the participant went away"))
        self._waiting.clear()
