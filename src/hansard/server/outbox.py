"""What is to be said to one participant and is not yet handed to the connection, in lanes that take turns.

Within a lane nothing overtakes anything. Lanes have the same share of the way, by bytes (deficit round robin): a bucket
that is being copied fills its own lane, and what the others have to say waits for one turn of it and not for all of it.
"""

from collections import deque
from collections.abc import Hashable
from typing import Any, Final

TURN_BYTES: Final = 64 << 10
"""A lane may say so much before the next one's turn; what is longer takes several turns."""
MESSAGE_BYTES: Final = 100
"""What the shortest one costs."""


class Lane:
    __slots__ = ("bytes", "credit", "messages")

    def __init__(self) -> None:
        self.messages: deque[tuple[Any, int]] = deque()
        self.bytes = 0
        self.credit = 0


class Outbox:
    def __init__(self) -> None:
        self._lanes: dict[Hashable, Lane] = {}
        self._turns: deque[Hashable] = deque()
        """Of those that have something to say; the first one's turn it is."""
        self.bytes = 0

    def __bool__(self) -> bool:
        return bool(self._turns)

    def put(self, name: Hashable, message: Any, length: int) -> None:
        lane = self._lanes.get(name)
        if lane is None:
            lane = self._lanes[name] = Lane()
            self._turns.append(name)
        lane.messages.append((message, length))
        lane.bytes += length
        self.bytes += length

    def bytes_in(self, name: Hashable) -> int:
        lane = self._lanes.get(name)
        return lane.bytes if lane is not None else 0

    def take(self) -> tuple[Any, int]:
        """The next message, and its length."""
        turns = self._turns
        while True:
            name = turns[0]
            lane = self._lanes[name]
            message, length = lane.messages[0]
            cost = max(length, MESSAGE_BYTES)
            if cost <= lane.credit or len(turns) == 1:
                break
            turns.rotate(-1)
            self._lanes[turns[0]].credit += TURN_BYTES
        lane.messages.popleft()
        lane.credit = max(lane.credit - cost, 0)
        lane.bytes -= length
        self.bytes -= length
        if not lane.messages:  # what it did not use it does not keep
            turns.popleft()
            del self._lanes[name]
            if turns:
                self._lanes[turns[0]].credit += TURN_BYTES
        return message, length

    def clear(self) -> None:
        self._lanes.clear()
        self._turns.clear()
        self.bytes = 0
