"""Each oracle accepts a good history, and objects to the one that it exists for."""

from collections.abc import Sequence
from itertools import count
from typing import cast

import pytest

from hansard.batch import Batch, build
from hansard.phaser import Phaser, Recovered, Settings
from hansard.phaser.effect import Answer, Committed, Put
from hansard.phaser.government import Government
from hansard.phaser.outcome import NotLeader, Outcome, ReadFrom, Receipt, Repeated, Stored
from hansard.phaser.streams import Image, Stream
from sim.counter import Counter
from sim.oracles import Violation
from sim.oracles.alike import Alike
from sim.oracles.bounded import Bounded
from sim.oracles.committed import CommittedOnly
from sim.oracles.durable import Durable
from sim.oracles.linear import Linearizable
from sim.oracles.once import Once
from sim.oracles.order import Order
from sim.oracles.sequence import OneSequence
from sim.world import participant as real
from sim.world import world as real_world
from sim.world.vault import ModelVault


class FakeLeading:
    """As much of a leader as says whose disks count."""

    def __init__(self, government: Government) -> None:
        self.government = government
        self.expanded = False
        self.expansion_end = 0


class FakeLedger:
    def __init__(self) -> None:
        self.end = 0


class FakePhaser:
    def __init__(self) -> None:
        self.leading: FakeLeading | None = None
        self.ledger = FakeLedger()


class FakeParticipant:
    def __init__(self, world: "FakeWorld", name: str) -> None:
        self.world = world
        self.name = name
        self.vault = ModelVault()
        self.phaser: FakePhaser | Phaser = FakePhaser()
        self._tickets = count(1)

    def store(self, *batches: Batch, synced: bool = True) -> None:
        ticket = next(self._tickets)
        self.vault.write(ticket, tuple([Put(batch) for batch in batches]))
        if synced:
            self.vault.sync(ticket)

    def lead(self, *members: str, newcomers: tuple[str, ...] = ()) -> FakeLeading:
        leading = FakeLeading(Government(1, self.name, members, newcomers))
        assert isinstance(self.phaser, FakePhaser)
        self.phaser.leading = leading
        return leading

    @property
    def cast(self) -> real.Participant:
        return cast(real.Participant, self)


class FakeEdict:
    def __init__(self, full: tuple[str, ...]) -> None:
        self.full = full


class FakeStranger:
    def __init__(self) -> None:
        self.refused: set[bytes] = set()


class FakeClient:
    def __init__(self, number: int) -> None:
        self.number = number


class FakeWorld:
    """Participants a1 and b1, clients 1 and 2, and a stranger."""

    def __init__(self) -> None:
        self.a = FakeParticipant(self, "a1")
        self.b = FakeParticipant(self, "b1")
        self.by_place = {"a": self.a, "b": self.b}
        self.edict = FakeEdict(("a1", "b1"))
        self.strangers = [FakeStranger()]
        self.clients = [FakeClient(1), FakeClient(2)]

    @property
    def cast(self) -> real_world.World:
        return cast(real_world.World, self)


@pytest.fixture
def world() -> FakeWorld:
    return FakeWorld()


def batch(base: int, *values: bytes, connection: int = 0, series: Sequence[int] = (), term: int = 1) -> Batch:
    """With as many changes as there are values, as a leader has placed it."""
    built = build([b"k"] * len(values), values, connection=connection, series=series or None)
    return built.stamped(epoch=term, base_offset=base, timestamp=1)


def shown(world: FakeWorld, *batches: Batch) -> OneSequence:
    """A sequence of which a1 has shown these."""
    sequence = OneSequence()
    sequence.visible(world.a.cast, batches)
    return sequence


# One sequence.


def test_readers_of_two_participants_may_see_the_same_sequence(world: FakeWorld) -> None:
    first, second, third = batch(0, b"1:1", b"1:2"), batch(2, b"1:3"), batch(3, b"1:4")
    sequence = shown(world, first, second)
    sequence.visible(world.b.cast, [first])
    sequence.visible(world.b.cast, [second, third])
    sequence.visible(world.a.cast, [third, batch(0, b"1:1", b"1:2")])
    assert sequence.batches == [first, second, third]
    assert sequence.end == 4
    assert sequence.at(1) is first and sequence.at(2) is second and sequence.at(4) is None


def test_another_batch_where_one_was_shown_is_a_violation(world: FakeWorld) -> None:
    sequence = shown(world, batch(0, b"1:1"), batch(1, b"1:2"))
    with pytest.raises(Violation, match="all readers see one sequence: b1 shows"):
        sequence.visible(world.b.cast, [batch(0, b"1:1"), batch(1, b"2:1")])


def test_the_same_changes_of_another_term_are_another_batch(world: FakeWorld) -> None:
    sequence = shown(world, batch(0, b"1:1", term=1))
    with pytest.raises(Violation, match="all readers see one sequence"):
        sequence.visible(world.b.cast, [batch(0, b"1:1", term=2)])


def test_a_batch_that_begins_within_one_that_was_shown_is_a_violation(world: FakeWorld) -> None:
    sequence = shown(world, batch(0, b"1:1", b"1:2"))
    with pytest.raises(Violation, match="all readers see one sequence"):
        sequence.visible(world.b.cast, [batch(1, b"1:2")])


def test_a_hole_in_what_is_shown_is_a_violation(world: FakeWorld) -> None:
    sequence = shown(world, batch(0, b"1:1"))
    with pytest.raises(Violation, match="all readers see one sequence"):
        sequence.visible(world.a.cast, [batch(2, b"1:3")])


# Durable.


def answered(world: FakeWorld, sequence: OneSequence, outcome: Outcome, *values: bytes) -> Durable:
    durable = Durable(sequence)
    durable.answered(world.a.cast, Answer(1, outcome), values)
    return durable


def test_what_is_on_all_disks_may_be_acknowledged_and_stays(world: FakeWorld) -> None:
    stored = batch(0, b"1:1", b"1:2")
    world.a.lead("a1", "b1")
    world.a.store(stored)
    world.b.store(stored)
    durable = answered(world, shown(world, stored), Stored(Receipt(1, 1)), b"1:2")
    assert isinstance(world.b.phaser, FakePhaser)
    world.b.phaser.ledger.end = 2
    durable.opened(world.b.cast)
    durable.finish(world.cast)


@pytest.mark.parametrize("outcome", [Stored(Receipt(0, 1)), Repeated(Receipt(0, 1))], ids=["first time", "repetition"])
def test_acknowledging_what_a_member_has_not_synced_is_a_violation(world: FakeWorld, outcome: Outcome) -> None:
    stored = batch(0, b"1:1")
    world.a.lead("a1", "b1")
    world.a.store(stored)
    world.b.store(stored, synced=False)
    with pytest.raises(Violation, match="acknowledged is durable: a1 acknowledged offset 0, and b1 has None there"):
        answered(world, shown(world, stored), outcome, b"1:1")


def test_acknowledging_where_a_member_has_another_batch_is_a_violation(world: FakeWorld) -> None:
    stored = batch(0, b"1:1")
    world.a.lead("a1", "b1")
    world.a.store(stored)
    world.b.store(batch(0, b"2:1"))
    with pytest.raises(Violation, match="acknowledged is durable"):
        answered(world, shown(world, stored), Stored(Receipt(0, 1)), b"1:1")


def test_a_newcomer_counts_from_its_government_s_entry_on(world: FakeWorld) -> None:
    before, after = batch(0, b"1:1"), batch(1, b"1:2")
    leading = world.a.lead("a1", newcomers=("b1",))
    world.a.store(before, after)
    sequence = shown(world, before, after)
    leading.expanded, leading.expansion_end = True, 2
    answered(world, sequence, Stored(Receipt(0, 1)), b"1:1")
    with pytest.raises(Violation, match="acknowledged is durable"):
        answered(world, sequence, Stored(Receipt(1, 1)), b"1:2")


def test_only_a_leader_acknowledges(world: FakeWorld) -> None:
    with pytest.raises(Violation, match="acknowledged is durable: a1 acknowledges, and does not lead"):
        answered(world, OneSequence(), Stored(Receipt(0, 1)), b"1:1")


def acknowledged_by_one(world: FakeWorld) -> Durable:
    stored = batch(0, b"1:1")
    world.a.lead("a1")
    world.a.store(stored)
    return answered(world, shown(world, stored), Stored(Receipt(0, 1)), b"1:1")


def test_opening_without_what_was_acknowledged_is_a_violation(world: FakeWorld) -> None:
    durable = acknowledged_by_one(world)
    with pytest.raises(Violation, match="acknowledged is durable: b1 opens without what is acknowledged up to 1"):
        durable.opened(world.b.cast)


def test_a_full_member_without_what_was_acknowledged_is_a_violation_in_the_end(world: FakeWorld) -> None:
    durable = acknowledged_by_one(world)
    with pytest.raises(Violation, match="acknowledged is durable: b1's log ends at 0, and 1 was acknowledged"):
        durable.finish(world.cast)


def test_an_acknowledged_value_that_is_nowhere_in_the_end_is_a_violation(world: FakeWorld) -> None:
    durable = answered(world, shown(world, batch(0, b"1:1")), Repeated(None), b"1:2")
    with pytest.raises(Violation, match=r"acknowledged is durable: .*1:2.* were acknowledged and are nowhere"):
        durable.finish(world.cast)


# Once.


def test_each_value_may_be_stored_once(world: FakeWorld) -> None:
    world.strangers[0].refused.add(b"100:1")
    Once(shown(world, batch(0, b"1:1"), batch(1, b"1:2", b"100:2"))).finish(world.cast)


def test_a_value_that_is_stored_twice_is_a_violation(world: FakeWorld) -> None:
    with pytest.raises(Violation, match="stored once: b'1:1' is stored twice"):
        Once(shown(world, batch(0, b"1:1"), batch(1, b"1:2", b"1:1"))).finish(world.cast)


def test_a_value_that_was_refused_for_certain_and_is_stored_is_a_violation(world: FakeWorld) -> None:
    world.strangers[0].refused.add(b"100:1")
    with pytest.raises(Violation, match=r"stored once: .*100:1.* were refused for certain, and are stored"):
        Once(shown(world, batch(0, b"100:1"))).finish(world.cast)


def test_what_the_system_writes_for_itself_may_be_alike(world: FakeWorld) -> None:
    Once(shown(world, batch(0, b"x").marked_internal(), batch(1, b"x").marked_internal())).finish(world.cast)


# Order.


def test_clients_changes_may_mix_as_long_as_each_ones_are_in_order(world: FakeWorld) -> None:
    changes = [
        batch(0, b"1:1", b"1:2", connection=7, series=(0, 1)),
        batch(2, b"2:1", connection=8, series=(5,)),
        batch(3, b"100:1"),
        batch(4, b"1:4", connection=7, series=(3,)),
        batch(5, b"1:5", connection=9, series=(0,)),
    ]
    Order(shown(world, *changes)).finish(world.cast)


def test_a_client_s_serial_that_falls_is_a_violation(world: FakeWorld) -> None:
    changes = [batch(0, b"1:2", connection=7, series=(1,)), batch(1, b"1:1", connection=8, series=(0,))]
    with pytest.raises(Violation, match="in the order submitted: b'1:1' comes after 2"):
        Order(shown(world, *changes)).finish(world.cast)


@pytest.mark.parametrize("series", [4, 5], ids=["falls", "stands still"])
def test_a_connection_s_series_that_does_not_rise_is_a_violation(world: FakeWorld, series: int) -> None:
    changes = [batch(0, b"1:1", connection=7, series=(5,)), batch(1, b"1:2", connection=7, series=(series,))]
    with pytest.raises(Violation, match=f"in the order submitted: series {series} of connection 7"):
        Order(shown(world, *changes)).finish(world.cast)


# Committed only.


def test_what_was_shown_is_on_all_disks_in_the_end_as_far_as_retention_has_left_it(world: FakeWorld) -> None:
    changes = [batch(0, b"1:1"), batch(1, b"1:2")]
    world.a.store(*changes)
    world.b.store(*changes)
    assert world.b.vault.trim(1) == 1
    CommittedOnly(shown(world, *changes)).finish(world.cast)


def test_what_was_shown_and_is_gone_in_the_end_is_a_violation(world: FakeWorld) -> None:
    first, second = batch(0, b"1:1"), batch(1, b"1:2")
    world.a.store(first, second)
    world.b.store(first, batch(1, b"2:1"))
    with pytest.raises(Violation, match=r"only what is committed is visible, and it stays: .* b1 does not have it"):
        CommittedOnly(shown(world, first, second)).finish(world.cast)


# Linearizable.


def test_a_read_may_be_answered_from_what_was_acknowledged_when_it_was_asked_for(world: FakeWorld) -> None:
    linear = Linearizable(OneSequence())
    linear.read_asked(1)
    linear.answered(world.a.cast, Answer(9, Stored(Receipt(4, 1))), [b"1:1"])
    linear.read_asked(2)
    linear.read_asked(3)
    linear.read_answered(1, ReadFrom(0))
    linear.read_answered(2, ReadFrom(5))
    linear.read_answered(3, NotLeader(None, 1))


@pytest.mark.parametrize("outcome", [Stored(Receipt(4, 1)), Repeated(Receipt(4, 1))], ids=["first time", "repetition"])
def test_a_read_from_before_what_was_acknowledged_is_a_violation(world: FakeWorld, outcome: Outcome) -> None:
    linear = Linearizable(OneSequence())
    linear.answered(world.a.cast, Answer(9, outcome), [b"1:1"])
    linear.read_asked(1)
    with pytest.raises(Violation, match="linearizable reads: a read from 4 was asked for after 5 was acknowledged"):
        linear.read_answered(1, ReadFrom(4))


def test_a_read_from_before_what_was_shown_is_a_violation(world: FakeWorld) -> None:
    linear = Linearizable(shown(world, batch(0, b"1:1", b"1:2")))
    linear.read_asked(1)
    with pytest.raises(Violation, match="linearizable reads"):
        linear.read_answered(1, ReadFrom(1))


# Alike, and bounded: of real phasers.


def phaser_of(participant: FakeParticipant, *applications: Counter) -> Phaser:
    phaser = Phaser(participant.name, 0, Settings(), Recovered(), applications=applications)
    participant.phaser = phaser
    return phaser


def test_the_same_tables_at_the_same_offset_are_alike(world: FakeWorld) -> None:
    alike = Alike()
    for participant in (world.a, world.b):
        phaser_of(participant).ledger.streams.restore(Image(0, ((7, Stream(3, 1, ())),)))
        alike.after_turn(participant.cast, [], [Committed(4)])
    phaser_of(world.b).ledger.streams.restore(Image(0, ((7, Stream(5, 1, ())),)))
    alike.after_turn(world.b.cast, [], [Committed(8)])


def test_different_tables_at_the_same_offset_are_a_violation(world: FakeWorld) -> None:
    alike = Alike()
    phaser_of(world.a).ledger.streams.restore(Image(0, ((7, Stream(3, 1, ())),)))
    alike.after_turn(world.a.cast, [], [Committed(4)])
    phaser_of(world.b).ledger.streams.restore(Image(0, ((7, Stream(4, 1, ())),)))
    with pytest.raises(Violation, match="the same log gives the same state: b1 has another table of streams at 4"):
        alike.after_turn(world.b.cast, [], [Committed(4)])


def test_different_states_of_an_application_at_the_same_offset_are_a_violation(world: FakeWorld) -> None:
    alike = Alike()
    phaser_of(world.a, Counter())
    alike.after_turn(world.a.cast, [], [Committed(4)])
    phaser_of(world.b, Counter()).ledger.derived.hosts[0].application.join(2, [(b"k", b"4")])
    with pytest.raises(Violation, match="b1 has another state of its applications at 4"):
        alike.after_turn(world.b.cast, [], [Committed(4)])


def test_a_phaser_that_breaks_no_invariant_is_well(world: FakeWorld) -> None:
    bounded, phaser = Bounded(), phaser_of(world.a)
    for now_us in (1, 2):
        phaser.turn([], now_us, now_us)
        bounded.after_turn(world.a.cast, [], [Committed(0)])


def test_a_broken_invariant_is_a_violation(world: FakeWorld) -> None:
    phaser_of(world.a).ledger.committed = 5
    with pytest.raises(Violation, match="bounded memory, and the invariants: a1: "):
        Bounded().after_turn(world.a.cast, [], [Committed(5)])


def test_a_step_back_within_a_life_is_a_violation_and_after_a_restart_is_none(world: FakeWorld) -> None:
    bounded, phaser = Bounded(), phaser_of(world.a)
    phaser.ledger.timestamp = 5
    bounded.after_turn(world.a.cast, [], [Committed(0)])
    phaser.ledger.timestamp = 4
    with pytest.raises(Violation, match="bounded memory, and the invariants: a1: timestamp fell from 5 to 4"):
        bounded.after_turn(world.a.cast, [], [Committed(0)])
    phaser.ledger.timestamp = 3
    bounded.started(world.a.cast)
    bounded.after_turn(world.a.cast, [], [Committed(0)])
