"""For operators: the questions of a server's admin.py, asked of any of several participants, each in a bounded time.

    async with Operator(["127.0.0.1:7301", "127.0.0.1:7302"]) as operator:
        status = await operator.ask(ask="status")
        await operator.order({"type": "double", "to": 16})

A participant that does not answer is left for the next one. To ask twice does no harm: an order has an id, by which it
is carried out once, and everything else says how things are to be.
"""

import asyncio
import secrets
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from ssl import SSLContext
from types import TracebackType
from typing import Any, Final, Self

import msgspec

from hansard.batch import reopen
from hansard.wire import request as wire
from hansard.wire.codec import Codec
from hansard.wire.errors import WireError
from hansard.wire.frame import FrameReader
from hansard.wire.handshake import Hello, Role, agreed_version, greeting, understood
from hansard.wire.submission import Stored

from .errors import ClientError

TIMEOUT_S: Final = 10.0
DIAL_S_MAX: Final = 3.0
CHUNK_BYTES: Final = 1 << 16
LOOK_S: Final = 0.1


class NobodyAnswers(ClientError):
    """`troubles` says of each address why."""

    def __init__(self, troubles: Mapping[str, str]) -> None:
        super().__init__(dict(troubles))
        self.troubles = dict(troubles)

    def __str__(self) -> str:
        each = ", ".join(f"{address} ({trouble})" for address, trouble in self.troubles.items())
        return f"no participant answers at {each}: give the address of one that runs"


class AskRefused(ClientError):
    """What was asked for cannot be had, and the participant says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return self.reason


class OrderFailed(ClientError):
    """An order that is not carried out, or not by then."""

    def __init__(self, wish: Mapping[str, Any], why: str) -> None:
        super().__init__(dict(wish), why)
        self.wish, self.why = dict(wish), why

    def __str__(self) -> str:
        return f"the order to {self.wish.get('type', 'do something')} is not carried out: {self.why}"


class Line:
    """One connection to one participant; one question at a time."""

    def __init__(self, address: str, hello: Hello, secure: SSLContext | None) -> None:
        self.address = address
        self.hello: Hello | None = None
        """Who answers there, once it has said so."""
        self._mine = hello
        self._secure = secure
        self._frames = FrameReader()
        self._codec: Codec[Any] = Codec(wire.Answer, reopen)
        self._requests: Codec[Any] = Codec(wire.Request, reopen)
        self._ids = count(1)
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def exchange(self, request: Callable[[int], wire.Request]) -> Any:
        """A request of any kind, made for an id, and its answer."""
        if self._writer is None:
            async with asyncio.timeout(DIAL_S_MAX):
                host, _, port = self.address.rpartition(":")
                streams = await asyncio.open_connection(host.strip("[]"), int(port), ssl=self._secure)
                self._reader, self._writer = streams
                self._writer.writelines(greeting(self._mine))
        id = next(self._ids)
        self._writer.writelines(self._requests.encode([request(id)]))
        while True:
            for answer in await self._heard():
                if id in (answer.ids if isinstance(answer, Stored) else [answer.id]):
                    return answer

    async def _heard(self) -> list[Any]:
        assert self._reader is not None
        data = await self._reader.read(CHUNK_BYTES)
        if not data:
            raise ConnectionResetError("it hangs up")
        answers: list[Any] = []
        for frame in self._frames.feed(data):
            if self.hello is None:
                self.hello = understood(frame)
                agreed_version(self._mine, self.hello)
            else:
                answers += self._codec.decode(frame)
        return answers

    def close(self) -> None:
        if self._writer is not None:
            self._writer.transport.abort()
            self._writer = None


class Operator:
    def __init__(
        self, addresses: Sequence[str], *, timeout_s: float = TIMEOUT_S, token: str = "", tls: SSLContext | None = None
    ) -> None:
        if not addresses:
            raise ValueError("an operator needs the address of at least one participant")
        self.addresses = list(addresses)
        self.timeout_s = timeout_s
        self._hello = Hello(Role.CLIENT, token=token)
        self._tls = tls
        self._lines: dict[str, Line] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        for line in self._lines.values():
            line.close()
        self._lines.clear()

    async def ask(self, **question: Any) -> Any:
        """Whoever answers first of the addresses, in their order."""
        troubles: dict[str, str] = {}
        for address in self.addresses:
            try:
                return await self.ask_at(address, **question)
            except NobodyAnswers as nobody:
                troubles |= nobody.troubles
                self.addresses = [*[each for each in self.addresses if each != address], address]
        raise NobodyAnswers(troubles)

    async def ask_at(self, address: str, **question: Any) -> Any:
        """This participant and no other."""
        answer = await self.exchange_at(address, lambda id: wire.Ask(id, msgspec.json.encode(question)))
        if isinstance(answer, wire.Told):
            return msgspec.json.decode(answer.answer)
        raise AskRefused(answer.reason if isinstance(answer, wire.Refused) else f"it says {answer}")

    async def exchange_at(self, address: str, request: Callable[[int], wire.Request]) -> Any:
        """A request of any kind, made for an id, and its answer from this participant."""
        line = self._lines.get(address)
        if line is None:
            line = self._lines[address] = Line(address, self._hello, self._tls)
        is_over = False
        try:
            async with asyncio.timeout(self.timeout_s):
                answer = await line.exchange(request)
            is_over = True
        except (OSError, WireError, ValueError) as error:  # a TimeoutError is an OSError
            raise NobodyAnswers({address: _named(error)}) from error
        finally:
            if not is_over:  # whoever asks next must not get this one's answer
                self._drop(line)
        return answer

    def _drop(self, line: Line) -> None:
        line.close()
        self._lines.pop(line.address, None)

    async def everybody(self, **question: Any) -> dict[str, Any]:
        """The answer of each participant that takes part, by its address; where there is none, what was raised."""
        status = await self.ask(ask="status")
        addresses = [known["address"] for known in status["participants"]]
        asked = [self.ask_at(address, **question) for address in addresses]
        answers = await asyncio.gather(*asked, return_exceptions=True)
        for answer in answers:
            if isinstance(answer, BaseException) and not isinstance(answer, ClientError):
                raise answer
        return dict(zip(addresses, answers, strict=True))

    async def order(
        self,
        wish: Mapping[str, Any],
        *,
        id: str = "",
        wait_s: float | None = None,
        look_s: float = LOOK_S,
        looked: Callable[[int], None] | None = None,
    ) -> dict[str, Any]:
        """What has become of it, when it is done; or after so long, with what is left of it. Raises OrderFailed where
        it is refused. `looked` is told now and then how many buckets are to go."""
        id = id or f"{wish['type']}-{secrets.token_hex(6)}"
        answer: dict[str, Any] = await self.ask(ask="order", id=id, wish=wish)
        loop = asyncio.get_running_loop()
        deadline_s = None if wait_s is None else loop.time() + wait_s
        while answer["standing"] == "running" and (deadline_s is None or loop.time() < deadline_s):
            await asyncio.sleep(look_s)
            try:
                answer = await self.ask(ask="follow", id=id)
            except AskRefused:  # another participant, which has not heard of it yet
                answer = await self.ask(ask="order", id=id, wish=wish)
            if looked is not None:
                looked(answer["remaining"])
        if answer["standing"] not in ("done", "running"):
            raise OrderFailed(wish, answer["remark"] or answer["standing"])
        return {"id": id, **answer}


def _named(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "nothing comes from there"
    if isinstance(error, ConnectionRefusedError):
        return "nobody listens there"
    return str(error) or type(error).__name__
