"""Whoever does the same work is measured in turns: one run of each, and again, so that noise strikes all alike.

All are started before the first run and stay until the last, idle while another has its turn. Peers are not: what runs
in them even when nobody asks would disturb the others, so each of them has its rounds alone.
"""

import asyncio
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple, Protocol

import uvloop

from bench import cluster, etcd, lean, nats, sketch, trio
from bench.load import Figures, Load
from bench.processes import Children
from bench.stores import template
from bench.streams import Streams
from hansard.batch import Batch
from hansard.phaser.government import Shape

CLIENT: Final = " client"
"""What is added to a shape's name where a program with the client submits, and not a crowd of streams."""

STARTED: Final = "started-"
"""What is put before a shape's name where the participants are those of a whole cluster, and not the skeleton's."""

Runs = dict[tuple[str, str], list[Figures]]
"""By contestant and mode: one for each round."""


class Schedule(NamedTuple):
    warm_ups: int
    """Rounds first that do not count."""
    rounds: int
    pause_s: float
    """After each run, so that what it left to be done in the background is not done in the next one's time."""


class Contestant(Protocol):
    async def run(self, load: Load) -> Figures: ...

    async def close(self) -> None: ...


@cache
def batch_of(changes: int) -> Batch:
    """The same changes for all: a key, 256 bytes that nobody can compress, a tag."""
    return template(lambda number: [f"tenant-{number % 10}"], changes)


def run_together(
    wanted: Mapping[str, Mapping[str, Load]],
    schedule: Schedule,
    folder: Path,
    profiles: Mapping[str, Path] | None = None,
) -> Runs:
    """The sketch, the limits, the shapes and the clusters that are wanted, each in the modes in which it is wanted."""
    with Children(folder / "logs") as children:
        ports: dict[str, list[int]] = {}
        for name in wanted:
            if name in set(Shape):
                ports[name] = trio.start(children, folder, Shape(name), (profiles or {}).get(name))
            elif name == lean.NAME:
                ports[name] = [lean.start(children, folder)]
            elif name.startswith(STARTED):
                ports[name] = cluster.start_three(children, folder, name, name.removeprefix(STARTED))
            else:
                ports[name] = [sketch.start(children, folder, sketch.Kind(name))]
        return uvloop.run(_in_turns(wanted, schedule, ports, children))


def run_peer(name: str, modes: Mapping[str, Load], schedule: Schedule, folder: Path) -> Runs:
    """Raises `Missing` if it is not installed."""
    peer = {"etcd": etcd, "nats": nats}[name]
    with Children(folder / "logs") as children:
        port = peer.start(children, folder)
        return uvloop.run(_in_turns({name: modes}, schedule, {name: [port]}, children))


async def _in_turns(
    wanted: Mapping[str, Mapping[str, Load]], schedule: Schedule, ports: Mapping[str, list[int]], children: Children
) -> Runs:
    contestants: dict[str, Contestant] = {}
    try:
        for name in wanted:
            contestants |= await _connected(name, ports[name])
        runs: Runs = {}
        for mode in dict.fromkeys(mode for modes in wanted.values() for mode in modes):
            for turn in range(schedule.warm_ups + schedule.rounds):
                for name in list(contestants)[:: 1 if turn % 2 else -1]:  # nobody always comes after the same one
                    contestant, servers = contestants[name], name.removesuffix(CLIENT)
                    load = wanted[servers].get(mode)
                    if load is None:
                        continue
                    before_s = children.processor_s(f"{servers}-")
                    figures = await contestant.run(load)
                    await asyncio.sleep(schedule.pause_s)
                    if turn >= schedule.warm_ups:
                        spent_s = children.processor_s(f"{servers}-") - before_s
                        runs.setdefault((name, mode), []).append(figures._replace(processor_s=spent_s))
        return runs
    finally:
        for contestant in contestants.values():
            await contestant.close()


async def _connected(name: str, ports: list[int]) -> dict[str, Contestant]:
    if name.removeprefix(STARTED) in set(Shape):
        streams, program = Streams(batch_of), trio.Program(batch_of)
        await streams.connect(ports[0])
        await program.connect(ports)
        return {name: streams, name + CLIENT: program}
    client: Streams | sketch.Client | etcd.Client | nats.Client
    match name:
        case lean.NAME:
            client = Streams(batch_of)
        case "etcd":
            client = etcd.Client()
        case "nats":
            client = nats.Client()
        case _:
            client = sketch.Client(lambda changes: batch_of(changes).to_bytes())
    await client.connect(ports[0])
    return {name: client}
