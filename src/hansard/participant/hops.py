"""Which hops have come here before: the network may bring one twice, and it must not be submitted twice."""

from typing import Final

WINDOW: Final = 4096
"""Numbers so far below the highest are taken for old ones."""


class Seen:
    """Of one origin. Its numbers grow; what is new may come in any order within the window."""

    __slots__ = ("_highest", "_numbers")

    def __init__(self) -> None:
        self._numbers: set[tuple[int, int]] = set()
        self._highest = 0

    def first(self, number: int, hops: int) -> bool:
        """Whether it comes for the first time; the same one may come again as a later hop."""
        if (number, hops) in self._numbers or number <= self._highest - WINDOW:
            return False
        self._numbers.add((number, hops))
        if number > self._highest:
            self._highest = number
            if len(self._numbers) > 2 * WINDOW:
                self._numbers = {known for known in self._numbers if known[0] > number - WINDOW}
        return True
