"""One connection that somebody made to us, or we to somebody: the greeting first, and then frames.

What the other side is, and so what its frames mean, is known from its Hello. Whatever is wrong with what it sends ends
the connection and nothing else.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final, cast

from hansard.wire.errors import WireError
from hansard.wire.frame import Buffer, Frame, FrameReader
from hansard.wire.handshake import HELLO_BYTES_MAX, Hello, agreed_version, greeting, understood

log = logging.getLogger(__name__)

HELLO_S_MAX: Final = 5.0
"""Whoever connects says who it is within this time."""


Taker = Callable[[Frame], None]
"""Whoever takes the frames; raises a WireError where one is not what it should be."""


class Connection(asyncio.BufferedProtocol):
    """`met` is called with the other side's Hello and says who takes its frames; it may refuse with a WireError."""

    def __init__(self, mine: Hello, met: Callable[["Connection", Hello], Taker]) -> None:
        self._mine = mine
        self._met = met
        self._reader = FrameReader(HELLO_BYTES_MAX)
        self._patience: asyncio.TimerHandle | None = None
        self._taker: Taker | None = None
        self.lost: Callable[[], None] = _nothing
        """Called once, when the connection has ended, greeted or not."""
        self.transport: asyncio.Transport | None = None
        """None before it is made and after it is lost."""
        self.peer = "somebody"
        """For messages."""

    # What the loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's are no subclass
        address = transport.get_extra_info("peername")
        self.peer = f"{address[0]}:{address[1]}" if address else self.peer
        self.transport.writelines(greeting(self._mine))
        self._patience = asyncio.get_running_loop().call_later(HELLO_S_MAX, self._give_up)

    def _give_up(self) -> None:
        log.warning("ending the connection with %s: it does not say who it is", self.peer)
        self.close()

    def get_buffer(self, _sizehint: int) -> memoryview:
        return self._reader.room()

    def buffer_updated(self, nbytes: int) -> None:
        try:
            for frame in self._reader.filled(nbytes):
                if self._taker is None:
                    self._meet(frame)
                else:
                    self._taker(frame)
        except WireError as error:
            log.warning("ending the connection with %s: %s", self.peer, error)
            self.close()

    def _meet(self, frame: Frame) -> None:
        theirs = understood(frame)
        agreed_version(self._mine, theirs)
        if theirs.node:
            self.peer = f"{theirs.node} ({self.peer})"
        self._taker = self._met(self, theirs)
        self._be_patient()

    def _be_patient(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
        self._be_patient()
        if self._reader.waiting and exc is None:
            log.debug("%s went away in the middle of a frame", self.peer)
        self.lost()

    # What we do with it.

    def send(self, pieces: list[Buffer]) -> None:
        if self.transport is not None:
            self.transport.writelines(pieces)

    @property
    def unsent_bytes(self) -> int:
        return self.transport.get_write_buffer_size() if self.transport is not None else 0

    def hold(self, *, held: bool) -> None:
        """Whether to take nothing more from it for now; what it sends waits on its side."""
        if self.transport is None or self.transport.is_closing():
            return
        if held and self.transport.is_reading():
            self.transport.pause_reading()
        elif not held and not self.transport.is_reading():
            self.transport.resume_reading()

    def close(self) -> None:
        """At once: what was not sent yet is not sent."""
        if self.transport is not None:
            self.transport.abort()


def _nothing() -> None:
    pass
