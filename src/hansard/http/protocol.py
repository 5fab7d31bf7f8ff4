"""One connection of HTTP/1.1: uvicorn's, with the bounds that it leaves to a proxy, which nobody need have.

A POST of changes that comes as a whole is offered to the quick way first (quick.py), which answers without the rest of
uvicorn.

Headers have a size and a time; so have bodies that nobody wants. Whatever is wrong is answered as a problem. One
request is answered at a time, and who sends the next one before it has its answer is sent away: nothing else would
bound how many are held here, and who waits or follows would not be known to be gone.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from .problem import Refusal, headers_of
from .quick import Quick

HEAD_BYTES_MAX: Final = 128 << 10
"""Of the request's line and headers together: the bookmark of a large cluster is long."""
HEADERS_MAX: Final = 100
TRAILER_BYTES_MAX: Final = 4 << 10
"""Of what comes behind the last piece of a body in chunks: headers that nobody looks at."""
HEAD_S_MAX: Final = 10.0
"""From the first byte, or from the connection, to the end of the headers."""
REST_S_MAX: Final = 30.0
"""For a body that is still coming though it is answered already."""
KEEP_ALIVE_S: Final = 75.0
"""A connection on which nothing is asked for so long ends."""
HOT: Final = b"/changes"
CREATED: Final = STATUS_LINE[201] + b"content-type: application/json\r\n"


class Protocol(HttpToolsProtocol):
    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        quick: Quick | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._quick = quick
        self._held: list[bytes] | None = None
        """What has come of the body of a request that may go the quick way; None while there is none."""
        self._is_under_way = False
        """One that went it is not answered yet."""
        self._is_last = False
        """With the next answer the connection ends."""
        self.quiet_s: float | None = None
        """Since when nothing was asked, if the last answer went the quick way."""
        self.head_s: float | None = None
        """Since when a head is waited for; None while none is."""
        self.message_s: float | None = None
        """Since when a message is coming in, and has not ended."""
        self._head_bytes = 0
        self._trailers = 0
        self._bodyless_bytes = 0
        """What came since the last piece of a body."""
        self._certificate: Any = None
        """What the other side has shown, and our authority confirms."""
        self._refusal: Refusal | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._certificate = transport.get_extra_info("peercert")
        self.head_s = self.loop.time()

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        in_head = self.head_s is not None
        if in_head:
            self._head_bytes += len(data)
        self._bodyless_bytes += len(data)
        self.quiet_s = None
        super().data_received(data)
        if self._held is not None:
            self._go_the_long_way()
        if in_head and self.head_s is not None and self._head_bytes > HEAD_BYTES_MAX:
            self.refuse(too_large())
        if not in_head and self.message_s is not None and self._bodyless_bytes > TRAILER_BYTES_MAX:
            self.refuse(too_large())

    # What the parser calls.

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self.head_s is None:  # of the first one the time runs since the connection was made
            self.head_s = self.loop.time()
            self._head_bytes = 0
        self.message_s = self.loop.time()
        self._trailers = 0
        self.scope["hansard.certificate"] = self._certificate  # type: ignore[typeddict-unknown-key]

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.head_s is not None:
            super().on_header(name, value)
            return
        self._trailers += 1
        if self._trailers > HEADERS_MAX:
            self._refusal = too_large()
            raise ValueError("there are too many trailers")

    def on_body(self, body: bytes) -> None:
        self._bodyless_bytes = 0
        if self._held is not None:
            self._held.append(body)
        else:
            super().on_body(body)

    def on_headers_complete(self) -> None:
        if self._is_under_way or (self.cycle is not None and not self.cycle.response_complete):
            self._refusal = Refusal("bad-request", "the request before this one is not answered yet")
            raise ValueError("pipelined")
        head_bytes = len(self.url) + sum([len(name) + len(value) for name, value in self.headers])
        if head_bytes > HEAD_BYTES_MAX or len(self.headers) > HEADERS_MAX:
            self._refusal = too_large()
            raise ValueError("the headers are too large")
        self.head_s = None
        self._head_bytes = self._bodyless_bytes = 0
        if self.url == HOT and self._may_be_quick():
            self._held = []
        else:
            super().on_headers_complete()

    def on_message_complete(self) -> None:
        self.message_s = None
        if self._held is not None and self._goes_quickly(b"".join(self._held)):
            self._held = None
            return
        if self._held is not None:
            self._go_the_long_way()
        super().on_message_complete()

    # The quick way.

    def _may_be_quick(self) -> bool:
        parser = self.parser
        return (
            self._quick is not None
            and parser.get_method() == b"POST"
            and parser.get_http_version() == "1.1"
            and parser.should_keep_alive()
            and not (self.expect_100_continue or parser.should_upgrade() or self.flow.write_paused)
        )

    def _goes_quickly(self, body: bytes) -> bool:
        assert self._quick is not None
        self._is_under_way = True  # it may be answered at once
        taken = self._quick.take(dict(self.headers), self._certificate, body, self._respond)
        if not taken:
            self._is_under_way = False
        return taken

    def _go_the_long_way(self) -> None:
        """As any other request; what has come of it is handed on."""
        held, self._held = self._held, None
        if self.transport.is_closing():
            return
        super().on_headers_complete()
        for piece in held or ():
            super().on_body(piece)

    def _respond(self, status: int, content: bytes, refusal: Refusal | None) -> None:
        self._is_under_way = False
        if self.transport.is_closing():
            return
        head = CREATED if refusal is None else STATUS_LINE[status] + _lines(headers_of(refusal))
        ending = b"connection: close\r\n" if self._is_last else b""
        length = b"content-length: %d\r\n\r\n" % len(content)
        self.transport.write(b"".join((head, self._date(), ending, length, content)))
        self.quiet_s = self.loop.time()
        if self._is_last:
            self.transport.close()

    def _date(self) -> bytes:
        return b"".join([b"%b: %b\r\n" % each for each in self.server_state.default_headers])

    def shutdown(self) -> None:
        if self._is_under_way:
            self._is_last = True
        else:
            super().shutdown()

    # Bounds.

    def overdue(self, now_s: float) -> Refusal | None:
        """Why it should end by now."""
        if self.head_s is not None and now_s - self.head_s > HEAD_S_MAX:
            return Refusal("too-slow", f"the headers did not come within {HEAD_S_MAX:g} s")
        is_answered = self.cycle is not None and self.cycle.response_complete
        if self.message_s is not None and is_answered and now_s - self.message_s > REST_S_MAX:
            return Refusal("too-slow", f"the rest of the request did not come within {REST_S_MAX:g} s")
        return None

    def is_quiet(self, now_s: float) -> bool:
        """Nothing was asked for so long that nobody seems to be there. Behind other answers uvicorn counts the time."""
        return self.quiet_s is not None and now_s - self.quiet_s > KEEP_ALIVE_S

    def send_400_response(self, msg: str) -> None:
        self.refuse(self._refusal or Refusal("bad-request", f"this is no request of HTTP/1.1: {msg}"))

    def refuse(self, refusal: Refusal) -> None:
        """And hang up. Where an answer is under way nothing can be said."""
        if self.transport.is_closing():
            return
        if not self._is_under_way and (self.cycle is None or self.cycle.response_complete):
            body = refusal.encoded()
            headers = {**headers_of(refusal), "Content-Length": str(len(body)), "Connection": "close"}
            self.transport.write(STATUS_LINE[refusal.status] + _lines(headers) + b"\r\n" + body)
        self.transport.close()


def _lines(headers: Mapping[str, str]) -> bytes:
    return "".join([f"{name.lower()}: {value}\r\n" for name, value in headers.items()]).encode()


def too_large() -> Refusal:
    return Refusal("headers-too-large", f"a request has up to {HEADERS_MAX} headers, of {HEAD_BYTES_MAX} bytes in all")
