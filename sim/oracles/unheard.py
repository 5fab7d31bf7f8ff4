"""Nothing follows from the words of fewer than are awaited, so that whoever runs a phaser may let them wait."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hansard.phaser.effect import Effect, Send
from hansard.phaser.event import Event, Persisted, Received
from hansard.phaser.hearing import awaited
from hansard.phaser.message import Acknowledge, Append, Commit

from .oracle import Oracle

if TYPE_CHECKING:
    from sim.world.participant import Participant

OWN_DISK = ""
AGAIN = (Append, Commit)
"""What may be sent again in such a turn; it is sent again in any later one, too."""


class Unheard(Oracle):
    promise = "words can wait for those that are awaited"

    def __init__(self) -> None:
        self._too_few: set[str] = set()

    def before_turn(self, participant: "Participant", events: Sequence[Event]) -> None:
        assert participant.phaser is not None
        speakers = {_speaker(event) for event in events}
        if None not in speakers and len(speakers) < awaited(participant.phaser):
            self._too_few.add(participant.name)

    def after_turn(self, participant: "Participant", events: Sequence[Event], effects: Sequence[Effect]) -> None:
        if participant.name not in self._too_few:
            return
        self._too_few.discard(participant.name)
        for effect in effects:
            if not (isinstance(effect, Send) and isinstance(effect.message, AGAIN)):
                raise self.broken(f"{participant.name} did {effect} though others were still awaited")


def _speaker(event: Event) -> str | None:
    """Who has said how far it is; None for any other event."""
    match event:
        case Persisted():
            return OWN_DISK
        case Received(message=Acknowledge(missing=False)):
            return event.sender
        case _:
            return None
