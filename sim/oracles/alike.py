"""What is derived from the log is the same on every participant that has committed the same log."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hansard.application import Image
from hansard.phaser.effect import Committed, Effect
from hansard.phaser.event import Event
from hansard.phaser.streams import Image as Table

from .oracle import Oracle

if TYPE_CHECKING:
    from sim.world.participant import Participant


class Alike(Oracle):
    promise = "the same log gives the same state"

    def __init__(self) -> None:
        self.tables: dict[int, Table] = {}
        self.images: dict[int, list[Image]] = {}

    def after_turn(self, participant: "Participant", events: Sequence[Event], effects: Sequence[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Committed) and effect.end % 4 == 0:
                assert participant.phaser is not None
                if participant.phaser.ledger.unsettled:
                    continue
                derived = participant.phaser.ledger.derived
                table = derived.streams.image()
                if self.tables.setdefault(effect.end, table) != table:
                    raise self.broken(f"{participant.name} has another table of streams at {effect.end}")
                images = [host.image() for host in derived.hosts]
                if self.images.setdefault(effect.end, images) != images:
                    raise self.broken(f"{participant.name} has another state of its applications at {effect.end}")
