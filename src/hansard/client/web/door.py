"""Reaching a cluster over HTTP: joining it, and connection numbers."""

from collections.abc import Sequence
from random import Random
from ssl import SSLContext
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from hansard.bookmark import Bookmark
from hansard.client.atlas import Atlas
from hansard.client.errors import NotReachable, NotReadable, ReadError, Refused
from hansard.client.numbering import Numbering
from hansard.client.roster import Backoff
from hansard.client.settings import Settings
from hansard.client.stream import Stream
from hansard.client.submitter import Submitter

from .courier import WebCourier
from .exchange import Exchange, Problem, Request
from .library import WebLibrary

JSON: Final = {"Content-Type": "application/json"}
LANES_MAX: Final = 8
"""Requests that are under way at a time. Each is of the keys whose hashes are the same modulo this. There are so many
buckets at least, so no bucket is in two of them, however often buckets are doubled; and one that is slow holds up its
own lane only."""
ATTEMPTS: Final = 3


class Web:
    """`submitter` and `library` are there once it has joined."""

    def __init__(
        self, addresses: Sequence[str], settings: Settings, random: Random, token: str, tls: SSLContext | None
    ) -> None:
        self._settings = replace(settings, window_batches=1)
        self._random = random
        self._exchange = Exchange(addresses, settings.timeout_s, self._backoff, token, tls)
        self._connections: dict[int, str] = {}
        """What each connection number is called: to a token that is limited to tags its numbers are not told."""
        self._ends: dict[int, int] = {}
        self.submitter: Submitter | None = None
        self.library: WebLibrary | None = None
        self.forbidden = ""
        """Why it may not submit."""
        self.buckets = 0
        self.log_id = ""

    def _backoff(self) -> Backoff:
        return Backoff(self._settings.backoff_min_s, self._settings.backoff_max_s, self._random)

    async def join(self, name: str, *, guarded: bool) -> None:  # noqa: ARG002 (each waits for its own here)
        try:
            is_told = await self._look()
            number, lanes = await self._numbered(name)
        except NotReadable as error:
            raise NotReachable(str(error)) from error
        self.submitter = Submitter(
            Atlas.even(lanes),
            Numbering(number),
            self._settings,
            self._courier,
            None if name else self._new_number,
        )
        self.library = WebLibrary(
            self._exchange, self._settings.timeout_s, self.log_id, self._ends, self._learn, is_marked=not is_told
        )

    async def _look(self) -> bool:
        """At the cluster; False for a token that is not told of it."""
        try:
            answer = await self._ask(Request("GET", "/cluster"), "the cluster")
        except Refused as error:
            if isinstance(error.__cause__, Problem) and error.__cause__.name == "no-token":
                raise NotReachable(error.reason) from error
            return False
        cluster = msgspec.json.decode(answer.body)
        self.log_id, self.buckets = cluster["log"], cluster["buckets"]
        self._exchange.expect(cluster["id"])
        return True

    async def _numbered(self, name: str) -> tuple[int, int]:
        """A connection number, and how many lanes it may have; 0 for who may only read."""
        try:
            number, lanes = await self._connected(name, 0)
        except Refused as error:
            self.forbidden = error.reason
            return 0, 1
        return number, 1 if name else min(LANES_MAX, lanes)  # who numbers its own batches sends them as they are

    def _courier(self, stream: Stream) -> WebCourier:
        return WebCourier(stream, self._exchange, self._backoff(), self._settings, self._connections, self._ends)

    def _learn(self, bookmark: Bookmark) -> None:
        self.buckets = max(self.buckets, len(bookmark.offsets))

    async def close(self) -> None:
        if self.submitter is not None:
            await self.submitter.close()
        if self.library is not None:
            await self.library.close()
        self._exchange.close()

    # Asking.

    async def connect(self, name: str, broken: int) -> int:
        number, _ = await self._connected(name, broken)
        return number

    async def _connected(self, name: str, broken: int) -> tuple[int, int]:
        """A connection number, and how many requests of it may be under way at a time."""
        wanted: dict[str, Any] = {"name": name} if name else {}
        if name and broken:
            wanted["broken"] = self._connections[broken]
        answer = await self._ask(
            Request("POST", "/connections", JSON, msgspec.json.encode(wanted)), "a connection number"
        )
        told = msgspec.json.decode(answer.body)
        text: str = told["connection"]
        number = int(text) if text.isascii() and text.isdigit() else len(self._connections) + 1
        self._connections[number] = text
        return number, told["lanes"]

    async def _ask(self, request: Request, what: str) -> Any:
        timeout_s = self._settings.timeout_s
        try:
            return await self._exchange.ask_anybody(request, what, timeout_s, timeout_s / ATTEMPTS)
        except Problem as problem:
            raise Refused(problem.detail) from problem

    async def _new_number(self) -> int:
        try:
            return await self.connect("", 0)
        except ReadError as error:
            raise NotReachable(str(error)) from error

    async def ask(self, question: dict[str, Any]) -> Any:
        """Operators have the HTTP API itself."""
        what = question.get("ask", "this")
        raise Refused(f"{what!r} is asked over the binary protocol; over HTTP there are /cluster, /table and /orders")
