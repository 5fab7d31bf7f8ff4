"""One connection over which HTTP/1.1 is spoken, one request after the other. Parsing is httptools'."""

import asyncio
from ssl import SSLContext
from typing import Final, NamedTuple, cast

import httptools

from .address import Origin, Proxy

ANSWER_BYTES_MAX: Final = 128 << 20
"""More than any page: whoever sends so much is not who we think."""
HEAD_BYTES_MAX: Final = 64 << 10
TUNNEL_OPEN: Final = b"200"


class Strange(OSError):
    """What comes is no answer of HTTP."""


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    """By names in lower case."""
    body: bytes


class Line(asyncio.Protocol):
    """`is_lost`: nobody should ask anything here."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._asked: asyncio.Future[Answer] | None = None
        self._tunnel: asyncio.Future[None] | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._head = bytearray()
        self._headers: dict[str, str] = {}
        self._body = bytearray()
        self._has_head = False
        self.heard_s = self._loop.time()
        """When anything came last, or it was opened."""

    @property
    def is_lost(self) -> bool:
        return self._transport is None or self._transport.is_closing()

    def drop(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    async def ask(self, head: bytes, body: bytes) -> Answer:
        """OSError where there is none. Whoever gives up before it comes has to drop the line."""
        assert self._transport is not None and self._asked is None
        self._asked = self._loop.create_future()
        self._begin()
        self._transport.writelines([head, body])
        try:
            return await self._asked
        finally:
            self._asked = None

    def _begin(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._headers, self._body, self._has_head = {}, bytearray(), False

    # Through a proxy.

    async def tunnel(self, origin: Origin, proxy: Proxy, tls: SSLContext) -> None:
        """What is said from here on, only who is at its end hears."""
        assert self._transport is not None
        self._tunnel = self._loop.create_future()
        where = f"{origin.host}:{origin.port}" if ":" not in origin.host else f"[{origin.host}]:{origin.port}"
        head = f"CONNECT {where} HTTP/1.1\r\nHost: {where}\r\n"
        if proxy.authorization:
            head += f"Proxy-Authorization: {proxy.authorization}\r\n"
        self._transport.write(f"{head}\r\n".encode())
        try:
            await self._tunnel
        finally:
            self._tunnel = None
        upgraded = await self._loop.start_tls(self._transport, self, tls, server_hostname=origin.host)
        self._transport = cast(asyncio.Transport, upgraded)

    def _tunnelled(self, data: bytes, opened: "asyncio.Future[None]") -> None:
        self._head += data
        if b"\r\n\r\n" not in self._head and len(self._head) < HEAD_BYTES_MAX:
            return
        first = bytes(self._head.partition(b"\r\n")[0])
        self._head.clear()
        if opened.done():
            return
        if first.split(b" ")[1:2] == [TUNNEL_OPEN]:
            opened.set_result(None)
        else:
            opened.set_exception(Strange(f"the proxy does not let us through: {first.decode('latin-1')[:100]}"))

    # What the transport calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self.heard_s = self._loop.time()
        if self._tunnel is not None:
            self._tunnelled(data, self._tunnel)
            return
        if self._asked is None:
            self.drop()  # nobody has asked anything: whatever it is, it is no answer to what comes next
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(Strange(f"what comes is no answer: {error}"))

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self._asked is not None and self._has_head and self._ends_with_line():
            self.on_message_complete()
        self._fail(exc or ConnectionResetError("the other side hung up"))

    def _fail(self, error: Exception) -> None:
        for waiting in (self._asked, self._tunnel):
            if waiting is not None and not waiting.done():
                waiting.set_exception(error)
        self.drop()

    # What the parser calls.

    def on_header(self, name: bytes, value: bytes) -> None:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        self._headers[key] = f"{self._headers[key]}, {text}" if key in self._headers else text

    def on_headers_complete(self) -> None:
        self._has_head = True

    def on_body(self, body: bytes) -> None:
        self._body += body
        if len(self._body) > ANSWER_BYTES_MAX:
            self._fail(Strange(f"an answer of more than {ANSWER_BYTES_MAX} bytes"))

    def on_message_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200:
            self._headers, self._has_head = {}, False
            return  # the answer is still to come
        if self._asked is not None and not self._asked.done():
            self._asked.set_result(Answer(status, self._headers, bytes(self._body)))
        if not self._parser.should_keep_alive():
            self.drop()

    def _ends_with_line(self) -> bool:
        """An answer of no length ends where the connection does."""
        return not {"content-length", "transfer-encoding"} & set(self._headers)


async def dial(origin: Origin, proxy: Proxy | None, tls: SSLContext | None) -> Line:
    """A line to there; OSError if there is none to be had."""
    line, is_ready, loop = Line(), False, asyncio.get_running_loop()
    host, port = (origin.host, origin.port) if proxy is None else (proxy.host, proxy.port)
    direct = tls if proxy is None else None
    try:
        name = host if direct is not None else None
        await loop.create_connection(lambda: line, host, port, ssl=direct, server_hostname=name)
        if proxy is not None and tls is not None:
            await line.tunnel(origin, proxy, tls)
        is_ready = True
    finally:
        if not is_ready:
            line.drop()
    return line
