"""Which place has which bucket, as it will be when all that is under way is done; and how much each place has by that.

A row is the places of a bucket's copies, the leader's first.
"""

from collections import Counter
from collections.abc import Iterable

from .ring import Ring

Row = tuple[int, ...]


class Arrangement:
    def __init__(self, ring: Ring) -> None:
        self.ring = ring
        self.rows: dict[int, Row] = {}
        self.load = [0] * len(ring)
        """Copies at each place, and those that are missed there."""
        self.lead = [0] * len(ring)

    def count(self) -> None:
        """All rows, which were not put there one by one: many are the same, and there may be thousands."""
        for row, times in Counter(self.rows.values()).items():
            for place in row:
                self.load[place] += times
            self.lead[row[0]] += times

    def put(self, number: int, row: Row) -> None:
        """Instead of what was there, or for the first time."""
        before = self.rows.get(number)
        if before is not None:
            for place in before:
                self.load[place] -= 1
            self.lead[before[0]] -= 1
        for place in row:
            self.load[place] += 1
        self.lead[row[0]] += 1
        self.rows[number] = row

    def leader_of(self, places: Iterable[int]) -> int:
        """Who of these leads least; the first one of several."""
        return min(places, key=self.lead.__getitem__)

    def additions(self, row: Row, count: int) -> Row:
        """The places that such a row grows by: in zones that it is not in yet, with the least to do, the nearest."""
        ring, load = self.ring, self.load
        added = row
        for _ in range(count):
            taken = ring.zones_of(added)
            free = [place for place in ring.eligible if place not in added]
            if not free:
                break
            center = row[0] if row else 0
            best = min(free, key=lambda place: (taken >> place & 1, load[place], ring.rank(center, place)))
            added = (*added, best)
        return added[len(row) :]
