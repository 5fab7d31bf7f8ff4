"""The way to another participant: a connection on which we speak and it listens, made again whenever it is lost.

What is said while there is no connection is lost, as on any network; the phasers are told when there is one again. Each
turn's messages go out as one frame.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Final

from hansard.batch import reopen
from hansard.phaser.government import NodeId
from hansard.phaser.message import Append, Commit, Message
from hansard.wire.codec import Codec
from hansard.wire.errors import MalformedFrame
from hansard.wire.frame import Frame
from hansard.wire.handshake import Hello, Role

from .connection import Connection, Taker

log = logging.getLogger(__name__)

RETRY_S_MIN: Final = 0.05
RETRY_S_MAX: Final = 1.0
DIAL_S_MAX: Final = 5.0
COMPANY_S: Final = 0.001
"""A commit point waits so long for a batch, which carries it for nothing: by itself it costs both sides a turn."""
SILENCE_S_MAX: Final = 3.0
"""The other side is asked so often whether it listens, and has so long to say so. Elsewhere nobody would notice that a
way has gone: what is lost on it is what the phasers say, and they only say it again."""
UNSENT_BYTES_MAX: Final = 64 << 20
"""Flow control keeps far below it: whoever has so much waiting does not listen any more."""

PeerMessage = tuple[int, Message]
"""With its bucket."""


def peer_codec() -> Codec[PeerMessage]:
    """Between participants: the checksums of batches are tried, their columns were looked at by who took them in."""
    return Codec(PeerMessage, reopen)


class Link:
    def __init__(
        self, node: NodeId, address: tuple[str, int], mine: Hello, connected: Callable[[NodeId], None], random: Random
    ) -> None:
        self.node = node
        self.address = address
        self._mine = mine
        self._connected = connected
        self._random = random
        self._codec = peer_codec()
        self._outbox: list[PeerMessage] = []
        self._commits: dict[int, Commit] = {}
        """Of each bucket the commit point that waits for company."""
        self._waiting: asyncio.TimerHandle | None = None
        self._connection: Connection | None = None
        self._answers = 0
        """To the last question whether anybody listens."""

    def say(self, bucket: int, message: Message) -> bool:
        """At the end of this turn, or a little later. Says whether it is the first one of the turn."""
        if self._connection is None:
            return False
        if isinstance(message, Commit):
            self._commits[bucket] = message
            if self._waiting is None:
                self._waiting = asyncio.get_running_loop().call_later(COMPANY_S, self._waited)
            return False
        self._outbox.append((bucket, message))
        return len(self._outbox) == 1

    def _waited(self) -> None:
        self._waiting = None
        self.flush()

    def flush(self) -> None:
        messages, self._outbox = self._outbox, []
        if self._commits:
            carried = {bucket for bucket, message in messages if isinstance(message, Append)}
            messages += [(bucket, commit) for bucket, commit in self._commits.items() if bucket not in carried]
            self._commits = {}
        connection = self._connection
        if connection is None or not messages:
            return
        if connection.unsent_bytes > UNSENT_BYTES_MAX:
            log.warning("%s takes nothing: connecting again", self.node)
            connection.close()
            return
        connection.send(self._codec.frames(messages))

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
            self._check(hello)
            if not greeted.done():  # or else nobody waits for it any more
                greeted.set_result(True)
                self._begin(connection)
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
                await loop.create_connection(lambda: connection, *self.address)
                if not await greeted:
                    return False
            await self._keep_asking(connection, gone)
        except (OSError, TimeoutError) as error:
            log.debug("cannot reach %s: %s", self.node, error)
            return False
        finally:
            connection.close()
        return True

    async def _keep_asking(self, connection: Connection, gone: asyncio.Event) -> None:
        """Whether anybody listens, until it is over."""
        while not gone.is_set():
            self._answers = 0
            connection.send(self._codec.encode(()))
            with suppress(TimeoutError):
                await asyncio.wait_for(gone.wait(), SILENCE_S_MAX)
            if not self._answers and not gone.is_set():
                log.warning("nothing comes from %s: connecting again", self.node)
                connection.close()
                await gone.wait()

    def _check(self, hello: Hello) -> None:
        if hello.role is not Role.PARTICIPANT or hello.node != self.node:
            raise MalformedFrame(f"{self.node} was expected there, and not {hello.node or 'a client'}")

    def _begin(self, connection: Connection) -> None:
        self._connection = connection
        log.info("connected to %s", self.node)
        self._connected(self.node)

    def _heard(self, frame: Frame) -> None:
        if self._codec.decode(frame):
            raise MalformedFrame("nothing is said in this direction but that somebody listens")
        self._answers += 1

    def _end(self) -> None:
        if self._connection is not None:
            log.info("lost the connection to %s", self.node)
        self._connection = None
        self._outbox.clear()
        self._commits.clear()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
