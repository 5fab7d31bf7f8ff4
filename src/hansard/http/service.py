"""The HTTP port: connections are accepted one by one, so that each gets the certificates of now, and looked at."""

import asyncio
import logging
import socket
from collections.abc import Callable
from email.utils import formatdate
from ssl import SSLContext, SSLError
from typing import Any, Final

from uvicorn.config import Config
from uvicorn.server import ServerState

from .app import App
from .protocol import KEEP_ALIVE_S, Protocol

log = logging.getLogger(__name__)

BACKLOG: Final = 512
CONNECTIONS_MAX: Final = 10_000
SHARE_OF_FILES: Final = 0.15
"""Of the files that the process may have open."""
LOOK_S: Final = 1.0
HANDSHAKE_S_MAX: Final = 5.0
SHORTAGE_S: Final = 0.2
END_S: Final = 2.0
"""Who is still being answered when the participant stops has so long."""


class Service:
    """`secure` gives what TLS needs now, None without it. `tune` sets up a socket."""

    def __init__(
        self,
        app: App,
        secure: Callable[[], SSLContext | None],
        tune: Callable[[socket.socket], None],
        files_max: int,
    ) -> None:
        self._app = app
        self._secure = secure
        self._tune = tune
        self._connections_max = max(16, min(CONNECTIONS_MAX, int(files_max * SHARE_OF_FILES)))
        self._config = Config(
            app,
            http=Protocol,
            ws="none",
            lifespan="off",
            log_config=None,
            log_level=logging.CRITICAL,  # the application tells what is worth it
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=int(KEEP_ALIVE_S),
        )
        self._config.load()
        self._state = ServerState()
        self._listening: list[tuple[socket.socket, asyncio.Task[None]]] = []
        self._letting_in: set[asyncio.Task[None]] = set()
        self._looking: asyncio.Task[None] | None = None

    @property
    def count(self) -> int:
        """Of connections."""
        return len(self._state.connections)

    def open(self, listeners: list[socket.socket]) -> None:
        for listener in listeners:
            listener.listen(BACKLOG)
            self._listening.append((listener, asyncio.create_task(self._accept(listener))))
        self._looking = asyncio.create_task(self._keep_looking())

    def shut(self) -> None:
        """Nobody comes in any more, and who is there is answered and sent home."""
        for listener, task in self._listening:
            task.cancel()
            listener.close()
        self._listening.clear()
        self._app.stop()
        for connection in list(self._state.connections):
            connection.shutdown()

    async def close(self) -> None:
        self.shut()
        if self._looking is not None:
            self._looking.cancel()
        tasks = [*self._letting_in, *self._state.tasks, *self._app.quick.tasks]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=END_S)
            for task in late:
                task.cancel()
        for connection in list(self._state.connections):
            transport = connection.transport
            if transport is not None:
                transport.abort()
        await self._app.close()

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, address = await loop.sock_accept(listener)
            except OSError as error:
                log.warning("cannot take another connection: %s", error.strerror)
                await asyncio.sleep(SHORTAGE_S)
                continue
            if self.count + len(self._letting_in) >= self._connections_max:
                log.warning("refused %s: there are %d connections already", address[0], self._connections_max)
                accepted.close()
                continue
            self._tune(accepted)
            task = loop.create_task(self._let_in(accepted, address))
            self._letting_in.add(task)
            task.add_done_callback(self._letting_in.discard)

    async def _let_in(self, accepted: socket.socket, address: Any) -> None:
        secure = self._secure()
        patience_s = HANDSHAKE_S_MAX if secure is not None else None
        loop = asyncio.get_running_loop()
        try:
            await loop.connect_accepted_socket(self._answered, accepted, ssl=secure, ssl_handshake_timeout=patience_s)
        except (SSLError, OSError, TimeoutError) as error:
            log.debug("%s went away before it was let in: %s", address[0], error)

    def _answered(self) -> Protocol:
        return Protocol(self._config, self._state, {}, asyncio.get_running_loop(), self._app.quick)

    async def _keep_looking(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            self._state.default_headers = [(b"date", formatdate(usegmt=True).encode())]
            for connection in list(self._state.connections):
                assert isinstance(connection, Protocol)
                refusal = connection.overdue(loop.time())
                if refusal is not None:
                    connection.refuse(refusal)
                elif connection.is_quiet(loop.time()):
                    connection.transport.close()
            await asyncio.sleep(LOOK_S)
