"""What is dropped was neither to be kept nor held, by the log and in the cluster's time, on every member."""

import pytest

from hansard.batch.keyhash import bucket_of, key_hash
from hansard.distributor.command import Configure, Double
from hansard.distributor.holds import OFFSET_MAX
from hansard.distributor.orders import Standing
from hansard.distributor.settings import Keep
from hansard.participant.clock import ClusterClock
from hansard.participant.event import Hold, LetGo, Surplus, Trimmed
from hansard.participant.retaining import UNKNOWN_TIME, Looks, surplus
from hansard.participant.settings import Settings
from hansard.phaser.outcome import Stored
from hansard.phaser.settings import Settings as Phaser
from sim.segments import segments
from tests.participant.cluster import SECOND, WALL_US, Cluster

HOUR_US = 3600 * SECOND
DAY_US = 24 * HOUR_US


def filled(changes: int = 30, buckets: int = 1, **settings: object) -> Cluster:
    """Three participants, and so many changes in each bucket."""
    cluster = Cluster(Settings(phaser=Phaser(checkpoint_batches=4)))
    cluster.add(*"abc")
    cluster.found(buckets, participants=3, **settings)
    cluster.steady()
    cluster.until(lambda: all(core.time.known for core in cluster.up))
    write(cluster, changes, buckets)
    return cluster


def write(cluster: Cluster, changes: int, buckets: int = 1) -> None:
    for number in range(changes):
        for key in keys(buckets):
            assert isinstance(cluster.answer(cluster.submit("abc"[number % 3], key)), Stored)


def keys(buckets: int) -> list[bytes]:
    """One for each bucket."""
    found: dict[int, bytes] = {}
    number = 0
    while len(found) < buckets:
        key = b"key %d" % number
        found.setdefault(bucket_of(key_hash(key), buckets), key)
        number += 1
    return list(found.values())


def look(cluster: Cluster, *names: str) -> None:
    """At the disks of these, or of all."""
    for name in names or list(cluster.nodes):
        node = cluster.nodes[name]
        looks = node.core.retaining.looks() if node.core is not None else None
        if looks is not None:
            found = surplus(looks, {n: segments(vault.synced_batches()) for n, vault in node.vaults.items()})
            if found is not None:
                cluster.happen(name, found)
    cluster.run(1)


def drop(cluster: Cluster) -> None:
    for name, node in cluster.nodes.items():
        for bucket, before in node.core.retaining.drops().items() if node.core is not None else ():
            start = node.vaults[bucket].trim(before)
            if start:
                cluster.happen(name, Trimmed(bucket, start))


def retained(cluster: Cluster, bucket: int = 0) -> set[int]:
    """Where the members' copies of a bucket begin."""
    return {node.vaults[bucket].start for node in cluster.nodes.values() if bucket in node.vaults}


def held(cluster: Cluster, name: str, offsets: dict[int, int], seconds: float = 60, at: str = "b") -> str:
    id = cluster.next_id()
    cluster.happen(at, Hold(id, name, offsets, int(seconds * SECOND)))
    cluster.until(lambda: id in cluster.holds)
    return cluster.holds[id].refusal


def let_go(cluster: Cluster, name: str, at: str = "c") -> str:
    id = cluster.next_id()
    cluster.happen(at, LetGo(id, name))
    cluster.until(lambda: id in cluster.holds)
    return cluster.holds[id].refusal


def test_everything_is_kept_unless_the_settings_say_otherwise() -> None:
    cluster = filled()
    assert all(core.retaining.looks() is None for core in cluster.up)
    look(cluster)
    drop(cluster)
    assert retained(cluster) == {0}


def test_all_members_drop_what_is_beyond_the_limit() -> None:
    cluster = filled(retain_changes=10)
    look(cluster)
    drop(cluster)
    (start,) = retained(cluster)
    assert start == cluster.table.holds.floor(0) > 10
    leader = cluster.nodes[cluster.leader(0)]
    assert sum([batch.header.change_count for batch in leader.vaults[0].synced_batches()]) >= 10
    assert all(core.copies.running[0].phaser.ledger.start == start for core in cluster.up)  # type: ignore[union-attr]
    assert all(not core.retaining.drops() for core in cluster.up)


def test_only_leaders_look() -> None:
    cluster = filled(retain_changes=10)
    leader = cluster.leader(0)
    looking = [name for name in "abc" if cluster.core(name).retaining.looks() is not None]
    assert looking == [leader]


def test_a_hold_keeps_what_is_after_it_on_every_member_until_it_is_let_go() -> None:
    cluster = filled(retain_changes=10)
    assert not held(cluster, "spark", {0: 7})
    look(cluster)
    drop(cluster)
    assert all(start <= 7 for start in retained(cluster))
    assert not let_go(cluster, "spark")
    look(cluster)
    drop(cluster)
    assert all(start > 10 for start in retained(cluster))
    refusal = held(cluster, "spark", {0: 7})
    assert refusal == f"bucket 0 is retained from offset {cluster.table.holds.floor(0)} on, and not from 7"


def test_a_hold_that_comes_while_something_is_to_be_dropped_is_refused_or_kept_and_nothing_between() -> None:
    """What was found on the disk before the hold is not dropped after it."""
    cluster = filled(retain_changes=10)
    leader = cluster.leader(0)
    looks = cluster.core(leader).retaining.looks()
    assert looks is not None
    found = surplus(looks, {0: segments(cluster.nodes[leader].vaults[0].synced_batches())})
    assert found is not None and found.floors[0] > 7
    assert not held(cluster, "spark", {0: 7})
    cluster.happen(leader, found)
    cluster.run(1)
    drop(cluster)
    assert cluster.table.holds.floor(0) == 7 and all(start <= 7 for start in retained(cluster))


def test_one_who_has_not_heard_of_a_hold_drops_nothing_of_it() -> None:
    cluster = filled(retain_changes=10)
    other = next(name for name in "abc" if name != cluster.leader(0))
    cluster.cut(other)
    asked = cluster.leader(0)
    assert not held(cluster, "spark", {0: 7}, at=asked)
    look(cluster, asked)
    drop(cluster)
    assert all(start <= 7 for start in retained(cluster))


def test_a_hold_is_over_in_the_clusters_time() -> None:
    cluster = filled(retain_changes=10)
    assert not held(cluster, "spark", {0: 7}, seconds=60)
    cluster.run(55)
    look(cluster)
    drop(cluster)
    assert all(start <= 7 for start in retained(cluster))
    cluster.run(10)
    look(cluster)
    drop(cluster)
    assert all(start > 7 for start in retained(cluster))


@pytest.mark.parametrize("days", [-9, 9])
def test_one_wrong_clock_makes_nothing_older_and_ends_no_hold(days: int) -> None:
    cluster = filled(retain_age_us=HOUR_US)
    for node in cluster.nodes.values():
        node.skew_us = days * DAY_US if node.name == cluster.leader(0) else 0
    cluster.run(5)
    write(cluster, 5)
    assert not held(cluster, "spark", {0: 7}, at=cluster.leader(0))
    look(cluster)
    drop(cluster)
    assert retained(cluster) == {0}
    assert abs(cluster.table.holds.held["spark"].asked_us - WALL_US - cluster.now_us) < 5 * SECOND


def test_what_is_older_than_the_limit_goes() -> None:
    cluster = filled(retain_age_us=60 * SECOND)
    cluster.run(50)
    look(cluster)
    assert not cluster.table.holds.floors
    cluster.run(15)
    look(cluster)
    drop(cluster)
    assert all(start > 10 for start in retained(cluster))


def test_to_keep_everything_again_counts_from_when_it_is_ordered() -> None:
    cluster = filled(retain_changes=10)
    leader = cluster.leader(0)
    looks = cluster.core(leader).retaining.looks()
    assert looks is not None
    cluster.order(Configure(retain_changes=0), order="keep")
    cluster.until(lambda: cluster.table.orders.get("keep") is not None)
    cluster.happen(leader, Surplus(looks.keep, {0: 9}))
    cluster.run(1)
    assert not cluster.table.holds.floors


def test_nothing_is_dropped_or_held_before_the_cluster_s_time_is_known() -> None:
    cluster = filled(retain_changes=10)
    look(cluster)
    assert any(core.retaining.drops() for core in cluster.up)
    cluster.cut("a")
    core = cluster.core("a")
    assert core.retaining.drops()
    core.time.clock = ClusterClock("a", SECOND)  # as it is after a start
    assert not core.time.known
    assert core.retaining.drops() == {} and core.retaining.looks() is None
    assert held(cluster, "spark", {0: 50}, at="a") == UNKNOWN_TIME
    assert let_go(cluster, "spark", at="a") == UNKNOWN_TIME


def test_whoever_has_departed_drops_nothing() -> None:
    cluster = filled(retain_changes=10)
    look(cluster)
    core = cluster.core("a")
    assert core.retaining.drops()
    core.here.member = None
    assert core.retaining.drops() == {} and core.retaining.looks() is None


def test_a_restart_keeps_holds_and_floors() -> None:
    cluster = filled(retain_changes=10)
    assert not held(cluster, "spark", {0: 7})
    look(cluster)
    cluster.crash(*"abc")
    for name in "abc":
        cluster.start(name)
    cluster.steady()
    cluster.run(3)
    write(cluster, 5)
    look(cluster)
    drop(cluster)
    assert cluster.table.holds.held["spark"].offsets == {0: 7} and cluster.table.holds.floor(0) == 7
    assert all(start <= 7 for start in retained(cluster))


def test_a_hold_from_before_a_split_holds_both_halves() -> None:
    cluster = filled(retain_changes=5)
    assert not held(cluster, "spark", {0: 7})
    cluster.order(Double(2), order="double")
    cluster.until(lambda: (status := cluster.table.orders.get("double")) and status.standing is Standing.DONE, 60)
    cluster.steady()
    write(cluster, 20, buckets=2)
    look(cluster)
    drop(cluster)
    assert [cluster.table.holds.floor(bucket) for bucket in (0, 1)] == [7, 7]
    assert all(start <= 7 for bucket in (0, 1) for start in retained(cluster, bucket))
    assert not held(cluster, "spark", {0: 20, 1: 7})
    look(cluster)
    drop(cluster)
    assert [cluster.table.holds.floor(bucket) for bucket in (0, 1)] == [20, 7]


def test_a_newcomer_gets_a_copy_of_what_is_retained() -> None:
    cluster = filled(retain_changes=10)
    look(cluster)
    drop(cluster)
    floor = cluster.table.holds.floor(0)
    victim = next(name for name in "abc" if name != cluster.leader(0))
    cluster.wipe(victim)
    cluster.start(victim)
    cluster.run(5)
    cluster.steady()
    write(cluster, 3)
    assert retained(cluster) == {floor}


@pytest.mark.parametrize(
    ("name", "offsets", "seconds", "why"),
    [
        ("", {}, 60, "bytes"),
        ("\udc80", {}, 60, "printable"),
        ("x" * 300, {}, 60, "bytes"),
        ("x", {0: OFFSET_MAX + 1}, 60, "no offset"),
        ("x", {1 << 70: 0}, 60, "no bucket"),
        ("x", {3: 0}, 60, "no bucket"),
        ("x", {}, 0, "lasts"),
    ],
)
def test_what_is_no_hold_is_refused(name: str, offsets: dict[int, int], seconds: float, why: str) -> None:
    cluster = filled(1)
    assert why in held(cluster, name, offsets, seconds)


def test_what_is_found_on_a_disk_stops_at_the_limit_and_at_what_is_to_be_kept() -> None:
    cluster = filled(30)
    disk = {0: segments(cluster.nodes[cluster.leader(0)].vaults[0].synced_batches())}
    everything = disk[0][-1].end
    total = sum([segment.change_count for segment in disk[0]])
    found = surplus(Looks(Keep(change_count=10), 0, {0: everything}), disk)
    assert found is not None
    left = sum([segment.change_count for segment in disk[0] if segment.base >= found.floors[0]])
    assert 10 <= left < total
    assert surplus(Looks(Keep(change_count=10), 0, {0: 5}), disk) == Surplus(Keep(change_count=10), {0: 5})
    assert surplus(Looks(Keep(change_count=total), 0, {0: everything}), disk) is None
    assert surplus(Looks(Keep(), 0, {0: everything}), disk) is None
