"""Which buckets to move next, and where to.

What is missing comes first, then what an operator has ordered, and last what is only better than it is. There is no
plan that lasts: each call looks at what is there and takes what is under way for done.
"""

from collections.abc import Container, Iterable, Sequence

from .arrangement import Arrangement, Row
from .balance import Exchanges, Leads, Memberships, led_by
from .bucket import Bucket
from .member import Member
from .ring import Ring, as_set
from .settings import Settings
from .slots import Slots

Move = tuple[int, tuple[Member, ...]]
"""A bucket, and the members that it shall have, the leader first."""


def plan(
    buckets: Sequence[Bucket],
    slots: Slots,
    settings: Settings,
    room: int,
    *,
    paused: bool = False,
    missing_only: bool = False,
    ordered: Container[int] = (),
) -> list[Move]:
    """At most so many moves. What an operator has ordered elsewhere is left to that order."""
    planner = _Planner(buckets, slots, settings, room, ordered)
    planner.refill()
    planner.add()
    if not missing_only:
        planner.drain()
        planner.contract()
        planner.reshape()
        if not paused and not planner.recovering:
            planner.spread()
            planner.balance()
    return [(number, planner.ring.members(row)) for number, row in planner.moves]


class _Planner:
    def __init__(
        self, buckets: Sequence[Bucket], slots: Slots, settings: Settings, room: int, ordered: Container[int]
    ) -> None:
        self.ring = Ring(slots)
        self._ordered = ordered
        self.moves: list[tuple[int, Row]] = []
        self._room = room
        self._settings = settings
        self._wanted = max(1, min(settings.replication, slots.standing))
        self._arrangement = Arrangement(self.ring)
        self._free: dict[int, Bucket] = {}
        """Those that may be moved."""
        self._missing: dict[int, list[int]] = {}
        """For buckets that miss copies: the places where these should be."""
        self._odd: list[int] = []
        """Those that have more or fewer copies than they should."""
        self._outdated: list[int] = []
        """Those of another shape."""
        self.recovering = False
        """What a departure has touched is not open again; until it is, nothing else is held up."""
        self._moving: list[Bucket] = []
        self._look(buckets)

    def _look(self, buckets: Sequence[Bucket]) -> None:
        place_of, places, load = self.ring.of, self.ring.places, self._arrangement.load
        known: dict[tuple[Member, ...], Row] = {}  # many have the same copies
        rows, free, wanted, shape = self._arrangement.rows, self._free, self._wanted, self._settings.shape
        for number, bucket in enumerate(buckets):
            leader, vacant = bucket.leader, bucket.vacant
            row: Row = ()
            if leader is not None:
                goal, opened = bucket.goal, bucket.opened == bucket.epoch
                copies = goal or (bucket.full if opened else bucket.members)
                row = known.get(copies, ())
                if not row:
                    row = known[copies] = tuple([place_of[member] for member in copies])
                if not goal and copies[0] != leader:
                    row = led_by(row, place_of[leader])
                rows[number] = row
                if goal:
                    self._moving.append(bucket)
                elif not opened:
                    self.recovering = True
                elif number not in self._ordered:
                    free[number] = bucket
                    if len(row) + len(vacant) != wanted and not bucket.pinned:
                        self._odd.append(number)
                    if bucket.shape is not shape:
                        self._outdated.append(number)
            if vacant:
                missing = [places[slot] for slot in vacant if places[slot] not in row]
                for place in missing:
                    load[place] += 1
                self._missing[number] = missing
        self._arrangement.count()

    def _begin(self, number: int, row: Row) -> None:
        assert self._room > 0
        self._room -= 1
        self.moves.append((number, row))
        for place in self._missing.get(number, ()):
            if place in row:
                self._arrangement.load[place] -= 1
        self._arrangement.put(number, row)
        del self._free[number]

    def _by_need(self, numbers: Iterable[int]) -> list[int]:
        """Those with the fewest copies first."""
        rows = self._arrangement.rows
        return sorted(numbers, key=lambda number: (len(rows[number]), number))

    # What is missing.

    def refill(self) -> None:
        """Where somebody has the place of one that has departed."""
        filled = {}
        for number, missing in self._missing.items():
            places = [place for place in missing if self.ring.open >> place & 1]
            if places and number in self._free:
                filled[number] = places
        for number in self._by_need(filled)[: self._room]:
            self._begin(number, (*self._arrangement.rows[number], *filled[number]))

    def add(self) -> None:
        """What there should be more copies of. A place that waits for somebody counts as one."""
        rows, lacking = self._arrangement.rows, {}
        for number in self._odd:
            lack = self._wanted - len(rows[number]) - len(self._missing.get(number, ()))
            if lack > 0 and number in self._free:
                lacking[number] = lack
        for number in self._by_need(lacking):
            added = self._arrangement.additions(rows[number], lacking[number])
            if not self._room or not added:
                return
            self._begin(number, (*rows[number], *added))

    # What was ordered.

    def drain(self) -> None:
        """The leads go first; a participant keeps its copies until others lead all that others can."""
        leaving, rows = self.ring.leaving, self._arrangement.rows
        if not leaving:
            return
        for number in [number for number in self._free if leaving >> rows[number][0] & 1]:
            heirs = self._heirs(rows[number])
            if heirs and self._room:
                self._begin(number, led_by(rows[number], self._arrangement.leader_of(heirs)))
        leading = as_set(tuple([row[0] for row in rows.values() if leaving >> row[0] & 1 and self._heirs(row)]))
        for number in list(self._free):
            there = as_set(rows[number]) & leaving
            if there and not there & leading and self._room:
                row = self._without_leaving(number)
                if row and row != rows[number]:
                    self._begin(number, row)

    def _heirs(self, row: Row) -> Row:
        return tuple([place for place in row if self.ring.open >> place & 1])

    def _without_leaving(self, number: int) -> Row:
        """The same number of copies, as far as there are places for them; empty if there is none at all."""
        row, pinned = self._arrangement.rows[number], self._free[number].pinned
        staying = self._heirs(row)
        wanted = len(row) if pinned else min(len(row), self._wanted - len(self._missing.get(number, ())))
        count = max(wanted - len(staying), 0 if staying else 1)
        found = (*staying, *self._arrangement.additions(staying, count))
        if not found or row[0] in found:
            return found
        return led_by(found, self._arrangement.leader_of(found))

    def contract(self) -> None:
        """What there should be fewer copies of."""
        rows, wanted = self._arrangement.rows, self._wanted
        for number in [number for number in self._odd if len(rows[number]) > wanted and number in self._free]:
            if not self._room:
                return
            row = rows[number]
            while len(row) > wanted:
                row = self._without_one(row)
            self._begin(number, row)

    def _without_one(self, row: Row) -> Row:
        """Less one that the zones do not need, and that has the most to do; never the leader."""
        ring, load = self.ring, self._arrangement.load
        zones = ring.spread(row)

        def needed(place: int) -> tuple[bool, int, int]:
            rest = tuple([other for other in row if other != place])
            return ring.spread(rest) < zones, -load[place], -row.index(place)

        dropped = min(row[1:], key=needed)
        return tuple([place for place in row if place != dropped])

    def reshape(self) -> None:
        for number in [number for number in self._outdated if number in self._free][: self._room]:
            self._begin(number, self._arrangement.rows[number])

    # What would be better.

    def _loose(self) -> list[int]:
        """Those that rebalancing may touch."""
        return [number for number, bucket in self._free.items() if not bucket.pinned]

    def _whole(self) -> list[int]:
        """Those of them that miss nothing: where the others should be shows when somebody has the vacant place."""
        missing = self._missing
        return [number for number, bucket in self._free.items() if not bucket.pinned and number not in missing]

    def spread(self) -> None:
        """Over as many zones as there are."""
        if not self.ring.zoned:
            return
        rows, zones = self._arrangement.rows, self.ring.zones
        narrow = {row: self.ring.spread(row) < min(len(row), zones) for row in dict.fromkeys(rows.values())}
        numbers = self._whole() if any(narrow.values()) else []
        for number in [number for number in numbers if narrow[rows[number]]][: self._room]:
            self._begin(number, self._exchanged_for_zone(rows[number]))

    def _exchanged_for_zone(self, row: Row) -> Row:
        """One of two in the same zone goes: not the leader if it can be helped, and who has the most to do."""
        (added,) = self._arrangement.additions(row, 1)
        double = [place for place in row if (self.ring.zone[place] & as_set(row)).bit_count() > 1]
        gone = min(double, key=lambda place: (place == row[0], -self._arrangement.load[place]))
        kept = tuple([added if place == gone else place for place in row])
        return kept if gone != row[0] else led_by(kept, self._arrangement.leader_of(kept))

    def balance(self) -> None:
        """Leads are looked at only when the copies are where they should be: moving those may be enough."""
        if not self._room or not self.ring.eligible:
            return
        if self._uneven(self._arrangement.load):
            self._exchange(Memberships, self._whole())
        newcomers = any(bucket.newcomers for bucket in self._moving)
        if not self.moves and not newcomers and self._uneven(self._arrangement.lead):
            self._exchange(Leads, self._loose())

    def _uneven(self, load: list[int]) -> bool:
        loads = [load[place] for place in self.ring.eligible]
        return max(loads) - min(loads) > 1

    def _exchange(self, kind: type[Exchanges], numbers: list[int]) -> None:
        """Nothing goes over others as long as something is under way, because what cannot give now may give then; nor
        as long as somebody is missed: leads would go all around the ring, and back again when it comes."""
        exchanges = kind(self._arrangement, numbers)
        while self._room:
            exchange = exchanges.next(far=not (self._moving or self.moves or self._missing))
            if exchange is None:
                return
            self._begin(*exchange)
