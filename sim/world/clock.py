"""Virtual time: actions are done in the order of their times, and of their planning where times are equal."""

from collections.abc import Callable
from heapq import heappop, heappush

Action = Callable[[], None]


class Clock:
    def __init__(self) -> None:
        self.now_us = 0
        self._planned: list[tuple[int, int, Action]] = []
        self._count = 0

    def after(self, delay_us: int, action: Action) -> None:
        assert delay_us >= 0
        self._count += 1
        heappush(self._planned, (self.now_us + delay_us, self._count, action))

    def run_until(self, end_us: int) -> None:
        planned = self._planned
        while planned and planned[0][0] <= end_us:
            self.now_us, _, action = heappop(planned)
            action()
        self.now_us = max(self.now_us, end_us)
