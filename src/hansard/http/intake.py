"""Bodies as they come in: bounded in size, in time, and in how much of them is held at once for everybody together."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any, Final

from .problem import Refusal

BODY_BYTES_MAX: Final = 16 << 20
"""As much as a batch may have."""
ALL_BYTES_MAX: Final = 256 << 20
"""Of all bodies that are held at a time; whoever comes then is told to come again."""
BODY_S_MAX: Final = 30.0

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]


class Gone(Exception):
    """Whoever sent it went away in the middle."""


class Body:
    """One that comes in, piece by piece."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.length = 0


class Intake:
    def __init__(
        self,
        body_bytes_max: int = BODY_BYTES_MAX,
        all_bytes_max: int = ALL_BYTES_MAX,
        body_s_max: float = BODY_S_MAX,
    ) -> None:
        self._body_bytes_max = body_bytes_max
        self._all_bytes_max = all_bytes_max
        self._body_s_max = body_s_max
        self.held_bytes = 0

    @asynccontextmanager
    async def body(self, receive: Receive, headers: dict[bytes, bytes]) -> AsyncIterator[bytes]:
        """All of it. It counts as held until the context ends."""
        declared = headers.get(b"content-length", b"")
        if declared.isdigit() and int(declared[:18]) > self._body_bytes_max:
            raise self._too_large()
        body = Body()
        try:
            message = await self._first(receive)
            self._take(body, message)
            if message.get("more_body"):
                await self._take_the_rest(body, receive)
            yield body.pieces[0] if len(body.pieces) == 1 else b"".join(body.pieces)
        finally:
            self.held_bytes -= body.length

    async def _first(self, receive: Receive) -> MutableMapping[str, Any]:
        """Of most requests it is all, and is there with the headers."""
        waiting = receive()
        return await self._in_time(waiting)

    async def _in_time(self, waiting: Awaitable[MutableMapping[str, Any]]) -> MutableMapping[str, Any]:
        try:
            async with asyncio.timeout(self._body_s_max):
                return await waiting
        except TimeoutError:
            detail = f"the body did not come within {self._body_s_max:g} s"
            raise Refusal("too-slow", detail, stored="no") from None

    async def _take_the_rest(self, body: Body, receive: Receive) -> None:
        async def all_of_it() -> MutableMapping[str, Any]:
            while True:
                message = await receive()
                self._take(body, message)
                if not message.get("more_body"):
                    return message

        await self._in_time(all_of_it())

    def _take(self, body: Body, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.disconnect":
            raise Gone
        piece = message.get("body", b"")
        body.length += len(piece)
        self.held_bytes += len(piece)
        if body.length > self._body_bytes_max:
            raise self._too_large()
        if self.held_bytes > self._all_bytes_max:
            raise _busy()
        if piece:
            body.pieces.append(bytes(piece))

    def check(self, length: int) -> None:
        """Refuses a body that is there as a whole, where there is no room for it."""
        if self.held_bytes + length > self._all_bytes_max:
            raise _busy()

    def _too_large(self) -> Refusal:
        return Refusal("too-large", f"a body has {self._body_bytes_max} bytes at the most", stored="no")


def _busy() -> Refusal:
    return Refusal("busy", "too much is being sent to this participant", stored="no")
