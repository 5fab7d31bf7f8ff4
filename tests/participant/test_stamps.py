"""One wrong clock expires nothing: stamps stay near the cluster's time, whoever leads."""

import pytest

from hansard.distributor.command import Move
from hansard.distributor.orders import Standing
from hansard.phaser.outcome import Repeated, Stored
from tests.participant.cluster import SECOND, WALL_US, Cluster

DAY_US = 24 * 3600 * SECOND


def moved(cluster: Cluster, leader: str) -> None:
    others = [node for node in "abc" if node != leader]
    order = f"to-{leader}-{cluster.now_us}"
    cluster.order(Move(0, (leader, *others)), at="b", order=order)
    cluster.until(lambda: (status := cluster.table.orders.get(order)) and status.standing is Standing.DONE)


@pytest.mark.parametrize("skew_us", [30 * DAY_US, -30 * DAY_US, 3 * SECOND, -3 * SECOND])
def test_a_leader_with_a_wrong_clock_stamps_near_the_others(skew_us: int) -> None:
    cluster = Cluster()
    cluster.add("a", "b", "c")
    cluster.nodes["c"].skew_us = skew_us
    cluster.found(1, participants=3)
    cluster.steady()
    moved(cluster, "b")
    first = cluster.submit("a", b"k", connection=7, series=0)
    assert isinstance(cluster.answer(first), Stored)
    moved(cluster, "c")
    for series in range(5):
        outcome = cluster.answer(cluster.submit("a", b"k", connection=8, series=series, previous=series - 1))
        assert isinstance(outcome, Stored)
        assert abs(outcome.receipt.timestamp - WALL_US - cluster.now_us) < SECOND
    again = cluster.submit("a", b"k", connection=7, series=0)
    assert isinstance(cluster.answer(again), Repeated)  # nothing was forgotten


def test_a_clock_that_jumps_while_its_node_leads_is_held() -> None:
    cluster = Cluster()
    cluster.add("a", "b", "c")
    cluster.found(1, participants=3)
    cluster.steady()
    leader = cluster.leader(0)
    cluster.nodes[leader].skew_us = 30 * DAY_US
    outcome = cluster.answer(cluster.submit(leader, b"k"))
    assert isinstance(outcome, Stored)
    assert abs(outcome.receipt.timestamp - WALL_US - cluster.now_us) < SECOND


def test_nobody_opens_before_it_knows_what_time_it_is() -> None:
    cluster = Cluster()
    cluster.add("a", "b", "c")
    cluster.found(1, participants=3)
    cluster.steady()
    cluster.lose = lambda sender, send: type(send.message).__name__ == "ClockTold"
    cluster.crash("a", "b", "c")
    for node in "abc":
        cluster.start(node)
    cluster.run(3)
    assert all(core.here.member is not None for core in cluster.up)
    id = cluster.submit("a", b"k", seconds=30)
    cluster.run(2)
    assert id not in cluster.answers
    cluster.lose = lambda sender, send: False
    assert isinstance(cluster.answer(id), Stored)
