"""A life votes once in each term, across restarts; a vote is on disk when it is given; who leads has a majority."""

from typing import TYPE_CHECKING

from hansard.consensus.cluster import Peer
from hansard.consensus.effect import Send
from hansard.consensus.message import Vote

from .oracle import Oracle

if TYPE_CHECKING:
    from sim.atomic.participant import Participant


class Votes(Oracle):
    promise = "one vote in each term"

    def __init__(self) -> None:
        self.given: dict[tuple[Peer, int], Peer] = {}

    def voted(self, participant: "Participant", send: Send, vote: Vote) -> None:
        voter, candidate = send.envelope.sender, Peer(send.to, send.envelope.to_life)
        self._give(voter, vote.term, candidate)
        note = participant.vault.note
        if note.term < vote.term or (note.term == vote.term and note.vote != candidate):
            raise self.broken(
                f"{voter} votes for {candidate} in {vote.term}, and its disk has {note.vote} in {note.term}"
            )

    def started(self, participant: "Participant") -> None:
        """What was said is known after a restart."""
        consensus = participant.consensus
        assert consensus is not None
        me, term, vote = consensus.peer, consensus.term, consensus.vote
        first = self.given.get((me, term))
        if first is not None and first != vote:
            raise self.broken(f"{me} has voted for {first} in {term}, and knows of {vote}")

    def elected(self, participant: "Participant") -> None:
        consensus = participant.consensus
        assert consensus is not None
        me, term, voters = consensus.peer, consensus.term, consensus.voters
        if me in voters:
            self._give(me, term, me)
        mine = [voter for voter in voters if self.given.get((voter, term)) == me]
        if 2 * len(mine) <= len(voters):
            raise self.broken(f"{me} leads in {term} with the votes of {mine}, of {voters}")

    def _give(self, voter: Peer, term: int, candidate: Peer) -> None:
        first = self.given.setdefault((voter, term), candidate)
        if first != candidate:
            raise self.broken(f"{voter} votes for {first} and for {candidate} in term {term}")
