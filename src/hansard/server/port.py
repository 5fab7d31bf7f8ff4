"""The one port: clients and participants come in here, and say who they are; with TLS they prove it.

Connections are accepted one by one, so that each gets the certificates of now, and a handshake that fails is told with
who it was that came.
"""

import asyncio
import errno
import logging
import resource
import socket
from contextlib import suppress
from functools import partial
from ssl import SSLError
from typing import Final

from hansard.participant.message import Atomic, Bucketed
from hansard.participant.participant import Participant
from hansard.wire.errors import MalformedFrame, WireError
from hansard.wire.frame import Frame
from hansard.wire.handshake import Hello, Role

from .address import Address
from .connection import Connection, Taker
from .errors import NoSuchAddress, PortInUse
from .peers import message_codec
from .reception import Reception
from .shell import Shell
from .tls import HANDSHAKE_S_MAX, Certificates, confirm, why

log = logging.getLogger(__name__)

BACKLOG: Final = 512
LOOK_S: Final = 2.0
"""Connections are looked at so often: whether they are of any use."""
PARTICIPANT_SILENCE_S_MAX: Final = 15.0
"""They ask every few seconds whether we listen (link.py): who does not has gone without a word."""
CLIENTS_MAX: Final = 10_000
SHARE_OF_CLIENTS: Final = 0.5
SHARE_OF_ALL: Final = 0.75
"""Of the files that the process may have open so many are for clients, and for connections at all: the rest is for the
disk, which must not fail because somebody connects."""
SHORTAGE_S: Final = 0.2
"""Where the system has no room for another connection, the next one is looked at after this time."""


class Port:
    def __init__(
        self, core: Participant, shell: Shell, reception: Reception, certificates: Certificates | None = None
    ) -> None:
        self._core = core
        self._shell = shell
        self._reception = reception
        self._certificates = certificates
        self._codec = message_codec()
        self._tasks: set[asyncio.Task[None]] = set()
        self._looking: asyncio.Task[None] | None = None
        self._listening: list[tuple[socket.socket, asyncio.Task[None]]] = []
        self._connections: set[Connection] = set()
        files = files_max()
        self._clients_max = min(CLIENTS_MAX, int(files * SHARE_OF_CLIENTS))
        self._connections_max = self._clients_max + int(files * (SHARE_OF_ALL - SHARE_OF_CLIENTS))

    @property
    def hello(self) -> Hello:
        """Who we are; of which cluster, once that is known."""
        return Hello(Role.PARTICIPANT, self._core.consensus.cluster.id, self._core.here.node)

    def status(self) -> dict[str, int]:
        """Who is connected to us, what they wait for, and what waits for them."""
        return {
            "clients": self._reception.count,
            "connections": len(self._connections),
            "waiting_reads": self._reception.waiting,
            "unsent_bytes": sum([connection.unsent_bytes for connection in self._connections]),
        }

    def open(self, listeners: list[socket.socket]) -> None:
        for listener in listeners:
            listener.listen(BACKLOG)
            self._listening.append((listener, asyncio.create_task(self._accept(listener))))
        self._looking = asyncio.create_task(self._keep_looking())

    def shut(self) -> None:
        """Nobody comes in any more; who is there stays."""
        for listener, task in self._listening:
            task.cancel()
            listener.close()
        self._listening.clear()
        for task in self._tasks:
            task.cancel()

    def close(self) -> None:
        self.shut()
        if self._looking is not None:
            self._looking.cancel()
        for connection in list(self._connections):
            connection.close()

    async def _keep_looking(self) -> None:
        """Who has gone without a word, or takes nothing, or has stopped half-way, costs us as much as anybody."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(LOOK_S)
            for connection in list(self._connections):
                reason = connection.overdue(loop.time())
                if reason:
                    log.warning("ending the connection with %s: %s", connection.peer, reason)
                    connection.close()

    # Somebody connects to us.

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, address = await loop.sock_accept(listener)
            except OSError as error:
                log.warning("cannot take another connection: %s", error.strerror)
                await asyncio.sleep(SHORTAGE_S)
                continue
            if len(self._connections) + len(self._tasks) >= self._connections_max:
                log.warning("refused %s: there are %d connections already", address[0], self._connections_max)
                accepted.close()
                continue
            task = loop.create_task(self._let_in(accepted, f"{address[0]}:{address[1]}"))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _let_in(self, accepted: socket.socket, peer: str) -> None:
        loop = asyncio.get_running_loop()
        secure = self._certificates.answering if self._certificates is not None else None
        patience_s = HANDSHAKE_S_MAX if secure is not None else None
        try:
            await loop.connect_accepted_socket(self._answered, accepted, ssl=secure, ssl_handshake_timeout=patience_s)
        except SSLError as error:
            log.warning("refused %s: %s", peer, why(error))
        except (OSError, TimeoutError) as error:
            log.debug("%s went away before it was let in: %s", peer, error)

    def _answered(self) -> Connection:
        connection = Connection(self.hello, self._met, self._shell.taken)
        connection.lost = lambda: self._connections.discard(connection)
        self._connections.add(connection)
        return connection

    def _met(self, connection: Connection, hello: Hello) -> Taker:
        """And says who it is. Of another cluster it cannot be, if both know theirs: that was looked at before."""
        if hello.role is Role.CLIENT:
            if self._reception.count >= self._clients_max:
                raise TooMany(self._clients_max)
            return self._reception.welcome(connection, hello.token)
        if not hello.node:
            raise MalformedFrame("a participant without a name")
        if self._certificates is not None:
            confirm(connection.certificate, hello.node)
        connection.silence_s_max = PARTICIPANT_SILENCE_S_MAX
        member = f"{hello.node}#"
        return partial(self._received, connection, hello.node, member)

    def _received(self, connection: Connection, sender: str, member: str, frame: Frame) -> None:
        """`member` is how its incarnations begin."""
        messages = self._codec.decode(frame)
        for message in messages:  # who it is was confirmed; it speaks for nobody else
            if isinstance(message, Bucketed):
                itself = message.sender.startswith(member)
            else:
                itself = not isinstance(message, Atomic) or message.envelope.sender.node == sender
            if not itself:
                raise MalformedFrame(f"{sender} speaks for somebody else")
        if messages:
            self._shell.received(sender, messages)
        else:  # the other side wants to know whether anybody listens
            connection.send(self._codec.encode(()))


class TooMany(WireError):
    def __init__(self, most: int) -> None:
        super().__init__(f"there are {most} clients already, and that is the most")


def files_max() -> int:
    """As many as the system allows, which by default is less than it would on demand."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        return hard
    return soft


async def bound(address: Address) -> list[socket.socket]:
    """A socket for each of the addresses that this one stands for, as localhost does for two. Nobody can connect to
    them before the port is opened with them."""
    loop = asyncio.get_running_loop()
    host, port = address
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise NoSuchAddress(address, error.strerror or str(error)) from error
    sockets: list[socket.socket] = []
    for family, kind, protocol, _, where in dict.fromkeys(found):
        listener = socket.socket(family, kind, protocol)
        sockets.append(listener)
        listener.setblocking(False)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        try:
            listener.bind(where)
        except OSError as error:
            for each in sockets:
                each.close()
            if error.errno == errno.EADDRINUSE:
                raise PortInUse(address) from error
            raise NoSuchAddress(address, error.strerror or str(error)) from error
    return sockets
