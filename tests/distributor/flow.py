"""How even a distribution over zones can be at all, found by another way than the planner's: flows through a network.

A bucket has one copy in each of some zones. Nobody needs to have more than `most` if all copies find a place with that
much room; everybody can have `least` if so many at each place find a bucket, because what a bucket lacks then can be
added somewhere.
"""

from collections.abc import Callable, Sequence


def best_possible(zones: Sequence[str], buckets: int, copies: int) -> tuple[int, int]:
    """The least that the fullest place must have, and the most that the emptiest one can."""
    assert copies <= len(set(zones))
    most = next(most for most in range(buckets + 1) if flow(zones, buckets, copies, most) == buckets * copies)
    least = max(least for least in range(most + 1) if flow(zones, buckets, copies, least) == least * len(zones))
    return most, least


def flow(zones: Sequence[str], buckets: int, copies: int, room: int) -> int:
    """How many copies find a place, if no place takes more than `room`: by adding one way after the other."""
    names = sorted(set(zones))
    places = list(range(len(zones)))
    there: dict[tuple[int, str], int] = {}
    """Which place has the copy of a bucket in a zone."""
    loads = [0] * len(zones)

    def take(zone: str, tried: set[object]) -> int | None:
        """A place in a zone with room, after copies in other buckets made way if need be."""
        for place in places:
            if zones[place] == zone and place not in tried:
                tried.add(place)
                if loads[place] < room or _make_way(place, tried):
                    loads[place] += 1
                    return place
        return None

    def _make_way(place: int, tried: set[object]) -> bool:
        for (bucket, zone), found in list(there.items()):
            if found == place and (bucket, zone) not in tried:
                tried.add((bucket, zone))
                if _elsewhere(bucket, zone, place, tried):
                    return True
        return False

    def _elsewhere(bucket: int, zone: str, place: int, tried: set[object]) -> bool:
        for other in names:
            if other == zone or (bucket, other) not in there:
                found = take(other, tried)
                if found is not None:
                    del there[bucket, zone]
                    loads[place] -= 1
                    there[bucket, other] = found
                    return True
        return False

    total = 0
    for bucket in range(buckets):
        for _ in range(copies):
            total += _place(bucket, names, there, take)
    return total


def _place(
    bucket: int, names: Sequence[str], there: dict[tuple[int, str], int], take: Callable[[str, set[object]], int | None]
) -> bool:
    tried: set[object] = set()
    for zone in names:
        if (bucket, zone) not in there:
            found = take(zone, tried)
            if found is not None:
                there[bucket, zone] = found
                return True
    return False
