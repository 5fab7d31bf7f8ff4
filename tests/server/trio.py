"""Three participants in one loop: real nodes, sockets and directories, and a door on each way between two of them."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import uvloop
from msgspec.structs import replace

from bench.processes import free_ports
from hansard.batch import Batch, Flag
from hansard.phaser import Phaser, Settings
from hansard.phaser.effect import Achievement, Report
from hansard.phaser.event import Accepted, Appointed
from hansard.phaser.government import Government, Shape
from hansard.server.disk import open_directory, recovered
from hansard.server.node import Node
from hansard.storage.disk import RealDisk
from hansard.storage.identity import Identity
from hansard.storage.store import Store, open_store
from sim.disk import SimDisk

from .caller import A_CLIENT, Caller
from .door import Door

TIMEOUT_S: Final = 30.0
"""For what must happen: a test that waits so long has failed."""
NEVER_US: Final = 3_600_000_000
CLUSTER: Final = "trio"
NAMES: Final = ("a", "b", "c")
LEADER: Final = "a"
LOOPS: Final = (asyncio.new_event_loop, uvloop.new_event_loop)


def run(
    test: Coroutine[Any, Any, None],
    loop: Callable[[], asyncio.AbstractEventLoop] = LOOPS[1],
    timeout_s: float = TIMEOUT_S,
) -> None:
    """A failed wait is a failed test, never one that hangs; what a loop would only log is an error."""
    problems: list[dict[str, Any]] = []

    async def bounded() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: problems.append(context))
        async with asyncio.timeout(timeout_s):
            await test

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(bounded())
    assert not problems, problems


async def until(condition: Callable[[], bool]) -> None:
    """The test's own deadline bounds it."""
    while not condition():  # noqa: ASYNC110 (what is waited for has no event of its own)
        await asyncio.sleep(0.002)


def free_addresses(count: int) -> list[tuple[str, int]]:
    """On loopback, all different, and none of those that connections are given."""
    return [("127.0.0.1", port) for port in free_ports(count)]


class Trio:
    """`settings` are the phasers' own. Whatever ends a participant without being asked to ends the test."""

    def __init__(
        self,
        directory: Path,
        shape: Shape = Shape.STAR,
        settings: Settings | None = None,
        disks: Mapping[str, SimDisk] | None = None,
    ) -> None:
        self.directory = directory
        self.government = Government(1, LEADER, NAMES, shape=shape)
        self.settings = settings or Settings()
        self.addresses = dict(zip(NAMES, free_addresses(len(NAMES)), strict=True))
        self.doors = {(x, y): Door(self.addresses[y]) for x in NAMES for y in NAMES if x != y}
        self.entrances = {name: Door(self.addresses[name]) for name in NAMES}
        """For clients that outlive a participant."""
        self.disks: dict[str, SimDisk] = dict(disks or {})
        """Of those that have no directory, but a disk with faults to switch on."""
        self.nodes: dict[str, Node] = {}
        self.phasers: dict[str, Phaser] = {}
        self.failures: list[BaseException] = []
        self._stores: dict[str, Store] = {}
        self._reigns = 0

    async def __aenter__(self) -> Self:
        for door in self._all_doors():
            await door.build()
        for name in NAMES:
            await self.start(name)
        await self.opened(1)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in list(self.nodes):
            await self.stop(name)
        for door in self._all_doors():
            await door.remove()
        assert kind is not None or not self.failures

    def _all_doors(self) -> list[Door]:
        return [*self.doors.values(), *self.entrances.values()]

    async def start(self, name: str) -> None:
        store = self._stores[name] = self._opened(name)
        phaser = Phaser(name, 0, self.settings, recovered(store, 0))
        self.phasers[name] = phaser
        ways = {other: self.doors[name, other].address for other in NAMES if other != name}
        ways[name] = self.addresses[name]

        def reported(bucket: int, report: Report) -> None:
            node.happen(bucket, Accepted(report.achievement, report.epoch))
            self._reigns += report.achievement is Achievement.OPENED

        node = self.nodes[name] = Node(name, CLUSTER, ways, store, {0: phaser}, reported, self.failures.append)
        await node.start(self.addresses[name])
        node.happen(0, Appointed(self.government))

    def _opened(self, name: str) -> Store:
        disk = self.disks.get(name)
        if disk is None:
            return open_directory(self.directory / name, CLUSTER, name)
        return open_store(disk, create=Identity(log_id=CLUSTER, cluster_id=CLUSTER, node_id=name))

    async def stop(self, name: str) -> None:
        """As at the end of its process: nobody is connected to it any more."""
        await self.nodes.pop(name).stop()
        self.entrances[name].cut()
        for (x, y), door in self.doors.items():
            if name in (x, y):
                door.cut()
        self._stores.pop(name).close()

    async def opened(self, reigns: int) -> None:
        """Until the leader has begun to lead so many times, or something has failed."""
        await until(lambda: self._reigns >= reigns or bool(self.failures))
        assert not self.failures

    def remind_nobody(self) -> None:
        """From here on nothing is said again because time has passed. While ways are still being made something may be
        lost, and would be missed for ever."""
        for phaser in self.phasers.values():
            phaser.settings = phaser.ledger.settings = replace(self.settings, resend_us=NEVER_US)

    async def dial(self, name: str = LEADER) -> Caller:
        return await Caller.dial(self.addresses[name], A_CLIENT)

    def end(self, name: str) -> int:
        """Where the log of a running participant ends on its disk."""
        return self._stores[name].bounds(0)[1]


def stored(directory: Path) -> list[Batch]:
    """All that lies in a participant's directory, what readers do not see too."""
    store = open_store(RealDisk(directory), read_only=True)
    start, end = store.bounds(0)
    batches: list[Batch] = []
    while start < end:
        batches += store.batches(0, start, 8 << 20)
        start = batches[-1].header.end_offset
    store.close()
    return batches


def clients_batches(directory: Path) -> list[Batch]:
    return [batch for batch in stored(directory) if not batch.header.flags & Flag.INTERNAL]


def values(directory: Path) -> list[str]:
    """Of all changes, in order."""
    return [(value or b"").decode() for batch in clients_batches(directory) for value in batch.values()]


def check_alike(directory: Path, end: int) -> None:
    """All three have the same batches, byte for byte, before an offset that was acknowledged."""
    first, *others = [[batch for batch in stored(directory / name) if batch.header.base_offset < end] for name in NAMES]
    assert first and first[-1].header.end_offset >= end, "what was acknowledged is on the leader's disk"
    for other in others:
        assert [batch.to_bytes() for batch in other] == [batch.to_bytes() for batch in first]


Story = Callable[[Trio], Coroutine[Any, Any, None]]


def told(directory: Path, story: Story, **options: Any) -> None:
    """With three participants that are open, and closed afterwards."""
    loop = options.pop("loop", LOOPS[1])

    async def test() -> None:
        async with Trio(directory, **options) as trio:
            await story(trio)

    run(test(), loop)
