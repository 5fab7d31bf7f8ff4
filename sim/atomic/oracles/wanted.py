"""Nobody asks to be elected who would not be: a majority has said so before, and no term was used up to find out. So
who comes back from a partition deposes nobody."""

from typing import TYPE_CHECKING

from hansard.consensus.cluster import Peer
from hansard.consensus.effect import Send
from hansard.consensus.message import Ask, PreVote

from .oracle import Oracle

if TYPE_CHECKING:
    from sim.atomic.participant import Participant


class Wanted(Oracle):
    promise = "nobody asks in earnest who would not be elected"

    def __init__(self) -> None:
        self.would: dict[tuple[Peer, int], set[Peer]] = {}
        """Who would vote for somebody in a term."""

    def said(self, participant: "Participant", send: Send) -> None:
        envelope = send.envelope
        match envelope.message:
            case PreVote(term=term, granted=True):
                self.would.setdefault((Peer(send.to, envelope.to_life), term), set()).add(envelope.sender)
            case Ask(term=term, abdicated=False):
                self._asks(participant, envelope.sender, term)
            case _:
                pass

    def _asks(self, participant: "Participant", candidate: Peer, term: int) -> None:
        consensus = participant.consensus
        assert consensus is not None
        would = self.would.get((candidate, term), set()) | {candidate}
        voters = consensus.voters
        if 2 * len(would.intersection(voters)) <= len(voters):
            raise self.broken(f"{candidate} asks in {term}, where {would} of {voters} would vote for it")
