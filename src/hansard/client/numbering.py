"""The numbers of a client: of its connection, of each change in it, and of its messages.

Series are the connection's, whichever bucket a change goes to; so each bucket sees some of them, rising.
"""

from itertools import count


class Numbering:
    """The series of one connection: `next_series` was never given to any change."""

    __slots__ = ("connection", "next_series")

    def __init__(self, connection: int, next_series: int = 0) -> None:
        self.connection = connection
        """0: of none, and changes have no numbers."""
        self.next_series = next_series

    def take(self, changes: int) -> int:
        """The first of so many."""
        first = self.next_series
        self.next_series += changes
        return first


class Tally:
    """Ids of messages, and the order in which things were submitted: one for all buckets of a client."""

    __slots__ = ("ids", "orders")

    def __init__(self) -> None:
        self.ids = count(1)
        self.orders = count(1)
