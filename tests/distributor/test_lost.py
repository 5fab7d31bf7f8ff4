"""A bucket that nobody has any more waits for somebody who has all of it, and takes nobody else."""

import pytest

from hansard.distributor.bucket import State
from hansard.distributor.command import Achievement, Double, Drain, Move
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


# Epochs that disks know, and the log does not: it was made anew from an older copy.


def test_a_lost_bucket_goes_on_above_what_anybody_has_promised(shrunk: Company) -> None:
    epoch = shrunk.distributor.buckets[0].epoch
    shrunk.bring("a", Copy(0, 1, 1, intact=False, promised=epoch + 7))
    assert lost(shrunk) and shrunk.distributor.buckets[0].epoch == epoch + 7
    shrunk.arrive("c")
    assert alone(shrunk) == "c" and shrunk.distributor.buckets[0].epoch == epoch + 8


def test_a_bucket_that_is_led_gets_the_same_government_above_what_was_promised() -> None:
    cluster = company("abc", 2, 2)
    before = cluster.distributor.buckets[0]
    cluster.bring("d", Copy(0, 0, 1, intact=True, level=2, promised=9))
    after = cluster.distributor.buckets[0]
    assert (after.epoch, after.opened) == (10, before.opened)
    assert (after.leader, after.members, after.full) == (before.leader, before.members, before.full)
    assert cluster.distributor.buckets[1].epoch == 1
    cluster.settle()
    assert cluster.steady()


def test_a_move_goes_on_above_what_was_promised() -> None:
    cluster = company("ab", 2, 1)
    cluster.order(Move(0, ("b",)))
    before = cluster.distributor.buckets[0]
    cluster.bring("c", Copy(0, 0, 1, intact=True, level=2, promised=before.epoch))
    assert cluster.distributor.buckets[0] == before  # it knows nothing that the log does not
    cluster.bring("d", Copy(0, 0, 1, intact=True, level=2, promised=9))
    after = cluster.distributor.buckets[0]
    assert after.epoch == 10 and after.newcomers == before.newcomers and after.goal == before.goal
    cluster.settle()
    assert cluster.nodes(0) == ["b"]


def test_newcomers_that_count_are_members_above_what_was_promised() -> None:
    cluster = company("a", 1, 2)
    cluster.arrive("b")
    cluster.settle()
    assert cluster.distributor.buckets[0].newcomers
    cluster.bring("c", Copy(0, 0, 1, intact=True, promised=9))
    after = cluster.distributor.buckets[0]
    assert after.members == after.full and not after.newcomers and len(after.members) == 2


def test_both_halves_go_on_above_what_an_unsplit_copy_has_promised() -> None:
    cluster = company("ab", 1, 2)
    cluster.order(Double(2))
    cluster.bring("c", Copy(0, 0, 1, intact=True, promised=9))
    assert [bucket.epoch for bucket in cluster.distributor.buckets] == [10, 10]
    cluster.settle()
    assert cluster.steady() and cluster.levels() == [2, 2]
