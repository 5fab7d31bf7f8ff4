"""The oracle of who could revive a bucket accepts good disks, and objects to the claims that it exists for."""

from itertools import count
from typing import cast

import pytest

from hansard.batch import Batch, build
from hansard.phaser.effect import Achievement, Answer, Note, Put
from hansard.phaser.government import Government, first_term
from hansard.phaser.lineage import Run
from hansard.phaser.outcome import Receipt, Stored
from hansard.phaser.recovered import Expansion, NoteContent, encode
from sim.oracles import Violation
from sim.oracles.durable import Durable
from sim.oracles.revival import LOOKED_EVERY, Revival
from sim.oracles.sequence import OneSequence
from sim.world import participant as real
from sim.world import world as real_world
from sim.world.vault import ModelVault

TERM = first_term(2)
GROWING = Government(2, "a1", ("a1",), ("b1",))


class FakeEdict:
    def __init__(self) -> None:
        self.opened = 2
        self.expanded = False


class FakeParticipant:
    def __init__(self, world: "FakeWorld", name: str) -> None:
        self.world = world
        self.name = name
        self.vault = ModelVault()
        self._tickets = count(1)

    def note(self, counted: int, expansion: Expansion | None = None, *, synced: bool = True) -> None:
        self._write(Note(encode(NoteContent(TERM, (Run(TERM, 0),), None, counted, expansion))), synced=synced)

    def store(self, *batches: Batch) -> None:
        for batch in batches:
            self._write(Put(batch), synced=True)

    def _write(self, write: Note | Put, *, synced: bool) -> None:
        ticket = next(self._tickets)
        self.vault.write(ticket, (write,))
        if synced:
            self.vault.sync(ticket)

    @property
    def cast(self) -> real.Participant:
        return cast(real.Participant, self)


class FakeWorld:
    """Epoch 2 has opened; a1 has acknowledged two changes in it."""

    def __init__(self) -> None:
        self.a, self.b = FakeParticipant(self, "a1"), FakeParticipant(self, "b1")
        self.by_place = {"a": self.a, "b": self.b}
        self.edict = FakeEdict()
        self.batches = [
            build([b"k"], [b"%d" % base]).stamped(epoch=TERM, base_offset=base, timestamp=1) for base in (0, 1)
        ]
        sequence = OneSequence()
        sequence.visible(self.a.cast, self.batches)
        self.durable = Durable(sequence)
        self.durable.end = 2
        self.revival = Revival(self.durable)

    @property
    def cast(self) -> real_world.World:
        return cast(real_world.World, self)

    def accept(self, achievement: Achievement, government: Government = GROWING) -> None:
        self.revival.accepted(self.cast, achievement, government)

    def acknowledge(self) -> None:
        for number in range(LOOKED_EVERY):
            self.revival.answered(self.a.cast, Answer(number, Stored(Receipt(1, 1))), [])


@pytest.fixture
def world() -> FakeWorld:
    world = FakeWorld()
    world.a.note(2)
    world.a.store(*world.batches)
    return world


def test_who_counts_has_everything_and_who_does_not_may_lack_it(world: FakeWorld) -> None:
    world.b.note(1)
    world.accept(Achievement.OPENED)
    world.acknowledge()
    world.revival.started(world.b.cast)


def test_a_member_that_does_not_know_that_it_counts_is_a_violation(world: FakeWorld) -> None:
    world.b.note(2, synced=False)
    with pytest.raises(Violation, match="2 has opened, and b1 has only Standing"):
        world.accept(Achievement.OPENED, Government(2, "a1", ("a1", "b1")))


def test_a_newcomer_has_to_count_when_the_expansion_is_accepted(world: FakeWorld) -> None:
    world.edict.expanded = True
    world.b.note(1, Expansion(2, 2))
    world.b.store(world.batches[0])
    with pytest.raises(Violation, match="2 has expanded, and b1 has only Standing"):
        world.accept(Achievement.EXPANDED)
    world.b.store(world.batches[1])
    world.accept(Achievement.EXPANDED)


def test_whoever_came_back_under_another_name_is_not_asked(world: FakeWorld) -> None:
    world.b.name = "b2"
    world.accept(Achievement.OPENED, Government(2, "a1", ("a1", "b1")))


@pytest.mark.parametrize("started", [True, False], ids=["when it starts", "when something is acknowledged"])
def test_a_copy_that_could_and_lacks_something_is_a_violation(world: FakeWorld, started: bool) -> None:
    world.b.note(2)
    world.b.store(world.batches[0])
    with pytest.raises(Violation, match=r"b1 has Standing.* and lacks some"):
        world.revival.started(world.b.cast) if started else world.acknowledge()


def test_a_copy_that_could_and_has_something_else_is_a_violation(world: FakeWorld) -> None:
    world.b.note(2)
    world.b.store(world.batches[0], build([b"k"], [b"x"]).stamped(epoch=TERM, base_offset=1, timestamp=1))
    with pytest.raises(Violation, match=r"b1 has Standing.* and lacks some"):
        world.acknowledge()


def test_an_expansion_in_the_log_is_a_claim_only_once_it_was_accepted(world: FakeWorld) -> None:
    world.b.note(1, Expansion(2, 1))
    world.b.store(world.batches[0])
    world.acknowledge()
    world.edict.expanded = True
    with pytest.raises(Violation, match=r"b1 has Standing.* and lacks some"):
        world.acknowledge()
