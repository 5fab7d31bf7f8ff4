"""What the demo shows, scene by scene. Each says what it does, and what came of it in numbers."""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec
from rich.console import Console

from hansard.cli.local import LocalCluster
from hansard.cli.output import change_lines
from hansard.client import AsyncClient, Change
from hansard.client.errors import ClientError
from hansard.client.operator import Operator

from . import pipeline as spark
from .audit import Audit, Broken, Watch
from .tenants import TENANTS, Tenant

BUCKETS: Final = 8
SHOWN: Final = 4
PATIENCE_S: Final = 60.0
FOLLOWED: Final = "acme"


class Tour:
    def __init__(self, console: Console, directory: Path, port: int | None, scene_s: float = 3.0) -> None:
        self._console = console
        self.cluster = LocalCluster(directory, buckets=BUCKETS)
        self._port = port
        self._scene_s = scene_s
        """How long one looks on."""
        self._tenants: list[Tenant] = []
        self._latest: deque[Change] = deque(maxlen=SHOWN)
        self._directory = directory
        self.report: Path | None = None
        """A page to open, if there is one."""

    def _say(self, text: str) -> None:
        self._console.print(text, soft_wrap=True)

    async def run(self, *, pipeline: bool = True) -> None:
        """Raises Broken if a promise was not kept; in a group, if it was seen while it happened."""
        await self._start()
        self._tenants = [Tenant(name, list(self.cluster.addresses), Audit()) for name in TENANTS]
        followed = next(tenant for tenant in self._tenants if tenant.name == FOLLOWED)
        watch = Watch(followed.audit, "who follows")
        async with asyncio.TaskGroup() as group:
            working = [group.create_task(tenant.run()) for tenant in self._tenants]
            following = group.create_task(self._follow(watch))
            await self._submit(watch)
            await self._kill()
            await self._replace()
            await self._double()
            for tenant in self._tenants:
                tenant.going = False
            await asyncio.wait(working)
            await self._until(
                lambda: _said(not watch.behind() and not watch.missing()), "who follows does not catch up"
            )
            following.cancel()
        await self._check(watch)
        if pipeline:
            await self._analyse()

    # The scenes.

    async def _start(self) -> None:
        self._say("[bold]1. Three participants, each a process of its own, found a cluster.[/bold]")
        began_s = time.monotonic()
        await asyncio.to_thread(self.cluster.start, 3, self._port)
        await self._until(self._is_whole, "the cluster does not come to rest")
        for child in self.cluster.children.values():
            self._say(f"   {child.name}  {child.address}")
        self._say(f"   {BUCKETS} buckets, three copies of each, after {time.monotonic() - began_s:.1f} s.")

    async def _submit(self, watch: Watch) -> None:
        self._say("[bold]2. Three tenants submit changes, and somebody follows one of them by its tag.[/bold]")
        began_s, before = time.monotonic(), self._acknowledged
        await asyncio.sleep(self._scene_s)
        rate = (self._acknowledged - before) / (time.monotonic() - began_s)
        self._say(f"   {self._acknowledged:,} acknowledged, {rate:,.0f} a second: each is on three disks.")
        self._say(f"   {watch.count:,} tagged tenant:{FOLLOWED} have come to who follows, the last ones:")
        width = self._console.width if self._console.is_terminal else None
        for line in change_lines(list(self._latest), width, indent="     "):
            self._console.print(line, markup=False, soft_wrap=True)

    async def _kill(self) -> None:
        victim = await self._busiest()
        self._say(f"[bold]3. Participant {victim} is killed (SIGKILL), in the middle of it.[/bold]")
        for tenant in self._tenants:
            tenant.longest_s = 0.0
        before = self._acknowledged
        await asyncio.to_thread(self.cluster.kill, victim)
        await self._until(self._goes_on(before), "nobody is answered any more")
        await asyncio.sleep(self._scene_s)
        longest = max(tenant.longest_s for tenant in self._tenants)
        self._say(f"   The others go on: {self._acknowledged - before:,} more acknowledged since.")
        self._say(f"   The longest that a tenant waited for a receipt: {1000 * longest:,.0f} ms.")

    async def _replace(self) -> None:
        self._say("[bold]4. A spare is started, and takes the place of the dead one.[/bold]")
        began_s = time.monotonic()
        name = await asyncio.to_thread(self.cluster.add)
        await self._until(self._is_whole, "copies are missing still")
        took_s = time.monotonic() - began_s
        self._say(f"   {name} has everything, and all buckets have three copies again, after {took_s:.1f} s.")

    async def _double(self) -> None:
        self._say("[bold]5. Every bucket is split in two, while everybody goes on.[/bold]")
        began_s, before = time.monotonic(), self._acknowledged
        async with self._operator() as operator:
            await operator.order({"type": "double", "to": 2 * BUCKETS}, wait_s=PATIENCE_S)
        took_s = time.monotonic() - began_s
        self._say(f"   {2 * BUCKETS} buckets after {took_s:.1f} s; {self._acknowledged - before:,} changes meanwhile.")
        await asyncio.sleep(self._scene_s / 2)

    async def _check(self, followed: Watch) -> None:
        self._say("[bold]6. The whole log is read, and compared with the receipts.[/bold]")
        watches = {tenant.name: Watch(tenant.audit, "the log") for tenant in self._tenants}
        began_s = time.monotonic()
        async with await AsyncClient.connect(self.cluster.addresses) as client:
            async for change in client.read():
                key = (change.key or b"").decode()
                watches[key.partition("/")[0]].see(key, _number(change))
        missing = [lost for watch in watches.values() for lost in watch.missing()]
        found, doubtful = sum(watch.count for watch in watches.values()), sum(each.doubtful for each in self._tenants)
        self._say(f"   acknowledged {self._acknowledged:>9,}")
        self._say(f"   found        {found:>9,}   in {time.monotonic() - began_s:.1f} s")
        if missing:
            raise Broken(f"{len(missing):,} acknowledged changes are missing, {missing[0]} first")
        self._say("   [green]Nothing is lost, nothing doubled, nothing reordered[/green], through a kill and a split;")
        self._say(f"   who followed has seen each of {followed.count:,} changes once.")
        if doubtful:
            self._say(
                f"   ({doubtful} submissions were given up, and may be there or not: nobody was told that they are.)"
            )

    async def _analyse(self) -> None:
        self._say("[bold]7. A pipeline on Spark: an archive, checkpoints to start from, and a report.[/bold]")
        addresses = [child.address for child in self.cluster.children.values() if child.runs]
        self.report = await asyncio.to_thread(spark.shown, self._say, addresses, self._directory)

    # What they are made of.

    @property
    def _acknowledged(self) -> int:
        return sum(tenant.audit.count for tenant in self._tenants)

    async def _follow(self, watch: Watch) -> None:
        async with await AsyncClient.connect(self.cluster.addresses) as client:
            async for change in client.follow(tags=[f"tenant:{FOLLOWED}"]):
                watch.see((change.key or b"").decode(), _number(change))
                self._latest.append(change)

    async def _busiest(self) -> str:
        """Who leads most: its loss is felt."""
        async with self._operator() as operator:
            leaders: list[str] = [bucket["leader"] for bucket in (await operator.ask(ask="table"))["buckets"]]
        return max(sorted(set(leaders)), key=leaders.count)

    def _operator(self) -> Operator:
        return Operator([child.address for child in self.cluster.children.values() if child.runs])

    async def _is_whole(self) -> bool:
        async with self._operator() as operator:
            with suppress(ClientError):
                status = await operator.ask(ask="status")
                running = sum(child.runs for child in self.cluster.children.values())
                there = len(status["participants"]) == running
                return there and status["states"] == {"steady": status["buckets"]} and not status["thinned"]
        return False

    def _goes_on(self, before: int) -> Callable[[], Awaitable[bool]]:
        return lambda: _said(self._acknowledged > before)

    @staticmethod
    async def _until(condition: Callable[[], Awaitable[bool]], otherwise: str) -> None:
        deadline_s = time.monotonic() + PATIENCE_S
        while not await condition():
            if time.monotonic() > deadline_s:
                raise Broken(f"{otherwise} after {PATIENCE_S:g} s")
            await asyncio.sleep(0.02)


async def _said(answer: bool) -> bool:
    return answer


def _number(change: Change) -> int:
    value: dict[str, Any] = msgspec.json.decode(change.value or b"{}")
    return int(value["n"])
