"""A departure is acted on at once, for the buckets that it touches: back to where they were, or on to where they go."""

import pytest

from hansard.distributor.bucket import State
from hansard.distributor.command import Achievement, Move
from tests.distributor.company import Company, company, names

OPENED, EXPANDED = Achievement.OPENED, Achievement.EXPANDED


def moving(nodes: str, there: str, to: str) -> Company:
    """One bucket, on its way; nothing has been reported of it."""
    found = company(nodes, 1, 3)
    found.order(Move(0, tuple(there)))
    found.settle()
    assert found.nodes(0) == list(there)
    found.order(Move(0, tuple(to)))
    assert found.distributor.buckets[0].state is State.EXPANDING
    return found


def governed(cluster: Company) -> tuple[str, str, str]:
    """Leader, members, newcomers."""
    bucket = cluster.distributor.buckets[0]
    members = "".join([member.node for member in bucket.members])
    return bucket.leader.node if bucket.leader else "", members, "".join([m.node for m in bucket.newcomers])


def test_the_members_less_the_departed_go_on_and_the_first_of_them_leads() -> None:
    cluster = company("abc", 1)
    assert governed(cluster) == ("a", "abc", "")
    cluster.depart("a")
    assert governed(cluster) == ("b", "bc", "")
    cluster.depart("c")
    assert governed(cluster) == ("b", "b", "")
    assert cluster.distributor.buckets[0].state is State.SWITCHING


def test_a_leader_that_is_still_there_goes_on_leading() -> None:
    cluster = company("abc", 1)
    cluster.depart("b")
    assert governed(cluster) == ("a", "ac", "")


def test_buckets_that_it_does_not_touch_are_not_touched() -> None:
    cluster = company(names(6), 32, 2)
    before = list(cluster.distributor.buckets)
    gone = cluster.member("n03")
    cluster.depart("n03")
    for old, new in zip(before, cluster.distributor.buckets, strict=True):
        assert (new.epoch > old.epoch) == (gone in old.full) or new.goal
    moved = [new for old, new in zip(before, cluster.distributor.buckets, strict=True) if new.goal]
    assert len(moved) <= 1


@pytest.mark.parametrize("opened", [False, True])
@pytest.mark.parametrize("gone", ["c", "d"])
def test_before_expanded_a_move_falls_back_when_a_newcomer_departs(gone: str, opened: bool) -> None:
    cluster = moving("abcd", "ab", "cd")
    if opened:
        cluster.report(0, OPENED)
    epoch = cluster.distributor.buckets[0].epoch
    cluster.depart(gone)
    assert governed(cluster) == ("a", "ab", "")
    assert cluster.distributor.buckets[0].epoch == epoch + 1
    assert cluster.distributor.buckets[0].goal == ()


@pytest.mark.parametrize("opened", [False, True])
def test_before_expanded_a_move_falls_back_when_a_member_departs(opened: bool) -> None:
    cluster = moving("abcd", "ab", "cd")
    if opened:
        cluster.report(0, OPENED)
    cluster.depart("a")
    assert governed(cluster) == ("b", "b", "")


def test_after_expanded_a_move_falls_forward() -> None:
    cluster = moving("abcd", "ab", "cd")
    cluster.report(0, OPENED)
    cluster.report(0, EXPANDED)
    assert governed(cluster) == ("c", "cd", "")
    cluster.depart("c")
    assert governed(cluster) == ("d", "d", "")


def test_after_expanded_those_who_go_anyway_are_not_missed() -> None:
    cluster = moving("abcd", "ab", "cd")
    cluster.report(0, OPENED)
    cluster.report(0, EXPANDED)
    before = cluster.distributor.buckets[0]
    cluster.depart("a")
    assert cluster.distributor.buckets[0] == before
    cluster.depart("b")
    assert cluster.distributor.buckets[0] == before


def test_after_expanded_and_with_all_new_ones_gone_the_old_ones_go_on() -> None:
    cluster = moving("abcd", "ab", "cd")
    cluster.report(0, OPENED)
    cluster.report(0, EXPANDED)
    cluster.depart("c", "d")
    assert governed(cluster) == ("a", "ab", "")


def test_once_the_new_government_has_opened_the_old_members_are_nobody() -> None:
    cluster = moving("abcd", "ab", "cd")
    cluster.report(0, OPENED)
    cluster.report(0, EXPANDED)
    cluster.report(0, OPENED)
    cluster.depart("c", "d")
    assert cluster.distributor.buckets[0].state is State.LOST


def test_a_second_departure_before_the_first_is_digested() -> None:
    cluster = company(names(6), 32)
    cluster.depart("n01")
    cluster.depart("n02")
    assert not any(bucket.state is State.LOST for bucket in cluster.distributor.buckets)
    cluster.settle()
    assert cluster.steady()
    for number, bucket in enumerate(cluster.distributor.buckets):
        assert len(cluster.nodes(number)) + len(bucket.vacant) == 3


def test_everybody_but_one_departs_and_all_come_back() -> None:
    cluster = company(names(5), 16, 5)
    cluster.depart(*names(4))
    cluster.settle()
    assert cluster.steady() and cluster.loads() == {"n05": 16}
    cluster.arrive(*names(4))
    cluster.settle()
    assert cluster.steady() and cluster.balanced() and not list(cluster.distributor.thinned())


def test_a_departure_does_not_wait_for_room() -> None:
    cluster = company("abc", 16, 2)
    cluster.arrive("d")
    assert cluster.distributor.room == 0
    before = [bucket.epoch for bucket in cluster.distributor.buckets]
    holders = [number for number in range(16) if "b" in cluster.nodes(number)]
    cluster.depart("b")
    for number in holders:
        assert cluster.distributor.buckets[number].epoch > before[number]


def test_one_that_never_opened_is_placed_again_when_all_are_gone() -> None:
    cluster = Company()
    cluster.arrive("a", "b")
    cluster.found(4)
    cluster.depart("a", "b")
    assert cluster.states() == {State.LOST}
    cluster.arrive("c")
    assert [governed(cluster), cluster.states()] == [("c", "c", ""), {State.SWITCHING}]
    cluster.settle()
    assert cluster.steady()


# No shrinking.


def test_nothing_shrinks_by_itself_and_what_is_thinned_out_is_said() -> None:
    cluster = company(names(5), 16)
    assert not list(cluster.distributor.thinned())
    cluster.depart("n02")
    cluster.settle()
    thinned = list(cluster.distributor.thinned())
    assert [each.bucket for each in thinned] == [n for n, b in enumerate(cluster.distributor.buckets) if b.vacant]
    assert {(each.copies, each.wanted) for each in thinned} == {(2, 3)}
    assert len(thinned) >= 9 and cluster.steady()


def test_a_lost_bucket_has_no_copies() -> None:
    cluster = company(["a", "b"], 1, 1)
    cluster.depart(cluster.nodes(0)[0])
    assert [(each.copies, each.wanted) for each in cluster.distributor.thinned()] == [(0, 1)]
