"""Which hops have come here before: the network may bring one twice, and it must not be submitted twice."""

from collections import OrderedDict
from enum import Enum, auto
from typing import Final

from .message import Hop, Process

WINDOW: Final = 4096
"""Of numbers so far below the highest nobody knows any more whether they were here."""
PROCESSES: Final = 8
"""Of one node so many are remembered, the latest ones."""


class Verdict(Enum):
    NEW = auto()
    AGAIN = auto()
    FORGOTTEN = auto()
    """It may have been here."""


class Seen:
    """Of one process. Its numbers grow; what is new may come in any order within the window."""

    __slots__ = ("_highest", "_numbers")

    def __init__(self) -> None:
        self._numbers: set[tuple[int, int]] = set()
        self._highest = 0

    def judge(self, number: int, hops: int) -> Verdict:
        """The same one may come again as a later hop."""
        if (number, hops) in self._numbers:
            return Verdict.AGAIN
        if number <= self._highest - WINDOW:
            return Verdict.FORGOTTEN
        self._numbers.add((number, hops))
        if number > self._highest:
            self._highest = number
            if len(self._numbers) > 2 * WINDOW:
                self._numbers = {known for known in self._numbers if known[0] > number - WINDOW}
        return Verdict.NEW

    def __len__(self) -> int:
        return len(self._numbers)


class Register:
    """Of all processes of all nodes."""

    def __init__(self) -> None:
        self._nodes: dict[str, OrderedDict[Process, Seen]] = {}

    def judge(self, hop: Hop) -> Verdict:
        processes = self._nodes.setdefault(hop.origin, OrderedDict())
        seen = processes.get(hop.process)
        if seen is None:
            seen = processes[hop.process] = Seen()
            if len(processes) > PROCESSES:
                processes.popitem(last=False)
        return seen.judge(hop.number, hop.hops)
