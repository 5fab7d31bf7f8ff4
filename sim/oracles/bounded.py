"""Memory stays within bounds, and the phaser's own invariants hold after every turn."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hansard.phaser.effect import Effect
from hansard.phaser.event import Event

from .oracle import Oracle

if TYPE_CHECKING:
    from sim.world.participant import Participant


class Bounded(Oracle):
    promise = "bounded backlog and memory"

    def after_turn(self, participant: "Participant", events: Sequence[Event], effects: Sequence[Effect]) -> None:
        phaser = participant.phaser
        assert phaser is not None
        settings, backlog = phaser.settings, phaser.desk.backlog
        if len(backlog) > settings.backlog_count_max or backlog.byte_count > settings.backlog_bytes_max:
            raise self.broken(f"{participant.name} has {len(backlog)} submissions in its backlog")
