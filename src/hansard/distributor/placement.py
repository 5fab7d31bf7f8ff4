"""Where buckets are at first: each leader in its turn, and the others left and right of it in slot order, wrapping."""

from collections.abc import Iterator

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
    arrangement.rows = {number: rows[number % len(rows)] for number in range(count)}
    arrangement.count()
    settle(arrangement)
    members = {row: ring.members(row) for row in dict.fromkeys(arrangement.rows.values())}
    return [members[arrangement.rows[number]] for number in range(count)]


def _row(ring: Ring, leader: int, copies: int) -> Row:
    row: Row = (leader,)
    while len(row) < min(copies, len(ring.eligible)):
        taken = ring.zones_of(row)
        apart = next((place for place in _around(ring, leader) if not taken >> place & 1), None)
        row += (next(place for place in _around(ring, leader) if place not in row) if apart is None else apart,)
    return row


def _around(ring: Ring, leader: int) -> Iterator[int]:
    """The next to the right, the next to the left, the second to the right ..."""
    turn, places = ring.eligible.index(leader), len(ring.eligible)
    for step in range(1, places):
        yield ring.eligible[(turn + (step + 1) // 2 * (1 if step % 2 else -1)) % places]
