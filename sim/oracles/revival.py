"""Whoever has to acknowledge could revive the bucket by its disk alone, and nobody could who lacks something."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from hansard.phaser.effect import Achievement, Answer
from hansard.phaser.government import Government, line

from .durable import Durable
from .oracle import Oracle

if TYPE_CHECKING:
    from sim.world.participant import Participant
    from sim.world.world import World

LOOKED_EVERY: Final = 4
"""Acknowledgements from one look at all disks to the next."""


class Revival(Oracle):
    promise = "those who count could revive the bucket, and only those"

    def __init__(self, durable: Durable) -> None:
        self.durable = durable
        self._answers = 0

    def accepted(self, world: "World", achievement: Achievement, government: Government) -> None:
        """Nothing is acknowledged by a government before all of those who have to know so by their disks."""
        for node in line(government, expanded=achievement is Achievement.EXPANDED):
            participant = world.by_place[node[0]]
            if participant.name == node and not self._could_revive(world, participant):
                standing = participant.vault.synced_standing()
                raise self.broken(f"{government.epoch} has {achievement}, and {node} has only {standing} on disk")

    def started(self, participant: "Participant") -> None:
        self._look(participant.world, participant)

    def answered(self, participant: "Participant", answer: Answer, values: Sequence[bytes]) -> None:
        self._answers += 1
        if self._answers % LOOKED_EVERY == 0:
            for other in participant.world.by_place.values():
                self._look(participant.world, other)

    def _look(self, world: "World", participant: "Participant") -> None:
        if self._could_revive(world, participant) and self.durable.lacking(participant.vault):
            standing = participant.vault.synced_standing()
            raise self.broken(f"{participant.name} has {standing}, and lacks some of {self.durable.end} acknowledged")

    def _could_revive(self, world: "World", participant: "Participant") -> bool:
        """As the distributor would judge it, of a bucket that has lost everybody now."""
        edict = world.edict
        return participant.vault.synced_standing().suffices(edict.opened, expanded=edict.expanded)
