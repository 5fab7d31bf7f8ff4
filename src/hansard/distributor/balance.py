"""Everybody has as much to do as everybody else, give or take one bucket, by the fewest exchanges.

What one place has too many of goes to one that has too few, directly where some bucket can, and otherwise over others
in between: of the shortest such way the last step is taken first, so that it is shorter next time. Each step makes the
loads more equal, or the way shorter; so it ends. Where it does, nothing would make them more equal: what a row may be
(no place twice, no zone given up) is such that a best arrangement can be reached step by step from any other.
"""

from collections.abc import Callable, Iterable, Sequence

from .arrangement import Arrangement, Row
from .ring import Ring, as_set, listed


def next_step(
    load: Sequence[int], second: Sequence[int], reach: Sequence[int], ring: Ring, *, far: bool
) -> tuple[int, int] | None:
    """From which place to which; None if nothing helps. `reach` says where each place can give to; `far` permits ways
    over others."""
    places = ring.eligible
    least = min([load[place] for place in places], default=0)
    givers = [place for place in places if load[place] >= least + 2]
    givers.sort(key=lambda place: (-load[place], -second[place], place))
    takers = dict.fromkeys([load[place] - 2 for place in givers], 0)
    for most in takers:
        takers[most] = sum([1 << place for place in places if load[place] <= most])
    for giver in givers:
        direct = reach[giver] & takers[load[giver] - 2]
        if direct:
            return giver, min(listed(direct), key=load.__getitem__)
    if not far:
        return None
    ways = [way for giver in givers if (way := _way(giver, reach, takers[load[giver] - 2], load)) is not None]
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


class Memberships:
    """Exchanges of one copy for another, as long as there are any that help."""

    def __init__(self, arrangement: Arrangement, numbers: Iterable[int]) -> None:
        self._arrangement = arrangement
        self._ring = arrangement.ring
        self._at: list[list[int]] = [[] for _ in arrangement.load]
        self._reach = [0] * len(arrangement.load)
        self._known: dict[Row, None] = {}
        """Rows that are in the reach of their places: many buckets have the same."""
        for number in numbers:
            self.offer(number)

    def offer(self, number: int) -> None:
        """A bucket that may be moved."""
        row = self._arrangement.rows[number]
        for place in row:
            self._at[place].append(number)
        if row not in self._known:
            self._known[row] = None
            for place in row:
                self._reach[place] |= self._takers(row, place)

    def _takers(self, row: Row, giver: int) -> int:
        """Where a copy may go so that the bucket is in as many zones as before."""
        free = self._ring.open & ~as_set(row)
        if not self._ring.zoned:
            return free
        others = 0
        for place in row:
            if place != giver:
                others |= self._ring.zone[place]
        return free if others >> giver & 1 else free & ~others

    def next(self, *, far: bool) -> tuple[int, Row] | None:
        """A bucket and where it should be instead. It is not offered any more."""
        arrangement = self._arrangement
        while step := next_step(arrangement.load, arrangement.lead, self._reach, self._ring, far=far):
            giver, taker = step
            number = self._choose(giver, taker)
            if number is not None:
                row = arrangement.rows[number]
                for place in row:
                    self._at[place].remove(number)
                return number, self._exchanged(row, giver, taker)
            self._reach[giver] &= ~(1 << taker)  # who could have, is not offered any more
            self._known.clear()
        return None

    def _choose(self, giver: int, taker: int) -> int | None:
        """If the giver leads too many as well, one that it leads."""
        rows, rank = self._arrangement.rows, self._ring.rank
        lead = self._arrangement.lead[giver] >= self._arrangement.lead[taker] + 2
        best: tuple[bool, int, int] | None = None
        for number in self._at[giver]:
            row = rows[number]
            key = ((row[0] == giver) != lead, rank(row[0], taker), number)
            if (best is None or key < best) and self._takers(row, giver) >> taker & 1:
                best = key
        return None if best is None else best[2]

    def _exchanged(self, row: Row, giver: int, taker: int) -> Row:
        if row[0] != giver:
            return tuple([taker if place == giver else place for place in row])
        others = (taker, *row[1:])
        return led_by(others, self._arrangement.leader_of(others))


class Leads:
    """Other leaders for the same copies, as long as that helps."""

    def __init__(self, arrangement: Arrangement, numbers: Iterable[int]) -> None:
        self._arrangement = arrangement
        self._led: list[list[int]] = [[] for _ in arrangement.load]
        self._reach = [0] * len(arrangement.load)
        self._known: dict[Row, None] = {}
        for number in numbers:
            self.offer(number)

    def offer(self, number: int) -> None:
        row = self._arrangement.rows[number]
        self._led[row[0]].append(number)
        if row not in self._known:
            self._known[row] = None
            self._reach[row[0]] |= as_set(row[1:]) & self._arrangement.ring.open

    def next(self, *, far: bool) -> tuple[int, Row] | None:
        arrangement, rows = self._arrangement, self._arrangement.rows
        while step := next_step(arrangement.lead, arrangement.load, self._reach, arrangement.ring, far=far):
            giver, taker = step
            number = next((number for number in self._led[giver] if taker in rows[number]), None)
            if number is not None:
                self._led[giver].remove(number)
                return number, led_by(rows[number], taker)
            self._reach[giver] &= ~(1 << taker)
            self._known.clear()
        return None


def led_by(row: Row, leader: int) -> Row:
    return (leader, *[place for place in row if place != leader])


def settle(arrangement: Arrangement) -> None:
    """All of it at once."""
    kinds: tuple[Callable[[Arrangement, Iterable[int]], Memberships | Leads], ...] = (Memberships, Leads)
    for kind in kinds:
        exchanges = kind(arrangement, list(arrangement.rows))
        while (exchange := exchanges.next(far=True)) is not None:
            arrangement.put(*exchange)
            exchanges.offer(exchange[0])
