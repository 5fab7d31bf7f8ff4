"""What every stage has: virtual time, what is under way, the ways between participants, and the trace.

Whatever takes time waits in one queue, ordered by when it is due and then by when it was put there. A trace line is
written when something reaches somebody, not when it is sent.
"""

import heapq
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from itertools import count
from typing import Generic

from .chances import Chances
from .links import Links, Said

SETTLE_US_MAX = 60_000_000
SAID_MAX = 2
"""How often the same message is told of while one command is carried out."""


class Scene(ABC, Generic[Said]):
    def __init__(self, chances: Chances, tick_us: int) -> None:
        self.chances = chances
        self.now_us = 0
        self.links: Links[Said] = Links()
        self.lines: list[str] = []
        self.quiet = False
        self._tick_us = tick_us
        self._queue: list[tuple[int, int, Callable[[], None]]] = []
        self._order = count()
        self._next_tick_us = tick_us
        self._said: Counter[str] = Counter()

    @abstractmethod
    def tick(self) -> None:
        """Time has passed, for everybody to whom it does."""

    @abstractmethod
    def deliver(self, sender: str, to: str, message: Said) -> None:
        """It has come to the end of its way."""

    # Time.

    def after(self, delay_us: int, action: Callable[[], None]) -> None:
        heapq.heappush(self._queue, (self.now_us + delay_us, next(self._order), action))

    def run(self, duration_us: int) -> None:
        until_us = self.now_us + duration_us
        while (self._queue and self._queue[0][0] <= until_us) or self._next_tick_us <= until_us:
            self._step()
        self.now_us = until_us

    def settle(self) -> None:
        """Until nothing is under way; what waits for a tick, a cut way, a held message or a stalled disk goes on
        waiting."""
        until_us = self.now_us + SETTLE_US_MAX
        while self._queue:
            self._step()
            assert self.now_us <= until_us, "it never settles"

    def _step(self) -> None:
        if self._queue and self._queue[0][0] <= self._next_tick_us:
            self.now_us, _, action = heapq.heappop(self._queue)
            action()
            return
        self.now_us = self._next_tick_us
        self._next_tick_us += self._tick_us
        self.tick()

    # The trace.

    def tell(self, text: str) -> None:
        self.lines.append(f"{self.now_us / 1000:>8g}ms  {text}")

    def tell_detail(self, text: str) -> None:
        """What a reader can do without, if the scenario says so."""
        if not self.quiet:
            self.tell(text)

    def tell_message(self, text: str) -> None:
        """What is only said again, while one command is carried out, is counted."""
        self._said[text] += 1
        if self._said[text] <= SAID_MAX:
            self.tell_detail(text)

    def tell_repetitions(self) -> None:
        for text, times in self._said.items():
            if times > SAID_MAX:
                self.tell_detail(f"{text}, and {times - SAID_MAX} times more")
        self._said.clear()
