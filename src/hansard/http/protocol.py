"""One connection of HTTP/1.1: uvicorn's, with the bounds that it leaves to a proxy, which nobody need have.

Headers have a size and a time; so have bodies that nobody wants. Whatever is wrong is answered as a problem. One
request is answered at a time, and who sends the next one before it has its answer is sent away: nothing else would
bound how many are held here, and who waits or follows would not be known to be gone.
"""

import asyncio
from typing import Any, Final

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from .problem import MEDIA_TYPE, Refusal

HEAD_BYTES_MAX: Final = 128 << 10
"""Of the request's line and headers together: the bookmark of a large cluster is long."""
HEADERS_MAX: Final = 100
TRAILER_BYTES_MAX: Final = 4 << 10
"""Of what comes behind the last piece of a body in chunks: headers that nobody looks at."""
HEAD_S_MAX: Final = 10.0
"""From the first byte, or from the connection, to the end of the headers."""
REST_S_MAX: Final = 30.0
"""For a body that is still coming though it is answered already."""


class Protocol(HttpToolsProtocol):
    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
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
        super().data_received(data)
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
        super().on_body(body)

    def on_headers_complete(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self._refusal = Refusal("bad-request", "the request before this one is not answered yet")
            raise ValueError("pipelined")
        head_bytes = len(self.url) + sum([len(name) + len(value) for name, value in self.headers])
        if head_bytes > HEAD_BYTES_MAX or len(self.headers) > HEADERS_MAX:
            self._refusal = too_large()
            raise ValueError("the headers are too large")
        self.head_s = None
        self._head_bytes = self._bodyless_bytes = 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self.message_s = None
        super().on_message_complete()

    # Bounds.

    def overdue(self, now_s: float) -> Refusal | None:
        """Why it should end by now."""
        if self.head_s is not None and now_s - self.head_s > HEAD_S_MAX:
            return Refusal("too-slow", f"the headers did not come within {HEAD_S_MAX:g} s")
        is_answered = self.cycle is not None and self.cycle.response_complete
        if self.message_s is not None and is_answered and now_s - self.message_s > REST_S_MAX:
            return Refusal("too-slow", f"the rest of the request did not come within {REST_S_MAX:g} s")
        return None

    def send_400_response(self, msg: str) -> None:
        self.refuse(self._refusal or Refusal("bad-request", f"this is no request of HTTP/1.1: {msg}"))

    def refuse(self, refusal: Refusal) -> None:
        """And hang up. Where an answer is under way nothing can be said."""
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete:
            body = refusal.encoded()
            head = f"content-type: {MEDIA_TYPE}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
            self.transport.write(STATUS_LINE[refusal.status] + head.encode() + body)
        self.transport.close()


def too_large() -> Refusal:
    return Refusal("headers-too-large", f"a request has up to {HEADERS_MAX} headers, of {HEAD_BYTES_MAX} bytes in all")
