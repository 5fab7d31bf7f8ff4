"""Asks over HTTP: one participant, or anybody until somebody answers. Lines are kept open while they are of use.

All who ask go to the same participant as long as it answers, so that whoever has stored something there reads it there.
"""

import asyncio
import ssl
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from ssl import SSLContext
from typing import Final, NamedTuple

from hansard.client import errors
from hansard.client.roster import Backoff

from .address import Origin, origin_of, proxy_of
from .form import Problem, problem_of
from .line import Answer, Line, dial

CONNECT_S_MAX: Final = 3.0
"""For one address to accept, if the timeout is not shorter: then the next one is tried."""
IDLE_S_MAX: Final = 50.0
"""Participants, and many a proxy, close what has been silent for a minute."""
RETRY_S_MAX: Final = 30.0


class NotSent(OSError):
    """Nobody could be reached, so nothing was sent."""


class Request(NamedTuple):
    method: str
    path: str
    """And query, as it is sent."""
    headers: Mapping[str, str] = {}
    body: bytes = b""


class Exchange:
    """`cluster`, once it is known, is said with each request: another one that answers at one of the addresses refuses
    it."""

    def __init__(
        self,
        addresses: Sequence[str],
        timeout_s: float,
        backoffs: Callable[[], Backoff],
        token: str,
        tls: SSLContext | None,
    ) -> None:
        self.origins = list(dict.fromkeys(origin_of(address) for address in addresses))
        self._connect_s = min(CONNECT_S_MAX, timeout_s)
        self._backoffs = backoffs
        self._proxies = {origin: proxy_of(origin) for origin in self.origins}
        self._tls = {origin: _secured(origin, tls) for origin in self.origins}
        self._headers = {"User-Agent": f"hansard/{version('hansard')}"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._idle: dict[Origin, list[Line]] = {origin: [] for origin in self.origins}
        self._busy: set[Line] = set()
        self._turn = 0
        self._is_closed = False

    def expect(self, cluster: str) -> None:
        self._headers["Hansard-Cluster"] = cluster

    def close(self) -> None:
        self._is_closed = True
        for line in (*self._busy, *[line for lines in self._idle.values() for line in lines]):
            line.drop()

    # Where.

    @property
    def origin(self) -> Origin:
        return self.origins[self._turn % len(self.origins)]

    def leave(self, origin: Origin) -> None:
        """It does not answer, or cannot: whoever asks next asks the next one."""
        if self.origin == origin:
            self._turn += 1

    # Asking one.

    async def ask(self, origin: Origin, request: Request, timeout_s: float) -> Answer:
        """NotSent, OSError or TimeoutError where there is no answer."""
        line = await self._line(origin)
        self._busy.add(line)
        is_done = False
        try:
            async with asyncio.timeout(timeout_s):
                answer = await line.ask(self._head(origin, request), request.body)
            is_done = True
        finally:
            self._busy.discard(line)
            if is_done and not line.is_lost and not self._is_closed:
                self._idle[origin].append(line)
            else:
                line.drop()
        return answer

    async def _line(self, origin: Origin) -> Line:
        if self._is_closed:
            raise errors.ClientClosed
        idle, now = self._idle[origin], asyncio.get_running_loop().time()
        while idle:
            line = idle.pop()
            if not line.is_lost and now - line.heard_s < IDLE_S_MAX:
                return line
            line.drop()
        try:
            async with asyncio.timeout(self._connect_s):
                return await dial(origin, self._proxies[origin], self._tls[origin])
        except (OSError, UnicodeError) as error:
            raise NotSent(f"{origin}: {str(error) or type(error).__name__}") from error

    def _head(self, origin: Origin, request: Request) -> bytes:
        target = f"{origin.prefix}{request.path}"
        headers = {"Host": origin.authority, **self._headers, **request.headers}
        proxy = self._proxies[origin]
        if proxy is not None and not origin.is_secure:
            target = f"http://{origin.authority}{target}"
            if proxy.authorization:
                headers["Proxy-Authorization"] = proxy.authorization
        if request.body or request.method in {"POST", "PUT"}:
            headers["Content-Length"] = str(len(request.body))
        lines = [f"{request.method} {target} HTTP/1.1", *[f"{name}: {value}" for name, value in headers.items()]]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    # Asking anybody.

    async def ask_anybody(
        self, request: Request, what: str, timeout_s: float, attempt_s: float | None = None
    ) -> Answer:
        """An answer that is none of a problem's. Raises Problem where it is one that no other participant would
        help with, Refused where none lets us, and NotReadable when time is over."""
        loop, backoff = asyncio.get_running_loop(), self._backoffs()
        deadline, trouble = loop.time() + timeout_s, "nobody answered"
        refused: set[Origin] = set()
        tried = 0
        while (left_s := deadline - loop.time()) > 0:
            origin, pause_s = self.origin, 0.0
            tried += 1
            try:
                answer = await self.ask(origin, request, min(left_s, attempt_s or left_s))
            except OSError as error:  # a timeout is one
                trouble = str(error) or f"{origin}: {type(error).__name__}"
                self.leave(origin)
            else:
                if answer.status < 300:
                    return answer
                problem = problem_of(answer)
                trouble = f"{origin}: {problem}"
                if problem.is_final:
                    raise problem
                if problem.forbids:
                    refused.add(origin)
                    if refused.issuperset(self.origins):
                        raise errors.Refused(problem.detail) from problem
                if problem.name == "too-many":
                    pause_s = retry_s(answer)
                else:
                    self.leave(origin)
            if tried % len(self.origins) == 0 or pause_s:
                await asyncio.sleep(min(max(pause_s, backoff.next_s()), max(0.0, deadline - loop.time())))
        raise errors.NotReadable(what, trouble)


def retry_s(answer: Answer) -> float:
    """How long to wait before one comes again, as it was told."""
    text = answer.headers.get("retry-after", "")
    return min(float(text), RETRY_S_MAX) if text.isascii() and text.isdigit() else 0.0


def _secured(origin: Origin, tls: SSLContext | None) -> SSLContext | None:
    """Whoever names no authority trusts those that this machine trusts."""
    if not origin.is_secure:
        if tls is not None:
            raise ValueError(f"{origin} is not secured: write https://, or leave `tls` out")
        return None
    return tls or ssl.create_default_context()


__all__ = ["Exchange", "NotSent", "Problem", "Request", "retry_s"]
