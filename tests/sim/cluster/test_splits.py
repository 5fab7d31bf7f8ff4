"""Simulated clusters that double their buckets, and that are rebooted: nothing acknowledged is lost, whatever happens
at whatever stage, and what happened is counted."""

from itertools import permutations

import pytest

from hansard.distributor.bucket import Bucket as Record
from hansard.distributor.command import Double
from hansard.distributor.member import Member
from hansard.distributor.orders import Standing
from sim.atomic.plan import Fault
from sim.cluster import healing
from sim.cluster.interruption import INTERRUPTIONS
from sim.cluster.reserve import spares
from sim.cluster.run import Result, summary
from sim.cluster.splits import FORKED, WAYS
from sim.cluster.world import World
from tests.sim.cluster.quiet import SECOND, begun, quiet

ORDERS = list(permutations("abc"))


def settled(world: World) -> World:
    """Everything is well again, and every promise was kept."""
    world.producing = False
    for client in world.clients:
        client.producing = False
    for bucket in world.buckets:
        for stranger in bucket.strangers:
            stranger.producing = False
    end_us = world.clock.now_us + 60 * SECOND
    while unsettled := healing.unsettled(world):
        assert world.clock.now_us < end_us, unsettled
        world.clock.run_until(world.clock.now_us + SECOND // 2)
    world.clock.run_until(world.clock.now_us + 5 * SECOND)
    world.finish()
    return world


def levels(world: World) -> list[int]:
    return [record.level for record in world.table.distributor.buckets]


def test_buckets_are_doubled_again_and_again_while_clients_submit_and_readers_follow() -> None:
    world = begun(quiet(3, 1, 2, buckets_max=8, gap_us=40_000, thorough=True), 4)
    order = world.operator.order(Double(8))
    world.clock.run_until(8 * SECOND)
    assert world.operator.standing(order) is Standing.DONE and levels(world) == [8] * 8
    settled(world)
    counts = world.coverage.counts
    assert counts["split"] == 7 and counts["fork"] == 14 and counts["doubling finished"] == 1
    assert len(world.pauses.split) == 14 and max(pause for pause, _ in world.pauses.split) < SECOND
    assert counts["batch cut anew"] > 0 and counts["bookmark split"] > 0 and counts["changes read"] > 100
    assert all(set(client.lanes) == set(range(8)) for client in world.clients)


def test_a_client_learns_of_several_splits_at_once() -> None:
    world = begun(quiet(3, 1, 2, buckets_max=8, gap_us=40_000), 4)
    for client in world.clients:
        client.producing = False
    world.operator.order(Double(8))
    world.clock.run_until(7 * SECOND)
    for client in world.clients:
        assert set(client.lanes) == {0}
        client.producing = True
        client.produce()
    world.clock.run_until(12 * SECOND)
    assert world.coverage.counts["two splits learned at once"] > 0
    settled(world)


# Reboots.


def split_at(world: World, moment: str) -> None:
    """Until a bucket is where it is wanted: not split, split in the log and nowhere else, on some disk, or on all."""
    if moment == "steady":
        return
    world.operator.order(Double(2))
    while len(levels(world)) == 1:
        world.clock.run_until(world.clock.now_us + 50)
    forks = {"in the log": 0, "on one disk": 1, "on all disks": 2}[moment]
    while sum([1 in node.disk.parts and not node.disk.parts[1].synced.empty for node in world.nodes]) < forks:
        world.clock.run_until(world.clock.now_us + 50)


@pytest.mark.parametrize("moment", ["steady", "in the log", "on one disk", "on all disks"])
@pytest.mark.parametrize("disk", ["missing", "empty"])
@pytest.mark.parametrize("victim", ["a", "b", "c", None])
def test_a_cluster_comes_back_without_any_one_disk(victim: str | None, disk: str, moment: str) -> None:
    order = ORDERS[len(f"{victim}{disk}{moment}") % len(ORDERS)]
    world = begun(quiet(3, 1, 2, buckets_max=2, gap_us=30_000), 5)
    split_at(world, moment)
    acknowledged = world.traffic.acknowledged
    assert acknowledged > 50 and (victim is None or spares(world, [victim]))
    for node in world.nodes:
        node.crash()
    if victim is not None and disk == "empty":
        world.by_name[victim].wipe()
    for number, name in enumerate(order):
        missing = name == victim and disk == "missing"
        world.start_later(world.by_name[name], 8 * SECOND if missing else 400_000 * number + 1)
    world.clock.run_until(world.clock.now_us + 10 * SECOND)
    settled(world)
    assert world.traffic.acknowledged > acknowledged
    assert levels(world) == ([1] if moment == "steady" else [2, 2])


def test_reboots_strike_only_where_the_rest_has_everything_and_say_what_was_missing() -> None:
    kinds = ("reboot", "reboot without a disk", "reboot with an empty disk")
    faults = tuple([Fault(4 * SECOND + 7 * SECOND * number, kind, 1, number) for number, kind in enumerate(kinds)])
    world = begun(quiet(3, 2, 2, faults=faults), 30)
    counts = world.coverage.counts
    assert [counts[f"fault {kind}"] for kind in kinds] == [1, 1, 1]
    assert sum(counts[f"reboot without a disk, of {name}"] for name in "abc") == 1
    assert sum(counts[f"reboot with an empty disk, of {name}"] for name in "abc") == 1
    settled(world)
    alone = begun(quiet(1, 1, 1, faults=faults), 28)
    assert alone.coverage.counts["fault reboot"] == 1 and alone.coverage.counts["crash"] == 1


# Interruptions.


@pytest.mark.parametrize("kind", INTERRUPTIONS)
def test_splits_are_interrupted_and_go_on(kind: str) -> None:
    faults = tuple([Fault(4 * SECOND + 8 * SECOND * number, kind, SECOND // 4, number) for number in range(3)])
    world = begun(quiet(4, 1, 2, buckets_max=8, gap_us=60_000, faults=faults), 30)
    counts = world.coverage.counts
    assert counts[f"fault {kind}"] == 3 and len(levels(world)) == 8
    went = "crashed" if kind == "crash splitting" else ""
    assert sum(number for what, number in counts.items() if what.startswith("split, ") and went in what) > 0
    settled(world)
    assert levels(world) == [8] * 8


@pytest.mark.parametrize("way", WAYS)
def test_it_is_known_how_somebody_departed(way: str) -> None:
    world = begun(quiet(3, 1, 2), 4)
    node = world.nodes[1]
    match way:
        case "down":
            node.crash()
        case "without its disk":
            node.wipe()
        case "asleep":
            node.paused = True
        case "by itself":
            node.leaving = True
        case "cut off":
            world.network.cut("c", node.name)
        case _:
            assert way == "given up"
    assert world.coverage.splits.way(Member(node.name, 1)) == way


def test_it_is_known_who_has_made_a_copy() -> None:
    world = begun(quiet(3, 1, 2, buckets_max=2), 4)
    split_at(world, "in the log")
    splits, record = world.coverage.splits, world.table.distributor.buckets[0]
    first, second = [world.by_name[member.node].disk for member in record.full]
    seen = [splits.who_forked(0, record)]
    for disk in (first, second):
        while 1 not in disk.parts or disk.parts[1].synced.empty:
            world.clock.run_until(world.clock.now_us + 10)
        seen += [splits.who_forked(number, record) for number in (0, 1)]
    assert seen[0] == FORKED[0] and seen[-2:] == [FORKED[2]] * 2 and set(seen) <= set(FORKED)


def test_what_is_not_split_in_the_end_is_not_well() -> None:
    world = begun(quiet(3, 1, 2, buckets_max=2), 5)
    assert not healing.unsettled(world) or world.clients
    world.table.distributor.buckets.append(Record())
    assert any("is not split" in line for line in healing.unsettled(world))


def test_pauses_of_splits_are_said_and_for_long_histories_apart() -> None:
    pauses = tuple([(1000 * (1 + number % 2), 10 * number) for number in range(10)])
    result = Result(1, 0, 0, 0, "", World(quiet()).coverage.counts, "", split_us=pauses)
    every, shorter, longer = summary([result])
    assert "buckets split (10): p50 2.0 ms, p99 2.0 ms, max 2.0 ms" in every
    assert "shorter histories (5): p50 1.0 ms" in shorter and "longer histories (5): p50 2.0 ms" in longer
