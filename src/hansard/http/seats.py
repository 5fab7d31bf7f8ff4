"""Who waits for news, counted by token: nobody takes all the room that there is for it.

Where no tokens are needed everybody is the same one, and the number of connections is the only bound.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from .access import Guest
from .problem import Refusal

SEATS_MAX: Final = 1_000
"""Streams and reads that wait, of one token at one participant."""


class Seats:
    def __init__(self, seats_max: int = SEATS_MAX) -> None:
        self._seats_max = seats_max
        self._taken: Counter[str] = Counter()

    @contextmanager
    def one(self, guest: Guest) -> Iterator[None]:
        """For as long as the context lasts."""
        self.check(guest)
        self._taken[guest.name] += 1
        try:
            yield
        finally:
            self._taken[guest.name] -= 1
            if not self._taken[guest.name]:
                del self._taken[guest.name]

    def check(self, guest: Guest) -> None:
        if guest.name and self._taken[guest.name] >= self._seats_max:
            raise Refusal("too-many", f"this token has {self._seats_max} streams and waiting reads open here already")
