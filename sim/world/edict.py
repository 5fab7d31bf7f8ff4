"""The atomic log and the distributor as a phaser sees them: one sequence of facts that everybody learns in time.

It appoints only full members of the last opened government, and accepts reports for the newest epoch only. Whom it
appoints and when is the nemesis's choice: it declares the living departed, and changes its mind in the middle of a
move.
"""

from collections.abc import Callable
from random import Random

from msgspec import Struct

from hansard.phaser.effect import Achievement
from hansard.phaser.government import Government, NodeId, Shape


class Appointment(Struct, frozen=True):
    government: Government


class Acceptance(Struct, frozen=True):
    achievement: Achievement
    epoch: int


class Departure(Struct, frozen=True):
    node: NodeId


Fact = Appointment | Acceptance | Departure


class Edict:
    """Invariant: the newest government's members, and its leader, are full members of the last opened one."""

    def __init__(self, members: tuple[NodeId, ...], shape: Shape, memory_us: int, tell: Callable[[], None]) -> None:
        self.shape = shape
        self.memory_us = memory_us
        self._tell = tell
        self.facts: list[Fact] = []
        self.full = members
        """The full members of the last opened government, departed ones too."""
        self.opened = 0
        """Its epoch."""
        self.interrupted = 0
        """Acclimations that were given up half-way."""
        self.departed: set[NodeId] = set()
        self.spares: list[NodeId] = []
        self.newest = Government(1, members[0], members, (), shape, memory_us)
        self._add(Appointment(self.newest))

    def _add(self, fact: Fact) -> None:
        self.facts.append(fact)
        self._tell()

    @property
    def living(self) -> tuple[NodeId, ...]:
        return tuple([node for node in self.full if node not in self.departed])

    @property
    def expanded(self) -> bool:
        """Whether the last opened government has expanded since."""
        return Acceptance(Achievement.EXPANDED, self.opened) in self.facts

    def report(self, achievement: Achievement, epoch: int) -> bool:
        """Accepted once, if it is for the newest epoch. Says whether it was."""
        acceptance = Acceptance(achievement, epoch)
        if epoch != self.newest.epoch or acceptance in self.facts:
            return False
        if achievement is Achievement.OPENED:
            self.full, self.opened = self.newest.members, epoch
        elif self.opened != epoch:
            return False
        else:
            self.full = (*self.newest.members, *self.newest.newcomers)
        self._add(acceptance)
        return True

    def arrive(self, node: NodeId) -> None:
        if node not in self.spares:
            self.spares.append(node)

    def leave(self, node: NodeId) -> None:
        """A spare is gone for good."""
        self.spares = [spare for spare in self.spares if spare != node]

    def depart(self, node: NodeId) -> bool:
        """Remove a participant, unless it is the last that has everything. Says whether it was."""
        if node in self.departed or not set(self.living) - {node}:
            return False
        self.departed.add(node)
        self.spares = [spare for spare in self.spares if spare != node]
        self._add(Departure(node))
        if node in self.newest.members or node in self.newest.newcomers:
            leader = self.newest.leader if self.newest.leader in self.living else self.living[0]
            self.appoint(leader, self.living)
        return True

    def appoint(self, leader: NodeId, members: tuple[NodeId, ...], newcomers: tuple[NodeId, ...] = ()) -> None:
        assert leader in members and set(members) <= set(self.living)
        self.interrupted += bool(set(self.newest.newcomers) - set(self.full))
        dropped = {*self.newest.members, *self.newest.newcomers, *self.full} - {*members, *newcomers} - self.departed
        self.spares = [spare for spare in self.spares if spare not in newcomers]
        self.spares += [node for node in sorted(dropped) if node not in self.spares]
        self.newest = Government(self.newest.epoch + 1, leader, members, newcomers, self.shape, self.memory_us)
        self._add(Appointment(self.newest))

    def expand(self, random: Random, count: int = 1) -> bool:
        """Appoint spares as newcomers, under the same leader if it is there."""
        chosen = [spare for spare in self.spares if spare not in self.living][:count]
        if not chosen:
            return False
        leader = self.newest.leader if self.newest.leader in self.living else random.choice(self.living)
        self.appoint(leader, self.living, tuple(chosen))
        return True

    def switch(self, random: Random, *, contract: bool) -> None:
        """Another leader, and perhaps fewer members."""
        leader = random.choice(self.living)
        others = [node for node in self.living if node != leader]
        if contract and others:
            others = random.sample(others, random.randint(max(0, len(others) - 1), len(others)))
        order = random.sample(others, len(others))
        self.appoint(leader, (leader, *order))

    def settle(self, size: int) -> bool:
        """A step towards a government of this size with nobody left half-way in; says whether there was one to take."""
        if self.newest.newcomers or self.opened != self.newest.epoch:
            if self.opened == self.newest.epoch and len(self.full) > len(self.newest.members):
                self.appoint(self.newest.leader, self.living)
                return True
            return False
        if len(self.living) < size and self.spares:
            return self.expand(Random(0))
        return False
