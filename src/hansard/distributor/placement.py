"""Where buckets are at first: each leader in its turn, and the others left and right of it in slot order, wrapping."""

from .arrangement import Arrangement, Row
from .balance import settle
from .member import Member
from .ring import Ring
from .settings import Settings
from .slots import Slots


def fresh(count: int, slots: Slots, settings: Settings) -> list[tuple[Member, ...]]:
    """First governments for so many buckets. A zone that has a copy is left out as long as there are others. Left and
    right alone gives some too many where the places do not divide the buckets; so as few as possible are exchanged."""
    ring = Ring(slots)
    arrangement = Arrangement(ring)
    rows = [_row(ring, place, settings.replication) for place in ring.eligible]
    for number in range(count):
        arrangement.put(number, rows[number % len(rows)])
    settle(arrangement)
    return [ring.members(arrangement.rows[number]) for number in range(count)]


def _row(ring: Ring, leader: int, copies: int) -> Row:
    turn, places = ring.eligible.index(leader), len(ring.eligible)
    near = [(turn + (step + 1) // 2 * (1 if step % 2 else -1)) % places for step in range(1, places)]
    order = [ring.eligible[index] for index in near]
    row: Row = (leader,)
    while len(row) < min(copies, places):
        taken = ring.zones_of(row)
        row += (min([place for place in order if place not in row], key=lambda place: taken >> place & 1),)
    return row
