"""The HTTP API: single JSON posts beside etcd's gateway, how soon a waiting reader has a change, many followers.

Three participants, each a process, with one copy of each bucket on each. A client of few lines sends one request after
the other over each of its connections, and looks at nothing of the answer but its status and its length; etcd's gateway
gets the same value from the same client. The reader waits at another participant than the one that is posted to.

    python -m bench.http                everything; etcd only where it is installed
    python -m bench.http --seconds 1
"""

import asyncio
import base64
import json
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Final

import uvloop

from bench import etcd
from bench.cluster import Cluster
from bench.load import Figures, Load, closed_loop
from bench.peer import VALUE, Missing
from bench.processes import Children, ended_by_signal, free_ports
from bench.stores import directory
from bench.table import NO_TARGET, Row, show

HOST: Final = "127.0.0.1"
CONNECTIONS: Final = (1, 64, 256)
SECONDS: Final = 5.0
FOLLOWERS: Final = 1_000
DELIVERIES: Final = 200
MOST: Final = 10_000_000
PATIENCE_S: Final = 30.0


class Wire:
    """One connection: a request, and its answer."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def dial(cls, port: int) -> "Wire":
        return cls(*await asyncio.open_connection(HOST, port))

    async def ask(self, request: bytes) -> bytes:
        """The body of the answer, which has to be a good one."""
        self._writer.write(request)
        head = await self._reader.readuntil(b"\r\n\r\n")
        if head[9:10] != b"2":
            raise ConnectionError(head.decode("latin-1"))
        found = head.lower().split(b"content-length:")
        return await self._reader.readexactly(int(found[1].split(b"\r\n", 1)[0]))

    async def follow(self, request: bytes) -> None:
        """Until the stream has begun."""
        self._writer.write(request)
        await self._reader.readuntil(b"retry: 1000\n\n")

    async def event(self) -> None:
        await self._reader.readuntil(b"data: ")

    def close(self) -> None:
        self._writer.close()


def request(path: str, body: object | None = None, method: str = "POST") -> bytes:
    content = json.dumps(body).encode() if body is not None else b""
    kind = "Content-Type: application/json\r\n" if body is not None else ""
    head = f"{method} {path} HTTP/1.1\r\nHost: bench\r\n{kind}Content-Length: {len(content)}\r\n\r\n"
    return head.encode() + content


def posts() -> list[bytes]:
    text = base64.b64encode(VALUE).decode()[: len(VALUE)]
    return [request("/changes", {"key": f"device-{number:06}", "value": text}) for number in range(1000)]


def puts() -> list[bytes]:
    """The same for etcd, whose gateway takes base64."""
    value = base64.b64encode(base64.b64encode(VALUE)[: len(VALUE)]).decode()
    keys = [base64.b64encode(b"device-%06d" % number).decode() for number in range(1000)]
    return [request("/v3/kv/put", {"key": key, "value": value}) for key in keys]


async def posted(port: int, requests: Sequence[bytes], connections: int, seconds: float) -> Figures:
    wires = [await Wire.dial(port) for _ in range(connections)]
    free = list(wires)
    latencies: list[float] = []

    async def submit(number: int) -> None:
        wire, began = free.pop(), perf_counter()
        await wire.ask(requests[number % len(requests)])
        latencies.append(perf_counter() - began)
        free.append(wire)

    try:
        figures = await closed_loop(Load(connections, 1, MOST, seconds), submit)
    finally:
        for wire in wires:
            wire.close()
    return figures._replace(latencies_s=latencies)


async def deliveries_ms(port: int, waiting_port: int, count: int) -> list[float]:
    """From the receipt to when a reader that waits elsewhere has the change; 0 if it had it before."""
    poster, reader = await Wire.dial(port), await Wire.dial(waiting_port)
    post = request("/changes", {"key": "delivered", "value": "x"})
    bookmark = json.loads(await reader.ask(request("/bookmark", method="GET")))["bookmark"]
    found: list[float] = []
    for _ in range(count):
        page = asyncio.ensure_future(
            reader.ask(request(f"/changes?key=delivered&since={bookmark}&block=30", method="GET"))
        )
        await asyncio.sleep(0.02)  # so that it waits already
        await poster.ask(post)
        receipt_s = perf_counter()
        bookmark = json.loads(await page)["bookmark"]
        found.append(1e3 * (perf_counter() - receipt_s))
    poster.close()
    reader.close()
    return found


async def followed_ms(port: int, count: int) -> float:
    """From the receipt to when the last of so many followers has the change."""
    poster = await Wire.dial(port)
    followers = [await Wire.dial(port) for _ in range(count)]
    for follower in followers:
        await follower.follow(request("/changes/stream?tag=followed", method="GET"))
    await poster.ask(request("/changes", {"key": "followed", "tags": ["followed"]}))
    receipt_s = perf_counter()
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.gather(*[follower.event() for follower in followers])
    taken_ms = 1e3 * (perf_counter() - receipt_s)
    for each in (poster, *followers):
        each.close()
    return taken_ms


def _row(name: str, connections: int, figures: Figures) -> Row:
    times = f"p50 {figures.latency_ms(0.5):.2f} ms, p99 {figures.latency_ms(0.99):.2f} ms"
    return Row(f"{name}: {connections} connections", f"{figures.rate:,.0f}/s, {times}", NO_TARGET, ok=True)


def _times(times_ms: Sequence[float]) -> str:
    ordered = sorted(times_ms)
    return f"p50 {ordered[len(ordered) // 2]:.2f} ms, p99 {ordered[len(ordered) * 99 // 100]:.2f} ms"


def _ours(children: Children, folder: Path, seconds: float, followers: int, deliveries: int) -> list[Row]:
    cluster = Cluster(children, folder, "http", "abc", buckets=4)
    cluster.doors = dict(zip("abc", free_ports(3), strict=True))
    cluster.start(*"abc")
    asyncio.run(cluster.settled("a", 3))
    here, there = cluster.doors["a"], cluster.doors["b"]
    rows = [_row("Hansard", count, uvloop.run(posted(here, posts(), count, seconds))) for count in CONNECTIONS]
    delivered = uvloop.run(deliveries_ms(here, there, deliveries))
    last_ms = uvloop.run(followed_ms(here, followers))
    return [
        *rows,
        Row("a waiting page, after the receipt", _times(delivered), NO_TARGET, ok=True),
        Row(f"the last of {followers:,} followers, after the receipt", f"{last_ms:.1f} ms", NO_TARGET, ok=True),
    ]


def _etcds(children: Children, folder: Path, seconds: float) -> list[Row]:
    try:
        port = etcd.start(children, folder)
    except Missing as missing:
        return [Row("etcd's gateway", str(missing), NO_TARGET, ok=True)]
    return [_row("etcd's gateway", count, uvloop.run(posted(port, puts(), count, seconds))) for count in CONNECTIONS]


def measure(seconds: float = SECONDS, followers: int = FOLLOWERS, deliveries: int = DELIVERIES) -> list[Row]:
    rows: list[Row] = []
    with ended_by_signal(), directory() as folder, Children(folder / "logs") as children:
        rows += _ours(children, folder, seconds, followers, deliveries)
        children.stop()
        rows += _etcds(children, folder, seconds)
    return rows


def main() -> int:
    parser = ArgumentParser("python -m bench.http", description=__doc__)
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.add_argument("--seconds", type=float, default=SECONDS, help=f"for each load; default {SECONDS:g}")
    show(measure(parser.parse_args().seconds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
