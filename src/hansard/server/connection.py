"""One connection that somebody made to us, or we to somebody: the greeting first, and then frames.

What the other side is, and so what its frames mean, is known from its Hello. Whatever is wrong with what it sends ends
the connection and nothing else.
"""

import asyncio
import logging
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from ssl import SSLError
from typing import Any, Final, cast

from hansard.wire.errors import WireError
from hansard.wire.frame import Buffer, Frame, FrameReader
from hansard.wire.handshake import HELLO_BYTES_MAX, Hello, agreed_version, greeting, understood

from .tls import why

log = logging.getLogger(__name__)

HELLO_S_MAX: Final = 5.0
"""Whoever connects says who it is within this time."""
DEAF_S_MAX: Final = 30.0
"""Who takes nothing of what waits for it for so long is gone, or might as well be."""
HALF_S_MAX: Final = 30.0
"""The same for who has stopped in the middle of a frame."""
KEEPALIVE_S: Final = 30
PROBES: Final = 3
PROBE_S: Final = 10
"""A connection on which nothing is said is asked by the system whether the other machine is there: after this time, so
often, at this distance."""
ESTABLISHED: Final = 1
"""As the system calls a connection that neither side has ended."""
NOT_SENT_BYTES: Final = 256 << 10
"""So much waits in the system at the most, beyond what is under way: there nothing can overtake it any more."""


JOINED_BYTES_MAX: Final = 4096
"""What is shorter is handed over as one piece: to copy it costs less than to hand over several."""


Taker = Callable[[Frame], None]
"""Whoever takes the frames; raises a WireError where one is not what it should be."""


def nothing() -> None:
    pass


class Connection(asyncio.BufferedProtocol):
    """`met` is called with the other side's Hello and says who takes its frames; it may refuse with a WireError.
    `taken` is called after each read, when all frames in it are taken."""

    def __init__(
        self, mine: Hello, met: Callable[["Connection", Hello], Taker], taken: Callable[[], None] = nothing
    ) -> None:
        self._mine = mine
        self._met = met
        self._taken = taken
        self._reader = FrameReader(HELLO_BYTES_MAX)
        self._patience: asyncio.TimerHandle | None = None
        self._taker: Taker | None = None
        self.lost: Callable[[], None] = nothing
        """Called once, when the connection has ended, greeted or not."""
        self.transport: asyncio.Transport | None = None
        """None before it is made and after it is lost."""
        self.peer = "somebody"
        """For messages."""
        self.trouble = ""
        """Why it has ended, where that is known."""
        self.is_full = False
        """It has enough to send for now."""
        self.is_held = False
        """Nothing is taken from it for now."""
        self.writable: Callable[[], None] = nothing
        """Called when it has not any more."""
        self.silence_s_max: float | None = None
        """Who sends nothing for so long has gone; None if it may be silent for ever."""
        self._now_s: Callable[[], float] = float
        """The loop's time, once there is one."""
        self._heard_s = 0.0
        self._sent_bytes = 0
        self._left_bytes = 0
        """What the system had taken when it was last looked at, and since when it is that."""
        self._left_s = 0.0

    # What the loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's are no subclass
        address = transport.get_extra_info("peername")
        self.peer = f"{address[0]}:{address[1]}" if address else self.peer
        tune(transport.get_extra_info("socket"))
        self._now_s = asyncio.get_running_loop().time
        self._heard_s = self._left_s = self._now_s()
        self.transport.writelines(greeting(self._mine))
        self._patience = asyncio.get_running_loop().call_later(HELLO_S_MAX, self._give_up)

    def _give_up(self) -> None:
        log.warning("ending the connection with %s: it does not say who it is", self.peer)
        self.close()

    def get_buffer(self, _sizehint: int) -> memoryview:
        return self._reader.room()

    def buffer_updated(self, nbytes: int) -> None:
        self._heard_s = self._now_s()
        try:
            for frame in self._reader.filled(nbytes):
                if self._taker is None:
                    self._meet(frame)
                else:
                    self._taker(frame)
        except WireError as error:
            self.trouble = str(error)
            log.warning("ending the connection with %s: %s", self.peer, error)
            self.close()
        self._taken()

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

    def pause_writing(self) -> None:
        self.is_full = True

    def resume_writing(self) -> None:
        self.is_full = False
        self.writable()

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
        self._be_patient()
        if isinstance(exc, SSLError):  # of TLS 1.3 the side that dials hears only here that it is refused
            self.trouble = why(exc)
            log.warning("the connection with %s has ended: %s", self.peer, self.trouble)
        elif self._reader.waiting and exc is None:
            log.debug("%s went away in the middle of a frame", self.peer)
        self.lost()

    # What we do with it.

    def send(self, pieces: list[Buffer]) -> None:
        if self.transport is None:
            return
        length = 0
        for piece in pieces:
            length += len(piece)
        self._sent_bytes += length
        if length < JOINED_BYTES_MAX:
            self.transport.write(b"".join(pieces))
        else:
            self.transport.writelines(pieces)

    @property
    def certificate(self) -> Mapping[str, Any]:
        """What the other side has shown, and its authority confirms; empty if nothing."""
        found = self.transport.get_extra_info("peercert") if self.transport is not None else None
        return found or {}

    @property
    def unsent_bytes(self) -> int:
        return self.transport.get_write_buffer_size() if self.transport is not None else 0

    @property
    def left_bytes(self) -> int:
        """What the system has taken of what was sent."""
        return self._sent_bytes - self.unsent_bytes

    def limit(self, full_bytes: int) -> None:
        """How much unsent is enough."""
        if self.transport is not None:
            self.transport.set_write_buffer_limits(full_bytes)

    def overdue(self, now_s: float) -> str:
        """Why it is to be ended by now; empty if it is not. To be called now and then."""
        if self.transport is None:
            return ""
        left = self.left_bytes
        if left != self._left_bytes or not self.unsent_bytes:
            self._left_bytes, self._left_s = left, now_s
        silent_s = now_s - self._heard_s if self.transport.is_reading() else 0.0
        if now_s - self._left_s > DEAF_S_MAX:
            return f"for {DEAF_S_MAX:.0f} seconds it has taken nothing of what is sent to it"
        if self._reader.waiting and silent_s > HALF_S_MAX:
            return f"it stopped in the middle of a frame {HALF_S_MAX:.0f} seconds ago"
        if self.silence_s_max is not None and silent_s > self.silence_s_max:
            return f"nothing came from it for {self.silence_s_max:.0f} seconds"
        if not self.transport.is_reading() and has_gone(self.transport.get_extra_info("socket")):
            return "it went away while it was not listened to"
        return ""

    @property
    def is_over(self) -> bool:
        return self.transport is None or self.transport.is_closing()

    def hold(self, *, held: bool) -> None:
        """Whether to take nothing more from it for now; what it sends waits on its side."""
        if self.transport is None or self.transport.is_closing():
            return
        self.is_held = held
        if held and self.transport.is_reading():
            self.transport.pause_reading()
        elif not held and not self.transport.is_reading():
            self._heard_s = self._now_s()
            self.transport.resume_reading()

    def close(self) -> None:
        """At once: what was not sent yet is not sent."""
        if self.transport is not None:
            self.transport.abort()


def has_gone(connected: socket.socket | None) -> bool:
    """Whether the other side has hung up: of a connection that is not read from nobody is told."""
    with suppress(AttributeError, OSError):
        if connected is not None:
            state = connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
            return state not in (ESTABLISHED, 0)
    return False


def tune(connected: socket.socket | None) -> None:
    """Small things at once, and notice a machine that has gone without a word. Not all systems know all of it."""
    options = [
        (socket.SOL_SOCKET, "SO_KEEPALIVE", 1),
        (socket.IPPROTO_TCP, "TCP_NODELAY", 1),
        (socket.IPPROTO_TCP, "TCP_KEEPIDLE", KEEPALIVE_S),
        (socket.IPPROTO_TCP, "TCP_KEEPINTVL", PROBE_S),
        (socket.IPPROTO_TCP, "TCP_KEEPCNT", PROBES),
        (socket.IPPROTO_TCP, "TCP_USER_TIMEOUT", int(DEAF_S_MAX * 1000)),
        (socket.IPPROTO_TCP, "TCP_NOTSENT_LOWAT", NOT_SENT_BYTES),
    ]
    for level, name, value in options:
        with suppress(AttributeError, OSError):
            if connected is not None:
                connected.setsockopt(level, getattr(socket, name), value)
