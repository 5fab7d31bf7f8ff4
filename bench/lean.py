"""The least that replication takes with our own batches, frames and journal: a limit, beside the sketch's.

A leader and two members that never fail and never change. A submission is decoded and verified, tried against the last
series of its stream, stamped, sent to both members as the frame that ours send, and placed in a real store; members
open the frame, see that it follows, place it, and acknowledge what is synced; the client gets our receipts. There is no
term but one, nobody is behind, nothing is told from its log, and nobody could take over. What the skeleton needs beyond
this is what doing without all that would save.

It runs as `python -m bench.lean DIRECTORY PORT [MEMBER'S PORT ...]`; whoever has members leads.
"""

import asyncio
import gc
import sys
from collections import deque
from collections.abc import Callable
from pathlib import Path
from time import time_ns
from typing import Final, cast

import uvloop

from bench.processes import Children, free_ports
from bench.sketch import HOST, served
from hansard.batch import Batch
from hansard.phaser.message import Acknowledge, Append
from hansard.server.asker import answer_codec, submission_codec
from hansard.server.disk import open_directory
from hansard.server.node import peer_codec
from hansard.server.skeleton import YOUNG_OBJECTS
from hansard.server.syncs import Syncs
from hansard.storage import write as stored
from hansard.storage.intake import Unsettled
from hansard.wire import submission as wire
from hansard.wire.frame import Frame, FrameReader
from hansard.wire.handshake import Hello, Role, greeting

NAME: Final = "lean"
BUCKET: Final = 0
TERM: Final = 1


class Disk:
    """`synced` is told where the log ends that is on it. One sync at a time; what comes meanwhile gathers."""

    def __init__(self, directory: Path, synced: Callable[[int], None]) -> None:
        self._store = open_directory(directory, NAME, directory.name)
        self._synced = synced
        self._loop = asyncio.get_running_loop()
        self._flight: tuple[Unsettled, int] | None = None
        self._waiting: list[Batch] = []
        syncs = Syncs.made()
        assert syncs is not None, "this machine's kernel does not sync by itself"
        self._syncs = syncs
        self._loop.add_reader(syncs.descriptor, self._landed)

    def put(self, batch: Batch) -> None:
        if self._flight is not None:
            self._waiting.append(batch)
        else:
            self._write([batch])

    def _write(self, batches: list[Batch]) -> None:
        run, end = [stored.Append(BUCKET, batch) for batch in batches], batches[-1].header.end_offset
        unsettled = self._store.place(run, self._syncs.begin)
        if unsettled is not None:
            self._flight = unsettled, end
        else:  # it has to file first, say
            self._store.write(run)
            self._loop.call_soon(self._synced, end)

    def _landed(self) -> None:
        if self._flight is None or not self._syncs.done():
            return
        (unsettled, end), self._flight = self._flight, None
        self._store.settle(unsettled)
        self._synced(end)
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            self._write(waiting)


class Link(asyncio.BufferedProtocol):
    """What comes behind the greeting goes to `take`, frame by frame."""

    def __init__(self, take: Callable[["Link", Frame], None]) -> None:
        self._take = take
        self._reader = FrameReader()
        self._greeted = False
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.writelines(greeting(Hello(Role.PARTICIPANT, NAME, NAME)))

    def get_buffer(self, _sizehint: int) -> memoryview:
        return self._reader.room()

    def buffer_updated(self, nbytes: int) -> None:
        for frame in self._reader.filled(nbytes):
            if self._greeted:
                self._take(self, frame)
            self._greeted = True

    def send(self, data: bytes) -> None:
        if self.transport is not None:
            self.transport.write(data)


class Member:
    def __init__(self, directory: Path) -> None:
        self._disk = Disk(directory, self._acknowledge)
        self._codec = peer_codec()
        self._end = self._committed = 0
        self._upstream: Link | None = None

    def take(self, link: Link, frame: Frame) -> None:
        self._upstream = link
        for _, message in self._codec.decode(frame):
            assert isinstance(message, Append) and message.term == TERM and message.previous_end == self._end
            self._end, self._committed = message.batch.header.end_offset, message.committed
            self._disk.put(message.batch)

    def _acknowledge(self, end: int) -> None:
        assert self._upstream is not None
        acknowledge = Acknowledge(TERM, self._end, end, self._committed, False)
        self._upstream.send(b"".join(self._codec.encode([(BUCKET, acknowledge)])))


class Leader:
    def __init__(self, directory: Path) -> None:
        self._disk = Disk(directory, lambda end: self._heard("", end))
        self._codecs = submission_codec(), answer_codec(), peer_codec()
        self._members: list[Link] = []
        self._have = {"": 0}
        """Where the logs of all end that are on disk, our own first."""
        self._end = self._committed = self._timestamp = 0
        self._last: dict[int, int] = {}
        """Of each stream the last series."""
        self._pending: deque[tuple[int, Link, int, int, int]] = deque()
        """Where each ends, who asked, what it is called there, its offset and its time."""

    async def connect(self, ports: list[int]) -> None:
        for name in map(str, ports):
            self._have[name] = 0
            make = lambda name=name: Link(lambda _, frame: self._acknowledged(name, frame))  # noqa: E731
            _, link = await asyncio.get_running_loop().create_connection(make, HOST, int(name))
            self._members.append(link)

    def take(self, link: Link, frame: Frame) -> None:
        for submit in self._codecs[0].decode(frame):
            header = submit.batch.header
            last = header.first_series + header.change_count - 1
            assert header.previous_series <= self._last.get(header.connection, -1) < header.first_series
            self._last[header.connection] = last
            self._timestamp = max(self._timestamp, time_ns() // 1000)
            offset = self._end
            batch = submit.batch.stamped(epoch=TERM, base_offset=offset, timestamp=self._timestamp)
            append = Append(TERM, TERM, offset, batch, self._committed)
            data = b"".join(self._codecs[2].encode([(BUCKET, append)]))
            for member in self._members:
                member.send(data)
            self._end = batch.header.end_offset
            self._pending.append((self._end, link, submit.id, offset, self._timestamp))
            self._disk.put(batch)

    def _acknowledged(self, name: str, frame: Frame) -> None:
        for _, message in self._codecs[2].decode(frame):
            assert isinstance(message, Acknowledge)
            self._heard(name, message.through)

    def _heard(self, name: str, end: int) -> None:
        self._have[name] = end
        least = min(self._have.values())
        if least <= self._committed:
            return
        self._committed = least
        answers: dict[Link, wire.Stored] = {}
        while self._pending and self._pending[0][0] <= least:
            _, link, called, offset, timestamp = self._pending.popleft()
            stored_there = answers.setdefault(link, wire.Stored([], [], []))
            stored_there.ids.append(called)
            stored_there.offsets.append(offset)
            stored_there.timestamps.append(timestamp)
        for link, answer in answers.items():
            link.send(b"".join(self._codecs[1].encode([answer])))


async def serve(directory: Path, port: int, member_ports: list[int]) -> None:
    part: Leader | Member
    if member_ports:
        part = leader = Leader(directory)
        await leader.connect(member_ports)
    else:
        part = Member(directory)
    await asyncio.get_running_loop().create_server(lambda: Link(part.take), HOST, port)
    await served()


def start(children: Children, directory: Path) -> int:
    """The port of the leader."""
    ports = free_ports(3)
    for name, port, others in zip("bca", ports, ([], [], ports[:2]), strict=True):
        arguments = [str(directory / f"{NAME}-{name}"), *map(str, (port, *others))]
        children.start(f"{NAME}-{name}", [sys.executable, "-m", "bench.lean", *arguments])
        children.await_ready(f"{NAME}-{name}")
    return ports[2]


if __name__ == "__main__":
    gc.set_threshold(YOUNG_OBJECTS, 20, 50)
    uvloop.run(serve(Path(sys.argv[1]), int(sys.argv[2]), list(map(int, sys.argv[3:]))))
