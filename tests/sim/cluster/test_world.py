"""Whole clusters: what a seed decides, how nodes live in them, what the nemesis does, and what it is to be well."""

import pytest
from msgspec.structs import replace

from hansard.distributor.bucket import State
from hansard.distributor.command import Drain, Move
from hansard.distributor.orders import Standing
from hansard.distributor.settings import Shape
from hansard.participant.name import named
from sim.cluster import healing
from sim.cluster.oracles import Oracle, Violation
from sim.cluster.plan import FAULTED_US, KINDS, WrongClock, plan
from sim.cluster.run import run, summary
from sim.cluster.world import World
from tests.sim.cluster.quiet import SECOND, begun, quiet, struck

# What a seed decides.


def test_a_plan_is_a_function_of_its_seed_alone() -> None:
    first = [plan(seed) for seed in range(50)]
    assert [plan(seed) for seed in reversed(range(50))] == first[::-1]
    assert len({planned.faults for planned in first}) == 50


def test_seeds_differ_in_everything_that_matters() -> None:
    plans = [plan(seed) for seed in range(400)]
    for field in (
        "founders",
        "named",
        "readers",
        "ordered",
        "told",
        "prompt",
        "lazy",
        "left_down",
        "thorough",
        "sync_us",
    ):
        assert len({getattr(planned, field) for planned in plans}) > 1, field
    assert {fault.kind for planned in plans for fault in planned.faults} == set(KINDS)
    assert {planned.places for planned in plans} == {1, 2, 3, 4, 5, 6, 7, 9, 10, 12}
    assert {planned.buckets for planned in plans} == {1, 2, 4, 8, 16, 32}
    assert {planned.buckets_max for planned in plans} == {1, 2, 4, 8, 16, 32}
    assert {planned.buckets_max // planned.buckets for planned in plans} == {1, 2, 4, 8}
    assert {planned.table.replication for planned in plans} == {1, 2, 3, 5}
    assert {planned.table.shape for planned in plans} == set(Shape)
    assert {planned.table.spares for planned in plans} == {0, 1, 2}
    assert 0 < sum(planned.wrong_clock is not None for planned in plans) < 200
    assert 0 < sum("north" in planned.zones for planned in plans) < 200


def test_the_founder_is_there_from_the_beginning_and_its_clock_is_right() -> None:
    for seed in range(200):
        planned = plan(seed)
        assert planned.arrivals_us[0] == 0 and min(planned.arrivals_us[1:], default=1) > 0
        assert planned.wrong_clock is None or (planned.wrong_clock.place > 0 and planned.places >= 3)


# Clusters without faults.


@pytest.mark.parametrize(("places", "buckets", "replication"), [(1, 1, 1), (1, 4, 3), (3, 2, 2), (5, 8, 3), (6, 4, 5)])
def test_without_faults_everybody_has_as_much_as_everybody_else(places: int, buckets: int, replication: int) -> None:
    world = begun(quiet(places, buckets, replication), 8)
    records = world.table.distributor.buckets
    assert len(records) == buckets and all(record.state is State.STEADY for record in records)
    assert {len(record.full) for record in records} == {min(places, replication)}
    assert world.coverage.counts["departure"] == 0
    assert world.traffic.acknowledged > 30


@pytest.mark.parametrize("changes", [{"prompt": True}, {"prompt": False}, {"ordered": False}, {"told": False}])
def test_a_quiet_cluster_comes_to_its_end(changes: dict[str, bool]) -> None:
    world = World(quiet(thorough=True, **changes))
    world.run()
    assert not healing.unsettled(world)
    assert world.traffic.acknowledged > 100
    assert world.pauses.touched == []


def test_all_copies_of_a_bucket_are_the_same_in_the_end() -> None:
    world = World(quiet(4, 4, 3))
    world.run()
    for number, record in enumerate(world.table.distributor.buckets):
        logs = [world.by_name[member.node].disk.parts[number].synced_batches() for member in record.full]
        assert len(logs) == 3 and logs[0] and all(log == logs[0] for log in logs)


def test_a_node_that_is_not_a_member_keeps_nothing() -> None:
    world = World(quiet(4, 4, 1))
    world.run()
    for node in world.nodes:
        there = {number for number, part in node.disk.parts.items() if not part.synced.empty}
        records = enumerate(world.table.distributor.buckets)
        assert there == {number for number, record in records if record.full[0].node == node.name}


# Clocks.


def test_a_wrong_clock_is_held_and_nothing_is_forgotten() -> None:
    wrong = WrongClock(1, 9 * 24 * 3600 * SECOND, 0)
    world = World(quiet(3, 2, 3, wrong_clock=wrong))
    world.run()
    stamps = [batch.header.last_timestamp for bucket in world.buckets for batch in bucket.sequence.batches]
    assert max(stamps) < world.nodes[0].wall_us + SECOND
    assert abs(world.nodes[1].wall_us - world.nodes[0].wall_us) == wrong.by_us


# Operators.


def test_a_drained_node_has_no_buckets_and_one_that_a_bucket_is_moved_to_has_it() -> None:
    world = begun(quiet(4, 4, 2), 5)
    drain = world.operator.order(Drain("b"))
    move = world.operator.order(Move(0, ("c", "d")))
    world.clock.run_until(10 * SECOND)
    table = world.table.distributor
    assert world.operator.standing(drain) is world.operator.standing(move) is Standing.DONE
    assert [named(member) for member in table.buckets[0].full] == ["c#1", "d#1"] and table.buckets[0].pinned
    assert not any(member.node == "b" for record in table.buckets for member in record.full)
    assert not world.operator.waiting


def test_an_order_that_nobody_answers_is_given_again_elsewhere() -> None:
    world = begun(quiet(3), 4)
    for node in world.nodes:
        node.paused = True
    id = world.operator.order(Drain("b"))
    world.clock.run_until(8 * SECOND)
    assert world.operator.waiting == [id] and world.operator.given[id].tries > 2
    for node in world.nodes:
        node.resume()
    world.clock.run_until(16 * SECOND)
    assert world.operator.waiting == []


# The nemesis.


@pytest.mark.parametrize("kind", sorted(set(KINDS)))
def test_each_fault_takes_effect_and_is_undone(kind: str) -> None:
    world = struck(*[kind] * 2, seconds=14, buckets_max=8, gap_us=10_000 if kind == "trim" else 200_000)
    assert world.coverage.counts[f"fault {kind}"] > 0
    assert not any(world.network.cuts.values()) and not world.network.slow
    assert not any(node.paused or node.stalled or node.slowness > 1 for node in world.nodes)


def test_an_absence_is_long_enough_for_a_departure() -> None:
    world = struck("absence", seconds=12)
    assert world.coverage.counts["departure"] >= 1
    assert world.pauses.touched and world.coverage.counts["slot refilled by the same"] >= 1


def test_everybody_of_a_bucket_goes_and_it_comes_back() -> None:
    world = struck("lose bucket", "lose bucket", apart_us=6 * SECOND, seconds=22, replication=1)
    assert world.coverage.counts["bucket lost"] > 0
    assert world.coverage.counts["lost bucket came back"] == world.coverage.counts["bucket lost"]


def test_a_lone_node_is_neither_wiped_nor_replaced() -> None:
    world = begun(replace(quiet(1, 1, 1), faults=struck("wipe", "replace", seconds=1).plan.faults), 6)
    assert world.nemesis.took_effect == 0


def test_the_last_copy_of_a_bucket_is_never_wiped() -> None:
    world = struck(*["wipe"] * 8, apart_us=1_000, buckets=4, replication=1, seconds=4.1)
    assert all(record.opened for record in world.table.distributor.buckets)
    assert world.coverage.counts["fault wipe"] == 0


# When it does not move.


def test_a_cluster_that_does_not_move_again_is_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(healing, "_clients", lambda world: ["nobody is content"])
    world = World(quiet())
    with pytest.raises(Violation, match="everything moves again: nobody is content"):
        world.run()
    assert world.clock.now_us >= FAULTED_US + healing.healed_us(world)


def test_what_keeps_a_cluster_from_being_well_is_told() -> None:
    world = begun(quiet(4, 4, 2), 6)
    leader = world.log_leader
    assert leader is not None
    (other,) = [node for node in world.nodes if node.name == "d"]
    assert leader is not other
    other.crash()
    assert "are there by the log" in healing.unsettled(world)[0]
    leader.crash()
    assert healing.unsettled(world) == ["nobody leads the atomic log"]


def test_every_oracle_is_told_of_the_end() -> None:
    finished: list[str] = []

    class Witness(Oracle):
        def finish(self, world: World) -> None:
            finished.append("told")

    world = World(quiet())
    world.oracles.append(Witness())
    world.run()
    assert finished == ["told"]


def test_a_run_says_what_came_of_it_and_how_long_buckets_paused() -> None:
    result = run(1)
    assert result.broken == "" and result.counts_as_run
    assert result.touched_us and result.moved_us and result.split_us
    touched, moved, split, shorter, longer = summary([result, result])
    assert f"({2 * len(result.touched_us)})" in touched and f"max {max(result.moved_us) / 1000:.1f} ms" in moved
    assert f"({2 * len(result.split_us)})" in split and "shorter histories" in shorter and "longer" in longer
