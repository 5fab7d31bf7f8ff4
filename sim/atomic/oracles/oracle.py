"""What an oracle is told. It does what it needs with it, and nothing with the rest."""

from typing import TYPE_CHECKING

from hansard.consensus.content import Entry, Fact
from hansard.consensus.effect import AnswerRead, Effect, Send
from hansard.consensus.message import Vote
from sim.oracles.oracle import Violation

if TYPE_CHECKING:
    from sim.atomic.participant import Participant
    from sim.atomic.world import World


class Oracle:
    promise = ""

    def broken(self, what: str) -> Violation:
        return Violation(self.promise, what)

    def started(self, participant: "Participant") -> None:
        """A participant has started, from its disk."""

    def after_turn(self, participant: "Participant") -> None:
        """Something came of a turn."""

    def did(self, participant: "Participant", effect: Effect) -> None:
        """Of the effects those that are no messages, nor are told by themselves."""

    def said(self, participant: "Participant", send: Send) -> None:
        """One of the messages about elections, departures and states; of others nobody is told."""

    def voted(self, participant: "Participant", send: Send, vote: Vote) -> None:
        """A vote is given, to whom it is sent."""

    def elected(self, participant: "Participant") -> None:
        """It leads, since this turn."""

    def appended(self, participant: "Participant", start: int) -> None:
        """The leader's own log has grown by entries of its term, from this index on."""

    def advanced(self, participant: "Participant") -> None:
        """The leader has committed something."""

    def committed(self, index: int, entry: Entry, fact: Fact | None) -> None:
        """For the first time anybody has applied this entry. In the order of the log."""

    def proposed(self, participant: "Participant", content: bytes) -> None: ...

    def settled(self, participant: "Participant", content: bytes) -> None: ...

    def read_asked(self, number: int) -> None: ...

    def read_answered(self, participant: "Participant", answer: AnswerRead) -> None: ...

    def finish(self, world: "World") -> None:
        """Everything is healed and has settled."""
