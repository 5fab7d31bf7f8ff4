"""Nobody of another cluster is ever obeyed, and nobody of this one is ever taken for a stranger."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hansard.consensus.effect import Effect, Strange
from hansard.consensus.event import Event
from hansard.consensus.message import Envelope

from .oracle import Oracle

if TYPE_CHECKING:
    from sim.atomic.participant import Participant


class Strangers(Oracle):
    promise = "strangers are refused"

    def after_turn(self, participant: "Participant", events: Sequence[Event], effects: Sequence[Effect]) -> None:
        strange = [effect for effect in effects if isinstance(effect, Strange)]
        if strange:
            raise self.broken(f"{participant.name} takes {strange} for a stranger")

    def refused(
        self, participant: "Participant", envelope: Envelope, effects: Sequence[Effect], before: object, after: object
    ) -> None:
        expected = [Strange(envelope.sender.node, envelope.address, envelope.cluster)]
        if list(effects) != expected:
            raise self.broken(f"{participant.name} does {list(effects)} when {envelope} comes")
        if before != after:
            raise self.broken(f"{participant.name} was {before} before {envelope} came, and is {after} now")
