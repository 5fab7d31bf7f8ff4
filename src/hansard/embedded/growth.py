"""Where the log ends, for those who wait for it to grow."""

from threading import Condition
from time import monotonic


class Growth:
    def __init__(self, end: int) -> None:
        self._end = end
        self._is_over = False
        self._changed = Condition()

    def announce(self, end: int) -> None:
        with self._changed:
            self._end = end
            self._changed.notify_all()

    def finish(self) -> None:
        """It will not grow any more: nobody need wait."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def wait_beyond(self, offset: int, deadline: float | None) -> bool:
        """Whether there is something at or after an offset; False when it will never be, or not by the deadline."""
        with self._changed:
            while self._end <= offset and not self._is_over:
                left = None if deadline is None else deadline - monotonic()
                if left is not None and left <= 0:
                    return False
                self._changed.wait(left)
            return self._end > offset
