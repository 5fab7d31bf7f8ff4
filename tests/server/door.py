"""A way between two participants that can be cut, shut and slowed: a small TCP proxy in the test's own loop."""

import asyncio
from contextlib import suppress
from typing import Final

CHUNK_BYTES: Final = 1 << 16


class Door:
    """Listens on an address of its own; what comes there goes to `target`, and back."""

    def __init__(self, target: tuple[str, int]) -> None:
        self.target = target
        self.address = ("127.0.0.1", 0)
        self.passed = 0
        """Connections that were made through it."""
        self.delay_s = 0.0
        """For every piece, in both directions."""
        self.swallowed = 0
        """Connections made before this one carry nothing any more."""
        self._open = asyncio.Event()
        self._open.set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def build(self) -> None:
        self._server = await asyncio.start_server(self._enter, *self.address)
        self.address = self._server.sockets[0].getsockname()

    async def remove(self) -> None:
        self._server.close()
        self.shut()
        while self._tasks:
            await asyncio.wait(self._tasks)

    def shut(self) -> None:
        """Cut, and whoever comes is sent away."""
        self._open.clear()
        self.cut()

    def unlock(self) -> None:
        self._open.set()

    def cut(self) -> None:
        """Everything that is under way is lost; who knocks again is let in."""
        for writer in self._writers:
            writer.transport.abort()

    def swallow(self) -> None:
        """What goes through by now is lost, and nobody is told; who knocks again is let in."""
        self.swallowed = self.passed

    async def _enter(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._writers.add(writer)
        try:
            if self._open.is_set():
                with suppress(OSError):
                    await self._pass(reader, writer)
        finally:
            writer.transport.abort()
            self._writers.discard(writer)
            self._tasks.discard(task)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await asyncio.open_connection(*self.target)
        if not self._open.is_set():
            inner_writer.transport.abort()
            return
        self._writers.add(inner_writer)
        number = self.passed
        self.passed += 1
        both = [
            asyncio.create_task(self._carry(number, reader, inner_writer)),
            asyncio.create_task(self._carry(number, inner_reader, writer)),
        ]
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in both:
                task.cancel()
            await asyncio.gather(*both, return_exceptions=True)
            inner_writer.transport.abort()
            self._writers.discard(inner_writer)

    async def _carry(self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(CHUNK_BYTES):
            if self.delay_s:
                await asyncio.sleep(self.delay_s)
            if number < self.swallowed:
                continue
            writer.write(data)
            await writer.drain()
