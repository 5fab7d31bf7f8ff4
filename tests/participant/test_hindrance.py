"""Disks that are full: what would have to be on them is refused at once, wherever it is submitted."""

import pytest

from hansard.participant.event import Hindered, Received
from hansard.participant.hindrance import FORGET_US
from hansard.participant.message import Hindered as Told
from hansard.phaser.outcome import ReadOnly, Stored
from tests.participant.cluster import SECOND, Cluster
from tests.participant.test_mending import KEY, company

FULL = "it is full"


def outcome(cluster: Cluster, at: str) -> object:
    return cluster.answer(cluster.submit(at, KEY))


@pytest.mark.parametrize("name", "abc")
def test_who_submits_anywhere_is_told_whose_disk_is_full_and_that_it_is_not_stored(name: str) -> None:
    cluster = company()
    cluster.happen(name, Hindered(FULL))
    cluster.run(0.1)
    ends = {each: cluster.nodes[each].vaults[0].current.end for each in "abc"}
    for at in "abc":
        assert outcome(cluster, at) == ReadOnly(name, FULL)
    assert {each: cluster.nodes[each].vaults[0].current.end for each in "abc"} == ends
    cluster.happen(name, Hindered(""))
    cluster.run(0.1)
    for at in "abc":
        assert isinstance(outcome(cluster, at), Stored)


def test_that_there_is_room_again_is_learned_though_its_word_is_lost() -> None:
    cluster = company()
    cluster.happen("b", Hindered(FULL))
    cluster.run(0.1)
    assert outcome(cluster, "a") == ReadOnly("b", FULL)
    cluster.lose = lambda _, send: isinstance(send.message, Told)
    cluster.happen("b", Hindered(""))
    cluster.run(FORGET_US / SECOND + 0.1)
    assert isinstance(outcome(cluster, "a"), Stored)


def test_who_is_told_late_refuses_from_then_on() -> None:
    """The first word is lost, and it is said again."""
    cluster = company()
    cluster.lose = lambda _, send: isinstance(send.message, Told)
    cluster.happen("b", Hindered(FULL))
    cluster.run(0.1)
    cluster.lose = lambda _, __: False
    cluster.run(1.5)
    assert outcome(cluster, "a") == ReadOnly("b", FULL)
    cluster.run(3 * FORGET_US / SECOND)
    assert outcome(cluster, "a") == ReadOnly("b", FULL), "it is said as long as it is true"


def test_a_full_disk_that_has_no_copy_of_a_bucket_is_not_in_its_way() -> None:
    cluster = company("abcd", replication=2)
    members = {member.node for member in cluster.table.buckets[0].full}
    for other in sorted(set("abcd") - members):
        cluster.happen(other, Hindered(FULL))
    cluster.run(0.1)
    assert isinstance(outcome(cluster, "a"), Stored)


def test_a_member_that_departs_with_a_full_disk_is_in_nobodys_way() -> None:
    cluster = company()
    name = next(member.node for member in cluster.table.buckets[0].full if member.node != cluster.leader(0))
    cluster.happen(name, Hindered(FULL))
    cluster.run(0.1)
    cluster.crash(name)
    cluster.until(lambda: len(cluster.table.buckets[0].full) == 2)
    cluster.steady()
    cluster.run(0.2)
    assert isinstance(outcome(cluster, cluster.leader(0)), Stored)


def test_what_strangers_say_of_their_disks_changes_nothing() -> None:
    cluster = company()
    cluster.happen("a", Received("z", Told(FULL)))
    cluster.run(0.1)
    assert isinstance(outcome(cluster, "a"), Stored)
