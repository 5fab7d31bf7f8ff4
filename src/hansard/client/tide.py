"""Waiting for more: one read that waits for each bucket at which somebody is at the end, however many they are.

Whoever waits gives the place up to which it has read each bucket, and is told which of them to look at again. That
costs the participants one read for each bucket of each client, and somebody who stops waiting leaves nothing behind
there. A tide for which nobody waits goes with its last read.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

from hansard.wire.request import Page

from .errors import ClientClosed, ReadError, Refused
from .reading import Filter, Reader, Span

WAIT_S: Final = 25.0
"""For each read; then it is asked again."""
TROUBLE_S: Final = 0.5
"""Between two attempts when there is trouble."""


class Waiter:
    """`woken` are the buckets that are to be looked at again."""

    __slots__ = ("event", "woken")

    def __init__(self) -> None:
        self.event = asyncio.Event()
        self.woken: set[int] = set()

    def wake(self, bucket: int) -> None:
        self.woken.add(bucket)
        self.event.set()


class Tide:
    """`wanted`: what is of no interest may go by unnoticed. `over` is told when nobody waits and nothing is read."""

    def __init__(
        self, reader: Reader, wanted: Filter, timeout_s: float, over: Callable[["Tide"], None] = lambda _: None
    ) -> None:
        self._reader = reader
        self._wanted = wanted
        self._timeout_s = timeout_s
        self._over = over
        self._is_closed = False
        self._ends: dict[int, int] = {}
        """How far each bucket goes, as far as it is known."""
        self._waiting: dict[int, list[Waiter]] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}

    async def close(self) -> None:
        """Whoever waits is told."""
        self._is_closed = True
        self._wake_all()
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def risen(self, places: Mapping[int, int], timeout_s: float | None) -> frozenset[int]:
        """Those of these buckets that may have more than up to these places; none when time is over."""
        if self._is_closed:
            raise ClientClosed
        more = [bucket for bucket, place in places.items() if self._ends.get(bucket, 0) > place]
        if more:
            return frozenset(more)
        waiter = Waiter()
        for bucket, place in places.items():
            if place > self._ends.get(bucket, place):
                self.wake(bucket)  # it has read more than the others, who wait where the read that is under way began
            self._ends[bucket] = place
            self._waiting.setdefault(bucket, []).append(waiter)
            if bucket not in self._tasks:
                self._tasks[bucket] = asyncio.get_running_loop().create_task(self._watch(bucket))
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout_s):
                    await waiter.event.wait()
        finally:
            for bucket in places:
                self._waiting[bucket].remove(waiter)
            self._ebb()
        if self._is_closed:
            raise ClientClosed
        return frozenset(waiter.woken)

    def wake(self, bucket: int) -> None:
        """It was split, and half of what is to come will be elsewhere."""
        for waiter in self._waiting.get(bucket, ()):
            waiter.wake(bucket)

    def _wake_all(self) -> None:
        for bucket in self._waiting:
            self.wake(bucket)

    async def _watch(self, bucket: int) -> None:
        """As long as anybody waits."""
        try:
            while self._waiting[bucket]:
                try:
                    span = Span(self._ends[bucket], changes_max=1, wait_s=WAIT_S)
                    page = await self._reader.read(bucket, span, self._wanted, self._timeout_s)
                except Refused:
                    self.wake(bucket)  # what they read themselves is refused, too, and says why
                    await asyncio.sleep(TROUBLE_S)
                    continue
                except ReadError:
                    await asyncio.sleep(TROUBLE_S)
                    continue
                if not isinstance(page, Page):
                    self.wake(bucket)  # it begins later by now: that is for them to find out
                    await asyncio.sleep(TROUBLE_S)
                elif page.end > self._ends[bucket]:
                    self._ends[bucket] = page.end
                    self.wake(bucket)
        finally:
            del self._tasks[bucket]
            self.wake(bucket)  # whatever it was that ended it
            self._ebb()

    def _ebb(self) -> None:
        if not self._tasks and not any(self._waiting.values()):
            self._over(self)
