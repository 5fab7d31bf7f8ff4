"""The simulated world as a whole: what a seed decides, how it is told, and how participants live in it."""

from collections import Counter
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from hansard.batch import Batch
from hansard.phaser.effect import Answer, Effect
from hansard.phaser.event import Event, Paused, Tick
from hansard.phaser.outcome import ReadOutcome
from sim.oracles import Oracle, Violation
from sim.world import world as world_module
from sim.world.participant import TICK_US, WALL_US, Participant
from sim.world.plan import FAULTED_US, KINDS, Fault, Plan, plan
from sim.world.store_vault import StoreVault
from sim.world.vault import ModelVault
from sim.world.world import World


def quiet(seed: int = 0, **changes: object) -> Plan:
    """A world without faults, and with the disks of the model."""
    return replace(plan(seed), faults=(), real_store=False, **changes)


def begun(planned: Plan, seconds: float = 0) -> World:
    """Its participants live; nobody submits anything."""
    world = World(planned)
    for participant in world.participants:
        participant.start()
    world.clock.run_until(int(seconds * 1_000_000))
    return world


# What a seed decides.


def test_a_plan_is_a_function_of_its_seed_alone() -> None:
    first = [plan(seed) for seed in range(50)]
    assert [plan(seed) for seed in reversed(range(50))] == first[::-1]
    assert len({planned.faults for planned in first}) == 50


def test_seeds_differ_in_everything_that_matters() -> None:
    plans = [plan(seed) for seed in range(200)]
    for field in ("shape", "members", "places", "clients", "strangers", "range_end", "ordered", "idle", "sync_us"):
        assert len({getattr(planned, field) for planned in plans}) > 1, field
    assert {fault.kind for planned in plans for fault in planned.faults} == set(KINDS)
    assert 0 < sum(planned.real_store for planned in plans) < 50
    assert 0 < sum(planned.rates[0] != 1.0 for planned in plans) < 100


def test_faults_are_in_order_and_end_before_the_world_heals() -> None:
    for seed in range(100):
        times = [fault.at_us for fault in plan(seed).faults]
        assert times == sorted(times) and times[0] >= 1_000_000 and times[-1] < FAULTED_US


def test_a_plan_decides_which_disks_there_are() -> None:
    for real_store, kind in ((False, ModelVault), (True, StoreVault)):
        world = World(replace(plan(0), real_store=real_store))
        assert all(type(participant.vault) is kind for participant in world.participants)


def test_worlds_of_one_plan_differ_by_their_seeds() -> None:
    one, same, other = [begun(replace(quiet(), seed=seed), 2).trace_hash for seed in (1, 1, 2)]
    assert one == same != other


# Participants.


class Watched(World):
    """Counts the ticks of each participant."""

    def __init__(self, planned: Plan) -> None:
        self.ticks: Counter[str] = Counter()
        super().__init__(planned)

    def before_turn(self, participant: Participant, events: Sequence[Event]) -> None:
        self.ticks[participant.place] += sum(isinstance(event, Tick) for event in events)
        super().before_turn(participant, events)


def test_participants_clocks_run_at_their_own_rates() -> None:
    rates = (0.5, 1.0, 2.0, 1.5)
    world = Watched(quiet(places=4, rates=rates))
    for participant in world.participants:
        participant.start()
    world.clock.run_until(20_000_000)
    for participant, rate in zip(world.participants, rates, strict=True):
        phaser = participant.phaser
        assert phaser is not None
        assert world.ticks[participant.place] == pytest.approx(20_000_000 * rate / TICK_US, abs=1)
        assert phaser.now_us == pytest.approx(20_000_000 * rate, abs=2 * TICK_US)
        assert phaser.wall_us == WALL_US + phaser.now_us + participant.skew_us


def test_events_that_come_while_a_participant_is_busy_are_one_turn() -> None:
    turns: list[int] = []
    world = begun(quiet(), 1.1)
    world.before_turn = lambda participant, events: turns.append(len(events))  # type: ignore[method-assign]
    for _ in range(3):
        world.participants[0].happen(Paused(False))
    assert turns == []
    world.clock.run_until(world.clock.now_us + 80)
    assert turns == [3]


def test_a_paused_participant_does_nothing_until_it_is_resumed() -> None:
    world = begun(quiet(), 1)
    participant, phaser = world.participants[0], world.participants[0].phaser
    assert phaser is not None
    participant.paused = True
    world.clock.run_until(3_000_000)
    assert phaser.now_us <= 1_000_000
    participant.resume()
    world.clock.run_until(3_001_000)
    assert phaser.now_us > 3_000_000
    assert not participant.inbox


def test_a_crashed_participant_starts_again_from_its_disk_and_knows_the_edict() -> None:
    world = begun(quiet(members=2), 2.1)
    leader, other = world.participants[:2]
    assert leader.phaser is not None and leader.phaser.leading is not None
    end, promised = leader.phaser.ledger.end, leader.phaser.term
    assert end > 0
    leader.crash()
    leader.happen(Tick())
    assert not leader.inbox
    leader.start()
    phaser = leader.phaser
    assert leader.life == 2
    assert (phaser.ledger.end, phaser.term) == (end, promised)
    world.clock.run_until(4_000_000)
    assert phaser.term == promised + 1 and phaser.leading is not None
    assert other.phaser is not None and other.phaser.following is not None


def test_a_stalled_disk_finishes_nothing_until_it_is_well_again() -> None:
    world = begun(quiet(members=2))
    world.participants[1].stalled = True
    world.clock.run_until(2_000_000)
    assert world.edict.opened == 0
    assert world.participants[1].vault.synced_batches() == []
    world.participants[1].stalled = False
    world.clock.run_until(4_000_000)
    assert world.edict.opened == 1
    assert world.participants[1].vault.synced_batches()


def test_whoever_is_declared_departed_comes_back_under_a_new_name_with_its_old_disk() -> None:
    world = begun(quiet(members=3), 2)
    participant = world.participants[2]
    vault = participant.vault
    assert world.edict.depart("c1")
    world.clock.run_until(4_000_000)
    assert participant.name == "c2" and participant.vault is vault
    assert "c2" in world.edict.spares
    assert world.edict.newest.members == ("a1", "b1") and world.edict.opened == 2


def test_whoever_is_replaced_comes_back_with_an_empty_disk() -> None:
    world = begun(quiet(members=2), 2)
    participant = world.participants[1]
    assert participant.vault.recover().end > 0
    participant.replace()
    assert participant.name == "b2"
    assert participant.vault.recover().end == 0
    world.clock.run_until(world.clock.now_us + 2000)
    assert participant.phaser is not None and "b2" in world.edict.spares


def test_whoever_is_deaf_hears_nothing_of_the_edict() -> None:
    world = begun(quiet(members=2), 2)
    world.deaf.add("b")
    world.edict.appoint("a1", ("a1",))
    world.clock.run_until(4_000_000)
    assert world.participants[0].known > world.participants[1].known
    world.deaf.clear()
    world.tell(world.participants[1])
    world.clock.run_until(5_000_000)
    assert world.participants[1].known == len(world.edict.facts)


# The nemesis.


@pytest.mark.parametrize("kind", sorted(set(KINDS)))
def test_every_fault_strikes_and_everything_moves_again_after_it(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some need an acclimation to disturb, or a spare, so every one gets it."""
    monkeypatch.setattr(world_module, "FAULTED_US", 12_000_000)
    kinds = ("contract", "trim", "expand", kind, "expand", kind)
    faults = [Fault(2_000_000 + 1_500_000 * n, one, 400_000, n) for n, one in enumerate(kinds)]
    world = World(quiet(3))
    world.nemesis.schedule(tuple(faults))
    world.run()
    assert world.counts[f"fault {kind}"] > 0
    assert world.nemesis.took_effect >= 4


def test_a_fault_is_drawn_from_its_own_number_and_not_from_the_world_s() -> None:
    struck: list[set[str]] = []
    for seed in (1, 2):
        world = begun(quiet(seed, places=4), 1)
        world.nemesis.schedule((Fault(1000, "isolate", 1_000_000, 77),))
        world.clock.run_until(1_500_000)
        (victim,) = set.intersection(*[{*link} for link, cuts in world.network.cuts.items() if cuts])
        struck.append({victim})
    assert struck[0] == struck[1]


# The whole of it.


class Recorder(Oracle):
    """Is told everything, and remembers of what kind it was."""

    def __init__(self) -> None:
        self.told: Counter[str] = Counter()
        self.values: list[bytes] = []

    def started(self, participant: Participant) -> None:
        self.told["started"] += 1

    def after_turn(self, participant: Participant, events: Sequence[Event], effects: Sequence[Effect]) -> None:
        self.told["turn"] += 1

    def visible(self, participant: Participant, batches: Sequence[Batch]) -> None:
        self.told["visible"] += len(batches)

    def answered(self, participant: Participant, answer: Answer, values: Sequence[bytes]) -> None:
        self.told["answered"] += 1
        self.values += values

    def opened(self, participant: Participant) -> None:
        self.told["opened"] += 1

    def read_asked(self, number: int) -> None:
        self.told["asked"] += 1

    def read_answered(self, number: int, outcome: ReadOutcome) -> None:
        self.told["read"] += 1

    def finish(self, world: World) -> None:
        self.told["finished"] += 1


def test_a_world_tells_its_oracles_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder()
    monkeypatch.setattr(world_module, "oracles", lambda **_: [recorder])
    world = World(quiet(5))
    world.run()
    told = recorder.told
    assert told["started"] == len(world.participants) and told["finished"] == 1 and told["opened"] >= 1
    assert told["answered"] == world.acknowledged > 100
    assert told["turn"] > 1000 and told["asked"] >= told["read"] > 20
    log = world.participants[0].vault.synced_batches()
    assert told["visible"] == len(log) * world.plan.members
    stored = {value for batch in log for value in batch.values()}
    assert set(recorder.values) <= stored


def test_a_world_that_does_not_move_again_breaks_its_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world_module, "HEALED_US", 3_000_000)
    world = World(quiet(members=2))
    monkeypatch.setattr(world.edict, "report", lambda achievement, epoch: None)
    with pytest.raises(Violation, match=r"everything moves again: newest .*epoch=1.* opened 0.*a1 leads \(reporting\)"):
        world.run()
