"""Who is about to stop leads nothing that others can lead, and stays a member until it departs."""

from itertools import combinations

import pytest

from hansard.distributor.bucket import State
from hansard.distributor.command import Double, Drain, Move, Resign
from hansard.distributor.distributor import Distributor
from hansard.distributor.orders import Standing
from tests.distributor.company import Company, company, names, width


def led(cluster: Company, node: str) -> int:
    return cluster.leads().get(node, 0)


def test_others_lead_at_once_what_it_led_and_it_stays_a_member() -> None:
    cluster = company(names(4), 16)
    copies = cluster.loads()
    cluster.propose(Resign(going=True), "n02")
    assert led(cluster, "n02") == 0 and cluster.loads() == copies
    assert all(bucket.state in (State.STEADY, State.SWITCHING) for bucket in cluster.distributor.buckets)
    cluster.settle()
    assert led(cluster, "n02") == 0 and cluster.loads() == copies, "it was given something while it is about to stop"
    others = {node: leads for node, leads in cluster.leads().items() if node != "n02"}
    assert width(others) <= 2, "its leads went to one alone"


def test_only_the_buckets_that_it_leads_change() -> None:
    cluster = company(names(4), 16)
    member, before = cluster.member("n02"), list(cluster.distributor.buckets)
    cluster.propose(Resign(going=True), "n02")
    for old, new in zip(before, cluster.distributor.buckets, strict=True):
        assert (new == old) is (old.leader != member)


def test_it_is_forgotten_when_it_departs_or_stays_after_all() -> None:
    cluster = company(names(4), 16)
    cluster.propose(Resign(going=True), "n02")
    cluster.settle()
    cluster.propose(Resign(going=False), "n02")
    cluster.settle()
    assert not cluster.distributor.retiring and cluster.balanced()
    cluster.propose(Resign(going=True), "n02")
    cluster.depart("n02")
    assert not cluster.distributor.retiring
    cluster.arrive("n02")
    cluster.settle()
    assert cluster.balanced() and led(cluster, "n02") > 0


def test_the_last_one_keeps_what_nobody_else_can_lead() -> None:
    cluster = company(names(3), 8)
    for node in names(3):
        cluster.propose(Resign(going=True), node)
    assert cluster.leads() == {"n01": 0, "n02": 0, "n03": 8} and set(cluster.loads().values()) == {8}


def test_a_lone_copy_is_led_by_who_has_it() -> None:
    cluster = company(names(3), 8, 1)
    before = list(cluster.distributor.buckets)
    cluster.propose(Resign(going=True), "n01")
    assert cluster.distributor.buckets == before


@pytest.mark.parametrize("expanded", [False, True])
def test_no_move_leads_to_it(expanded: bool) -> None:
    cluster = company(names(4), 1, 2)
    here = cluster.nodes(0)
    away = [node for node in cluster.here if node not in here]
    order = cluster.order(Move(0, (away[0], away[1])))
    cluster.step(0)
    if expanded:
        cluster.step(0)
    assert cluster.distributor.buckets[0].goal[0].node == away[0]
    cluster.propose(Resign(going=True), away[0])
    bucket = cluster.distributor.buckets[0]
    assert not bucket.goal and bucket.leader is not None and bucket.leader.node != away[0]
    assert {member.node for member in bucket.members} == set(away if expanded else here)
    cluster.settle()
    assert cluster.standing(order) is Standing.DROPPED and led(cluster, away[0]) == 0


def test_a_newcomer_that_is_about_to_stop_is_not_waited_for() -> None:
    cluster = company(names(3), 1, 2)
    here = cluster.nodes(0)
    (other,) = [node for node in cluster.here if node not in here]
    cluster.order(Move(0, (here[0], other)))
    cluster.step(0)
    assert cluster.distributor.buckets[0].newcomers
    cluster.propose(Resign(going=True), other)
    assert not cluster.distributor.buckets[0].newcomers and cluster.nodes(0) == here


def test_a_half_is_led_by_somebody_who_stays() -> None:
    cluster = company(names(3), 2)
    cluster.propose(Resign(going=True), "n01")
    cluster.order(Double(4))
    cluster.settle()
    assert cluster.levels() == [4] * 4 and led(cluster, "n01") == 0


def test_said_twice_or_by_somebody_who_is_gone_it_changes_nothing() -> None:
    cluster = company(names(3), 4)
    cluster.propose(Resign(going=True), "n01")
    version = cluster.distributor.version
    cluster.propose(Resign(going=True), "n01")
    cluster.propose(Resign(going=False), "n02")
    assert cluster.distributor.version == version


def test_it_is_in_the_image() -> None:
    cluster = company(names(3), 4)
    cluster.propose(Resign(going=True), "n01")
    other = Distributor()
    other.restore(cluster.distributor.image())
    assert other.retiring == cluster.distributor.retiring and other.hash == cluster.distributor.hash


@pytest.mark.parametrize(("going", "drained"), list(combinations(names(3), 2)))
def test_one_that_is_drained_leads_only_where_nobody_else_stays(going: str, drained: str) -> None:
    cluster = company(names(3), 8)
    cluster.order(Drain(drained))
    cluster.propose(Resign(going=True), going)
    cluster.settle()
    assert led(cluster, going) == 0
    cluster.depart(going)
    cluster.settle()
    assert led(cluster, drained) == 0
