"""Where buckets are at first: left and right, in all zones, and everybody with as much as everybody else."""

from itertools import combinations, product

import pytest

from hansard.distributor.member import Member
from hansard.distributor.placement import fresh
from hansard.distributor.settings import Settings
from hansard.distributor.slots import Slots
from tests.distributor.flow import best_possible


def slots(zones: list[str]) -> Slots:
    """A slot for each, named n0, n1 ..."""
    found = Slots()
    for number, zone in enumerate(zones):
        member = Member(f"n{number}", 1)
        found.arrive(member, zone)
        found.grow(member)
    return found


def placed(zones: list[str], buckets: int, replication: int) -> list[list[int]]:
    rows = fresh(buckets, slots(zones), Settings(replication=replication))
    return [[int(member.node[1:]) for member in row] for row in rows]


def counts(rows: list[list[int]], places: int) -> tuple[list[int], list[int]]:
    loads = [sum(place in row for row in rows) for place in range(places)]
    leads = [sum(place == row[0] for row in rows) for place in range(places)]
    return loads, leads


@pytest.mark.parametrize("replication", [1, 2, 3, 5])
@pytest.mark.parametrize("places", [1, 2, 3, 4, 5, 7, 12])
def test_everybody_has_as_much_as_everybody_else(places: int, replication: int) -> None:
    for buckets in (1, 2, 4, 8, 16, 32, 64, 128):
        rows = placed([""] * places, buckets, replication)
        assert all(len(dict.fromkeys(row)) == len(row) == min(replication, places) for row in rows)
        for count in counts(rows, places):
            assert max(count) - min(count) <= 1


def test_the_others_are_right_and_left_of_the_leader_and_the_ring_is_closed() -> None:
    assert placed([""] * 4, 4, 3) == [[0, 1, 3], [1, 2, 0], [2, 3, 1], [3, 0, 2]]
    assert placed([""] * 8, 8, 5)[2] == [2, 3, 1, 4, 0]


@pytest.mark.parametrize(("places", "replication"), [(4, 2), (8, 3), (16, 5), (2, 5)])
def test_where_the_places_divide_the_buckets_nothing_else_is_done(places: int, replication: int) -> None:
    nearest = [1, -1, 2, -2]
    copies = min(replication, places)
    for number, row in enumerate(placed([""] * places, places * 4, replication)):
        assert row == [(number + step) % places for step in [0, *nearest[: copies - 1]]]


def test_few_buckets_are_not_left_and_right() -> None:
    rows = placed([""] * 5, 64, 3)
    plain = [[number % 5, (number + 1) % 5, (number - 1) % 5] for number in range(64)]
    assert sum(row != other for row, other in zip(rows, plain, strict=True)) <= 4


def test_a_zone_that_has_a_copy_is_left_out_as_long_as_there_are_others() -> None:
    zones = ["a", "a", "b", "b", "c", "c"]
    for row in placed(zones, 32, 3):
        assert sorted(zones[place] for place in row) == ["a", "b", "c"]
    for row in placed(zones, 32, 5):
        assert {zones[place] for place in row} == {"a", "b", "c"}
    for row in placed(zones, 32, 2):
        assert len({zones[place] for place in row}) == 2


def test_who_has_no_zone_shares_it_with_nobody() -> None:
    for row in placed(["a", "a", "", ""], 64, 3):
        assert sorted(row) in ([0, 2, 3], [1, 2, 3])


@pytest.mark.parametrize("replication", [1, 2, 3])
@pytest.mark.parametrize("sizes", [(2, 2, 2), (3, 2, 1), (5, 1, 1), (4, 4), (1, 6), (2, 3, 4, 1), (1, 1, 1)])
def test_with_zones_nobody_has_more_or_less_than_must_be(sizes: tuple[int, ...], replication: int) -> None:
    zones = [zone for zone, size in zip("abcd", sizes, strict=False) for _ in range(size)]
    if replication > len(sizes):
        return
    for buckets in (1, 8, 32):
        rows = placed(zones, buckets, replication)
        loads, _ = counts(rows, len(zones))
        assert (max(loads), min(loads)) == best_possible(zones, buckets, replication)


def test_with_more_copies_than_zones_nobody_has_more_than_must_be() -> None:
    zones, buckets = ["a", "a", "a", "b", "b"], 4
    rows = [row for row in combinations(range(5), 3) if {zones[place] for place in row} == {"a", "b"}]
    widths = []
    for chosen in product(rows, repeat=buckets):
        loads, _ = counts([list(row) for row in chosen], 5)
        widths.append(max(loads) - min(loads))
    loads, leads = counts(placed(zones, buckets, 3), 5)
    assert max(loads) - min(loads) == min(widths)
    assert max(leads) - min(leads) <= 1
