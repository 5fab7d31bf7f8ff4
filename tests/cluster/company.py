"""A whole cluster of real processes on this machine: started, killed, stopped, and ended with the test.

They are forked by a process that has everything imported, because importing takes longer than most of their lives.
"""

import asyncio
import json
import logging
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from hansard.distributor.command import Found
from hansard.distributor.settings import Settings
from hansard.server.start import Plan, run
from tests.cluster.visitor import Visitor
from tests.server.trio import free_addresses

FORKING: Final = multiprocessing.get_context("forkserver")
FORKING.set_forkserver_preload(["hansard.server.start"])


def participant(plan: Plan, err: Path) -> None:
    """In the new process."""
    descriptor = os.open(err, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(descriptor, sys.stderr.fileno())
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    run(plan)


class Company:
    def __init__(self, directory: Path, names: str = "abc", buckets: int = 4, **settings: Any) -> None:
        self.directory = directory
        self.addresses = dict(zip(names, free_addresses(len(names)), strict=True))
        self.first = names[0]
        self.found = Found(buckets, Settings(**settings), participants=len(names), log="a-log")
        self.running: dict[str, ForkServerProcess] = {}
        self._started: list[ForkServerProcess] = []
        self.target: Callable[[Plan, Path], None] = participant
        """What a new process does."""

    async def __aenter__(self) -> Self:
        try:
            await self.start(*self.addresses)
            await self.settled()
        except BaseException:
            self._end_all()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end_all()
        if error is not None:
            for name in self.addresses:
                sys.stderr.write(f"--- {name}\n{self.log(name)}")

    def _end_all(self) -> None:
        for process in self._started:
            process.kill()
        for process in self._started:
            process.join()

    def add(self, name: str) -> None:
        """Somebody who will be started later."""
        (self.addresses[name],) = free_addresses(1)

    def plan(self, name: str) -> Plan:
        join = tuple([f"{host}:{port}" for other, (host, port) in self.addresses.items() if other != name])
        founds = name == self.first
        where = self.directory / name
        return Plan(
            directory=where,
            node=name,
            listen=self.addresses[name],
            found=self.found if founds else None,
            join=() if founds else join,
        )

    async def start(self, *names: str) -> None:
        for name in names:
            process = FORKING.Process(target=self.target, args=(self.plan(name), self.directory / f"{name}.err"))
            process.start()
            self.running[name] = process
            self._started.append(process)
        for name in names:
            await self.until(lambda name=name: self._answers(name), f"{name} does not start")  # type: ignore[misc]

    async def _answers(self, name: str) -> bool:
        process = self.running[name]
        assert process.is_alive(), f"{name} has ended with {process.exitcode}: {self.log(name)}"
        try:
            async with await self.dial(name):
                return True
        except OSError:
            return False

    def log(self, name: str) -> str:
        path = self.directory / f"{name}.err"
        return path.read_text() if path.exists() else ""

    def kill(self, name: str, number: signal.Signals = signal.SIGKILL) -> int | None:
        process = self.running.pop(name)
        os.kill(process.pid or 0, number)
        process.join(30)
        return process.exitcode

    async def dial(self, name: str) -> Visitor:
        return await Visitor.dial(self.addresses[name])

    # What it says of itself.

    async def ask(self, name: str, /, **question: Any) -> Any:
        async with await self.dial(name) as visitor:
            return await visitor.ask(**question)

    async def settled(self) -> None:
        """Everybody has the same table, and nothing moves."""
        await self.until(self._is_settled, "it does not come to rest")

    async def _is_settled(self) -> bool:
        tables = [await self.ask(name, ask="table") for name in self.running]
        if len({table["version"] for table in tables}) > 1 or not tables[0]["buckets"]:
            return False
        statuses = [await self.ask(name, ask="status") for name in self.running]
        steady = all(bucket["state"] == "steady" for bucket in tables[0]["buckets"])
        return steady and not any(status["thinned"] for status in statuses)

    async def order(self, name: str, id: str, **wish: Any) -> None:
        """Until it is done."""
        given = await self.ask(name, ask="order", id=id, wish=wish)
        assert given["standing"] in ("done", "running"), given

        async def done() -> bool:
            status = await self.ask(name, ask="follow", id=id)
            return bool(status["standing"] == "done")

        await self.until(done, f"{json.dumps(wish)} is not done", 60)

    @staticmethod
    async def until(condition: Callable[[], Any], otherwise: str, seconds: float = 30) -> None:
        deadline = asyncio.get_running_loop().time() + seconds
        while not await condition():
            assert asyncio.get_running_loop().time() < deadline, otherwise
            await asyncio.sleep(0.05)
