"""Somebody at the other end of a way: hears what is said, and may be slow."""

import asyncio

from hansard.participant.message import Message
from hansard.server.peers import message_codec
from hansard.wire.frame import FrameReader
from hansard.wire.handshake import Hello, Role, greeting


class Listener:
    """Says hello, and reads when it is let."""

    def __init__(self) -> None:
        self.heard: list[Message] = []
        self.frames: list[int] = []
        self.met = 0
        self.answers = True
        """When it is asked whether it listens."""
        self._may_read = asyncio.Event()
        self._codec = message_codec()
        self._tasks: set[asyncio.Task[None]] = set()

    async def build(self, port: int = 0) -> tuple[str, int]:
        self._server = await asyncio.start_server(self._meet, "127.0.0.1", port, limit=1 << 16)
        host, port = self._server.sockets[0].getsockname()
        return host, port

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.met += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        writer.writelines(greeting(Hello(Role.PARTICIPANT, "c", "b")))
        frames, greeted = FrameReader(), False
        try:
            while data := await reader.read(1 << 16):
                for frame in frames.feed(data):
                    if greeted:
                        messages = self._codec.decode(frame)
                        self.heard += messages
                        self.frames.append(len(frame.payload))
                        if not messages and self.answers:
                            writer.writelines(self._codec.encode(()))
                    greeted = True
                await self._may_read.wait()
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()

    def read(self, *, on: bool) -> None:
        if on:
            self._may_read.set()
        else:
            self._may_read.clear()

    async def close(self) -> None:
        """A way that was being made when it was given up may never be used, and never end by itself."""
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
