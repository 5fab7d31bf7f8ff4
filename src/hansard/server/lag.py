"""How late the loop is: a participant that does nothing else for too long loses its lease, and its leads with it."""

import logging
from collections import deque
from typing import Final

log = logging.getLogger("hansard")

WINDOW_S: Final = 60.0
SLICE_S: Final = 5.0
BAD_S: Final = 0.3
"""So much is worth a word: a few times this, and the others take it for dead."""
SAID_S: Final = 60.0
"""It is said no more often than that."""


class Lag:
    def __init__(self) -> None:
        self.last_s = 0.0
        self._slices: deque[tuple[float, float]] = deque()
        """Beginning and greatest lag of each part of the window."""
        self._said_s = float("-inf")
        self._bad = 0
        """How often since it was said last."""

    def note(self, lag_s: float, now_s: float) -> None:
        self.last_s = lag_s
        slices = self._slices
        if slices and now_s - slices[-1][0] < SLICE_S:
            slices[-1] = (slices[-1][0], max(slices[-1][1], lag_s))
        else:
            slices.append((now_s, lag_s))
        while now_s - slices[0][0] > WINDOW_S:
            slices.popleft()
        self._bad += lag_s >= BAD_S
        if self._bad and now_s - self._said_s >= SAID_S:
            self._say(now_s)

    def _say(self, now_s: float) -> None:
        worst_ms, bad = round(self.max_s * 1000), self._bad
        self._said_s, self._bad = now_s, 0
        log.warning(
            "this process did nothing for up to %d ms, %d times: the machine is too busy, or asks too much of it",
            *(worst_ms, bad),
            extra={"lag_ms": worst_ms, "times": bad},
        )

    @property
    def max_s(self) -> float:
        """Within about the last minute."""
        return max([lag_s for _, lag_s in self._slices], default=0.0)
