"""Memory stays within bounds, and the phaser's own invariants hold after every turn."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hansard.phaser.effect import Effect
from hansard.phaser.event import Event
from hansard.phaser.invariants import Summary, check_state, check_step, summary

from .oracle import Oracle

if TYPE_CHECKING:
    from sim.world.participant import Participant


class Bounded(Oracle):
    promise = "bounded memory, and the invariants"

    def __init__(self, *, thorough: bool = True) -> None:
        self._thorough = thorough
        self._before: dict[str, Summary] = {}

    def started(self, participant: "Participant") -> None:
        """What was only in memory is gone."""
        self._before.pop(participant.name, None)

    def after_turn(self, participant: "Participant", events: Sequence[Event], effects: Sequence[Effect]) -> None:
        phaser = participant.phaser
        assert phaser is not None
        settings, backlog = phaser.settings, phaser.desk.backlog
        if len(backlog) > settings.backlog_count_max or backlog.byte_count > settings.backlog_bytes_max:
            raise self.broken(f"{participant.name} has {len(backlog)} submissions in its backlog")
        if not effects or not self._thorough:
            return  # if nothing came of it, the next turn is held against the last one of which something did
        after = summary(phaser)
        before = self._before.get(participant.name)
        self._before[participant.name] = after
        try:
            check_state(phaser)
            if before is not None:
                check_step(before, after)
        except AssertionError as error:
            raise self.broken(f"{participant.name}: {error}") from error
