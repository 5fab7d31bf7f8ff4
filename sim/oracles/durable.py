"""What is acknowledged is on the disk of every member of the government that acknowledged it, and is never lost."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hansard.batch import Batch
from hansard.phaser.effect import Answer
from hansard.phaser.government import line
from hansard.phaser.outcome import Repeated, Stored

from .oracle import Oracle
from .sequence import OneSequence

if TYPE_CHECKING:
    from sim.world.participant import Participant
    from sim.world.vault import Vault
    from sim.world.world import World


class Durable(Oracle):
    promise = "acknowledged is durable"

    def __init__(self, sequence: OneSequence) -> None:
        self.sequence = sequence
        self.values: dict[bytes, None] = {}
        """What was acknowledged, in order."""
        self.end = 0
        """The acknowledged log reaches at least this far."""

    def answered(self, participant: "Participant", answer: Answer, values: Sequence[bytes]) -> None:
        self.values.update(dict.fromkeys(values))
        match answer.outcome:
            case Stored(receipt=receipt) | Repeated(receipt=receipt) if receipt is not None:
                self._on_every_disk(participant, receipt.offset)
            case _:
                pass

    def _on_every_disk(self, participant: "Participant", offset: int) -> None:
        assert participant.phaser is not None
        leading, world = participant.phaser.leading, participant.world
        if leading is None:
            raise self.broken(f"{participant.name} acknowledges, and does not lead")
        expanded = leading.expanded and offset + 1 >= leading.expansion_end
        for node in line(leading.government, expanded=expanded):
            member = world.by_place[node[0]]
            if member.name != node or offset < member.vault.start:
                continue
            batch = _covering(member.vault.synced_batches(), offset)
            if batch is None or batch is not self.sequence.at(offset):
                raise self.broken(f"{participant.name} acknowledged offset {offset}, and {node} has {batch} there")
            self.end = max(self.end, batch.header.end_offset)

    def lacking(self, vault: "Vault") -> bool:
        """Whether a disk lacks something of what was acknowledged: logs alike in one place are alike before it."""
        offset = self.end - 1
        return vault.start <= offset and _covering(vault.synced_batches(), offset) is not self.sequence.at(offset)

    def opened(self, participant: "Participant") -> None:
        """Whoever opens has everything that was ever acknowledged."""
        assert participant.phaser is not None
        if participant.phaser.ledger.end < self.end:
            raise self.broken(f"{participant.name} opens without what is acknowledged up to {self.end}")

    def finish(self, world: "World") -> None:
        stored = {value for batch in self.sequence.batches for value in batch.values()}
        lost = [value for value in self.values if value not in stored]
        if lost:
            raise self.broken(f"{lost} were acknowledged and are nowhere")
        for node in world.edict.full:
            end = world.by_place[node[0]].vault.synced_standing().end  # of a log that may be trimmed to its end
            if end < self.end:
                raise self.broken(f"{node}'s log ends at {end}, and {self.end} was acknowledged")


def _covering(batches: Sequence[Batch], offset: int) -> Batch | None:
    place = bisect_right(batches, offset, key=lambda batch: batch.header.base_offset) - 1
    if place >= 0 and offset < batches[place].header.end_offset:
        return batches[place]
    return None
