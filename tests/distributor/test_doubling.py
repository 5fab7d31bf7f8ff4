"""Twice as many buckets: each is split in two by one fact, and both halves go on like any bucket."""

import pytest

from hansard.distributor.bucket import Bucket, State
from hansard.distributor.command import (
    Achievement,
    Configure,
    Double,
    Drain,
    Found,
    Move,
    Pause,
    Release,
    Report,
    Reports,
)
from hansard.distributor.invariants import check_state
from hansard.distributor.orders import Standing
from hansard.distributor.settings import BUCKETS_MAX, Settings
from hansard.distributor.wishes import remaining
from tests.distributor.company import Company, company, names


def test_the_buckets_that_a_cluster_is_founded_with_live_under_their_number() -> None:
    cluster = company("abc", 4)
    assert cluster.levels() == [4, 4, 4, 4]
    assert [bucket.born for bucket in cluster.distributor.buckets] == [0, 0, 0, 0]


def test_a_split_is_one_fact_and_leaves_two_halves_of_the_same_members() -> None:
    cluster = company("abc", 2)
    parent = cluster.distributor.buckets[0]
    cluster.order(Double(4))
    first, _, second, idle = cluster.distributor.buckets
    assert cluster.levels() == [4, 2, 4, 0]
    assert first.epoch == second.epoch == first.born == second.born == parent.epoch + 1
    assert first.leader == parent.leader
    assert first.members == second.members == first.full == second.full == parent.full
    assert first.opened == second.opened == parent.opened
    assert first.state is second.state is State.SWITCHING and idle == Bucket() and idle.state is State.IDLE


def test_the_second_half_is_led_by_whoever_leads_least() -> None:
    cluster = company("abc", 2)  # a and b lead one each, c none
    cluster.order(Double(4))
    assert [cluster.nodes(0)[0], cluster.nodes(1)[0], cluster.nodes(2)[0]] == ["a", "b", "c"]


def test_the_next_one_is_split_when_both_halves_have_opened() -> None:
    cluster = company("abc", 2)
    cluster.order(Double(4))
    cluster.step(0)
    assert cluster.levels() == [4, 2, 4, 0]
    cluster.step(2)
    assert cluster.levels() == [4, 4, 4, 4]


def test_as_many_are_split_at_a_time_as_may_be_on_the_move() -> None:
    cluster = company("abc", 8, moves_max=3)
    cluster.order(Double(16))
    assert cluster.levels() == [16] * 3 + [8] * 5 + [16] * 3 + [0] * 5


def test_the_order_runs_until_all_halves_have_opened() -> None:
    cluster = company("abc", 2)
    order = cluster.order(Double(4))
    left = []
    while cluster.standing(order) is Standing.RUNNING:
        left.append(remaining(cluster.distributor, Double(4)))
        cluster.step(next(n for n in range(4) if cluster.due(n) is Achievement.OPENED))
    assert left == [3, 2, 2, 1]
    assert cluster.standing(order) is Standing.DONE and remaining(cluster.distributor, Double(4)) == 0


def test_several_doublings_come_one_after_the_other() -> None:
    cluster = company("abc", 1)
    order = cluster.order(Double(8))
    counts = []
    while cluster.standing(order) is Standing.RUNNING:
        levels = cluster.levels()
        assert max(levels) == len(levels)
        counts.append(len(levels))
        cluster.step(next(n for n in range(len(levels)) if cluster.due(n) is not None))
    assert list(dict.fromkeys(counts)) == [2, 4, 8] and cluster.levels() == [8] * 8
    cluster.settle()
    assert cluster.steady() and cluster.balanced()


@pytest.mark.parametrize("to", [0, -4, 1, 2, 3, 4, 5, 6, 12, 2 * BUCKETS_MAX])
def test_only_a_higher_power_of_two_is_taken(to: int) -> None:
    cluster = company("abc", 4)
    order = cluster.order(Double(to))
    assert cluster.standing(order) is Standing.REFUSED and "power of two" in cluster.status(order).remark
    assert cluster.levels() == [4] * 4


def test_before_there_are_buckets_there_is_nothing_to_double() -> None:
    cluster = Company()
    cluster.arrive("a")
    assert "no buckets" in cluster.status(cluster.order(Double(2))).remark
    cluster.order(Found(4, Settings(), participants=2))
    assert "no buckets" in cluster.status(cluster.order(Double(8))).remark


def test_one_doubling_at_a_time() -> None:
    cluster = company("abc", 2)
    first, second = cluster.order(Double(4)), cluster.order(Double(8))
    assert cluster.standing(first) is Standing.RUNNING
    assert cluster.standing(second) is Standing.REFUSED and "already" in cluster.status(second).remark
    cluster.settle()
    assert cluster.standing(cluster.order(Double(8))) is Standing.RUNNING


def test_an_order_that_is_given_twice_doubles_once() -> None:
    cluster = company("abc", 2)
    cluster.order(Double(4), "double")
    cluster.settle()
    cluster.order(Double(4), "double")
    assert cluster.levels() == [4] * 4 and cluster.standing("double") is Standing.DONE


def test_a_key_is_in_the_half_that_is_split_off_and_before_in_the_whole() -> None:
    cluster = company("abc", 2)
    cluster.order(Double(4))
    assert [cluster.distributor.home(hash) for hash in range(8)] == [0, 1, 2, 1] * 2
    cluster.settle()
    assert [cluster.distributor.home(hash) for hash in range(8)] == [0, 1, 2, 3] * 2


@pytest.mark.parametrize("nodes", [3, 7, 50])
def test_from_one_bucket_to_a_thousand_and_all_have_their_share(nodes: int) -> None:
    cluster = company(names(nodes), 1, moves_max=256, every=50)
    order = cluster.order(Double(1024))
    cluster.settle()
    assert cluster.standing(order) is Standing.DONE and cluster.levels() == [1024] * 1024
    assert cluster.steady() and cluster.balanced() and cluster.splits == 1023
    check_state(cluster.distributor)


# What goes on beside it.


def test_nothing_is_known_of_what_is_idle() -> None:
    cluster = company("abc", 2)
    cluster.order(Double(4))
    distributor = cluster.distributor
    assert [thinned.bucket for thinned in distributor.thinned()] == [] and not list(distributor.lost())
    before = distributor.image()
    cluster.propose(Reports((Report(3, 0, Achievement.OPENED), Report(3, 1, Achievement.EXPANDED))), "a")
    assert distributor.image() == before
    for wish in (Move(3, ("a",)), Release(3)):
        order = cluster.order(wish)
        assert cluster.standing(order) is Standing.REFUSED and "not split off" in cluster.status(order).remark
    assert remaining(distributor, Configure()) == 0


def test_who_waits_for_a_place_gets_none_for_what_is_idle() -> None:
    """Buckets of one copy each are enough for as many as they are."""
    cluster = company("ab", 2, 1)
    cluster.arrive("c", "d")
    assert len(cluster.distributor.slots) == 2
    cluster.order(Double(4))
    cluster.step(0)
    assert cluster.levels() == [4, 2, 4, 0] and len(cluster.distributor.slots) == 3
    cluster.settle()
    assert len(cluster.distributor.slots) == 4 and cluster.steady() and cluster.balanced()


def test_a_bucket_on_the_move_is_split_when_it_is_there() -> None:
    cluster = company("abc", 2, 1, moves_max=2)
    move = cluster.order(Move(0, ("c",)))
    cluster.order(Double(4))
    assert cluster.levels() == [2, 4, 0, 4] and cluster.distributor.buckets[0].state is State.EXPANDING
    cluster.settle()
    assert cluster.standing(move) is Standing.DONE and cluster.levels() == [4] * 4
    assert cluster.nodes(0) == ["c"]


def test_moves_by_hand_and_splits_share_the_room() -> None:
    cluster = company("abc", 4, 1, moves_max=2)
    cluster.order(Double(8))
    assert cluster.levels() == [8, 8, 4, 4, 8, 8, 0, 0]
    cluster.order(Move(3, (cluster.nodes(2)[0],)))
    assert not cluster.distributor.buckets[3].goal  # there is no room
    cluster.step(0)
    cluster.step(4)
    assert cluster.distributor.buckets[3].goal and cluster.levels() == [8, 8, 4, 4, 8, 8, 0, 0]
    cluster.settle()
    assert cluster.levels() == [8] * 8


def test_what_was_moved_by_hand_stays_there_and_its_second_half_is_like_any_other() -> None:
    cluster = company("abc", 1)
    cluster.order(Move(0, ("b",)))
    cluster.settle()
    cluster.order(Double(2))
    cluster.settle()
    assert cluster.nodes(0) == ["b"] and len(cluster.nodes(1)) == 3
    assert [bucket.pinned for bucket in cluster.distributor.buckets] == [True, False]


def test_nothing_is_rebalanced_before_all_is_split() -> None:
    cluster = company("ab", 4, 2)
    cluster.order(Double(8))
    cluster.arrive("c")
    moves = cluster.moves
    while not all(cluster.levels()):
        assert cluster.moves == moves
        cluster.step(next(number for number in range(8) if cluster.due(number) is not None))
    cluster.settle()
    assert cluster.moves > moves and cluster.balanced()


def test_recovery_does_not_wait_for_the_doubling() -> None:
    cluster = company("abcd", 4, moves_max=2)
    cluster.order(Double(8))
    cluster.depart("a")
    refilled = False
    while not all(cluster.levels()):
        refilled = refilled or any(bucket.goal for bucket in cluster.distributor.buckets)
        cluster.step(next(number for number in range(8) if cluster.due(number) is not None))
        if "a" not in cluster.here:
            cluster.arrive("a")
    assert refilled
    cluster.settle()
    assert cluster.steady() and cluster.balanced()


def test_a_drain_does_not_wait_for_the_doubling_and_who_leaves_leads_no_new_half() -> None:
    cluster = company("abcd", 8, 2)
    double = cluster.order(Double(16))
    drain = cluster.order(Drain("a"))
    leads = [number for number in range(8) if cluster.nodes(number)[0] == "a"]
    while cluster.standing(drain) is Standing.RUNNING:
        new = [number for number in range(8, 16) if cluster.levels()[number] and cluster.nodes(number)[0] == "a"]
        assert not [number for number in new if number - 8 not in leads]
        cluster.step(next(number for number in range(16) if cluster.due(number) is not None))
    assert cluster.standing(double) is Standing.RUNNING and not all(cluster.levels())
    cluster.settle()
    assert cluster.standing(double) is Standing.DONE and cluster.balanced() and "a" not in cluster.loads()


def test_buckets_are_doubled_while_rebalancing_is_paused() -> None:
    cluster = company("abc", 2)
    cluster.order(Pause())
    order = cluster.order(Double(8))
    cluster.settle()
    assert cluster.standing(order) is Standing.DONE and cluster.levels() == [8] * 8


def test_what_is_lost_is_split_when_it_is_back_and_the_others_do_not_wait_for_it() -> None:
    cluster = company("abc", 4, 1)
    cluster.depart("a")
    lost = [found.bucket for found in cluster.distributor.lost()]
    assert lost == [0, 3]
    order = cluster.order(Double(8))
    cluster.settle()
    assert cluster.levels() == [4, 8, 8, 4, 0, 8, 8, 0] and cluster.standing(order) is Standing.RUNNING
    assert remaining(cluster.distributor, Double(8)) == 2
    cluster.arrive("d", "e")  # one for the place of a, and one more
    cluster.settle()
    assert cluster.loads()["e"] > 0  # rebalancing does not wait for it either
    cluster.arrive("a")
    cluster.settle()
    assert cluster.standing(order) is Standing.DONE and cluster.levels() == [8] * 8
    assert cluster.steady() and cluster.balanced()


def test_a_half_that_is_lost_before_it_opens_holds_up_the_order_and_nobody_else() -> None:
    cluster = company("ab", 2, 1)
    order = cluster.order(Double(4))
    leader = cluster.nodes(0)[0]
    cluster.depart(leader)
    assert [found.bucket for found in cluster.distributor.lost()] == [0, 2]
    cluster.settle()
    assert cluster.levels() == [4] * 4 and cluster.standing(order) is Standing.RUNNING
    cluster.arrive(leader)
    cluster.settle()
    assert cluster.standing(order) is Standing.DONE and cluster.steady()
