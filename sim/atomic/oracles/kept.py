"""A state from elsewhere does not take the place of a log that goes further: what is in it may have been counted on."""

from typing import TYPE_CHECKING

from hansard.consensus.effect import Effect, Restored

from .oracle import Oracle
from .sequence import OneSequence

if TYPE_CHECKING:
    from sim.atomic.participant import Participant


class Kept(Oracle):
    promise = "a log is not replaced by a state that it goes on from"

    def __init__(self, sequence: OneSequence) -> None:
        self.sequence = sequence

    def did(self, participant: "Participant", effect: Effect) -> None:
        if not isinstance(effect, Restored):
            return
        image, end = participant.vault.synced, effect.end
        if not image.start < end <= image.end:
            return
        if image.entries[end - 1 - image.start] == self.sequence.entries[end - 1]:
            raise self.broken(f"{participant.name} has a state at {end} in place of a log up to {image.end}")
