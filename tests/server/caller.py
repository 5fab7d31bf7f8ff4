"""A client that speaks frames and nothing else: it says exactly what a test wants said, be it nonsense."""

import asyncio
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Final, Self

from hansard.batch import Batch, build, reopen
from hansard.wire.codec import Codec
from hansard.wire.frame import Buffer, FrameReader
from hansard.wire.handshake import Hello, Role, greeting, understood
from hansard.wire.submission import Answer, Stored, Submit

CHUNK_BYTES: Final = 1 << 16
WAIT_US: Final = 20_000_000
A_CLIENT: Final = Hello(Role.CLIENT)


def change(value: str | bytes, *, connection: int = 0, series: int = 0, previous: int | None = None) -> Batch:
    """One change, of a stream that is numbered without gaps unless it is said otherwise."""
    if not connection:
        return build(["key"], [value])
    before = series - 1 if previous is None else previous
    return build(["key"], [value], connection=connection, first_series=series, previous_series=before)


def submission(called: int, batch: Batch, *, bucket: int = 0, wait_us: int = WAIT_US) -> Submit:
    return Submit(called, bucket, batch, wait_us)


def frame(submits: Sequence[Submit]) -> bytes:
    codec: Codec[Submit] = Codec(Submit, reopen)
    return b"".join(codec.encode(submits))


class Caller:
    """Answers are gathered by the id that they are of, and frame by frame as they came."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.frames: list[list[Answer]] = []
        self.answers: dict[int, Answer] = {}
        """By id; of receipts that came as columns one for each."""
        self._codec: Codec[Answer] = Codec(Answer, reopen)
        self._frames = FrameReader()
        self._hello: Hello | None = None

    @classmethod
    async def dial(cls, address: tuple[str, int], hello: Hello | None = A_CLIENT) -> Self:
        """Without a hello nothing is said at first."""
        caller = cls(*await asyncio.open_connection(*address))
        if hello is not None:
            caller.say(greeting(hello))
        return caller

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.hang_up()

    def say(self, pieces: Iterable[Buffer]) -> None:
        self.writer.writelines(pieces)

    def submit(self, *submits: Submit) -> None:
        """All of them in one frame."""
        self.say([frame(submits)])

    def hang_up(self) -> None:
        self.writer.transport.abort()

    async def hear(self, *ids: int) -> list[Answer]:
        """The answers to these, once they are there."""
        wanted = set(ids)
        while not self.answers.keys() >= wanted:
            assert await self.read(), "the connection was ended"
        return [self.answers[called] for called in ids]

    async def receipts(self, *ids: int) -> list[int]:
        """The offsets of these, all of which must have been stored."""
        offsets = []
        for answer in await self.hear(*ids):
            assert isinstance(answer, Stored), answer
            offsets += answer.offsets
        return offsets

    async def read(self) -> bool:
        """Take in what comes next; says whether anything came."""
        try:
            data = await self.reader.read(CHUNK_BYTES)
        except ConnectionError:
            return False
        for whole in self._frames.feed(data):
            if self._hello is None:
                self._hello = understood(whole)
            else:
                self._take(self._codec.decode(whole))
        return bool(data)

    def _take(self, answers: list[Answer]) -> None:
        self.frames.append(answers)
        for single in [single for answer in answers for single in singly(answer)]:
            called = single.ids[0] if isinstance(single, Stored) else single.id
            assert called not in self.answers, f"{called} was answered twice"
            self.answers[called] = single

    async def await_end(self) -> None:
        """Until the other side hangs up."""
        while await self.read():
            pass


def singly(answer: Answer) -> list[Answer]:
    if not isinstance(answer, Stored):
        return [answer]
    rows = zip(answer.ids, answer.offsets, answer.timestamps, strict=True)
    return [Stored([called], [offset], [timestamp]) for called, offset, timestamp in rows]
