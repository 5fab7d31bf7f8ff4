"""One whole participant in the test's own loop, alone in its cluster, and clients that speak to it as they like."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from hansard.batch import build
from hansard.distributor.command import Found
from hansard.distributor.settings import Settings
from hansard.server.start import Plan, Process
from hansard.wire import submission
from tests.cluster.visitor import Visitor

from .trio import free_addresses


class Solo:
    def __init__(self, directory: Path, buckets: int = 1) -> None:
        (self.address,) = free_addresses(1)
        found = Found(buckets, Settings(replication=1), log="a-log")
        plan = Plan(directory=directory / "solo", node="a", listen=self.address, found=found)
        self._process = Process(plan)
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._process.serve())
        while not await self._is_ready():
            assert not self._task.done(), self._task.exception()
            await asyncio.sleep(0.02)
        return self

    async def _is_ready(self) -> bool:
        try:
            table = await self.ask("table")
        except OSError:
            return False
        return bool(table["buckets"]) and all(bucket["state"] == "steady" for bucket in table["buckets"])

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._task is not None
        self._process._ended(None)
        await self._task

    async def dial(self) -> Visitor:
        return await Visitor.dial(self.address)

    async def ask(self, what: str = "status") -> Any:
        async with await self.dial() as visitor:
            return await visitor.ask(ask=what)

    async def until(self, condition: Callable[[Any], bool]) -> None:
        """Of its status. The test's own deadline bounds it."""
        while not condition(await self.ask()):  # noqa: ASYNC110 (it is asked again and again)
            await asyncio.sleep(0.02)

    async def works(self) -> None:
        """For somebody else."""
        async with await self.dial() as visitor:
            assert isinstance(await visitor.submit(0, build(["k"], ["v"]), 1), submission.Stored)

    async def fill(self, megabytes: int) -> None:
        async with await self.dial() as visitor:
            for _ in range(megabytes):
                assert isinstance(await visitor.submit(0, build(["k"], [bytes(1 << 20)]), 1), submission.Stored)
