"""Buckets find their place among participants and keep it, whatever dies."""

from itertools import pairwise

import pytest

from hansard.batch import Flag
from hansard.consensus.settings import Settings as Consensus
from hansard.distributor.bucket import State
from hansard.distributor.command import Configure, Drain, Move, Pause, Undrain
from hansard.distributor.orders import Standing
from hansard.distributor.settings import Shape
from hansard.participant.effect import Bereft, Drop, Load, Thinned
from hansard.participant.message import Bucketed
from hansard.participant.settings import Settings
from hansard.phaser import message as phaser
from hansard.phaser.hearing import idle
from hansard.phaser.outcome import Outcome, Repeated, Stored
from tests.participant.cluster import Cluster

KEYS = [b"k%d" % number for number in range(12)]


def formed(size: int = 3, buckets: int = 4, **settings: object) -> Cluster:
    """A cluster that has come to rest, with something in each bucket."""
    cluster = Cluster()
    cluster.add(*"abcdefgh"[:size])
    cluster.found(buckets, participants=size, **settings)
    cluster.steady()
    for key in KEYS:
        assert stored(cluster, "a", key)
    return cluster


def stored(cluster: Cluster, at: str, key: bytes, seconds: float = 3) -> bool:
    return isinstance(cluster.answer(cluster.submit(at, key, seconds=seconds)), Stored | Repeated)


def contents(cluster: Cluster, bucket: int) -> dict[str, list[bytes]]:
    """What each member's disk has of a bucket."""
    found = {}
    for member in cluster.table.buckets[bucket].full:
        vault = cluster.nodes[member.node].vaults[bucket]
        shown = [batch for batch in vault.synced_batches() if not batch.header.flags & Flag.INTERNAL]
        found[member.node] = [value for batch in shown for value in batch.values() if value]
    return found


def alike(cluster: Cluster) -> bool:
    return all(
        len({tuple(values) for values in contents(cluster, number).values()}) == 1
        for number in range(len(cluster.table.buckets))
    )


@pytest.mark.parametrize("shape", Shape)
def test_three_that_are_there_get_all_buckets_at_once(shape: Shape) -> None:
    cluster = formed(3, 8, shape=shape)
    assert all(bucket.epoch == 1 and len(bucket.full) == 3 for bucket in cluster.table.buckets)
    leads = [bucket.leader.node for bucket in cluster.table.buckets if bucket.leader is not None]
    assert sorted(leads.count(node) for node in "abc") == [2, 3, 3]
    cluster.run(0.5)
    assert alike(cluster)


def test_one_after_another_comes_and_buckets_spread() -> None:
    cluster = Cluster()
    cluster.add("a")
    cluster.found(8)
    for key in KEYS:
        assert stored(cluster, "a", key)
    for node in "bcd":
        cluster.add(node)
        cluster.run(2)
        cluster.steady()
        assert stored(cluster, node, b"k1")
    copies = [member.node for bucket in cluster.table.buckets for member in bucket.full]
    assert [copies.count(node) for node in "abcd"] == [6, 6, 6, 6]
    cluster.run(0.5)
    assert alike(cluster)


def test_a_departure_is_over_in_a_second_and_touches_only_its_own_buckets() -> None:
    cluster = formed(5, 8)
    cluster.order(Pause())
    before = list(cluster.table.buckets)
    touched = [n for n, bucket in enumerate(before) if any(member.node == "b" for member in bucket.full)]
    cluster.crash("b")
    took_us = cluster.until(
        lambda: all(cluster.table.buckets[n].opened == cluster.table.buckets[n].epoch > 1 for n in touched)
    )
    assert took_us < 1_000_000
    assert [cluster.table.buckets[n] for n in range(8) if n not in touched] == [
        before[n] for n in range(8) if n not in touched
    ]


def test_one_that_comes_back_has_a_head_start() -> None:
    cluster = formed(3)
    cluster.crash("c")
    cluster.until(lambda: all(len(bucket.full) == 2 for bucket in cluster.table.buckets))
    assert stored(cluster, "a", b"k1")
    cluster.sent.clear()
    cluster.start("c")
    cluster.until(lambda: all(len(bucket.full) == 3 for bucket in cluster.table.buckets))
    assert cluster.core("c").here.member is not None
    parts = [send for _, send in cluster.sent if isinstance(send.message, Bucketed)]
    assert not [send for send in parts if isinstance(send.message.message, phaser.Part)]  # type: ignore[union-attr]
    cluster.run(0.5)
    assert alike(cluster)


def test_one_that_is_declared_departed_and_lives_gives_up_everything_and_comes_back() -> None:
    cluster = formed(3)
    cluster.cut("a")
    cluster.until(lambda: cluster.core("b").distributor.slots.member("a") is None)
    assert stored(cluster, "b", b"k1")
    cluster.heal()
    cluster.until(lambda: (member := cluster.core("a").here.member) is not None and member.incarnation == 2)
    cluster.run(2)
    cluster.steady()
    assert all(len(bucket.full) == 3 for bucket in cluster.table.buckets)
    assert alike(cluster)


def test_old_members_drop_what_has_moved_away() -> None:
    cluster = formed(4, 4, replication=1)
    leader = cluster.leader(0)
    other = next(node for node in "abcd" if node != leader)
    id = cluster.order(Move(0, (other,)), order="away")
    cluster.until(lambda: (status := cluster.table.orders.get("away")) and status.standing is Standing.DONE)
    cluster.run(1)
    assert id in cluster.commands
    assert (leader, Drop(0)) in cluster.told
    assert 0 not in cluster.nodes[leader].vaults
    assert all(stored(cluster, at, key) for at in "abcd" for key in KEYS)


def test_a_bucket_that_has_lost_everybody_waits_for_one_of_them() -> None:
    cluster = formed(4, 4, replication=1)
    lost = next(n for n in range(4) if cluster.leader(n) == "d")
    before = contents(cluster, lost)["d"]
    cluster.crash("d")
    cluster.until(lambda: cluster.table.buckets[lost].state is State.LOST)
    cluster.run(3)
    assert cluster.table.buckets[lost].state is State.LOST
    assert [thinned.bucket for thinned in cluster.table.thinned()] == [lost]
    said = [effect for node, effect in cluster.told if node == "a" and isinstance(effect, Bereft)]
    assert [(bereft.bucket, bereft.nodes) for bereft in said[-1].lost] == [(lost, ("d",))]
    cluster.start("d")
    cluster.until(lambda: cluster.table.buckets[lost].state is State.STEADY)
    assert cluster.leader(lost) == "d"
    assert contents(cluster, lost)["d"] == before


def test_a_bucket_is_not_revived_by_a_disk_that_was_wiped() -> None:
    cluster = formed(4, 4, replication=1)
    lost = next(n for n in range(4) if cluster.leader(n) == "d")
    cluster.crash("d")
    cluster.until(lambda: cluster.table.buckets[lost].state is State.LOST)
    cluster.wipe("d")
    cluster.start("d")
    cluster.until(lambda: cluster.core("d").here.member is not None)
    cluster.run(3)
    assert cluster.table.buckets[lost].state is State.LOST


def test_a_participant_that_restarts_does_nothing_by_a_table_that_may_be_old() -> None:
    cluster = Cluster(Settings(consensus=Consensus(compact_entries=4, keep_entries=2)))
    cluster.add("a", "b", "c")
    cluster.found(4, participants=3)
    cluster.steady()
    cluster.crash("b")
    cluster.cut("b")
    cluster.start("b")
    assert cluster.core("b").distributor.buckets  # it has a table, and is in it
    cluster.run(2)
    assert cluster.core("b").here.member is None
    assert not cluster.core("b").copies.running
    cluster.heal()
    cluster.until(lambda: cluster.core("b").here.member is not None)


def test_everything_comes_back_after_a_power_cut() -> None:
    cluster = formed(3)
    before = {n: contents(cluster, n) for n in range(4)}
    cluster.crash("a", "b", "c")
    for node in "abc":
        cluster.start(node)
    cluster.run(3)
    cluster.steady()
    for n in range(4):
        for node, values in contents(cluster, n).items():
            assert values == before[n].get(node, values)
    assert all(stored(cluster, at, key) for at in "abc" for key in KEYS[:4])


def test_clients_see_no_error_while_a_participant_is_drained_and_leaves() -> None:
    cluster = formed(4, 8)
    cluster.order(Drain("b"), order="drain")
    ids = []
    for number in range(200):
        ids.append(cluster.submit("acd"[number % 3], KEYS[number % 12]))
        cluster.run(0.02)
        status = cluster.core("a").distributor.orders.get("drain")
        if status is not None and status.standing is Standing.DONE:
            break
    else:
        pytest.fail("it is never drained")
    outcomes: list[Outcome] = [cluster.answer(id) for id in ids]
    assert all(isinstance(outcome, Stored) for outcome in outcomes)
    assert not any(member.node == "b" for bucket in cluster.table.buckets for member in bucket.full)
    cluster.order(Undrain("b"))
    cluster.run(2)
    cluster.steady()
    assert any(member.node == "b" for bucket in cluster.table.buckets for member in bucket.full)


def test_the_shape_and_the_number_of_copies_can_be_changed() -> None:
    cluster = formed(5, 4)
    cluster.order(Configure(shape=Shape.CHAIN, replication=5))
    cluster.run(1)
    cluster.steady()
    assert all(bucket.shape is Shape.CHAIN and len(bucket.full) == 5 for bucket in cluster.table.buckets)
    cluster.order(Configure(replication=2))
    cluster.run(1)
    cluster.steady()
    assert all(len(bucket.full) == 2 for bucket in cluster.table.buckets)
    assert all(stored(cluster, at, key) for at in "abcde" for key in KEYS[:4])
    cluster.run(0.5)
    assert alike(cluster)


def test_nothing_is_loaded_that_one_has_no_part_in() -> None:
    cluster = formed(5, 4, replication=1)
    loads = [(node, effect.bucket) for node, effect in cluster.told if isinstance(effect, Load)]
    assert len(loads) == 4


def test_a_bucket_at_rest_costs_nothing() -> None:
    cluster = formed(3, 8)
    cluster.run(2)
    phasers = [copy.phaser for core in cluster.up for copy in core.copies.running.values()]
    assert len(phasers) == 24
    assert all(phaser is not None and idle(phaser) for phaser in phasers)
    cluster.told.clear()
    cluster.sent.clear()
    cluster.run(2)
    assert not [send for _, send in cluster.sent if isinstance(send.message, Bucketed)]


def test_a_bucket_that_waits_for_somebody_is_not_at_rest() -> None:
    cluster = formed(3)
    leader = cluster.leader(0)
    cluster.lose = lambda sender, send: isinstance(send.message, Bucketed)
    cluster.submit(leader, KEYS[0], seconds=30)
    cluster.run(0.2)
    phasers = [copy.phaser for core in cluster.up for copy in core.copies.running.values()]
    assert [phaser for phaser in phasers if phaser is not None and not idle(phaser)]


def test_what_is_thinned_out_is_said_and_so_is_that_all_is_well_again() -> None:
    cluster = formed(3)
    cluster.told.clear()
    cluster.crash("c")
    cluster.until(lambda: ("a", Thinned((0, 1, 2, 3))) in cluster.told)
    cluster.start("c")
    cluster.until(lambda: ("a", Thinned(())) in cluster.told)
    assert all(len(bucket.full) == 3 for bucket in cluster.table.buckets)


def test_an_order_can_be_followed_to_its_end() -> None:
    cluster = formed(4, 8)
    cluster.order(Drain("b"), order="drain")
    left: list[int] = []
    while not left or left[-1]:
        cluster.run(0.01)
        status, remaining = cluster.core("c").proposing.status("drain")
        if status is not None:
            left.append(remaining)
    assert left[0] == 6
    assert all(later <= earlier for earlier, later in pairwise(left))
    assert cluster.core("c").proposing.status("another") == (None, 0)
