"""One connection to a participant: the handshake, frames out, answers in. It knows nothing of what they mean."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, cast

from hansard.batch import trust
from hansard.wire.codec import Codec
from hansard.wire.errors import MalformedFrame, WireError
from hansard.wire.frame import Frame, FrameReader
from hansard.wire.handshake import Hello, Role, agreed_version, greeting, understood
from hansard.wire.submission import Answer, Submit

HELLO: Final = Hello(Role.CLIENT)
WRITE_BYTES_MAX: Final = 1 << 20
"""In the transport's buffer: beyond it the client holds back, and what comes gathers into larger batches."""


class Link(asyncio.BufferedProtocol):
    """`ready` is done when both sides have said hello, or has the error that came instead."""

    def __init__(
        self,
        answered: Callable[["Link", list[Answer]], None],
        lost: Callable[["Link"], None],
        writable: Callable[[], None],
    ) -> None:
        self.ready: asyncio.Future[Hello] = asyncio.get_running_loop().create_future()
        self.is_full = False
        """The transport has enough for now."""
        self._answered = answered
        self._lost = lost
        self._writable = writable
        self._reader = FrameReader()
        self._codec: Codec[Submit | Answer] = Codec(Answer, trust)
        self._transport: asyncio.Transport | None = None

    @property
    def is_lost(self) -> bool:
        return self._transport is None

    @property
    def unwritten(self) -> int:
        """Bytes that wait for the other side to take them."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def send(self, submits: Sequence[Submit]) -> None:
        assert self._transport is not None
        self._transport.writelines(self._codec.encode(submits))

    def drop(self) -> None:
        """At once, and whatever is still to be written with it."""
        if self._transport is not None:
            self._transport.abort()

    # What the transport calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(WRITE_BYTES_MAX)
        self._transport.writelines(greeting(HELLO))

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 (the reader knows better how much is to come)
        return self._reader.room()

    def buffer_updated(self, nbytes: int) -> None:
        try:
            for frame in self._reader.filled(nbytes):
                self._take(frame)
        except WireError as error:
            self._fail(error)

    def _take(self, frame: Frame) -> None:
        if self.ready.done():
            answers = self._codec.decode(frame)
            self._answered(self, cast(list[Answer], answers))
            return
        hello = understood(frame)
        agreed_version(HELLO, hello)
        if hello.role is not Role.PARTICIPANT:
            raise MalformedFrame("the other side is a client as well")
        self.ready.set_result(hello)

    def _fail(self, error: Exception) -> None:
        if not self.ready.done():
            self.ready.set_exception(error)
        self.drop()

    def pause_writing(self) -> None:
        self.is_full = True

    def resume_writing(self) -> None:
        self.is_full = False
        self._writable()

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.ready.done():
            self.ready.set_exception(exc or ConnectionResetError("the other side hung up"))
        self._transport = None
        self._lost(self)
