"""Requests from this very process, as the HTTP API has them: they go the way of any client's, and are called back.

Their numbers are below zero, so that they are never mistaken for those of the reception.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from hansard.batch import Batch
from hansard.participant import event
from hansard.participant.effect import Answer, AnswerConnect, AnswerRead, ReadAt

Answered = Callable[[Answer], None]
Connected = Callable[[AnswerConnect], None]
Ended = Callable[[int | None], None]


class Inside:
    def __init__(
        self,
        happen: Callable[[event.Event], None],
        submitted: Callable[[event.Submit], None],
        soon: Callable[[], None],
        now_us: Callable[[], int],
    ) -> None:
        self._happen = happen
        self._submitted = submitted
        self._soon = soon
        self._now_us = now_us
        self._number = 0
        self._waiting: dict[int, Callable[[Any], None]] = {}
        self._quiet: asyncio.Event | None = None
        """Set when nobody waits any more; None while that is of no interest."""

    def __len__(self) -> int:
        """Who waits for an answer."""
        return len(self._waiting)

    def submit(self, bucket: int, batch: Batch, wait_us: int, level: int, answered: Answered) -> None:
        """`level`: all its keys live in this bucket where there are so many."""
        number = self._note(answered)
        self._submitted(event.Submit(number, bucket, batch, self._now_us() + wait_us, level))
        self._soon()

    def connect(self, name: str, broken: int, wait_us: int, connected: Connected) -> None:
        number = self._note(connected)
        self._happen(event.Connect(number, self._now_us() + wait_us, name, broken))

    def end(self, bucket: int, wait_us: int, ended: Ended) -> None:
        """Where a bucket ends by its leader's word; None if there was none in that time."""

        def told(answer: AnswerRead) -> None:
            ended(answer.outcome.committed if isinstance(answer.outcome, ReadAt) else None)

        self._happen(event.Read(self._note(told), bucket, self._now_us() + wait_us, linear=True))

    def _note(self, called: Callable[[Any], None]) -> int:
        self._number -= 1
        self._waiting[self._number] = called
        return self._number

    def answered(self, answer: Answer | AnswerConnect | AnswerRead) -> None:
        self._waiting.pop(answer.id)(answer)
        if self._quiet is not None and not self._waiting:
            self._quiet.set()

    async def finish(self) -> None:
        """Wait until everything is answered."""
        self._quiet = asyncio.Event()
        if self._waiting:
            await self._quiet.wait()
