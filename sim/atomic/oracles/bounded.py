"""Memory stays within bounds, and the core's own invariants hold after every turn."""

from typing import TYPE_CHECKING

from hansard.consensus.invariants import Moment, check_state, check_step, moment

from .oracle import Oracle

if TYPE_CHECKING:
    from sim.atomic.participant import Participant


class Bounded(Oracle):
    promise = "bounded memory, and the invariants"

    def __init__(self, *, thorough: bool = True) -> None:
        self._thorough = thorough
        self._before: dict[str, Moment] = {}

    def started(self, participant: "Participant") -> None:
        """What was only in memory is gone."""
        self._before.pop(participant.name, None)

    def after_turn(self, participant: "Participant") -> None:
        consensus, settings = participant.consensus, participant.world.plan.settings
        assert consensus is not None
        length_max = settings.compact_entries + settings.keep_entries
        if consensus.committed - consensus.log.start > length_max:
            raise self.broken(f"{participant.name} has {len(consensus.log.entries)} entries in memory")
        if not self._thorough:
            return
        before = self._before.get(participant.name)
        try:
            check_state(consensus)
            if before is not None:
                check_step(before, consensus)
        except AssertionError as error:
            raise self.broken(f"{participant.name}: {error}") from error
        self._before[participant.name] = moment(consensus)
