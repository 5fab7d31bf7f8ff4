"""Arrivals are given their share by the fewest moves, a few at a time, and then there is rest."""

import pytest

from hansard.distributor.bucket import State
from hansard.distributor.command import Configure, Pause, Resume
from tests.distributor.company import company, names, width


@pytest.mark.parametrize("moves_max", [1, 3, 64])
@pytest.mark.parametrize("replication", [1, 2, 3, 5])
@pytest.mark.parametrize("there", [2, 3, 5, 8])
def test_an_arrival_moves_no_bucket_more_than_it_needs(there: int, replication: int, moves_max: int) -> None:
    for buckets in (4, 16, 32):
        cluster = company(names(there), buckets, replication, moves_max=moves_max)
        before = {number: cluster.nodes(number) for number in range(buckets)}
        cluster.arrive("new")
        cluster.settle()
        assert cluster.steady() and cluster.balanced()
        share = cluster.loads().get("new", 0)
        assert share == (min(replication, there + 1) * buckets) // (there + 1)
        for number, nodes in before.items():
            others = [node for node in cluster.nodes(number) if node != "new"]
            assert all(node in nodes for node in others), "only the new one got something"
        if replication <= there:
            assert cluster.moves == share
        else:  # a copy more of each; then some are led by the new one
            least = share + cluster.leads()["new"]
            assert cluster.moves == least


def test_an_arrival_takes_its_leads_by_the_same_moves() -> None:
    cluster = company(names(7), 128, 3)
    cluster.arrive("new")
    cluster.settle()
    assert cluster.moves == cluster.loads()["new"] == 48
    assert cluster.leads()["new"] == 16


def test_no_more_buckets_move_at_a_time_than_may() -> None:
    cluster = company(names(3), 64, 2, moves_max=5)
    cluster.arrive("new")
    assert sum(bool(bucket.goal) for bucket in cluster.distributor.buckets) == 5
    number = next(n for n, bucket in enumerate(cluster.distributor.buckets) if bucket.goal)
    cluster.step(number)
    assert sum(bool(bucket.goal) for bucket in cluster.distributor.buckets) == 5
    cluster.order(Configure(moves_max=2))
    assert sum(bool(bucket.goal) for bucket in cluster.distributor.buckets) == 5
    cluster.settle()
    assert cluster.steady() and cluster.balanced()


def test_those_that_do_not_move_go_on_in_their_epoch() -> None:
    cluster = company(names(3), 32, 2)
    before = [bucket.epoch for bucket in cluster.distributor.buckets]
    cluster.arrive("new")
    cluster.settle()
    moved = [n for n, bucket in enumerate(cluster.distributor.buckets) if bucket.epoch != before[n]]
    assert len(moved) == cluster.moves < 32


@pytest.mark.parametrize("replication", [1, 2, 3, 5])
def test_many_come_one_after_the_other(replication: int) -> None:
    cluster = company(names(1), 32, replication)
    for node in names(9)[1:]:
        cluster.arrive(node)
        cluster.settle()
        assert cluster.steady() and cluster.balanced() and not list(cluster.distributor.thinned())


def test_those_with_the_fewest_copies_are_helped_first() -> None:
    cluster = company(names(4), 16, 3)
    cluster.depart("n01", "n02")
    cluster.settle()
    counts = {len(cluster.nodes(number)) for number in range(16)}
    assert counts == {1, 2}
    cluster.arrive("n01")
    (first,) = [n for n, bucket in enumerate(cluster.distributor.buckets) if bucket.goal]
    assert len(cluster.distributor.buckets[first].members) == 1


def test_leads_are_balanced_without_moving_copies() -> None:
    cluster = company(names(3), 32, 3)
    cluster.depart("n01")
    cluster.settle()
    cluster.arrive("n01")
    before = [sorted(cluster.nodes(number)) for number in range(32)]
    cluster.settle()
    assert cluster.balanced() and width(cluster.leads()) <= 1
    after = [sorted(cluster.nodes(number)) for number in range(32)]
    assert all(set(old) <= set(new) for old, new in zip(before, after, strict=True))


def test_nothing_is_balanced_during_a_pause_and_recovery_goes_on() -> None:
    cluster = company(names(3), 16, 3)
    cluster.order(Pause())
    cluster.arrive("n04")
    cluster.settle()
    assert cluster.moves == 0 and cluster.loads()["n04"] == 0
    cluster.depart("n01")
    cluster.settle()
    assert cluster.steady()
    cluster.arrive("n05")
    cluster.settle()
    assert cluster.loads()["n05"] == 16 and not list(cluster.distributor.thinned())
    cluster.order(Resume())
    cluster.settle()
    assert cluster.balanced() and not cluster.distributor.paused


def test_a_move_under_way_is_not_planned_again() -> None:
    cluster = company(names(2), 8, 1)
    cluster.arrive("n03")
    (number,) = [n for n, bucket in enumerate(cluster.distributor.buckets) if bucket.state is State.EXPANDING]
    goal = cluster.distributor.buckets[number].goal
    cluster.order(Configure(moves_max=8))
    goals = [bucket.goal for bucket in cluster.distributor.buckets if bucket.goal]
    assert len(goals) == 2 and cluster.distributor.buckets[number].goal == goal
