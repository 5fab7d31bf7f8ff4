"""Nobody of another cluster is ever obeyed, and nobody of this one is ever taken for a stranger."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hansard.consensus.effect import Effect, Send, Strange
from hansard.consensus.message import Directions, Envelope

from .oracle import Oracle

if TYPE_CHECKING:
    from sim.atomic.participant import Participant


def _told_off(effect: Effect, envelope: Envelope) -> bool:
    """Whether the stranger is told, and nobody else, that this is another cluster."""
    return (
        isinstance(effect, Send)
        and effect.address == envelope.address
        and isinstance(effect.envelope.message, Directions)
    )


class Strangers(Oracle):
    promise = "strangers are refused"

    def did(self, participant: "Participant", effect: Effect) -> None:
        if isinstance(effect, Strange):
            raise self.broken(f"{participant.name} takes {effect} for a stranger")

    def refused(
        self, participant: "Participant", envelope: Envelope, effects: Sequence[Effect], usual: Sequence[Effect]
    ) -> None:
        """What is done when something of a stranger comes, and what is done without it."""
        strange = Strange(envelope.sender.node, envelope.address, envelope.cluster)
        others = [effect for effect in effects if effect != strange and effect not in usual]
        if strange not in effects or not all(_told_off(effect, envelope) for effect in others):
            raise self.broken(f"{participant.name} does {list(effects)} when {envelope} comes")

    def unmoved(self, participant: "Participant", envelope: Envelope, before: object, after: object) -> None:
        if before != after:
            raise self.broken(f"{participant.name} was {before} before {envelope} came, and is {after} now")
