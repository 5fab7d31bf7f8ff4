"""Streams that submit until they are told to stop, and again whatever was not acknowledged; and what must come of it.

Each has a connection number of its own. The value of a change is its number and series, so that whoever reads a log
knows what must be there.
"""

import asyncio
from collections import defaultdict
from pathlib import Path
from typing import Final

from hansard.wire.submission import Answer, NotLeader, Repeated, Stored, StoredInPart

from .caller import Caller, change, singly, submission
from .trio import NAMES, check_alike, clients_batches

WINDOW: Final = 8
RETRY_S: Final = 0.01


class Stream:
    """As many changes under way as the window has; after any refusal all that is not acknowledged goes again."""

    def __init__(self, address: tuple[str, int], connection: int, *, bytes_each: int = 0) -> None:
        self.address = address
        self.connection = connection
        self.bytes_each = bytes_each
        self.offsets: dict[int, int | None] = {}
        """Of what was acknowledged, by series; None where it was said to be there, and no longer where."""
        self.strange: list[Answer] = []
        """What no stream that keeps to the rules should be told."""
        self.resent = 0
        self._is_over = False
        self._last_id = 0
        self._flight: dict[int, int] = {}
        self._next = 0
        self._has_to_rewind = False

    def finish(self) -> None:
        """Nothing new is begun; what is under way is seen to its end."""
        self._is_over = True

    @property
    def acknowledged(self) -> int:
        """Every series below it is."""
        return len(self.offsets)

    async def run(self) -> None:
        while not (self._is_over and self.acknowledged == self._next):
            try:
                async with await Caller.dial(self.address) as caller:
                    await self._use(caller)
            except OSError:
                await asyncio.sleep(RETRY_S)

    async def _use(self, caller: Caller) -> None:
        self._flight.clear()
        self._resend(caller)
        while self._flight or not self._is_over:
            if not await caller.read():
                return
            for answers in caller.frames:
                for answer in answers:
                    for single in singly(answer):
                        self._take(single)
            caller.frames.clear()
            caller.answers.clear()
            if not self._has_to_rewind:
                self._top_up(caller)
            elif not self._flight:
                await asyncio.sleep(RETRY_S)
                self._resend(caller)

    def _take(self, answer: Answer) -> None:
        called = answer.ids[0] if isinstance(answer, Stored) else answer.id
        series = self._flight.pop(called)
        match answer:
            case Stored():
                self.offsets[series] = answer.offsets[0]
            case Repeated():
                self.offsets[series] = answer.offset
            case NotLeader() | StoredInPart():
                self.strange.append(answer)
                self._has_to_rewind = True
            case _:
                self._has_to_rewind = True

    def _resend(self, caller: Caller) -> None:
        self._has_to_rewind = False
        again = [series for series in range(self._next) if series not in self.offsets]
        self.resent += len(again)
        self._send(caller, again)
        self._top_up(caller)

    def _top_up(self, caller: Caller) -> None:
        if not self._is_over:
            room = max(0, WINDOW - len(self._flight))
            new = list(range(self._next, self._next + room))
            self._next += room
            self._send(caller, new)

    def _send(self, caller: Caller, numbers: list[int]) -> None:
        submits = []
        for series in numbers:
            self._last_id += 1
            self._flight[self._last_id] = series
            value = f"{self.connection}/{series}".ljust(self.bytes_each)
            submits.append(submission(self._last_id, change(value, connection=self.connection, series=series)))
        if submits:
            caller.submit(*submits)


class Crowd:
    """Several streams under way at once."""

    def __init__(self, address: tuple[str, int], count: int, *, first: int = 1, bytes_each: int = 0) -> None:
        self.streams = [
            Stream(address, connection, bytes_each=bytes_each) for connection in range(first, first + count)
        ]
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self._tasks = [asyncio.create_task(stream.run()) for stream in self.streams]

    @property
    def acknowledged(self) -> int:
        return sum(stream.acknowledged for stream in self.streams)

    async def progress(self, count: int) -> None:
        """Until so many more are acknowledged."""
        goal = self.acknowledged + count
        while self.acknowledged < goal:
            for task in self._tasks:
                if task.done():
                    task.result()
            await asyncio.sleep(0.002)

    async def finish(self) -> None:
        """Everything that was begun is acknowledged."""
        for stream in self.streams:
            stream.finish()
        await asyncio.gather(*self._tasks)

    async def give_up(self) -> None:
        """Whoever waits for an answer waits no longer."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def check(self, directory: Path) -> None:
        """What was acknowledged is on each of the three disks, once, in order and where it was said to be; and as far
        as it goes the three are the same."""
        end = max([self._checked(directory / name) for name in NAMES])
        check_alike(directory, end)

    def _checked(self, directory: Path) -> int:
        """Where the last of it ends."""
        found: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for batch in clients_batches(directory):
            for each in batch.changes():
                connection, number = (each.value or b"").decode().strip().split("/")
                found[int(connection)].append((int(number), each.offset))
        end = 0
        for stream in self.streams:
            there = found[stream.connection]
            assert [series for series, _ in there] == list(range(len(there))), "once, in order, without a gap"
            assert stream.offsets.keys() == set(range(stream.acknowledged)), "acknowledged in order"
            assert len(there) >= stream.acknowledged, "nothing acknowledged is lost"
            for series, said in stream.offsets.items():
                offset = there[series][1]
                assert said in (None, offset)
                end = max(end, offset + 1)
            assert not stream.strange
        return end
