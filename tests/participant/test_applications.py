"""State machines on top of buckets: the same everywhere, through crashes, moves and splits."""

from hansard.batch.keyhash import key_hash
from hansard.participant.effect import ReadAt
from hansard.participant.event import Read
from hansard.phaser.event import Question
from hansard.phaser.outcome import Invalid, Misplaced, Stored
from sim.counter import Counter
from tests.participant.cluster import SECOND, Cluster
from tests.participant.test_splitting import doubled

KEYS = [b"key %d" % number for number in range(12)]


def counting(nodes: int, buckets: int) -> Cluster:
    cluster = Cluster()
    cluster.applications = [Counter]
    cluster.add(*"abcde"[:nodes])
    cluster.found(buckets, participants=nodes)
    cluster.steady()
    cluster.run(2)  # until there are enough voters to lose one
    return cluster


def update(cluster: Cluster, at: str, key: bytes, amount: int) -> int:
    """What the application says when it is durable."""
    outcome = cluster.answer(cluster.submit(at, key, b"%d" % amount))
    assert isinstance(outcome, Stored)
    (result,) = outcome.results
    assert result is not None
    return int(result)


def query(cluster: Cluster, at: str, key: bytes, level: int = 0, application: str = "counter") -> object:
    bucket = cluster.table.home(key_hash(key))
    id, level = cluster.next_id(), level or cluster.table.buckets[bucket].level
    question = Question(application, key, level)
    cluster.happen(at, Read(id, bucket, cluster.now_us + 3 * SECOND, question=question))
    cluster.until(lambda: id in cluster.reads)
    outcome = cluster.reads[id].outcome
    return outcome.answer if isinstance(outcome, ReadAt) else outcome


def test_an_update_at_any_node_returns_its_result_and_a_query_at_any_node_sees_it() -> None:
    cluster = counting(3, 4)
    for number, key in enumerate(KEYS):
        assert update(cluster, "abc"[number % 3], key, 2) == 2
        assert update(cluster, "abc"[(number + 1) % 3], key, 3) == 5
        assert [query(cluster, at, key) for at in "abc"] == [b"5"] * 3


def test_the_state_goes_on_through_crashes_departures_and_splits() -> None:
    cluster = counting(4, 2)
    for key in KEYS:
        update(cluster, "a", key, 1)
    doubled(cluster, 8)
    for key in KEYS:
        assert update(cluster, "b", key, 1) == 2
    leader = cluster.leader(0)
    cluster.crash(leader)
    others = [node for node in "abcd" if node != leader]
    cluster.until(lambda: cluster.core(others[0]).distributor.slots.member(leader) is None)
    for key in KEYS:
        assert update(cluster, others[1], key, 1) == 3
    cluster.start(leader)
    cluster.steady(60)
    cluster.run(2)
    for key in KEYS:
        assert query(cluster, leader, key) == b"3"
    for number, bucket in enumerate(cluster.table.buckets):
        images = []
        for member in bucket.full:
            copy = cluster.core(member.node).copies.running[number]
            assert copy.phaser is not None
            host = copy.phaser.ledger.derived.host("counter")
            assert host is not None
            images.append(host.image())
        assert all(image == images[0] for image in images)
        keys = [key for key, _ in images[0].entries if key is not None]
        assert all(cluster.table.home(key_hash(key)) == number for key in keys)


def test_a_question_for_a_bucket_as_it_was_and_one_for_nobody_are_refused() -> None:
    cluster = counting(1, 1)
    update(cluster, "a", KEYS[0], 1)
    doubled(cluster, 2)
    assert query(cluster, "a", KEYS[0], level=1) == Misplaced(2)
    id = cluster.next_id()
    cluster.happen("a", Read(id, 0, cluster.now_us + 3 * SECOND, question=Question("nobody", b"", 2)))
    cluster.until(lambda: id in cluster.reads)
    assert isinstance(cluster.reads[id].outcome, Invalid)
