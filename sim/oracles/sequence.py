"""All readers of a bucket see the same sequence, whichever participant they ask, before and after any restart."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hansard.batch import Batch

from .oracle import Oracle

if TYPE_CHECKING:
    from sim.world.participant import Participant


class OneSequence(Oracle):
    promise = "all readers see one sequence"

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        """Everything that was ever shown to anybody, in order."""
        self.bases: list[int] = []

    @property
    def end(self) -> int:
        return self.batches[-1].header.end_offset if self.batches else 0

    def at(self, offset: int) -> Batch | None:
        """The batch that covers an offset."""
        place = bisect_right(self.bases, offset) - 1
        if place >= 0 and offset < self.batches[place].header.end_offset:
            return self.batches[place]
        return None

    def visible(self, participant: "Participant", batches: Sequence[Batch]) -> None:
        for batch in batches:
            base = batch.header.base_offset
            if base == self.end:
                self.batches.append(batch)
                self.bases.append(base)
                continue
            shown = self.at(base)
            if shown is not batch and (shown is None or shown.header.crc != batch.header.crc):
                raise self.broken(f"{participant.name} shows {batch}, where {shown} was shown before")
