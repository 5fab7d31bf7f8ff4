"""One whole participant that needs tokens, in the test's own loop, and the ways in to it."""

import asyncio
import io
from collections.abc import Callable
from contextlib import ExitStack, redirect_stdout
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from hansard.distributor.command import Found
from hansard.distributor.settings import Settings
from hansard.distributor.tokens import Tokens
from hansard.server.access import Access
from hansard.server.grant import NOT_ALLOWED
from hansard.server.start import Plan, Process
from hansard.server.tls import Files
from hansard.wire import request as wire
from hansard.wire import submission
from tests.cluster.command import TOKEN
from tests.cluster.visitor import Visitor

from .papers import trusting
from .trio import free_addresses

FOUND: Final = Found(1, Settings(replication=1), log="a-log", open=False)


class Guarded:
    def __init__(self, directory: Path, tls: Files | None = None) -> None:
        self.directory = directory
        (self.address,) = free_addresses(1)
        self._tls = tls
        self._stack = ExitStack()
        self.out = io.StringIO()
        self._process = Process(
            Plan(directory=directory / "guarded", node="a", listen=self.address, found=FOUND, tls=tls)
        )
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._stack.enter_context(redirect_stdout(self.out))
        self._task = asyncio.create_task(self._process.serve())
        while "ready\n" not in self.out.getvalue():
            assert not self._task.done(), self._task.exception()
            await asyncio.sleep(0.01)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._task is not None
        self._process._ended(None)
        await self._task
        self._stack.close()

    @property
    def admin(self) -> str:
        """The first token, as it was written."""
        (line,) = [line for line in self.out.getvalue().splitlines() if line.startswith(TOKEN)]
        return line.removeprefix(TOKEN)

    async def dial(self, token: str = "", certificate: str = "") -> Visitor:
        secure = trusting(self._tls.authority.parent, certificate) if self._tls is not None else None
        return await Visitor.dial(self.address, secure, token)

    async def ask(self, **question: Any) -> Any:
        """By the administrator."""
        async with await self.dial(self.admin) as visitor:
            return await visitor.ask(**question)

    async def until(self, condition: Callable[[Any], bool]) -> None:
        """Of its status. The test's own deadline bounds it."""
        while not condition(await self.ask(ask="status")):  # noqa: ASYNC110 (it is asked again and again)
            await asyncio.sleep(0.01)

    @property
    def access(self) -> Access:
        assert self._process.access is not None
        return self._process.access

    @property
    def tokens(self) -> Tokens:
        return self.access._core().distributor.tokens

    async def grant(self, name: str, *scopes: str, **more: Any) -> str:
        told = await self.ask(ask="grant", name=name, scopes=scopes, **more)
        assert told["name"] == name
        return str(told["token"])


def is_refused(answer: Any) -> bool:
    """With the one reason that says nothing."""
    return isinstance(answer, wire.Refused | submission.Invalid) and answer.reason == NOT_ALLOWED
