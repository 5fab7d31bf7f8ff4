"""Many clients on one connection: each submission is a frame and a batch of its own, of a stream of its own.

This is what a leader sees of many independent clients, or of whatever speaks for them: nothing was put together on the
way, so merging is the leader's work. Every stream has one submission outstanding. The frames are made before the time
is taken, so that what is measured is the servers, as with the client of the sketch.
"""

import asyncio
from collections.abc import Callable
from typing import Final

import numpy as np

from bench.load import PATIENCE_S, Course, Figures, Load
from hansard.batch import Batch, reopen
from hansard.wire.codec import Codec
from hansard.wire.errors import WireError
from hansard.wire.frame import Buffer, FrameReader
from hansard.wire.handshake import Hello, Role, greeting, understood
from hansard.wire.submission import Answer, Stored, Submit

FIRST_CONNECTION: Final = 1_000
"""Lower ones are of other clients of the same servers."""
WAIT_US: Final = int(PATIENCE_S * 1e6)
JOINED_BYTES_MAX: Final = 4096
"""Smaller frames are written as one piece; larger ones share the body of their batches."""


class Streams(asyncio.BufferedProtocol):
    def __init__(self, batch_of: Callable[[int], Batch]) -> None:
        self._batch_of = batch_of
        self._transport: asyncio.Transport | None = None
        self._reader = FrameReader()
        self._greeted = False
        self._answers: Codec[Answer] = Codec(Answer, reopen)
        self._next_series: dict[int, int] = {}
        """Of each stream, over all runs."""
        self._frames: list[list[Buffer]] = []
        """Of this run; that of stream s are those with the numbers s, s + outstanding, and so on."""
        self._offsets: list[int] = []
        """That each of them was answered with; -1 before."""
        self._course: Course | None = None
        self._done: asyncio.Future[None] | None = None

    async def connect(self, port: int) -> None:
        self._done = asyncio.get_running_loop().create_future()
        self._transport, _ = await asyncio.get_running_loop().create_connection(lambda: self, "127.0.0.1", port)
        self._transport.writelines(greeting(Hello(Role.CLIENT)))
        await asyncio.wait_for(self._done, PATIENCE_S)

    async def run(self, load: Load) -> Figures:
        self._frames = self._made(load)
        self._offsets = [-1] * load.most
        self._done = asyncio.get_running_loop().create_future()
        self._course = course = Course(load)
        self._send(course, list(range(min(load.outstanding, load.most))))
        await asyncio.wait_for(self._done, load.seconds + PATIENCE_S)
        self._check(load)
        return course.figures()

    def _made(self, load: Load) -> list[list[Buffer]]:
        body, codec = self._batch_of(load.changes), Codec[Submit](Submit, reopen)
        frames: list[list[Buffer]] = []
        for number in range(load.most):
            turn, stream = divmod(number, load.outstanding)
            first = self._next_series.get(stream, 0) + turn * load.changes
            header = body.header._replace(
                connection=FIRST_CONNECTION + stream, first_series=first, previous_series=first - 1
            )
            batch = Batch(header, header.packed(), body.body)
            pieces = codec.encode([Submit(number, 0, batch, WAIT_US)])
            frames.append([b"".join(pieces)] if batch.length < JOINED_BYTES_MAX else pieces)
        return frames

    def _check(self, load: Load) -> None:
        """Every submission has its own changes in the log, and those of a stream are there in order."""
        stored = np.array([offset for offset in self._offsets if offset >= 0])
        assert np.all(np.diff(np.sort(stored)) >= load.changes), "two submissions share an offset"
        for stream in range(load.outstanding):
            offsets = [offset for offset in self._offsets[stream :: load.outstanding] if offset >= 0]
            assert offsets == sorted(offsets), "a stream is not stored in order"
            self._next_series[stream] = self._next_series.get(stream, 0) + len(offsets) * load.changes

    def _send(self, course: Course, numbers: list[int]) -> None:
        assert self._transport is not None
        course.sent += len(numbers)
        pieces: list[Buffer] = []
        for number in numbers:
            pieces += self._frames[number]
        if len(pieces) == 1:
            self._transport.write(pieces[0])
        elif course.load.changes == 1:
            self._transport.write(b"".join(pieces))
        else:
            self._transport.writelines(pieces)

    # What the loop calls.

    def get_buffer(self, _sizehint: int) -> memoryview:
        return self._reader.room()

    def buffer_updated(self, nbytes: int) -> None:
        try:
            for frame in self._reader.filled(nbytes):
                if self._greeted:
                    self._take(self._answers.decode(frame))
                else:
                    understood(frame)
                    self._greeted = True
                    self._end(None)
        except WireError as error:
            self._end(error)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(exc or ConnectionError("the server went away"))

    def _take(self, answers: list[Answer]) -> None:
        """What follows goes first: to look at the answers is our own affair, and the servers need not wait for it."""
        course = self._course
        assert course is not None
        outstanding, most = course.load.outstanding, course.load.most
        ids: list[int] = []
        for answer in answers:
            if not isinstance(answer, Stored):
                self._end(AssertionError(f"not stored: {answer}"))
                return
            ids += answer.ids
        course.take(len(ids))
        if not course.late and (numbers := [number + outstanding for number in ids if number + outstanding < most]):
            self._send(course, numbers)
        for answer in answers:
            assert isinstance(answer, Stored)
            for number, offset in zip(answer.ids, answer.offsets, strict=True):
                assert self._offsets[number] < 0, "answered twice"
                self._offsets[number] = offset
        if course.over:
            self._end(None)

    def _end(self, error: Exception | None) -> None:
        if self._done is None or self._done.done():
            return
        if error is None:
            self._done.set_result(None)
        else:
            self._done.set_exception(error)

    async def close(self) -> None:
        if self._transport is not None:
            self._transport.close()
