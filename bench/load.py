"""A load with a fixed number of submissions outstanding: each answer lets the next one go, until enough have gone.

Whoever is measured runs the same `Load`, with the same bytes, and hands back the same `Figures`. A run ends by count
or by time, whichever comes first, and only with the last answer: what was sent is always waited for.
"""

from asyncio import TaskGroup
from collections.abc import Awaitable, Callable, Sequence
from time import perf_counter
from typing import NamedTuple

PATIENCE_S = 30.0
"""No answer for this long is a failure of what is measured, not a figure."""


class Load(NamedTuple):
    outstanding: int
    changes: int
    """In each submission."""
    most: int
    """Submissions of a run."""
    seconds: float
    """After which none is begun."""


class Figures(NamedTuple):
    changes: int
    """In all submissions that were answered."""
    seconds: float
    latencies_s: Sequence[float] = ()
    """Of each submission, where there was one outstanding at a time."""
    submissions: int = 0
    processor_s: float = 0.0
    """That the servers had, all of them together; it hardly depends on what else the machine does."""

    @property
    def rate(self) -> float:
        return self.changes / self.seconds

    @property
    def processor_us(self) -> float:
        """For each submission."""
        return self.processor_s / self.submissions * 1e6

    def latency_ms(self, share: float) -> float:
        """Which this share of the submissions did not exceed."""
        ordered = sorted(self.latencies_s)
        return ordered[min(int(share * len(ordered)), len(ordered) - 1)] * 1e3


class Course:
    """One run of a load, for a client that is called back: how many more may go, and what came of it."""

    def __init__(self, load: Load) -> None:
        self.load = load
        self.sent = 0
        self.answered = 0
        self.latencies_s: list[float] = []
        self.begun = self.last = perf_counter()

    def next(self) -> int:
        """How many may be sent now; they count as sent."""
        if self.late:
            return 0
        outstanding = self.sent - self.answered
        room = min(self.load.outstanding - outstanding, self.load.most - self.sent)
        self.sent += room
        return room

    def take(self, answers: int) -> None:
        now = perf_counter()
        if self.load.outstanding == 1:
            self.latencies_s.append(now - self.last)
        self.last = now
        self.answered += answers
        assert self.answered <= self.sent, "an answer to nothing"

    @property
    def late(self) -> bool:
        """So that nothing more is sent."""
        return self.last - self.begun >= self.load.seconds

    @property
    def over(self) -> bool:
        """Once nothing more may go."""
        return self.answered == self.sent

    def figures(self) -> Figures:
        changes = self.answered * self.load.changes
        return Figures(changes, self.last - self.begun, self.latencies_s, self.answered)


async def closed_loop(load: Load, submit: Callable[[int], Awaitable[object]]) -> Figures:
    """For a client with one coroutine for each submission: `submit(number)` returns when that one is answered."""
    course = Course(load)

    async def one_after_the_other() -> None:
        while course.sent < load.most and not course.late:
            number = course.sent
            course.sent += 1
            await submit(number)
            course.take(1)

    async with TaskGroup() as group:
        for _ in range(load.outstanding):
            group.create_task(one_after_the_other())
    assert course.over
    return course.figures()
