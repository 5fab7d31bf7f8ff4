"""Everybody has as much to do as everybody else, give or take one bucket, by the fewest exchanges.

What one place has too many of goes to one that has too few, directly where some bucket can, and otherwise over others
in between: of the shortest such way the last step is taken first, so that it is shorter next time. Each step makes the
loads more equal, or the way shorter; so it ends. Where it does, nothing would make them more equal: what a row may be
(no place twice, no zone given up) is such that a best arrangement can be reached step by step from any other.
"""

from abc import abstractmethod
from bisect import insort
from collections.abc import Iterable, Sequence

from .arrangement import Arrangement, Row
from .ring import Ring, as_set, listed


def next_step(
    load: Sequence[int], second: Sequence[int], reach: Sequence[int], ring: Ring, *, far: bool
) -> tuple[int, int] | None:
    """From which place to which; None if nothing helps. `reach` says where each place can give to; `far` permits ways
    over others."""
    there: dict[int, int] = {}
    for place in ring.eligible:
        there[load[place]] = there.get(load[place], 0) | 1 << place
    lows = sorted(there)
    givers = []
    for high in reversed(lows):
        takers = [there[low] for low in lows if low <= high - 2]
        for giver in sorted(listed(there[high]) if takers else (), key=lambda place: -second[place]):
            for those in takers:
                if direct := reach[giver] & those:
                    return giver, next(listed(direct))
            givers.append((giver, sum(takers)))
    if not far:
        return None
    ways = [way for giver, takers in givers if (way := _way(giver, reach, takers, load)) is not None]
    return min(ways, key=lambda way: way[0])[1:] if ways else None


def _way(giver: int, reach: Sequence[int], takers: int, load: Sequence[int]) -> tuple[int, int, int] | None:
    """How long the shortest one is, and the last step of it."""
    seen = front = 1 << giver
    length = 1
    while front:
        ahead = 0
        for place in listed(front):
            ahead |= reach[place]
        if ahead & takers:
            last = min(listed(ahead & takers), key=load.__getitem__)
            return length, next(place for place in listed(front) if reach[place] >> last & 1), last
        front = ahead & ~seen
        seen |= ahead
        length += 1
    return None


class Exchanges:
    """Of buckets that may be moved: one after the other, as long as there are any that help."""

    def __init__(self, arrangement: Arrangement, numbers: Iterable[int]) -> None:
        self.arrangement = arrangement
        self.ring = arrangement.ring
        self._offers: dict[Row, list[int]] = {}
        """Many buckets have the same row. Those of each in their order."""
        self._reach = [0] * len(arrangement.load)
        self._able: list[dict[Row, int]] = [{} for _ in self._reach]
        """For each place the rows from which it can give, and where to."""
        rows, offers = arrangement.rows, self._offers
        for number in sorted(numbers):
            row = rows[number]
            if row in offers:
                offers[row].append(number)
            else:
                offers[row] = [number]
        for row in offers:
            self._extend(row)

    def offer(self, number: int) -> None:
        row = self.arrangement.rows[number]
        if row not in self._offers:
            self._offers[row] = []
            self._extend(row)
        insort(self._offers[row], number)

    def _extend(self, row: Row) -> None:
        for giver in self.givers(row):
            self._able[giver][row] = takers = self.takers(row, giver)
            self._reach[giver] |= takers

    def next(self, *, far: bool) -> tuple[int, Row] | None:
        """A bucket and where it should be instead. It is not offered any more."""
        load, second = self.loads()
        while step := next_step(load, second, self._reach, self.ring, far=far):
            giver, taker = step
            able = [row for row, takers in self._able[giver].items() if takers >> taker & 1]
            if able:
                return self._take(min(able, key=lambda row: self.order(row, giver, taker)), giver, taker)
            self._reach[giver] &= ~(1 << taker)  # who could have, is not offered any more
        return None

    def _take(self, row: Row, giver: int, taker: int) -> tuple[int, Row]:
        numbers = self._offers[row]
        number = numbers.pop(0)
        if not numbers:
            del self._offers[row]
            for place in self.givers(row):
                del self._able[place][row]
        return number, self.exchanged(row, giver, taker)

    @abstractmethod
    def loads(self) -> tuple[list[int], list[int]]:
        """What is to be balanced; and what decides between two who have too much of it."""

    @abstractmethod
    def givers(self, row: Row) -> Row: ...

    @abstractmethod
    def takers(self, row: Row, giver: int) -> int:
        """As a set."""

    @abstractmethod
    def order(self, row: Row, giver: int, taker: int) -> tuple[int, ...]:
        """Which one is taken, of those that are able."""

    @abstractmethod
    def exchanged(self, row: Row, giver: int, taker: int) -> Row: ...


class Memberships(Exchanges):
    """One copy for another."""

    def loads(self) -> tuple[list[int], list[int]]:
        return self.arrangement.load, self.arrangement.lead

    def givers(self, row: Row) -> Row:
        return row

    def takers(self, row: Row, giver: int) -> int:
        """Where a copy may go so that the bucket is in as many zones as before."""
        free = self.ring.open & ~as_set(row)
        if not self.ring.zoned:
            return free
        others = 0
        for place in row:
            if place != giver:
                others |= self.ring.zone[place]
        return free if others >> giver & 1 else free & ~others

    def order(self, row: Row, giver: int, taker: int) -> tuple[int, ...]:
        """If the giver leads too many as well, one that it leads; then the nearest to the left or right."""
        lead = self.arrangement.lead[giver] >= self.arrangement.lead[taker] + 2
        return (row[0] == giver) != lead, self.ring.rank(row[0], taker), self._offers[row][0]

    def exchanged(self, row: Row, giver: int, taker: int) -> Row:
        if row[0] != giver:
            return tuple([taker if place == giver else place for place in row])
        others = (taker, *row[1:])
        return led_by(others, self.arrangement.leader_of(others))


class Leads(Exchanges):
    """Other leaders for the same copies."""

    def loads(self) -> tuple[list[int], list[int]]:
        return self.arrangement.lead, self.arrangement.load

    def givers(self, row: Row) -> Row:
        return row[:1]

    def takers(self, row: Row, giver: int) -> int:
        assert row[0] == giver
        return as_set(row[1:]) & self.ring.open

    def order(self, row: Row, giver: int, taker: int) -> tuple[int, ...]:  # noqa: ARG002
        return (self._offers[row][0],)

    def exchanged(self, row: Row, giver: int, taker: int) -> Row:  # noqa: ARG002
        return led_by(row, taker)


def led_by(row: Row, leader: int) -> Row:
    return (leader, *[place for place in row if place != leader])


def settle(arrangement: Arrangement) -> None:
    """All of it at once."""
    kinds: tuple[type[Exchanges], ...] = (Memberships, Leads)
    for kind in kinds:
        exchanges = kind(arrangement, list(arrangement.rows))
        while (exchange := exchanges.next(far=True)) is not None:
            arrangement.put(*exchange)
            exchanges.offer(exchange[0])
