"""A bucket that nobody has any more waits for somebody who has all of it, and takes nobody else."""

import pytest

from hansard.distributor.bucket import State
from hansard.distributor.command import Achievement, Drain
from hansard.distributor.fact import Arrived, Copy
from tests.distributor.company import Company, company


def lost(cluster: Company, number: int = 0) -> bool:
    return cluster.distributor.buckets[number].state is State.LOST


def alone(cluster: Company) -> str:
    """Who was appointed alone."""
    bucket = cluster.distributor.buckets[0]
    assert bucket.leader is not None and bucket.members == (bucket.leader,) and not bucket.newcomers
    return bucket.leader.node


@pytest.fixture
def shrunk() -> Company:
    """One bucket that a, b and c had in epoch 1, and c alone in the end; all of them have departed."""
    found = company("abc", 1)
    found.depart("a", "b")
    found.settle()
    found.depart("c")
    assert lost(found)
    return found


def test_a_bucket_without_members_is_lost_and_others_are_not() -> None:
    cluster = company("abc", 4, 1)
    cluster.depart(*cluster.nodes(0))
    assert lost(cluster) and not any(lost(cluster, number) for number in (1, 2))
    assert cluster.distributor.buckets[0].members == ()


def test_the_last_member_revives_it_alone_and_then_the_others_join(shrunk: Company) -> None:
    shrunk.arrive("c")
    assert alone(shrunk) == "c"
    shrunk.arrive("a", "b")
    shrunk.settle()
    assert shrunk.steady() and sorted(shrunk.nodes(0)) == ["a", "b", "c"]


def test_a_member_of_an_older_government_does_not_revive_it(shrunk: Company) -> None:
    shrunk.arrive("a", "b")
    assert lost(shrunk)
    shrunk.arrive("c")
    assert alone(shrunk) == "c"


def test_a_copy_that_is_damaged_does_not_revive_it(shrunk: Company) -> None:
    shrunk.arrive("c", intact=False)
    assert lost(shrunk)
    shrunk.depart("c")
    shrunk.arrive("c")
    assert alone(shrunk) == "c"


def test_a_stranger_does_not_revive_it(shrunk: Company) -> None:
    shrunk.arrive("d")
    assert lost(shrunk)


def test_any_member_of_the_last_opened_government_revives_it() -> None:
    for first in "abc":
        cluster = company("abc", 1)
        cluster.depart("b", "c", "a")
        assert lost(cluster)
        cluster.arrive(first)
        assert alone(cluster) == first


def test_a_government_that_has_not_opened_does_not_make_older_copies_useless() -> None:
    cluster = company("ab", 1)
    opened = cluster.distributor.buckets[0].opened
    cluster.depart("a")
    assert cluster.distributor.buckets[0].epoch == opened + 1  # of b alone, and b never said that it has opened
    cluster.depart("b")
    cluster.arrive("a")
    assert alone(cluster) == "a"


def test_one_that_came_back_before_the_bucket_was_lost_revives_it_at_once() -> None:
    cluster = company("ab", 1)
    cluster.depart("a")
    cluster.arrive("a")
    assert cluster.distributor.buckets[0].returned == (cluster.member("a"),)
    cluster.depart("b")
    assert alone(cluster) == "a"


def test_one_that_came_back_is_of_no_use_once_others_have_gone_on() -> None:
    cluster = company("abc", 1)
    cluster.depart("a")
    cluster.order(Drain("a"))  # it gets no place, and so nothing is sent to it
    cluster.arrive("a")
    cluster.settle()
    assert cluster.distributor.buckets[0].returned == ()
    cluster.depart("b", "c")
    assert lost(cluster)


def test_a_revived_one_that_departs_leaves_it_to_the_next() -> None:
    cluster = company("abc", 1)
    cluster.depart("a", "b", "c")
    cluster.arrive("b", "a")
    assert alone(cluster) == "b"
    cluster.depart("b")
    assert alone(cluster) == "a"
    cluster.depart("a")
    assert lost(cluster)
    cluster.arrive("b")
    assert alone(cluster) == "b"


@pytest.fixture
def grown() -> Company:
    """a has a bucket, and b has all of it as well; nobody was told."""
    found = company("a", 1, 2)
    found.arrive("b")
    found.step(0)
    assert found.due(0) is Achievement.EXPANDED
    found.achieve(0)
    found.write(0)
    return found


def test_a_newcomer_whose_expansion_was_reported_revives_it(grown: Company) -> None:
    grown.announce([0])
    assert grown.steady()
    grown.depart("a", "b")
    assert lost(grown)
    grown.arrive("b")
    assert alone(grown) == "b"
    grown.settle()


def test_a_newcomer_whose_expansion_was_not_reported_does_not_revive_it(grown: Company) -> None:
    """Its leader may have crashed, and gone on without it."""
    grown.restart(0)
    grown.write(0)
    grown.depart("a", "b")
    grown.arrive("b")
    assert lost(grown)
    grown.arrive("a")
    assert alone(grown) == "a"
    grown.settle()


def test_one_who_is_drained_revives_it_too_and_is_drained_again(shrunk: Company) -> None:
    shrunk.arrive("a")
    shrunk.order(Drain("c"))
    shrunk.arrive("c")
    assert alone(shrunk) == "c"
    shrunk.settle()
    assert shrunk.nodes(0) == ["a"]


def test_an_inventory_of_buckets_that_are_not_there_says_nothing() -> None:
    cluster = company("a", 1)
    cluster.incarnations["b"] = 1
    cluster.apply(Arrived(cluster.member("b"), "", (Copy(7, 9, 9, True), Copy(-1, 9, 9, True), Copy(0, 0, 0, True))))
    assert cluster.distributor.buckets[0].returned == ()
