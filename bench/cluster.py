"""Participants as they are run: `hansard start`, each a process, one of them the founder."""

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.caller import Caller
from bench.processes import START_S, Children, free_ports


class Cluster:
    """`prefix` is what the names of its processes begin with."""

    def __init__(self, children: Children, directory: Path, prefix: str, names: str, **options: Any) -> None:
        self._children = children
        self._directory = directory
        self._prefix = prefix
        self._options = options
        self.ports: Mapping[str, int] = dict(zip(names, free_ports(len(names)), strict=True))
        self.founder = names[0]

    def start(self, *names: str) -> None:
        """Again, or for the first time; returns when they take part."""
        for name in names:
            where = str(self._directory / f"{self._prefix}-{name}")
            command = [sys.executable, "-m", "hansard", "start", where, "--name", name]
            command += ["--listen", f"127.0.0.1:{self.ports[name]}", "--log-level", "warning"]
            if name == self.founder:
                command += ["--found", "--open", "--participants", str(len(self.ports))]
                command += [word for option, value in self._options.items() for word in (f"--{option}", str(value))]
            else:
                others = [port for other, port in self.ports.items() if other != name]
                command += [word for port in others for word in ("--join", f"127.0.0.1:{port}")]
            self._children.start(f"{self._prefix}-{name}", command)
        self._children.await_ready(*(f"{self._prefix}-{name}" for name in names))

    def kill(self, name: str) -> None:
        self._children.kill(f"{self._prefix}-{name}")

    async def table(self, name: str) -> Any:
        async with await Caller.dial(self.ports[name]) as caller:
            return await caller.ask(ask="table")

    async def settled(self, name: str, copies: int) -> Any:
        """The table, once every bucket is at rest with so many copies."""
        async with asyncio.timeout(START_S):
            while True:
                table = await self.table(name)
                buckets = table["buckets"]
                if buckets and all(one["state"] == "steady" and len(one["full"]) >= copies for one in buckets):
                    return table
                await asyncio.sleep(0.02)


def start_three(children: Children, directory: Path, prefix: str, shape: str) -> list[int]:
    """One bucket of three copies. Their ports, its leader's first."""
    cluster = Cluster(children, directory, prefix, "abc", buckets=1, shape=shape)
    cluster.start(*"abc")
    table = asyncio.run(cluster.settled("a", 3))
    leader = table["buckets"][0]["leader"]
    return [cluster.ports[leader], *[port for name, port in cluster.ports.items() if name != leader]]
