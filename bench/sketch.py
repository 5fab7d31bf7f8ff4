"""Three processes that do what replication cannot do without, and nothing else: what Python gives on this machine.

A leader sends each frame to two members at once and writes it to its own file; all three sync before the leader
answers. There is no protocol beyond a length before each frame and a count that comes back: no check, no header that is
looked at, no stream, no epoch, no index, no filing, and nothing could be recovered. Written to be as fast as this way
of doing it is in Python with uvloop:

- one thread writes and syncs; all that waits for it is one write and one fdatasync;
- answers are cumulative on every leg, eight bytes however many frames they answer.

There are three of it. The *sketch* handles each frame by itself, as anything must that has to know one submission from
another, and appends to a file, so that what it has answered is still there. The *forgetful* one writes over the same
64 MiB again and again, as our journal does, but keeps nothing anywhere else: what it saves is what keeping a log costs.
The *pipe* is forgetful, too, and does not even know frames from each other: those that come together are passed on,
written and counted as one piece, and only their lengths are looked at. These two are no way of doing it, but limits.

The client, in the process that measures, sends the same bytes that ours sends: whole batches.
"""

import asyncio
import os
import struct
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Final, cast

import uvloop

from bench.load import PATIENCE_S, Course, Figures, Load
from bench.processes import READY, Children, free_ports

LENGTH: Final = struct.Struct("<I")
COUNT: Final = struct.Struct("<Q")
BUFFER_BYTES: Final = 4 << 20
FILE_BYTES: Final = 64 << 20
"""As much as our journal has, with all its files, before it uses them again."""
PIECES_MAX: Final = 1000
"""Of one write; the operating system takes 1,024."""
HOST: Final = "127.0.0.1"


class Kind(StrEnum):
    SKETCH = "sketch"
    FORGETFUL = "forgetful"
    PIPE = "pipe"


class File:
    """A thread that writes and syncs whatever waits, and says in the loop how many frames that were."""

    def __init__(self, path: Path, kind: Kind, synced: Callable[[int], None]) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
        self._file_bytes = FILE_BYTES
        if kind is Kind.SKETCH:
            self._file_bytes = sys.maxsize
        else:
            zeros = bytes(1 << 20)
            for position in range(0, FILE_BYTES, len(zeros)):
                os.pwrite(self._descriptor, zeros, position)
        os.fsync(self._descriptor)
        self._waiting: SimpleQueue[tuple[bytes, int]] = SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._synced = synced
        self.write = self._waiting.put
        Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        take, take_now, descriptor = self._waiting.get, self._waiting.get_nowait, self._descriptor
        position = 0
        while True:
            piece, count = take()
            pieces, length = [piece], len(piece)
            try:
                while len(pieces) < PIECES_MAX:
                    piece, more = take_now()
                    pieces.append(piece)
                    length += len(piece)
                    count += more
            except Empty:
                pass
            if position + length > self._file_bytes:
                position = 0
            written = os.pwritev(descriptor, pieces, position)
            assert written == length, "a file of this size is written whole"
            os.fdatasync(descriptor)
            position += length
            self._loop.call_soon_threadsafe(self._synced, count)


class Frames(asyncio.BufferedProtocol):
    """Finds the whole frames in what comes, and hands on each of them, or all as one piece, with their number."""

    def __init__(
        self, take: Callable[[tuple[bytes, int]], None], connected: Callable[[asyncio.Transport], None], kind: Kind
    ) -> None:
        self._take = take
        self._apart = kind is not Kind.PIPE
        self._connected = connected
        self._buffer = bytearray(BUFFER_BYTES)
        self._view = memoryview(self._buffer)
        self._end = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._connected(cast(asyncio.Transport, transport))

    def get_buffer(self, _sizehint: int) -> memoryview:
        return self._view[self._end :]

    def buffer_updated(self, nbytes: int) -> None:
        end = self._end + nbytes
        position = count = 0
        while end - position >= LENGTH.size:
            following = position + LENGTH.size + LENGTH.unpack_from(self._buffer, position)[0]
            if following > end:
                break
            if self._apart:
                self._take((bytes(self._view[position:following]), 1))
            position = following
            count += 1
        if count and not self._apart:
            self._take((bytes(self._view[:position]), count))
        if position:
            self._buffer[: end - position] = self._buffer[position:end]
        self._end = end - position


class Counts(asyncio.Protocol):
    """Finds the last count in what comes: it includes the others."""

    def __init__(self, take: Callable[[int], None]) -> None:
        self._take = take
        self._rest = b""

    def data_received(self, data: bytes) -> None:
        data = self._rest + data
        whole = len(data) // COUNT.size * COUNT.size
        self._rest = data[whole:]
        if whole:
            self._take(COUNT.unpack_from(data, whole - COUNT.size)[0])


async def member(kind: Kind, path: Path, port: int) -> None:
    transports: list[asyncio.Transport] = []
    total = 0

    def synced(count: int) -> None:
        nonlocal total
        total += count
        transports[0].write(COUNT.pack(total))

    file = File(path, kind, synced)
    loop = asyncio.get_running_loop()
    await loop.create_server(lambda: Frames(file.write, transports.append, kind), HOST, port)
    await served()


async def leader(kind: Kind, path: Path, port: int, member_ports: list[int]) -> None:
    clients: list[asyncio.Transport] = []
    members: list[asyncio.Transport] = []
    have = [0] * (1 + len(member_ports))
    """Frames on disk: here, and with each member."""
    answered = 0

    def answer() -> None:
        nonlocal answered
        least = min(have)
        if least > answered:
            answered = least
            clients[0].write(COUNT.pack(least))

    def synced(count: int) -> None:
        have[0] += count
        answer()

    def acknowledged(place: int, total: int) -> None:
        have[place] = total
        answer()

    def take(frames: tuple[bytes, int]) -> None:
        for transport in members:
            transport.write(frames[0])
        file.write(frames)

    file = File(path, kind, synced)
    loop = asyncio.get_running_loop()
    for place, member_port in enumerate(member_ports, start=1):
        transport, _ = await loop.create_connection(
            lambda place=place: Counts(lambda total: acknowledged(place, total)),  # type: ignore[misc]
            HOST,
            member_port,
        )
        members.append(transport)
    await loop.create_server(lambda: Frames(take, clients.append, kind), HOST, port)
    await served()


async def served() -> None:
    sys.stdout.write(READY + "\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


class Client:
    """One connection; sends what a load allows, and again with each answer."""

    def __init__(self, bytes_of: Callable[[int], bytes]) -> None:
        self._bytes_of = bytes_of
        self._course: Course | None = None
        self._done: asyncio.Future[None] | None = None
        self._answered = 0
        self._frame = b""
        self._transport: asyncio.Transport | None = None

    async def connect(self, port: int) -> None:
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.create_connection(lambda: Counts(self._take), HOST, port)

    async def run(self, load: Load) -> Figures:
        batch = self._bytes_of(load.changes)
        self._frame = LENGTH.pack(len(batch)) + batch
        self._done = asyncio.get_running_loop().create_future()
        self._course = course = Course(load)
        self._send(course)
        await asyncio.wait_for(self._done, load.seconds + PATIENCE_S)
        return course.figures()

    def _take(self, total: int) -> None:
        assert self._course is not None
        assert self._done is not None
        self._course.take(total - self._answered)
        self._answered = total
        self._send(self._course)
        if self._course.over:
            self._done.set_result(None)

    def _send(self, course: Course) -> None:
        if count := course.next():
            assert self._transport is not None
            self._transport.writelines([self._frame] * count)

    async def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


def start(children: Children, directory: Path, kind: Kind) -> int:
    """The port of the leader."""
    ports = free_ports(3)
    for name, port, others in zip("bca", ports, ([], [], ports[:2]), strict=True):
        arguments = [kind, str(directory / f"{kind}-{name}"), *map(str, (port, *others))]
        children.start(f"{kind}-{name}", [sys.executable, "-m", "bench.sketch", *arguments])
        children.await_ready(f"{kind}-{name}")
    return ports[2]


def main(kind: Kind, path: Path, port: int, *member_ports: int) -> None:
    uvloop.run(leader(kind, path, port, list(member_ports)) if member_ports else member(kind, path, port))


if __name__ == "__main__":
    main(Kind(sys.argv[1]), Path(sys.argv[2]), *map(int, sys.argv[3:]))
