"""The atomic log's world as a whole: what a seed decides, how participants live in it, and what the nemesis does."""

from collections import Counter
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from hansard.consensus.cluster import Peer
from hansard.consensus.council import size_wanted
from hansard.consensus.effect import Effect
from hansard.consensus.event import Event, Tick
from sim.atomic.oracles import Oracle, Violation
from sim.atomic.participant import Participant
from sim.atomic.plan import FAULTED_US, KINDS, Fault, Plan, plan
from sim.atomic.run import run
from sim.atomic.store_vault import StoreVault
from sim.atomic.vault import Vault
from sim.atomic.world import ELECTIONS_MAX, World

SECOND = 1_000_000


def quiet(places: int = 3, **changes: object) -> Plan:
    """A world without faults, and with the disks of the model."""
    planned = replace(
        plan(0),
        faults=(),
        real_store=False,
        left_down=0,
        places=places,
        zones=("",) * places,
        rates=(1.0,) * places,
        loss=0.0,
        double=0.0,
        burst=False,
        rules=1,
    )
    return replace(planned, **changes)


def struck(*kinds: str, length_us: int = 100_000, places: int = 3, gap_us: int = 500_000, **changes: object) -> World:
    """A world in which these faults happen from the third second on, one after the other."""
    faults = [Fault(2 * SECOND + number * gap_us, kind, length_us, number) for number, kind in enumerate(kinds)]
    return begun(replace(quiet(places, **changes), faults=tuple(faults)), 5)


def begun(planned: Plan, seconds: float) -> World:
    """Run for a while."""
    world = World(planned)
    world.begin()
    world.clock.run_until(int(seconds * SECOND))
    return world


# What a seed decides.


def test_a_plan_is_a_function_of_its_seed_alone() -> None:
    first = [plan(seed) for seed in range(50)]
    assert [plan(seed) for seed in reversed(range(50))] == first[::-1]
    assert len({planned.faults for planned in first}) == 50


def test_seeds_differ_in_everything_that_matters() -> None:
    plans = [plan(seed) for seed in range(300)]
    for field in ("places", "burst", "gap_us", "ordered", "loss", "sync_us", "prompt", "lazy", "encoded", "left_down"):
        assert len({getattr(planned, field) for planned in plans}) > 1, field
    assert {fault.kind for planned in plans for fault in planned.faults} == set(KINDS)
    assert {planned.places for planned in plans} == {1, 2, 3, 4, 5, 6, 7, 9}
    assert 0 < sum(planned.real_store for planned in plans) < 50
    assert 0 < sum("north" in planned.zones for planned in plans) < 150


def test_faults_are_in_order_and_end_before_the_world_heals() -> None:
    for seed in range(100):
        times = [fault.at_us for fault in plan(seed).faults]
        assert times == sorted(times) and times[0] >= SECOND and times[-1] < FAULTED_US


def test_a_plan_decides_which_disks_there_are() -> None:
    for real_store, kind in ((False, Vault), (True, StoreVault)):
        world = World(replace(plan(0), real_store=real_store))
        assert all(type(participant.vault) is kind for participant in world.participants)


# Worlds without faults.


@pytest.mark.parametrize("places", [1, 2, 3, 5, 9])
def test_without_faults_everybody_arrives_and_there_is_one_leader(places: int) -> None:
    world = begun(quiet(places, burst=places == 9), 6)
    leader = world.leader
    assert leader is not None and leader.consensus is not None
    assert set(leader.consensus.roster.participants) == set(world.by_name)
    assert len(leader.consensus.voters) == size_wanted(places)
    assert world.coverage.counts["election"] == 1
    assert world.coverage.counts["departed by lease"] == 0
    assert world.workload.settled_count > 20


@pytest.mark.parametrize("changes", [{"encoded": True}, {"real_store": True}, {"prompt": False}, {"prompt": True}])
def test_a_quiet_world_comes_to_its_end(changes: dict[str, bool]) -> None:
    world = World(quiet(**changes))
    world.run()
    assert world.settled_down and not world.waiting
    assert world.workload.settled_count > 100


# Participants.


class Watched(World):
    """Counts the ticks of each participant."""

    def __init__(self, planned: Plan) -> None:
        self.ticks: Counter[str] = Counter()
        super().__init__(planned)

    def after_turn(self, participant: Participant, events: Sequence[Event], effects: Sequence[Effect]) -> None:
        self.ticks[participant.name] += sum(isinstance(event, Tick) for event in events)
        super().after_turn(participant, events, effects)


def test_participants_clocks_run_at_their_own_rates() -> None:
    rates = (0.93, 1.0, 1.07)
    world = Watched(quiet(rates=rates))
    world.begin()
    world.clock.run_until(10 * SECOND)
    tick_us = world.plan.settings.heartbeat_us // 3
    for participant, rate in zip(world.participants, rates, strict=True):
        assert participant.consensus is not None
        assert participant.consensus.now_us == pytest.approx(10 * SECOND * rate, abs=2 * tick_us)
    assert world.ticks["a"] == pytest.approx(10 * SECOND * rates[0] / tick_us, abs=3)


def test_a_paused_participant_does_nothing_until_it_is_resumed() -> None:
    world = begun(quiet(), 4)
    participant = world.participants[1]
    assert participant.consensus is not None
    world.nemesis.pause(participant, 5 * SECOND)
    world.clock.run_until(6 * SECOND)
    assert participant.consensus.now_us <= 4 * SECOND and participant.inbox
    participant.resume()
    world.clock.run_until(6 * SECOND + 1000)
    assert participant.consensus.now_us > 6 * SECOND and not participant.inbox


def test_a_stalled_disk_finishes_nothing_until_it_is_well_again() -> None:
    world = begun(quiet(1), 2)
    (alone,) = world.participants
    alone.stalled = True
    world.clock.run_until(3 * SECOND)
    settled = world.workload.settled_count
    world.clock.run_until(5 * SECOND)
    assert world.workload.settled_count == settled and world.waiting
    alone.stalled = False
    world.clock.run_until(6 * SECOND)
    assert world.workload.settled_count > settled


def test_a_crash_keeps_the_life_and_an_empty_disk_gives_another() -> None:
    world = begun(quiet(), 4)
    participant = world.participants[2]
    peer, session = participant.peer, participant.vault.note.session
    participant.crash()
    assert participant.peer == peer
    participant.start()
    world.clock.run_until(5 * SECOND)
    assert participant.peer == peer and participant.vault.note.session == session + 1
    participant.wipe()
    world.give_seeds(participant)
    participant.start()
    world.clock.run_until(9 * SECOND)
    assert participant.peer.life not in (0, peer.life)
    assert world.leader is not None and world.leader.consensus is not None
    assert world.leader.consensus.roster.here(participant.peer)


def test_who_leaves_stops_when_it_may() -> None:
    world = begun(quiet(), 4)
    participant = world.participants[0]
    participant.leave()
    world.clock.run_until(6 * SECOND)
    assert participant.consensus is None and participant.left
    assert Peer("a", participant.vault.note.life) == participant.peer
    assert world.coverage.counts["departed by wish"] == 1


# Addresses.


def test_what_is_sent_to_an_address_comes_to_whoever_it_is_meant_for() -> None:
    world = begun(quiet(), 4)
    a, b = world.participants[:2]
    first = b.address
    world.move(b)
    assert b.address != first and world.by_address[b.address] is b and first not in world.by_address
    world.move(a, reuse=True)
    assert a.address == first and world.by_address[first] is a
    world.swap(a, b)
    assert world.by_address[first] is b and world.by_address[a.address] is a
    assert world.by_address["seed-b"] is b


def test_somebody_who_was_there_before_is_always_among_the_seeds() -> None:
    world = World(quiet(7))
    for place, participant in enumerate(world.participants):
        world.give_seeds(participant)
        seeds = {seed.removeprefix("seed-") for seed in participant.seeds}
        assert participant.name not in seeds
        assert not place or min(seeds) < participant.name


# The nemesis.


@pytest.mark.parametrize("kind", sorted(set(KINDS)))
def test_each_fault_takes_effect_and_is_undone(kind: str) -> None:
    kinds = ["wipe", kind, kind, kind] if kind == "ambush" else [kind, kind, kind]
    compact = replace(plan(0).settings, compact_entries=6, keep_entries=1, part_bytes=60, lease_us=600_000)
    world = struck(*kinds, settings=compact)
    assert world.coverage.counts[f"fault {kind}"] > 0
    assert not any(world.network.cuts.values()) and not world.network.slow
    assert not any(one.paused or one.stalled or one.slowness > 1 for one in world.participants)


def test_a_lone_participant_is_neither_wiped_nor_given_up_nor_does_it_leave() -> None:
    world = struck("wipe", "give up", "leave", "leader leaves", "isolate", "minority leader", places=1)
    assert world.nemesis.took_effect == 0


def test_disks_are_not_lost_faster_than_voters_are_replaced() -> None:
    world = struck(*["wipe"] * 6, gap_us=1_000, length_us=2_000_000)
    assert world.coverage.counts["fault wipe"] == 1


def test_those_left_down_for_good_leave_a_majority() -> None:
    world = World(quiet(left_down=2))
    world.run()
    assert len(world.living) == 2
    assert world.coverage.counts["left down for good"] == 1


# When it does not move.


def test_a_world_that_does_not_move_again_is_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(World, "settled_down", False)
    world = World(quiet())
    with pytest.raises(Violation, match="everything moves again"):
        world.run()
    assert world.clock.now_us >= FAULTED_US + ELECTIONS_MAX * 2 * world.plan.settings.election_us


def test_what_keeps_a_world_from_settling_is_told() -> None:
    world = begun(quiet(), 5)
    world.workload.producing = False
    world.clock.run_until(6 * SECOND)
    assert world.settled_down
    (leader,) = [one for one in world.participants if one.leads]
    leader.crash()
    assert world.stuck()[0] == "nobody leads"


def test_every_oracle_is_told_of_the_end() -> None:
    finished: list[str] = []

    class Witness(Oracle):
        def finish(self, world: World) -> None:
            finished.append("told")

    world = World(quiet())
    world.oracles.append(Witness())
    world.run()
    assert finished == ["told"]


def test_a_run_says_what_came_of_it() -> None:
    result = run(3)
    assert result.broken == "" and result.counts_as_run
    assert result.acknowledged > 50 and result.faults >= 10 and result.virtual_us >= FAULTED_US
