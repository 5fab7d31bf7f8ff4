"""The nemesis knows what the cluster can do without."""

import pytest

from hansard.consensus.cluster import Peer
from hansard.consensus.content import Arrive, Arrived, Depart
from hansard.consensus.effect import Applied
from sim.atomic.reserve import councils, is_whole, spares

from .stand_ins import A, B, C, StandInWorld, council, entry


@pytest.fixture
def world() -> StandInWorld:
    """Of three voters, with all of it committed."""
    world = StandInWorld()
    for one in world.participants:
        one.append(council(A), council(A, B), council(A, B, C))
    for index, each in enumerate(world.a.core.log.entries):
        world.sequence.ends["a"] = index
        world.sequence.applied(world.a.cast, Applied(index, each, None))
    return world


def test_one_of_three_can_be_done_without_and_two_cannot(world: StandInWorld) -> None:
    assert councils(world.cast) == {(A, B, C)}
    assert is_whole(world.cast)
    assert spares(world.cast, []) and spares(world.cast, ["b"])
    assert not spares(world.cast, ["b", "c"])


def test_a_lost_disk_is_lost_until_its_removal_is_committed(world: StandInWorld) -> None:
    world.b.wiped()
    assert spares(world.cast, []) and not spares(world.cast, ["a"]) and not is_whole(world.cast)
    for one in (world.a, world.c):
        one.append(council(A, C))
    assert councils(world.cast) == {(A, B, C), (A, C)}
    assert not spares(world.cast, ["a"])
    world.sequence.ends["a"] = 3
    world.sequence.applied(world.a.cast, Applied(3, council(A, C), None))
    assert councils(world.cast) == {(A, C)}
    assert is_whole(world.cast) and not spares(world.cast, ["a"])


def test_one_that_is_lost_and_does_not_vote_yet_may_still_be_made_a_voter(world: StandInWorld) -> None:
    arrive = Arrive(Peer("d", 7), "d", 1, 7)
    world.lives.committed(0, entry(arrive), Arrived("d", 1, "d", "", b""))
    assert not spares(world.cast, ["a"]) and spares(world.cast, [])


def test_another_life_on_the_disk_is_another_voter(world: StandInWorld) -> None:
    world.b.core.peer = Peer("b", 99)
    assert not is_whole(world.cast) and not spares(world.cast, ["a"])


def test_a_departure_in_any_log_is_a_loss(world: StandInWorld) -> None:
    world.c.append(entry(Depart(B)), stored=False)
    assert spares(world.cast, ["b"]) and not spares(world.cast, ["a"])


def test_who_wants_to_leave_is_a_loss(world: StandInWorld) -> None:
    world.b.leaving = True
    assert not is_whole(world.cast) and not spares(world.cast, ["c"])


def test_who_stays_down_for_good_is_a_loss(world: StandInWorld) -> None:
    world.b.down_for_good = True
    assert not is_whole(world.cast) and spares(world.cast, ["b"]) and not spares(world.cast, ["c"])


def test_a_council_that_is_only_on_a_disk_may_still_count(world: StandInWorld) -> None:
    world.c.store(council(A, C))
    assert (A, C) in councils(world.cast)
    assert not spares(world.cast, ["c"]) and spares(world.cast, ["b"])
