"""Reads of what is not there yet: each waits until something is committed in its bucket, or its time is over."""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Generic, Protocol, TypeVar


class Waiter(Protocol):
    @property
    def bucket(self) -> int: ...

    @property
    def deadline_us(self) -> int: ...


Guest = TypeVar("Guest", bound=Waiter)


class Lounge(Generic[Guest]):
    """However many there are, a turn in which nothing happens to them costs nothing."""

    def __init__(self) -> None:
        self._buckets: dict[int, dict[int, Guest]] = {}
        self._due: list[tuple[int, int, int]] = []
        """Deadline, bucket and number of each; of some who have gone, too."""
        self._number = 0
        self.count = 0

    def __len__(self) -> int:
        return self.count

    def enter(self, guest: Guest) -> int:
        """Its number here."""
        self._number += 1
        self._buckets.setdefault(guest.bucket, {})[self._number] = guest
        self.count += 1
        self._tidy()
        heappush(self._due, (guest.deadline_us, guest.bucket, self._number))
        return self._number

    def leave(self, bucket: int, number: int) -> Guest | None:
        """None if it has gone."""
        there = self._buckets.get(bucket)
        guest = there.pop(number, None) if there is not None else None
        if there is not None and guest is not None:
            self.count -= 1
            if not there:
                del self._buckets[bucket]
        return guest

    def _tidy(self) -> None:
        """When most entries are of those who have gone."""
        if len(self._due) > 2 * self.count + 1_000:
            self._due = sorted([entry for entry in self._due if entry[2] in self._buckets.get(entry[1], ())])

    def called(self, bucket: int) -> list[tuple[int, Guest]]:
        """All of a bucket, in the order in which they came, with their numbers."""
        there = self._buckets.pop(bucket, {})
        self.count -= len(there)
        return list(there.items())

    def overdue(self, now_us: int) -> list[tuple[int, Guest]]:
        found: list[tuple[int, Guest]] = []
        while self._due and self._due[0][0] <= now_us:
            _, bucket, number = heappop(self._due)
            guest = self.leave(bucket, number)
            if guest is not None:
                found.append((number, guest))
        return found

    def moved(self, is_here: Callable[[int], bool]) -> list[tuple[int, Guest]]:
        """Those of buckets that are elsewhere now."""
        return [entry for bucket in list(self._buckets) if not is_here(bucket) for entry in self.called(bucket)]
