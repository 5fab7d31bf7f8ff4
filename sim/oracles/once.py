"""However often a change is submitted, it is stored once; and what was refused for certain is not stored at all."""

from typing import TYPE_CHECKING

from hansard.batch import Flag

from .oracle import Oracle
from .sequence import OneSequence

if TYPE_CHECKING:
    from sim.world.world import World


class Once(Oracle):
    promise = "stored once"

    def __init__(self, sequence: OneSequence) -> None:
        self.sequence = sequence

    def finish(self, world: "World") -> None:
        values: set[bytes] = set()
        for batch in self.sequence.batches:
            for value in batch.values() if not batch.header.flags & Flag.INTERNAL else ():
                assert value is not None
                if value in values:
                    raise self.broken(f"{value!r} is stored twice, the second time in {batch}")
                values.add(value)
        for stranger in world.strangers:
            stored = sorted(stranger.refused & values)
            if stored:
                raise self.broken(f"{stored} were refused for certain, and are stored")
