"""A leader commits what is of its own term, and with it what is before: an older entry that a majority has may still be
overwritten (Raft, figure 8)."""

from typing import TYPE_CHECKING

from .oracle import Oracle

if TYPE_CHECKING:
    from sim.atomic.participant import Participant


class OwnTerm(Oracle):
    promise = "a leader commits by entries of its own term"

    def advanced(self, participant: "Participant") -> None:
        consensus = participant.consensus
        assert consensus is not None
        term = consensus.log.term_before(consensus.committed)
        if term not in (None, consensus.term):
            raise self.broken(f"{participant.name} commits an entry of {term}, and leads in {consensus.term}")
