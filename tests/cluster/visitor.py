"""A client that speaks the protocol and nothing more: one request at a time, to one participant."""

import asyncio
import json
from itertools import count
from ssl import SSLContext
from types import TracebackType
from typing import Any, Final, Self

from hansard.batch import Batch, reopen
from hansard.wire import request as wire
from hansard.wire import submission
from hansard.wire.codec import Codec
from hansard.wire.frame import FrameReader
from hansard.wire.handshake import Hello, Role, greeting, understood

WAIT_US: Final = 20_000_000
CHUNK_BYTES: Final = 1 << 16


class Visitor:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._frames = FrameReader()
        self._requests: Codec[Any] = Codec(wire.Request, reopen)
        self._answers: Codec[Any] = Codec(wire.Answer, reopen)
        self._answered: dict[int, Any] = {}
        self._ids = count(1)
        self.hello: Hello | None = None

    @classmethod
    async def dial(cls, address: tuple[str, int], secure: SSLContext | None = None, token: str = "") -> Self:
        visitor = cls(*await asyncio.open_connection(*address, ssl=secure))
        visitor._writer.writelines(greeting(Hello(Role.CLIENT, token=token)))
        return visitor

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.transport.abort()

    async def submit(
        self,
        bucket: int,
        batch: Batch,
        level: int,
        wait_us: int = WAIT_US,
        continues: submission.Continues | None = None,
    ) -> Any:
        id = next(self._ids)
        return await self._exchange(id, submission.Submit(id, bucket, batch, wait_us, level, continues=continues))

    async def bring(self, bucket: int, batch: Batch, level: int) -> Any:
        id = next(self._ids)
        return await self._exchange(id, wire.Import(id, bucket, batch, WAIT_US, level, 0))

    async def connect(self, name: str = "") -> int:
        connected = await self.ask_number(name)
        assert isinstance(connected, wire.Connected) and connected.connection
        return connected.connection

    async def ask_number(self, name: str = "", broken: int = 0, wait_us: int = WAIT_US) -> Any:
        id = next(self._ids)
        return await self._exchange(id, wire.Connect(id, wait_us, name, broken))

    async def read(
        self,
        bucket: int,
        offset: int,
        wait_us: int = 0,
        *,
        linear: bool = False,
        tags: tuple[bytes, ...] = (),
        every: bool = False,
    ) -> Any:
        id = next(self._ids)
        return await self._exchange(id, wire.Read(id, bucket, offset, wait_us, tags=tags, every=every, linear=linear))

    async def ask(self, **question: Any) -> Any:
        told = await self.exchange(question)
        assert isinstance(told, wire.Told), told
        return json.loads(told.answer)

    async def exchange(self, question: Any) -> Any:
        """What is told, or why it is refused."""
        id = next(self._ids)
        return await self._exchange(id, wire.Ask(id, json.dumps(question).encode()))

    async def _exchange(self, id: int, request: Any) -> Any:
        self._writer.writelines(self._requests.encode([request]))
        async with asyncio.timeout(40):
            while id not in self._answered:
                await self._hear()
        return self._answered.pop(id)

    async def _hear(self) -> None:
        data = await self._reader.read(CHUNK_BYTES)
        if not data:
            raise ConnectionResetError("the other side hung up")
        for frame in self._frames.feed(data):
            if self.hello is None:
                self.hello = understood(frame)
                continue
            for answer in self._answers.decode(frame):
                ids = answer.ids if isinstance(answer, submission.Stored) else [answer.id]
                for id in ids:
                    assert id not in self._answered, f"{id} was answered twice"
                    self._answered[id] = answer
