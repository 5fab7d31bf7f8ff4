"""A participant that does as it is told: a real server on loopback that speaks frames, and a bucket in memory.

What it says to each submission comes from a script; without one it stores everything, once and in order, as a leader
does. Several servers may share a bucket, as participants do.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from types import TracebackType
from typing import Any, Self

import uvloop
from msgspec.structs import replace

from hansard.batch import Batch, verify_at
from hansard.client import AsyncClient, Settings
from hansard.client.courier import Courier
from hansard.wire.codec import Codec
from hansard.wire.frame import Frame, FrameReader
from hansard.wire.handshake import Hello, Role, greeting, understood
from hansard.wire.submission import Answer, Gap, NotLeader, Repeated, Stored, StoredInPart, Submit

TIMEOUT_S = 20.0
"""For what must happen: a test that waits so long has failed."""
TIMESTAMP = 1_700_000_000_000_000

LOOPS = [asyncio.new_event_loop, uvloop.new_event_loop]


def run(test: Coroutine[Any, Any, None], loop: Callable[[], asyncio.AbstractEventLoop] = LOOPS[0]) -> None:
    """A failed wait is a failed test, never one that hangs; what a loop would only log is an error."""
    problems: list[dict[str, Any]] = []

    def note(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        # A connection that a participant accepted in its last moment is cancelled with the loop.
        if not isinstance(context.get("exception"), asyncio.CancelledError):
            problems.append(context)

    async def bounded() -> None:
        asyncio.get_running_loop().set_exception_handler(note)
        async with asyncio.timeout(TIMEOUT_S):
            await test

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(bounded())
    assert not problems, problems


async def until(condition: Callable[[], bool]) -> None:
    """The test's own deadline bounds it."""
    while not condition():  # noqa: ASYNC110 (what is waited for has no event of its own)
        await asyncio.sleep(0.001)


class Bucket:
    """Stores each series of a connection once and in order, as phaser/streams.py judges them."""

    def __init__(self) -> None:
        self.values: list[bytes | None] = []
        self.keys: list[bytes | None] = []
        self.batches: list[Batch] = []
        self._last: dict[int, int] = {}
        self._places: dict[tuple[int, int], int] = {}

    def store(self, submit: Submit) -> Answer:
        header, batch = submit.batch.header, submit.batch
        connection, values = header.connection, batch.values()
        offset = len(self.values)
        if not connection:
            return self._append(submit, values, 0)
        stored = self._last.get(connection, -1)
        series = batch.series.tolist()
        if header.previous_series > stored:
            return Gap(submit.id, stored)
        if series[-1] <= stored:
            known = self._places.get((connection, series[0]))
            return Repeated(submit.id, known, None if known is None else TIMESTAMP)
        repeated = sum(number <= stored for number in series)
        for place, number in enumerate(series[repeated:]):
            self._places[connection, number] = offset + place
        self._last[connection] = series[-1]
        return self._append(submit, values[repeated:], repeated)

    def fork(self) -> "Bucket":
        """Another one that has all that this one has, and knows what it knows."""
        other = Bucket()
        other.values, other.keys, other.batches = [*self.values], [*self.keys], [*self.batches]
        other._last, other._places = dict(self._last), dict(self._places)
        return other

    def _append(self, submit: Submit, values: list[bytes | None], repeated: int) -> Answer:
        offset = len(self.values)
        self.values += values
        self.keys += submit.batch.keys()[repeated:]
        self.batches.append(submit.batch)
        if repeated:
            return StoredInPart(submit.id, repeated, offset, TIMESTAMP)
        return Stored([submit.id], [offset], [TIMESTAMP])


def courier_of(client: AsyncClient) -> Courier:
    """Of a client of one bucket."""
    assert client._submitter is not None
    courier = client._submitter.lane(0).courier
    assert isinstance(courier, Courier)
    return courier


STREAM, NOBODYS = 7, 0
"""Connection numbers, of a client with a stream and of one without."""
QUICK = Settings(backoff_min_s=0.001, backoff_max_s=0.01, answer_grace_s=0.02)
APART = replace(QUICK, batch_changes=1)
"""What is submitted by one call is not gathered with anybody else's."""


async def connected(
    *participants: "FakeParticipant", connection: int, timeout_s: float = 10.0, settings: Settings = QUICK
) -> AsyncClient:
    addresses = [participant.address for participant in participants]
    return await AsyncClient.connect(addresses, connection=connection, timeout_s=timeout_s, settings=settings)


class Hangup(Exception):
    """A script raises it to end the connection: nothing of the frame is answered."""


Step = Callable[[Submit, Bucket], Answer | None]
"""What a participant does with a submission; None is no answer."""


def store(submit: Submit, bucket: Bucket) -> Answer:
    return bucket.store(submit)


def say(answer: Callable[[int], Answer]) -> Step:
    """Refuses it, with an answer made of its id."""
    return lambda submit, _: answer(submit.id)


def say_nobody_leads(submit: Submit, _: Bucket) -> Answer:
    return NotLeader(submit.id, None, None, 1)


def ignore(_: Submit, __: Bucket) -> None:
    return None


def hang_up(_: Submit, __: Bucket) -> Answer:
    raise Hangup


def store_and_hang_up(submit: Submit, bucket: Bucket) -> Answer:
    bucket.store(submit)
    raise Hangup


class FakeParticipant:
    """`script` has a step for each submission to come; after it everything is done as `otherwise` says."""

    requests: Any = Submit

    def __init__(self, *script: Step, bucket: Bucket | None = None, otherwise: Step = store) -> None:
        self.bucket = bucket or Bucket()
        self.script = deque(script)
        self.otherwise = otherwise
        self.hello = Hello(Role.PARTICIPANT, node="fake")
        self.address = ""
        self.submits: list[Submit] = []
        """All that came, in order."""
        self.frames: list[int] = []
        """How many submissions each frame had."""
        self.connections = 0
        self.is_reading = asyncio.Event()
        self.is_reading.set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._codec: Codec[Any] = Codec(self.requests, verify_at)

    async def __aenter__(self) -> Self:
        await self._listen(0)
        return self

    async def _listen(self, port: int) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", port)
        host, port = self._server.sockets[0].getsockname()
        self.address = f"{host}:{port}"

    async def stop_listening(self) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def listen_again(self) -> None:
        await self._listen(int(self.address.rpartition(":")[2]))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        self.hang_up()
        await until(lambda: not self._writers)
        await self._server.wait_closed()

    def hang_up(self) -> None:
        """On everybody."""
        for writer in self._writers:
            writer.transport.abort()

    def say(self, answers: Sequence[Answer]) -> None:
        """To everybody, now."""
        for writer in self._writers:
            self._reply(writer, answers)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        self.connections += 1
        writer.writelines(greeting(self.hello))
        frames, hello = FrameReader(), None
        try:
            while data := await reader.read(1 << 16):
                await self.is_reading.wait()
                for frame in frames.feed(data):
                    if hello is None:
                        hello = understood(frame)
                        assert hello.role is Role.CLIENT
                    else:
                        self._reply(writer, self._handled(frame))
        except (Hangup, ConnectionError):
            writer.transport.abort()
        finally:
            self._writers.discard(writer)
            writer.close()

    def _handled(self, frame: Frame) -> list[Any]:
        submits = self._codec.decode(frame)
        self.frames.append(len(submits))
        answers: list[Any] = []
        for submit in submits:
            answer = self.answer(submit)
            if answer is not None:
                answers.append(answer)
        return answers

    def answer(self, submit: Any) -> Any:
        assert isinstance(submit, Submit)
        self.submits.append(submit)
        step = self.script.popleft() if self.script else self.otherwise
        return step(submit, self.bucket)

    def _reply(self, writer: asyncio.StreamWriter, answers: Sequence[Any]) -> None:
        if answers:
            writer.writelines(self._codec.encode(answers))
