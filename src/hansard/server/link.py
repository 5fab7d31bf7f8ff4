"""The way to another participant: a connection on which we speak and it listens, made again whenever it is lost.

What is said while there is no connection is lost, as on any network; the cores are told when there is one again. Each
turn's messages go out as one frame.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Hashable
from contextlib import suppress
from enum import Enum, auto
from random import Random
from ssl import SSLError
from time import monotonic
from typing import Any, Final, NamedTuple

from hansard.phaser.government import NodeId
from hansard.wire.codec import Codec
from hansard.wire.errors import MalformedFrame
from hansard.wire.frame import Frame
from hansard.wire.handshake import Hello, Role

from .connection import Connection, Taker
from .outbox import Outbox
from .tls import Certificates, confirm, why

log = logging.getLogger(__name__)

RETRY_S_MIN: Final = 0.05
RETRY_S_MAX: Final = 1.0
DIAL_S_MAX: Final = 5.0
COMPANY_S: Final = 0.001
"""A commit point waits so long for a batch, which carries it for nothing: by itself it costs both sides a turn."""
SILENCE_S_MAX: Final = 3.0
"""The other side is asked so often whether it listens, and has so long to say so. Elsewhere nobody would notice that a
way has gone: what is lost on it is what the phasers say, and they only say it again."""
FRAME_BYTES: Final = 256 << 10
"""What waits goes in frames of about this length, with what is urgent between them."""
UNSAID_BYTES_MAX: Final = 64 << 20
LANE_BYTES: Final = 1 << 20
"""While so much waits in all, and so much in its lane, what can be said again is not taken. Flow control of one bucket
keeps far below it, and that of many together does not."""


class Kind(Enum):
    """What a message is to the way that it goes."""

    PLAIN = auto()
    URGENT = auto()
    """It goes before all else that waits."""
    COMMIT = auto()
    """A commit point, which may wait a little for a batch of its lane."""
    BATCH = auto()
    """It carries its lane's commit point. Whoever says it says it again if it is lost."""
    BULK = auto()
    """So does who says this, which carries nothing."""


PLAIN, URGENT, COMMIT, BATCH, BULK = Kind
"""By these names: each message is looked at, and by the class's name that takes long."""
AGAIN: Final = (BATCH, BULK)


class Look(NamedTuple):
    """How a message is sent: looked at once, because there are so many of them."""

    kind: Kind
    lane: Hashable = None
    """In which it waits: nothing overtakes anything in the same one."""
    length: int = 0
    """In bytes, about: of what is large."""


class Manner(NamedTuple):
    """How messages of one sort are sent."""

    codec: Callable[[], Codec[Any]]
    look: Callable[[Any], Look]


class Link:
    """`node` is who is expected there; empty if it is not known. `connected` is told who it was."""

    def __init__(
        self,
        node: NodeId,
        address: tuple[str, int],
        mine: Hello,
        manner: Manner,
        connected: Callable[[NodeId], None],
        random: Random,
        certificates: Certificates | None = None,
    ) -> None:
        self.node = node
        self.address = address
        self.there: NodeId = ""
        """Who said hello; empty while there is no connection."""
        self.trouble = ""
        """Why there is no connection, in a few words."""
        self._mine = mine
        self._connected = connected
        self._random = random
        self._certificates = certificates
        self._codec = manner.codec()
        self._look = manner.look
        self._urgent: list[Any] = []
        self._ready: list[Any] = []
        """What goes at the end of this turn, and how long it is: most turns have little to say, and nothing waits."""
        self._ready_bytes = 0
        self._outbox = Outbox()
        """What is to be said, and is not handed to the connection yet, because that has enough to send."""
        self._dropped = 0
        self._planned = False
        self._commits: dict[Hashable, Any] = {}
        """Of each bucket the commit point that waits for company."""
        self._alone_s = 0.0
        """Since when one does: before that there was none."""
        self._waiting: asyncio.TimerHandle | None = None
        self._connection: Connection | None = None
        self._answers = 0
        """To the last question whether anybody listens."""

    def __str__(self) -> str:
        host, port = self.address
        return self.there or self.node or f"{host}:{port}"

    def say(self, message: Any) -> bool:
        """At the end of this turn, or a little later. Says whether it is the first one of the turn."""
        if self._connection is None:
            return False
        look = self._look(message)
        kind, lane, _ = look
        if kind is COMMIT:
            if not self._commits:
                self._alone_s = monotonic()
            self._commits[lane] = message
            if self._waiting is None:
                self._waiting = asyncio.get_running_loop().call_later(COMPANY_S, self._waited)
            return False
        if kind is URGENT:
            self._urgent.append(message)
        elif self._put(message, look) and kind is BATCH and self._commits:
            self._commits.pop(lane, None)
        first, self._planned = not self._planned, True
        return first

    def _put(self, message: Any, look: Look) -> bool:
        kind, lane, length = look
        outbox, connection = self._outbox, self._connection
        if not outbox and self._ready_bytes < FRAME_BYTES and connection is not None and not connection.is_full:
            self._ready.append(message)
            self._ready_bytes += length
            return True
        full = outbox.bytes >= UNSAID_BYTES_MAX and outbox.bytes_in(lane) >= LANE_BYTES
        if full and kind in AGAIN:
            self._dropped += 1
            return False
        outbox.put(lane, message, length)
        return True

    def _waited(self) -> None:
        self._waiting = None
        left_s = self._alone_s + COMPANY_S - monotonic()
        if self._commits and left_s > 0:  # those that were waited for have found company, and these are others
            self._waiting = asyncio.get_running_loop().call_later(left_s, self._waited)
        elif self._commits:
            self.flush()

    def flush(self) -> None:
        """What is urgent first; of all else as much as the connection takes, so that there is little before what will
        be urgent next."""
        self._planned = False
        connection = self._connection
        if connection is None:
            return
        if self._commits:
            for lane, commit in self._commits.items():
                self._put(commit, Look(COMMIT, lane))
            self._commits.clear()
        outbox, messages, filled = self._outbox, self._ready, self._ready_bytes
        self._ready, self._ready_bytes = [], 0
        if self._urgent:
            messages = self._urgent + messages
            self._urgent = []
        while messages or (outbox and not connection.is_full):
            while outbox and not connection.is_full and filled < FRAME_BYTES:
                message, length = outbox.take()
                filled += length
                messages.append(message)
            connection.send(self._codec.frames(messages))
            messages, filled = [], 0

    async def keep(self) -> None:
        """For ever: connect, and connect again."""
        retry_s = RETRY_S_MIN
        while True:
            if await self._spoke():
                retry_s = RETRY_S_MIN
            await asyncio.sleep(retry_s * (0.5 + self._random.random()))
            retry_s = min(2 * retry_s, RETRY_S_MAX)

    async def _spoke(self) -> bool:
        """One connection, from its beginning to its end. Says whether there was one."""
        loop = asyncio.get_running_loop()
        gone = asyncio.Event()
        greeted: asyncio.Future[bool] = loop.create_future()

        def met(connection: Connection, hello: Hello) -> Taker:
            self._check(connection, hello)
            if not greeted.done():  # or else nobody waits for it any more
                greeted.set_result(True)
                self._begin(connection, hello)
            return self._heard

        def lost() -> None:
            if not greeted.done():
                greeted.set_result(False)
            gone.set()
            self._end()

        connection = Connection(self._mine, met)
        connection.lost = lost
        try:
            async with asyncio.timeout(DIAL_S_MAX):
                host, port = self.address
                secure = self._certificates.dialling if self._certificates is not None else None
                await loop.create_connection(lambda: connection, host, port, ssl=secure)
                if not await greeted:
                    self.trouble = connection.trouble or self._hung_up
                    return False
            await self._keep_asking(connection, gone)
        except SSLError as error:
            self.trouble = why(error)
            log.warning("cannot speak with %s: %s", self, self.trouble)
            return False
        except (OSError, TimeoutError) as error:
            self.trouble = _named(error)
            log.debug("cannot reach %s: %s", self, error)
            return False
        finally:
            connection.close()
        return True

    @property
    def _hung_up(self) -> str:
        reason = "does not accept us, or has no TLS" if self._certificates is not None else "may want TLS"
        return f"it hangs up before it says who it is: it {reason}"

    async def _keep_asking(self, connection: Connection, gone: asyncio.Event) -> None:
        """Whether anybody listens, until it is over. Who takes something of what waits for it does, though the answer
        may be long in coming: what is asked waits behind all that."""
        while not gone.is_set():
            self._answers, unsent, left = 0, connection.unsent_bytes, connection.left_bytes
            connection.send(self._codec.encode(()))
            with suppress(TimeoutError):
                await asyncio.wait_for(gone.wait(), SILENCE_S_MAX)
            takes = max(unsent, connection.unsent_bytes) > 0 and connection.left_bytes > left
            if not self._answers and not takes and not gone.is_set():
                log.warning("nothing comes from %s: connecting again", self)
                connection.close()
                await gone.wait()

    def _check(self, connection: Connection, hello: Hello) -> None:
        if hello.role is not Role.PARTICIPANT or self.node not in ("", hello.node):
            expected = self.node or "a participant"
            raise MalformedFrame(f"{expected} was expected there, and not {hello.node or 'a client'}")
        if self._certificates is not None:
            confirm(connection.certificate, hello.node)

    def _begin(self, connection: Connection, hello: Hello) -> None:
        self._connection = connection
        connection.writable = self.flush
        self.there = hello.node
        log.info("connected to %s", self)
        self._connected(self.there)

    def _heard(self, frame: Frame) -> None:
        if self._codec.decode(frame):
            raise MalformedFrame("nothing is said in this direction but that somebody listens")
        self._answers += 1

    def _end(self) -> None:
        if self._connection is not None:
            log.info("lost the connection to %s", self)
        self._connection = None
        self.there = ""
        self._urgent.clear()
        self._ready.clear()
        self._ready_bytes = 0
        self._outbox.clear()
        self._commits.clear()
        self._planned = False
        if self._dropped:
            log.warning("%s took so little that %d messages were not sent to it", self, self._dropped)
            self._dropped = 0

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


def _named(error: OSError | TimeoutError) -> str:
    if isinstance(error, TimeoutError):
        return "nothing comes from there"
    return os.strerror(error.errno).lower() if error.errno and error.errno > 0 else str(error)
