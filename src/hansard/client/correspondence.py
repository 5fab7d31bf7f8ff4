"""Questions and answers: one request to one participant, or to anybody until somebody has an answer."""

import asyncio
from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec

from hansard.wire.errors import WireError
from hansard.wire.request import Answer, Ask, Connect, Connected, Refused, Request, Table, Tabled, Told

from . import errors
from .atlas import Atlas
from .link import Link
from .numbering import Tally
from .roster import Backoff
from .switchboard import Switchboard

Wanted = TypeVar("Wanted", bound=Answer)

GRACE_S: Final = 1.0
"""For an answer to come back, beyond the time for which it may be waited for there."""
ATTEMPTS: Final = 3
"""Somebody who does not answer gets this part of the time."""


class Question:
    """Rides on a link until it is answered."""

    def __init__(self) -> None:
        self.answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

    def answered(self, link: Link, answers: list[Answer]) -> None:  # noqa: ARG002 (it rides on one only)
        if not self.answer.done():
            self.answer.set_result(answers[0])

    def lost(self, link: Link) -> None:  # noqa: ARG002 (the same)
        if not self.answer.done():
            self.answer.set_exception(ConnectionResetError("the other side hung up"))

    def writable(self) -> None:
        pass


class Correspondence:
    def __init__(self, atlas: Atlas, switchboard: Switchboard, backoffs: Callable[[], Backoff]) -> None:
        self._atlas = atlas
        self._switchboard = switchboard
        self._backoffs = backoffs
        self._tally = Tally()
        self._turn = 0
        """Counts on, so that not everything is asked of the same participant."""

    async def ask(self, address: str, request: Callable[[int], Request], timeout_s: float) -> Answer:
        """Of this participant; OSError or WireError where there is no answer."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        async with asyncio.timeout_at(deadline):
            link = await self._switchboard.reach(address)
        began, question = loop.time(), Question()
        link.join(question)
        try:
            link.send([request(next(self._tally.ids))], question)
            async with asyncio.timeout_at(deadline):
                return await question.answer
        except TimeoutError:
            if link.heard < began:  # not a word about anything: nobody else is to wait for it
                link.drop()
            raise
        finally:
            link.part(question)

    async def ask_anybody(
        self, request: Callable[[int], Request], kind: type[Wanted], what: str, timeout_s: float, attempt_s: float
    ) -> Wanted:
        """One after the other, until one answers with what is wanted, or all have refused it: some may not have heard
        yet what makes it possible."""
        loop, backoff = asyncio.get_running_loop(), self._backoffs()
        deadline, problem = loop.time() + timeout_s, "nobody answered"
        refused: set[str] = set()
        while (left_s := deadline - loop.time()) > 0:
            addresses = self._atlas.everybody()
            address = addresses[self._turn % len(addresses)]
            self._turn += 1
            try:
                answer = await self.ask(address, request, min(left_s, attempt_s))
            except (OSError, WireError, UnicodeError) as error:
                problem = f"{address}: {str(error) or type(error).__name__}"
            else:
                if isinstance(answer, kind):
                    return answer
                problem = f"{address}: {type(answer).__name__}"
                if isinstance(answer, Refused):
                    refused.add(address)
                    if refused.issuperset(addresses):
                        raise errors.Refused(answer.reason)
            if self._turn % len(addresses) == 0:
                await asyncio.sleep(min(backoff.next_s(), max(0.0, deadline - loop.time())))
        raise errors.NotReadable(what, problem)

    async def table(self, timeout_s: float, attempt_s: float) -> Tabled:
        """One with buckets in it: a cluster that is being founded has none yet."""
        loop, backoff = asyncio.get_running_loop(), self._backoffs()
        deadline = loop.time() + timeout_s
        while True:
            left_s = max(deadline - loop.time(), 0.001)
            found = await self.ask_anybody(Table, Tabled, "the table of buckets", left_s, attempt_s)
            if found.buckets:
                return found
            if loop.time() >= deadline:
                raise errors.NotReadable("the table of buckets", "the cluster has no buckets yet")
            await asyncio.sleep(backoff.next_s())

    async def connect(self, name: str, broken: int, timeout_s: float) -> int:
        """A connection number."""
        attempt_s = timeout_s / ATTEMPTS
        wait_us = max(1, int(attempt_s * 1_000_000))
        loop, backoff = asyncio.get_running_loop(), self._backoffs()
        deadline = loop.time() + timeout_s
        while True:
            left_s = max(deadline - loop.time(), 0.001)
            connected = await self.ask_anybody(
                lambda id: Connect(id, wait_us, name, broken),
                Connected,
                "a connection number",
                left_s,
                attempt_s + GRACE_S,
            )
            if connected.connection:
                return connected.connection
            if loop.time() >= deadline:
                raise errors.NotReadable("a connection number", "there was none to be had")
            await asyncio.sleep(backoff.next_s())

    async def question(self, question: dict[str, Any], timeout_s: float) -> Any:
        """Of an operator (server/admin.py), in JSON; what is told."""
        content = msgspec.json.encode(question)
        told = await self.ask_anybody(lambda id: Ask(id, content), Told, "an answer", timeout_s, timeout_s / ATTEMPTS)
        return msgspec.json.decode(told.answer)
