"""What an oracle is told. It does what it needs with it, and nothing with the rest."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hansard.batch import Batch
from hansard.phaser.effect import Achievement, Answer, Effect
from hansard.phaser.event import Event
from hansard.phaser.government import Government
from hansard.phaser.outcome import ReadOutcome

if TYPE_CHECKING:
    from sim.world.participant import Participant
    from sim.world.world import World


class Violation(Exception):
    """A promise was broken."""

    def __init__(self, promise: str, what: str) -> None:
        super().__init__(f"{promise}: {what}")
        self.promise = promise


class Oracle:
    promise = ""

    def broken(self, what: str) -> Violation:
        return Violation(self.promise, what)

    def started(self, participant: "Participant") -> None:
        """A participant has started, from its disk."""

    def before_turn(self, participant: "Participant", events: Sequence[Event]) -> None: ...

    def after_turn(self, participant: "Participant", events: Sequence[Event], effects: Sequence[Effect]) -> None: ...

    def visible(self, participant: "Participant", batches: Sequence[Batch]) -> None:
        """A participant shows these batches to readers, after all that it has shown in this life."""

    def answered(self, participant: "Participant", answer: Answer, values: Sequence[bytes]) -> None:
        """A submission of these values is answered, at the leader."""

    def opened(self, participant: "Participant") -> None:
        """A leader has opened."""

    def accepted(self, world: "World", achievement: Achievement, government: Government) -> None:
        """A report is in the atomic log."""

    def read_asked(self, number: int) -> None: ...

    def read_answered(self, number: int, outcome: ReadOutcome) -> None: ...

    def finish(self, world: "World") -> None:
        """Everything is healed and has settled."""
