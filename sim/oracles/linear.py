"""A linearizable read sees everything that was acknowledged before it was asked for."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hansard.phaser.effect import Answer
from hansard.phaser.outcome import ReadFrom, ReadOutcome, Repeated, Stored

from .oracle import Oracle
from .sequence import OneSequence

if TYPE_CHECKING:
    from sim.world.participant import Participant


class Linearizable(Oracle):
    promise = "linearizable reads"

    def __init__(self, sequence: OneSequence) -> None:
        self.sequence = sequence
        self.end = 0
        """Everything before it was shown or acknowledged by now."""
        self.asked: dict[int, int] = {}

    def answered(self, participant: "Participant", answer: Answer, values: Sequence[bytes]) -> None:
        match answer.outcome:
            case Stored(receipt=receipt) | Repeated(receipt=receipt) if receipt is not None:
                self.end = max(self.end, receipt.offset + 1)
            case _:
                pass

    def read_asked(self, number: int) -> None:
        self.asked[number] = max(self.end, self.sequence.end)

    def read_answered(self, number: int, outcome: ReadOutcome) -> None:
        before = self.asked.pop(number)
        if isinstance(outcome, ReadFrom) and outcome.committed < before:
            raise self.broken(f"a read from {outcome.committed} was asked for after {before} was acknowledged")
