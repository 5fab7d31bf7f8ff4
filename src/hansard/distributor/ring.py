"""The slots as places in a ring: 0, 1, 2 ... in slot order, and after the last one the first.

Sets of places are integers with a bit for each, because a plan asks of thousands of copies where they may go.

A participant without a zone shares its zone with nobody, so a cluster that knows nothing of zones is not bound by them.
"""

from collections.abc import Iterator

from .member import Member
from .slots import Slots


class Ring:
    def __init__(self, slots: Slots) -> None:
        listed = list(slots)
        self.holders = [slot.holder for slot in listed]
        self.places = {slot.number: place for place, slot in enumerate(listed)}
        """By the slot's number."""
        self.of = {slot.holder: place for place, slot in enumerate(listed) if slot.holder is not None}
        """By who has the slot."""
        self.eligible = [self.places[slot.number] for slot in slots.eligible]
        self.open = sum([1 << place for place in self.eligible])
        """The eligible ones as a set."""
        self.leaving = sum([1 << place for member, place in self.of.items() if member.node in slots.drained])
        """Those that are being drained, as a set."""
        self._set_zones(slots)

    def _set_zones(self, slots: Slots) -> None:
        together: dict[str, int] = {}
        for member, place in self.of.items():
            zone = slots.zone(member)
            together[zone] = together.get(zone, 0) | 1 << place
        self.zone = [1 << place for place in range(len(self.holders))]
        """For each place all that are in its zone, as a set."""
        for member, place in self.of.items():
            if zone := slots.zone(member):
                self.zone[place] = together[zone]
        self.zones = len(dict.fromkeys([self.zone[place] for place in self.eligible]))
        """How many there are to choose from."""
        self.zoned = any(zone.bit_count() > 1 for zone in self.zone)

    def __len__(self) -> int:
        return len(self.holders)

    def rank(self, center: int, place: int) -> int:
        """How near it is: the next to the right, the next to the left, the second to the right ..."""
        right = (place - center) % len(self.holders)
        return min(2 * right - 1, 2 * (len(self.holders) - right)) if right else 0

    def spread(self, row: tuple[int, ...]) -> int:
        """In how many zones these are."""
        return len(dict.fromkeys([self.zone[place] for place in row]))

    def zones_of(self, row: tuple[int, ...]) -> int:
        """All places in the zones of these, as a set."""
        found = 0
        for place in row:
            found |= self.zone[place]
        return found

    def members(self, row: tuple[int, ...]) -> tuple[Member, ...]:
        found = []
        for place in row:
            holder = self.holders[place]
            assert holder is not None, "nobody is there"
            found.append(holder)
        return tuple(found)


def as_set(row: tuple[int, ...]) -> int:
    found = 0
    for place in row:
        found |= 1 << place
    return found


def listed(places: int) -> Iterator[int]:
    """Those of a set, in slot order."""
    while places:
        lowest = places & -places
        yield lowest.bit_length() - 1
        places ^= lowest
