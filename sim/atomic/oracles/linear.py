"""A read sees everything that was applied or settled anywhere before it was asked for."""

from typing import TYPE_CHECKING

from hansard.consensus.effect import AnswerRead

from .oracle import Oracle
from .sequence import OneSequence

if TYPE_CHECKING:
    from sim.atomic.participant import Participant


class Linearizable(Oracle):
    promise = "linearizable reads"

    def __init__(self, sequence: OneSequence) -> None:
        self.sequence = sequence
        self.asked: dict[int, int] = {}

    def read_asked(self, number: int) -> None:
        self.asked[number] = self.sequence.end

    def read_answered(self, participant: "Participant", answer: AnswerRead) -> None:
        before = self.asked.pop(answer.id)
        if answer.end < before:
            raise self.broken(f"a read at {answer.end} was asked for after {before} were applied")
        if answer.end > self.sequence.ends[participant.name]:
            raise self.broken(f"a read at {answer.end}, and {participant.name} has applied less")
