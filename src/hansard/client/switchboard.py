"""Connections to participants, one for each address, made when they are wanted and shared while somebody uses them."""

import asyncio
from ssl import SSLContext
from typing import Final

from hansard.wire.handshake import Hello

from .errors import ClientClosed
from .link import HELLO, Link
from .roster import split_address

CONNECT_S_MAX: Final = 3.0
"""For one address to accept and to say hello, if the timeout is not shorter: then the next one is tried."""


class Switchboard:
    """`kept`: connections stay open when nobody uses them, because somebody soon will."""

    def __init__(
        self, timeout_s: float, hello: Hello = HELLO, tls: SSLContext | None = None, *, kept: bool = False
    ) -> None:
        self._kept = kept
        self._timeout_s = min(CONNECT_S_MAX, timeout_s)
        self._hello = hello
        self._tls = tls
        self._links: dict[str, Link] = {}
        self._dialling: dict[str, asyncio.Task[Link]] = {}
        self._is_closed = False

    async def reach(self, address: str) -> Link:
        """A connection to this address; OSError, WireError or UnicodeError if there is none to be had. The caller joins
        it before anything else happens. ClientClosed if it was closed."""
        if self._is_closed:
            raise ClientClosed
        link = self._links.get(address)
        if link is not None and not link.is_lost:
            return link
        task = self._dialling.get(address)
        if task is None:
            task = self._dialling[address] = asyncio.get_running_loop().create_task(self._dial(address))
            task.add_done_callback(lambda done: self._dialled(address, done))
        link = await asyncio.shield(task)
        if link.is_lost:
            raise ConnectionResetError("the other side hung up")
        return link

    async def _dial(self, address: str) -> Link:
        host, port = split_address(address)
        link, is_ready = Link(self._hello, kept=self._kept), False
        try:
            async with asyncio.timeout(self._timeout_s):
                name = host if self._tls is not None else None
                loop = asyncio.get_running_loop()
                await loop.create_connection(lambda: link, host, port, ssl=self._tls, server_hostname=name)
                await link.ready
            if link.is_lost:
                raise ConnectionResetError("the other side hung up")
            is_ready = True
        finally:
            if not is_ready:
                link.ready.cancel()
                link.drop()
        return link

    def _dialled(self, address: str, task: "asyncio.Task[Link]") -> None:
        del self._dialling[address]
        if task.cancelled() or task.exception() is not None:
            return
        if self._is_closed:
            task.result().drop()
        else:
            self._links[address] = task.result()

    async def close(self) -> None:
        self._is_closed = True
        dialling = list(self._dialling.values())
        for task in dialling:
            task.cancel()
        if dialling:
            await asyncio.wait(dialling)
        for link in self._links.values():
            link.drop()
        self._links.clear()
