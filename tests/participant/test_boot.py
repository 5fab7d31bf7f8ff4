"""A whole cluster that was down comes back from nothing but its disks: all that the last government of each bucket has
acknowledged, however few have it, and nothing that was taken back. What cannot come back is named."""

from collections.abc import Callable
from itertools import permutations

import pytest

from hansard.batch.keyhash import bucket_of, key_hash
from hansard.distributor.bucket import State
from hansard.distributor.records import Lost
from hansard.participant.effect import Bereft
from hansard.participant.message import Bucketed
from hansard.participant.settings import Settings
from hansard.phaser.message import Append
from hansard.phaser.outcome import Stored, Unknown
from hansard.phaser.settings import Settings as BucketSettings
from sim.counter import Counter
from tests.participant.cluster import Cluster
from tests.participant.test_applications import query, update

BUCKETS = 8


def key_of(bucket: int) -> bytes:
    return next(
        key for key in (b"k%d" % number for number in range(999)) if bucket_of(key_hash(key), BUCKETS) == bucket
    )


KEYS = [key_of(bucket) for bucket in range(BUCKETS)]


def counting(nodes: str = "abcde") -> Cluster:
    """Each bucket has three copies; its state is stored after every other batch."""
    cluster = Cluster(Settings(phaser=BucketSettings(checkpoint_batches=2)))
    cluster.applications = [Counter]
    cluster.add(*nodes)
    cluster.found(BUCKETS, participants=len(nodes), replication=3)
    cluster.steady()
    cluster.run(3)  # until everybody votes
    for key in KEYS:
        assert update(cluster, "a", key, 1) == 1
    return cluster


def thinned_to_one(cluster: Cluster, bucket: int) -> tuple[str, list[str]]:
    """All members of a bucket but one depart, and the one goes on alone. Who that is, and who they were."""
    record = cluster.table.buckets[bucket]
    others = [member.node for member in record.full[1:]]
    (survivor, *_) = [member.node for member in record.full]
    cluster.crash(*others)
    cluster.until(lambda: all(cluster.table.slots.member(node) is None for node in others))
    cluster.until(lambda: cluster.table.buckets[bucket].state is State.STEADY)
    for amount in (2, 3):
        update(cluster, survivor, KEYS[bucket], amount)
    assert [member.node for member in cluster.table.buckets[bucket].full] == [survivor]
    return survivor, others


def power_cut(cluster: Cluster) -> None:
    cluster.crash(*[name for name, node in cluster.nodes.items() if node.core is not None])


@pytest.mark.parametrize("order", [0, 1, 2, 3, 4, 5])
def test_what_one_alone_has_acknowledged_is_not_cut_off_because_more_have_less(order: int) -> None:
    cluster = counting()
    survivor, others = thinned_to_one(cluster, 0)
    power_cut(cluster)
    first, second, third = list(permutations([survivor, *others]))[order]
    for name in [node for node in "abcde" if node not in (survivor, *others)]:
        cluster.start(name)
    for name in (first, second, third):
        cluster.start(name)
        cluster.run(4)
    cluster.steady()
    assert query(cluster, second, KEYS[0]) == b"6"
    assert update(cluster, third, KEYS[0], 1) == 7
    same(cluster)


def test_what_cannot_come_back_is_named_bucket_by_bucket_with_who_could_bring_it() -> None:
    cluster = counting()
    survivor, others = thinned_to_one(cluster, 0)
    thin = [number for number, record in enumerate(cluster.table.buckets) if record.state is State.STEADY]
    alone = [number for number in thin if [one.node for one in cluster.table.buckets[number].full] == [survivor]]
    assert 0 in alone and len(alone) < BUCKETS
    power_cut(cluster)
    told = len(cluster.told)
    for name in [node for node in "abcde" if node != survivor]:
        cluster.start(name)
    cluster.run(20)
    opened = cluster.table.buckets[0].opened
    lost = [Lost(number, cluster.table.buckets[number].opened, (survivor,)) for number in alone]
    for name in [node for node in "abcde" if node != survivor]:
        said = [effect.lost for node, effect in cluster.told[told:] if node == name and isinstance(effect, Bereft)]
        assert list(said[-1]) == lost, "by everybody, and no other one"
    assert all(
        cluster.table.buckets[number].state is not State.LOST for number in range(BUCKETS) if number not in alone
    )
    cluster.start(survivor)
    cluster.until(lambda: not list(cluster.table.lost()), 30)
    cluster.steady()
    assert cluster.table.buckets[0].opened > opened
    assert query(cluster, others[0], KEYS[0]) == b"6"


def test_what_was_never_acknowledged_is_unrolled_with_the_state_that_came_of_it() -> None:
    """The leader writes something that nobody else gets, and is deposed. When it is back it is like the others, from
    its disk on."""
    cluster = counting("abc")
    old = cluster.leader(0)
    amid = [member.node for member in cluster.table.buckets[0].full if member.node != old]
    cluster.lose = lambda sender, send: _carries_changes(sender, send.message, old)
    alone = [cluster.submit(old, KEYS[0], b"100", seconds=1) for _ in range(4)]
    cluster.run(0.1)
    assert not any(id in cluster.answers for id in alone)
    disk = cluster.nodes[old].vaults[0]
    assert sum(batch.values() == [b"100"] for batch in disk.synced_batches()) > 0, "it is on one disk"
    cluster.cut(old)
    cluster.until(lambda: cluster.table.slots.member(old) is None)
    cluster.until(lambda: cluster.leader(0) in amid and cluster.table.buckets[0].state is State.STEADY)
    assert update(cluster, amid[0], KEYS[0], 1) == 2
    assert all(isinstance(cluster.answer(id), Unknown) for id in alone)
    power_cut(cluster)
    cluster.heal()
    cluster.lose = lambda sender, send: False
    for name in (old, *amid):
        cluster.start(name)
        cluster.run(2)
    cluster.steady()
    assert update(cluster, old, KEYS[0], 1) == 3
    same(cluster)
    assert not any(b"100" in batch.values() for batch in cluster.nodes[old].vaults[0].synced_batches())


def _carries_changes(sender: str, message: object, old: str) -> bool:
    return sender == old and isinstance(message, Bucketed) and isinstance(message.message, Append)


def same(cluster: Cluster) -> None:
    """All copies of each bucket have the same log, and the same state of it; also in what a restart begins with."""
    cluster.run(1)
    for number, record in enumerate(cluster.table.buckets):
        logs, images = [], []
        for member in record.full:
            copy = cluster.core(member.node).copies.running[number]
            host = copy.phaser.ledger.derived.host("counter") if copy.phaser is not None else None
            assert host is not None
            images.append(host.image())
            logs.append(cluster.nodes[member.node].vaults[number].synced_batches())
        assert all(image == images[0] for image in images)
        assert all([str(one) for one in log] == [str(one) for one in logs[0]] for log in logs)


@pytest.mark.parametrize("prepare", [lambda cluster: None, power_cut], ids=["never down", "down before"])
def test_a_cluster_of_which_all_disks_are_there_comes_back_with_everything(
    prepare: Callable[[Cluster], None],
) -> None:
    cluster = counting("abc")
    prepare(cluster)
    for name in "cab":
        if cluster.nodes[name].core is None:
            cluster.start(name)
    cluster.run(3)
    power_cut(cluster)
    for name in "bca":
        cluster.start(name)
    cluster.run(3)
    cluster.steady()
    for key in KEYS:
        outcome = cluster.answer(cluster.submit("c", key, b"1"))
        assert isinstance(outcome, Stored) and outcome.results == (b"2",)
    same(cluster)
