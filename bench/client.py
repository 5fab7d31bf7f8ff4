"""What the Python client makes of single changes: a thousand of them outstanding, against the same in batches.

A program that submits one change at a time, and has a thousand of them under way, should hardly pay for it: what comes
in one turn of its loop goes as one batch to each bucket. Three participants of `hansard start`, each a process, with
eight buckets of three copies. A round has one run of each: single changes and batches of 100, with a thousand changes
under way in both, over the binary protocol and over HTTP; and beside them the skeleton, which has one bucket and no
table. Ratios are taken round by round, and the median counts.

    python -m bench client
"""

import asyncio
from collections.abc import Awaitable, Callable
from statistics import median
from typing import Final, NamedTuple

import uvloop

from bench import trio
from bench.cluster import Cluster
from bench.contest import batch_of
from bench.load import Figures, Load, closed_loop
from bench.processes import Children, ended_by_signal, free_ports
from bench.stores import directory
from bench.table import NO_TARGET, Row
from hansard.client import AsyncClient
from hansard.phaser.government import Shape

BUCKETS: Final = 8
KEYS: Final = 10_000
OUTSTANDING: Final = 1_000
BATCH: Final = 100
SECONDS: Final = 1.0
ROUNDS: Final = 5
WARM_UPS: Final = 1
PAUSE_S: Final = 0.2
LEAST: Final = 0.5
MOST: Final = 1_000_000

Run = Callable[[Load], Awaitable[Figures]]
SINGLES, BATCHES = "singles", "batches"


class Size(NamedTuple):
    rounds: int = ROUNDS
    seconds: float = SECONDS


class Program:
    """Submits to all buckets."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        (change,) = batch_of(1).changes()
        self._value, self._tags = change.value, change.tags

    async def run(self, load: Load) -> Figures:
        client, value, tags, count = self._client, self._value, self._tags, load.changes

        async def one(number: int) -> None:
            await client.submit(b"key-%d" % (number % KEYS), value, tags)

        async def many(number: int) -> None:
            keys = [b"key-%d" % ((number * count + place) % KEYS) for place in range(count)]
            await client.submit_many(keys, [value] * count, [tags] * count)

        return await closed_loop(load, one if count == 1 else many)


def measure(size: Size = Size()) -> list[Row]:  # noqa: B008 (it cannot be changed)
    with ended_by_signal(), directory() as folder, Children(folder / "logs") as children:
        cluster = Cluster(children, folder, "client", "abc", buckets=BUCKETS)
        cluster.doors = dict(zip("abc", free_ports(3), strict=True))
        cluster.start(*"abc")
        skeleton = trio.start(children, folder, Shape.STAR)
        return uvloop.run(_measured(cluster, skeleton, size))


async def _measured(cluster: Cluster, skeleton: list[int], size: Size) -> list[Row]:
    await cluster.settled("a", 3)
    program = trio.Program(batch_of)
    await program.connect(skeleton)
    urls = [f"http://127.0.0.1:{port}" for port in cluster.doors.values()]
    addresses = [f"127.0.0.1:{port}" for port in cluster.ports.values()]
    async with await AsyncClient.connect(addresses) as client, await AsyncClient.connect(urls) as web:
        runs: dict[str, Run] = {
            "hansard start": Program(client).run,
            "over HTTP": Program(web).run,
            "skeleton": program.run,
        }
        found = await _in_turns(runs, size)
    await program.close()
    return [row for name in runs for row in _rows(name, found)]


async def _in_turns(runs: dict[str, Run], size: Size) -> dict[tuple[str, str], list[float]]:
    loads = {
        SINGLES: Load(OUTSTANDING, 1, MOST, size.seconds),
        BATCHES: Load(OUTSTANDING // BATCH, BATCH, MOST, size.seconds),
    }
    found: dict[tuple[str, str], list[float]] = {}
    for turn in range(WARM_UPS + size.rounds):
        for name, run in runs.items():
            for mode, load in loads.items():
                figures = await run(load)
                await asyncio.sleep(PAUSE_S)
                if turn >= WARM_UPS:
                    found.setdefault((name, mode), []).append(figures.rate)
    return found


def _rows(name: str, found: dict[tuple[str, str], list[float]]) -> list[Row]:
    singles, batches = found[name, SINGLES], found[name, BATCHES]
    ratio = median([one / many for one, many in zip(singles, batches, strict=True)])
    promised = name == "hansard start"
    return [
        Row(f"{name}: 1,000 single changes outstanding", f"{median(singles):,.0f}/s", NO_TARGET, True),
        Row(f"{name}: the same in batches of {BATCH}", f"{median(batches):,.0f}/s", NO_TARGET, True),
        Row(
            f"{name}: singles against batches",
            f"{ratio:.2f}",
            f"at least {LEAST}" if promised else NO_TARGET,
            ratio >= LEAST or not promised,
        ),
    ]
