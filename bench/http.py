"""The HTTP API: single JSON posts beside etcd's gateway, how soon a waiting reader has a change, many followers.

Three participants, each a process, with one copy of each bucket on each. A client of few lines sends one request after
the other over each of its connections, and looks at nothing of the answer but its status and its length; etcd's gateway
gets the same value from the same client. Both are posted to where the leader is: ours has one bucket for that. Then
four buckets are posted to at one participant, which leads some of them and asks the others' leaders. The reader waits
at another participant than the one that is posted to.

    python -m bench.http                        everything; etcd only where it is installed
    python -m bench.http --seconds 1
    python -m bench.http --only posts etcd      some of: posts, spread, waiting, followers, stall, etcd
"""

import asyncio
import base64
import json
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Awaitable, Iterator, Sequence
from itertools import cycle
from pathlib import Path
from time import perf_counter
from typing import Final, NamedTuple

import uvloop

from bench import etcd
from bench.cluster import Cluster
from bench.load import Figures
from bench.peer import VALUE, Missing
from bench.processes import Children, ended_by_signal, free_ports
from bench.stores import directory
from bench.table import NO_TARGET, Row, show

HOST: Final = "127.0.0.1"
CONNECTIONS: Final = (1, 64, 256)
SECONDS: Final = 5.0
FOLLOWERS: Final = 1_000
DELIVERIES: Final = 200
ROUNDS: Final = 5
PARTS: Final = ("posts", "spread", "waiting", "followers", "stall", "etcd")
LARGE: Final = 60_000
"""Changes of a body that might stall others."""
PAGE: Final = 10_000
LOOK_S: Final = 0.002
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


class Poster(asyncio.Protocol):
    """One connection that sends the next request as soon as it has its answer, as long as there are any to send."""

    def __init__(self, requests: Iterator[bytes], latencies_s: list[float]) -> None:
        self._requests = requests
        self._latencies_s = latencies_s
        self._received = b""
        self._began_s = 0.0
        self._transport: asyncio.Transport | None = None
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport

    def send(self) -> None:
        assert self._transport is not None
        following = next(self._requests, None)
        if following is None:
            self.done.set_result(None)
            return
        self._began_s = perf_counter()
        self._transport.write(following)

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, found, body = self._received.partition(b"\r\n\r\n")
        if not found or len(body) < _length(head):
            return
        self._latencies_s.append(perf_counter() - self._began_s)
        if head[9:10] != b"2":
            self.done.set_exception(ConnectionError(self._received.decode("latin-1")))
            return
        self._received = b""
        self.send()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(error or ConnectionError("the server hung up"))

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


def _length(head: bytes) -> int:
    """Whichever way it is written."""
    found = head.find(b"ontent-")
    while found >= 0 and head[found + 7 : found + 14].lower() != b"length:":
        found = head.find(b"ontent-", found + 1)
    return int(head[found + 14 :].split(b"\r\n", 1)[0])


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
    latencies_s: list[float] = []
    begun_s = perf_counter()

    def until_then() -> Iterator[bytes]:
        for each in cycle(requests):
            if perf_counter() - begun_s > seconds:
                return
            yield each

    loop, going = asyncio.get_running_loop(), until_then()
    posters = [Poster(going, latencies_s) for _ in range(connections)]
    try:
        for poster in posters:
            await loop.create_connection(lambda poster=poster: poster, HOST, port)  # type: ignore[misc]
        begun_s = perf_counter()
        for poster in posters:
            poster.send()
        async with asyncio.timeout(seconds + PATIENCE_S):
            await asyncio.gather(*[poster.done for poster in posters])
    finally:
        for poster in posters:
            poster.close()
    count = len(latencies_s)
    return Figures(count, perf_counter() - begun_s, latencies_s, count)


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


async def stalls_ms(port: int) -> dict[str, float]:
    """How long somebody else waits at the most for an answer that takes nothing, while one request is large."""
    other, large = await Wire.dial(port), await Wire.dial(port)
    ask = request("/health/live", method="GET")

    async def longest_ms(work: Awaitable[object]) -> float:
        task, longest_s = asyncio.ensure_future(work), 0.0
        while not task.done():
            began_s = perf_counter()
            await other.ask(ask)
            longest_s = max(longest_s, perf_counter() - began_s)
            await asyncio.sleep(LOOK_S)
        await task
        return 1e3 * longest_s

    body = [{"key": f"k{number}", "value": {"n": number}, "tags": ["large"]} for number in range(LARGE)]
    page = f"/changes?tag=large&limit={PAGE}"
    found = {"others wait at the most, while nothing happens": await longest_ms(asyncio.sleep(1.0))}
    found[f"... a post of {LARGE:,} changes"] = await longest_ms(large.ask(request("/changes", body)))
    found[f"... a page of {PAGE:,} changes"] = await longest_ms(large.ask(request(page, method="GET")))
    arrow = request(page, method="GET").replace(b"\r\n\r\n", b"\r\nAccept: application/vnd.apache.arrow.stream\r\n\r\n")
    found["... the same as Arrow"] = await longest_ms(large.ask(arrow))
    for each in (other, large):
        each.close()
    return found


def _row(name: str, connections: int, figures: Figures) -> Row:
    times = f"p50 {figures.latency_ms(0.5):.2f} ms, p99 {figures.latency_ms(0.99):.2f} ms"
    return Row(f"{name}: {connections} connections", f"{figures.rate:,.0f}/s, {times}", NO_TARGET, ok=True)


def _times(times_ms: Sequence[float]) -> str:
    ordered = sorted(times_ms)
    return f"p50 {ordered[len(ordered) // 2]:.2f} ms, p99 {ordered[len(ordered) * 99 // 100]:.2f} ms"


def _cluster(children: Children, folder: Path, buckets: int) -> tuple[dict[str, int], str]:
    """Three that speak HTTP: at which ports, and who leads the first bucket."""
    cluster = Cluster(children, folder, f"http-{buckets}", "abc", buckets=buckets)
    cluster.doors = dict(zip("abc", free_ports(3), strict=True))
    cluster.start(*"abc")
    table = asyncio.run(cluster.settled("a", 3))
    return dict(cluster.doors), str(table["buckets"][0]["leader"])


class Plan(NamedTuple):
    seconds: float = SECONDS
    followers: int = FOLLOWERS
    deliveries: int = DELIVERIES
    only: frozenset[str] = frozenset(PARTS)


def _posts(children: Children, folder: Path, plan: Plan) -> list[Row]:
    doors, leader = _cluster(children, folder, 1)
    port = doors[leader]
    return [_row("Hansard", count, uvloop.run(posted(port, posts(), count, plan.seconds))) for count in CONNECTIONS]


def _spread(children: Children, folder: Path, plan: Plan) -> list[Row]:
    """All that takes several buckets."""
    doors, _ = _cluster(children, folder, 4)
    here, there = doors["a"], doors["b"]
    rows: list[Row] = []
    if "spread" in plan.only:
        for count in CONNECTIONS:
            figures = uvloop.run(posted(here, posts(), count, plan.seconds))
            rows.append(_row("Hansard, four buckets", count, figures))
    if "waiting" in plan.only:
        delivered = uvloop.run(deliveries_ms(here, there, plan.deliveries))
        rows.append(Row("a waiting page, after the receipt", _times(delivered), NO_TARGET, ok=True))
    if "followers" in plan.only:
        claim = f"the last of {plan.followers:,} followers, after the receipt"
        last_ms = sorted(uvloop.run(followed_ms(here, plan.followers)) for _ in range(ROUNDS))
        rows.append(Row(claim, f"{last_ms[ROUNDS // 2]:.1f} ms", NO_TARGET, ok=True))
    if "stall" in plan.only:
        rows += [
            Row(claim, f"{stalled_ms:.1f} ms", NO_TARGET, ok=True)
            for claim, stalled_ms in uvloop.run(stalls_ms(here)).items()
        ]
    return rows


def _etcds(children: Children, folder: Path, plan: Plan) -> list[Row]:
    try:
        port = etcd.start(children, folder)
    except Missing as missing:
        return [Row("etcd's gateway", str(missing), NO_TARGET, ok=True)]
    return [
        _row("etcd's gateway", count, uvloop.run(posted(port, puts(), count, plan.seconds))) for count in CONNECTIONS
    ]


def measure(plan: Plan) -> list[Row]:
    rows: list[Row] = []
    for part, wanted in ((_posts, {"posts"}), (_spread, {*PARTS} - {"posts", "etcd"}), (_etcds, {"etcd"})):
        if wanted & plan.only:
            with ended_by_signal(), directory() as folder, Children(folder / "logs") as children:
                rows += part(children, folder, plan)
    return rows


def main() -> int:
    parser = ArgumentParser("python -m bench.http", description=__doc__)
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.add_argument("--seconds", type=float, default=SECONDS, help=f"for each load; default {SECONDS:g}")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="some parts of it")
    given = parser.parse_args()
    show(measure(Plan(seconds=given.seconds, only=frozenset(given.only))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
