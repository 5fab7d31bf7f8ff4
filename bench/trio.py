"""Three participants of ours, each a process, and a program that submits to them with the client."""

import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Final

from bench.load import Figures, Load, closed_loop
from bench.processes import Children, free_ports
from hansard.batch import Batch
from hansard.client import AsyncClient
from hansard.phaser.government import Shape

LEADER: Final = "a"
MEMBERS: Final = ("a", "b", "c")
SINGLES, BATCHES = 1, 2
"""Connection numbers: a stream is numbered by the client or by its caller, and not by both."""


def start(children: Children, directory: Path, shape: Shape, profile: Path | None = None) -> list[int]:
    """Their ports, the leader's first. With `profile`, how the leader spends its time is there once it has ended."""
    ports = dict(zip(MEMBERS, free_ports(len(MEMBERS)), strict=True))
    everybody = [f"--participant={name}=127.0.0.1:{port}" for name, port in ports.items()]
    for name in MEMBERS:
        profiler = ["-m", "cProfile", "-o", str(profile)] if profile and name == LEADER else []
        command = [sys.executable, *profiler, "-m", "hansard", "skeleton", str(directory / f"{shape}-{name}")]
        options = ["--me", name, *everybody, "--leader", LEADER, "--shape", shape]
        children.start(f"{shape}-{name}", [*command, *options])
    children.await_ready(*(f"{shape}-{name}" for name in MEMBERS))
    return list(ports.values())


class Program:
    """Single changes from as many coroutines as are outstanding, and batches that are numbered here: two streams."""

    def __init__(self, batch_of: Callable[[int], Batch]) -> None:
        self._batch_of = batch_of
        self._singles: AsyncClient | None = None
        self._batches: AsyncClient | None = None
        self._next_series = 0

    async def connect(self, ports: list[int]) -> None:
        addresses = [f"127.0.0.1:{port}" for port in ports]
        self._singles = await AsyncClient.connect(addresses, connection=SINGLES)
        self._batches = await AsyncClient.connect(addresses, connection=BATCHES)

    async def run(self, load: Load) -> Figures:
        offsets: dict[int, int] = {}
        if load.changes == 1:
            figures = await self._run_singles(load, offsets)
        else:
            figures = await self._run_batches(load, offsets)
        assert len(offsets) * load.changes == figures.changes
        in_order = [offsets[number] for number in range(len(offsets))]
        assert all(b - a >= load.changes for a, b in pairwise(in_order)), "not stored in order, each by itself"
        return figures

    async def _run_singles(self, load: Load, offsets: dict[int, int]) -> Figures:
        client = self._singles
        assert client is not None
        (change,) = self._batch_of(1).changes()
        key, value, tags = change.key, change.value, change.tags

        async def submit(number: int) -> None:
            receipt = await client.submit(key, value, tags)
            assert receipt.offset is not None
            offsets[number] = receipt.offset

        return await closed_loop(load, submit)

    async def _run_batches(self, load: Load, offsets: dict[int, int]) -> Figures:
        client = self._batches
        assert client is not None
        body = self._batch_of(load.changes)
        first_series = self._next_series

        async def submit(number: int) -> None:
            first = first_series + number * load.changes
            header = body.header._replace(connection=BATCHES, first_series=first, previous_series=first - 1)
            receipts = await client.submit_batch(Batch(header, header.packed(), body.body))
            first_receipt = receipts[0]
            assert first_receipt.offset is not None
            offsets[number] = first_receipt.offset

        figures = await closed_loop(load, submit)
        self._next_series += figures.changes
        return figures

    async def close(self) -> None:
        for client in (self._singles, self._batches):
            if client is not None:
                await client.close()
