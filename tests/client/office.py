"""A participant that speaks HTTP and does as it is told: for what real ones seldom say."""

import asyncio
import json
from collections import deque
from collections.abc import Callable, Mapping
from ssl import SSLContext
from types import TracebackType
from typing import Any, NamedTuple, Self

import pyarrow as pa
from msgspec.structs import replace

from hansard.batch import key_hash
from hansard.client import AsyncClient
from tests.client.fake import QUICK
from tests.server.trio import free_addresses

TIME = "2026-11-17T12:00:00.000000Z"
CLUSTER = "c1"
GRACE_S = 20.0


class Request(NamedTuple):
    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def series(self) -> int:
        return int(self.headers["hansard-series"])

    @property
    def rows(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = pa.ipc.open_stream(pa.py_buffer(self.body)).read_all().to_pylist()
        return rows


Answer = tuple[int, Any] | bytes | None
"""Status and JSON; or as it is; or none, and the connection is closed."""
Step = Callable[[Request, "Office"], Answer]


def problem(name: str, status: int, **more: Any) -> Step:
    said = {"type": f"urn:hansard:problem:{name}", "title": "", "status": status, "detail": f"it is {name}", **more}
    return lambda _request, _office: (status, said)


def store(request: Request, office: "Office") -> Answer:
    """Each change once, by its series."""
    last = office.last.get(request.headers["hansard-connection"], -1)
    receipts = []
    for place, row in enumerate(request.rows):
        repeated = request.series + place <= last
        if not repeated:
            office.stored.append(row)
        receipts.append(
            {"id": None, "bucket": 0, "offset": len(office.stored) - 1, "timestamp": TIME, "repeated": repeated}
        )
    office.last[request.headers["hansard-connection"]] = max(last, request.series + len(request.rows) - 1)
    return 201, {"receipts": receipts}


def store_and_hang_up(request: Request, office: "Office") -> Answer:
    store(request, office)
    return None


def hang_up(request: Request, office: "Office") -> Answer:
    return None


class Office:
    """What its script does not say is stored. `held`: nobody is answered before it is set."""

    def __init__(self, *script: Step, lanes: int = 1, tls: SSLContext | None = None) -> None:
        self.script = deque(script)
        self.otherwise: Step = store
        self.lanes = lanes
        self.last: dict[str, int] = {}
        self.stored: list[dict[str, Any]] = []
        self.requests: list[Request] = []
        self.numbers = 6
        self.held = asyncio.Event()
        self.held.set()
        self._tls = tls
        ((_, self.port),) = free_addresses(1)
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, ssl=self._tls)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def submits(self) -> list[Request]:
        return [request for request in self.requests if request.path == "/changes" and request.method == "POST"]

    async def connect(self, timeout_s: float = 10.0, name: str = "") -> AsyncClient:
        """One that waits for who answers at all, however slow the machine is."""
        settings = replace(QUICK, answer_grace_s=GRACE_S)
        return await AsyncClient.connect([self.url], timeout_s=timeout_s, settings=settings, name=name)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            await self.serve(reader, writer)
        except asyncio.CancelledError:
            pass  # the office closes; asyncio of Python 3.11 would take it for an error
        finally:
            writer.close()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while request := await _request(reader):
            self.requests.append(request)
            await self.held.wait()
            answer = self.answer(request)
            if answer is None:
                return
            writer.write(answer if isinstance(answer, bytes) else _written(*answer))
            await writer.drain()

    def answer(self, request: Request) -> Answer:
        match request.method, request.path:
            case "POST", "/changes":
                step = self.script.popleft() if self.script else self.otherwise
                return step(request, self)
            case "POST", "/connections":
                self.numbers += 1
                return 201, {"connection": str(self.numbers), "lanes": self.lanes}
            case "GET", "/cluster":
                return 200, {"id": CLUSTER, "log": "a-log", "buckets": 4}
            case _:
                raise AssertionError(request)


async def _request(reader: asyncio.StreamReader) -> Request | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.strip().split("\r\n")
    method, target, _ = first.split(" ")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    return Request(method, target, headers, await reader.readexactly(int(headers.get("content-length", "0"))))


def _written(status: int, body: Any) -> bytes:
    content = json.dumps(body).encode()
    return f"HTTP/1.1 {status} X\r\nContent-Length: {len(content)}\r\n\r\n".encode() + content


def in_lane(lane: int, lanes: int, count: int = 1) -> list[str]:
    """Keys that live there."""
    found: list[str] = []
    number = 0
    while len(found) < count:
        if key_hash(f"k{number}".encode()) & (lanes - 1) == lane:
            found.append(f"k{number}")
        number += 1
    return found
