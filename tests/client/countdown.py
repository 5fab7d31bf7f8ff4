"""A program that counts up in each of its keys through a client, whatever happens, and what it must find in the end.

Several changes of the same key may be on their way at once, so that order has to be kept by the client and the cluster.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from hansard.client import AsyncClient, Change, Receipt
from tests.cluster.company import Company
from tests.server.trio import free_addresses

Result = TypeVar("Result")


def addresses(company: Company, names: Iterable[str] | None = None) -> list[str]:
    return [f"{host}:{port}" for host, port in (company.addresses[name] for name in names or company.addresses)]


class Counting:
    """Several writers, each with keys of its own, that never wait for one change before they submit the next one."""

    def __init__(self, client: AsyncClient, name: str = "k", keys: int = 12, flight: int = 30) -> None:
        self._client = client
        self._keys = [f"{name} {number}" for number in range(keys)]
        self._flight = asyncio.Semaphore(flight)
        self._numbers = {key: count() for key in self._keys}
        self.receipts: dict[tuple[str, int], Receipt] = {}
        self.stop = False

    async def run(self, changes: int | None = None) -> None:
        """So many of each key, or until it is told to stop."""
        async with asyncio.TaskGroup() as group:
            for _ in range(changes) if changes is not None else count():
                if self.stop:
                    return
                for key in self._keys:
                    await self._flight.acquire()
                    group.create_task(self._submit(key, next(self._numbers[key])))
                await asyncio.sleep(0)

    async def _submit(self, key: str, number: int) -> None:
        try:
            self.receipts[key, number] = await self._client.submit(key, number, [key, "counted"])
        finally:
            self._flight.release()

    def check(self, changes: Iterable[Change]) -> None:
        """All that was acknowledged is there, once, in the order of its key, at the place of its receipt."""
        found: dict[str, list[int]] = {key: [] for key in self._keys}
        for change in changes:
            assert change.key is not None
            key, number = change.key.decode(), change.json()
            if key not in found:
                continue
            found[key].append(number)
            receipt = self.receipts[key, number]
            assert receipt.offset in (None, change.offset), (change, receipt)
        for key, numbers in found.items():
            assert numbers == list(range(len(numbers))), f"lost, doubled or out of order: {key} {numbers}"
        assert sum(map(len, found.values())) == len(self.receipts), "something acknowledged is not there"


def grown(counting: Counting, by: int = 200) -> Callable[[], Awaitable[bool]]:
    """So much more is stored than now."""
    goal = len(counting.receipts) + by

    async def has_grown() -> bool:
        return len(counting.receipts) >= goal

    return has_grown


class Background:
    """A cluster for a test that has no loop of its own."""

    def __init__(self, directory: Path) -> None:
        self._company = Company(directory, "abc", 4)
        self._company.doors = dict(zip("abc", free_addresses(3), strict=True))
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)

    def __enter__(self) -> Company:
        self._thread.start()
        return self._run(self._company.__aenter__())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._run(self._company.__aexit__(kind, error, trace))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)
