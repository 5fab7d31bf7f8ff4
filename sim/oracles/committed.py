"""Nothing is shown that is not committed, and what was shown is never gone: in the end everybody has it."""

from typing import TYPE_CHECKING

from .oracle import Oracle
from .sequence import OneSequence

if TYPE_CHECKING:
    from sim.world.world import World


class CommittedOnly(Oracle):
    promise = "only what is committed is visible, and it stays"

    def __init__(self, sequence: OneSequence) -> None:
        self.sequence = sequence

    def finish(self, world: "World") -> None:
        for node in world.edict.full:
            vault = world.by_place[node[0]].vault
            kept = {batch.header.base_offset: batch.header.crc for batch in vault.synced_batches()}
            for batch in self.sequence.batches:
                base = batch.header.base_offset
                if base >= vault.start and kept.get(base) != batch.header.crc:
                    raise self.broken(f"{batch} was shown, and {node} does not have it")
