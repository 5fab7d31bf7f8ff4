"""Copies are in different zones, as far as there are zones; only then does it matter how much everybody has."""

import pytest

from hansard.distributor.command import Configure, Drain
from hansard.distributor.settings import Settings
from tests.distributor.company import Company, width
from tests.distributor.flow import best_possible


def zoned(zones: str, buckets: int, replication: int, moves_max: int = 1) -> Company:
    """One participant for each letter, named after it, in the zone of this name."""
    found = Company()
    for number, zone in enumerate(zones):
        found.arrive(f"{zone}{number}", zone=zone)
    found.found(buckets, Settings(replication=replication, moves_max=moves_max))
    found.settle()
    return found


def zones_of(cluster: Company, number: int) -> list[str]:
    return sorted([node[0] for node in cluster.nodes(number)])


@pytest.mark.parametrize("replication", [2, 3])
@pytest.mark.parametrize(("zones", "later"), [("abcabc", "abc"), ("aabc", "bcc"), ("abc", "aaaa"), ("aaabbc", "cd")])
def test_arrivals_leave_nobody_with_more_or_less_than_must_be(zones: str, later: str, replication: int) -> None:
    cluster = zoned(zones, 16, replication)
    for number, zone in enumerate(later, len(zones)):
        cluster.arrive(f"{zone}{number}", zone=zone)
        zones += zone
        cluster.settle()
        loads = cluster.loads()
        assert (max(loads.values()), min(loads.values())) == best_possible(list(zones), 16, replication)
        assert all(len(set(zones_of(cluster, bucket))) == replication for bucket in range(16))
        assert cluster.steady() and width(cluster.leads()) <= 1


@pytest.mark.parametrize("moves_max", [1, 8])
def test_a_new_zone_gets_a_copy_of_everything(moves_max: int) -> None:
    cluster = zoned("aabb", 16, 3, moves_max)
    cluster.arrive("c", zone="c")
    cluster.settle()
    assert all(zones_of(cluster, number) == ["a", "b", "c"] for number in range(16))
    assert cluster.loads()["c"] == 16 and cluster.steady()


def test_who_goes_to_another_zone_is_moved_away_from_its_neighbours() -> None:
    cluster = zoned("aabbcc", 16, 3)
    cluster.move("c4", "a")
    cluster.settle()
    places = {"a0": "a", "a1": "a", "b2": "b", "b3": "b", "c4": "a", "c5": "c"}
    for number in range(16):
        assert sorted(places[node] for node in cluster.nodes(number)) == ["a", "b", "c"]


def test_with_fewer_zones_than_copies_all_zones_have_one() -> None:
    cluster = zoned("aaaab", 16, 3)
    assert all(set(zones_of(cluster, number)) == {"a", "b"} for number in range(16))
    cluster.arrive("b'", zone="b")
    cluster.settle()
    assert all(set(zones_of(cluster, number)) == {"a", "b"} for number in range(16))
    assert width(cluster.loads()) <= 1


def test_a_drained_participant_is_replaced_in_its_zone() -> None:
    cluster = zoned("aabbcc", 16, 3)
    cluster.order(Drain("b2"))
    cluster.settle()
    assert all(zones_of(cluster, number) == ["a", "b", "c"] for number in range(16))
    assert cluster.loads()["b3"] == 16


def test_with_fewer_copies_the_zones_stay_different() -> None:
    cluster = zoned("aaaabc", 16, 5)
    cluster.order(Configure(replication=3))
    cluster.settle()
    assert all(zones_of(cluster, number) == ["a", "b", "c"] for number in range(16))
