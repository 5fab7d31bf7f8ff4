"""Reads find a member; those that must be sure find the leader."""

from hansard.participant.effect import AnswerRead, ReadAt
from hansard.participant.event import Read
from hansard.phaser.outcome import Expired, Misplaced, NotLeader
from tests.participant.cluster import SECOND, Cluster
from tests.participant.test_government import formed


def read(cluster: Cluster, at: str, bucket: int, *, linear: bool = False, seconds: float = 3) -> AnswerRead:
    id = cluster.next_id()
    cluster.happen(at, Read(id, bucket, cluster.now_us + int(seconds * SECOND), linear))
    cluster.until(lambda: id in cluster.reads)
    return cluster.reads[id]


def test_a_member_serves_it_itself() -> None:
    cluster = formed(3)
    for at in "abc":
        outcome = read(cluster, at, 0).outcome
        assert isinstance(outcome, ReadAt)
        assert outcome.node == at and outcome.committed is not None


def test_who_has_no_copy_names_a_member_in_its_zone() -> None:
    cluster = Cluster()
    cluster.add("a", "b", zone="north")
    cluster.add("c", "d", zone="south")
    cluster.found(4, participants=4, replication=2)
    cluster.steady()
    found = 0
    for bucket, record in enumerate(cluster.table.buckets):
        members = {member.node for member in record.full}
        for at in set("abcd") - members:
            outcome = read(cluster, at, bucket).outcome
            assert isinstance(outcome, ReadAt) and outcome.committed is None
            near = {"a": "b", "b": "a", "c": "d", "d": "c"}[at]
            assert outcome.node == near
            found += 1
    assert found == 8


def test_a_sure_one_is_asked_for_at_the_leader_and_has_everything() -> None:
    cluster = formed(3)
    for at in "abc":
        outcome = read(cluster, at, 0, linear=True).outcome
        assert isinstance(outcome, ReadAt)
        assert outcome.node == cluster.leader(0)
        phaser = cluster.core(cluster.leader(0)).copies.running[0].phaser
        assert phaser is not None and outcome.committed == phaser.ledger.end


def test_a_leader_that_is_cut_off_answers_no_sure_one() -> None:
    cluster = formed(3)
    leader = cluster.leader(0)
    cluster.cut(leader)
    assert isinstance(read(cluster, leader, 0, linear=True, seconds=0.3).outcome, Expired | NotLeader)
    assert isinstance(read(cluster, leader, 0).outcome, ReadAt)


def test_a_bucket_that_is_not_there_is_said() -> None:
    cluster = formed(3)
    assert read(cluster, "a", 99).outcome == Misplaced(4)
