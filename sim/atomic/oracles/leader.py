"""Each term has one leader at the most, and it has everything that was committed before."""

from typing import TYPE_CHECKING

from hansard.consensus.cluster import Peer

from .oracle import Oracle
from .sequence import OneSequence

if TYPE_CHECKING:
    from sim.atomic.participant import Participant


class OneLeader(Oracle):
    promise = "one leader for each term, and it has all that is committed"

    def __init__(self, sequence: OneSequence) -> None:
        self.sequence = sequence
        self.leaders: dict[int, tuple[Peer, int]] = {}
        """By their terms, with the process that led: who has restarted leads no longer."""

    def elected(self, participant: "Participant") -> None:
        consensus = participant.consensus
        assert consensus is not None
        one = (consensus.peer, participant.process)
        first = self.leaders.setdefault(consensus.term, one)
        if first != one:
            raise self.broken(f"{one} and {first} lead in term {consensus.term}")
        log, committed = consensus.log, self.sequence.entries
        if log.end < len(committed):
            raise self.broken(f"{participant.name} leads with a log up to {log.end}, {len(committed)} are committed")
        for index in range(log.start, len(committed)):
            mine = log.entries[index - log.start]
            if mine is not committed[index] and mine != committed[index]:
                raise self.broken(f"{participant.name} leads with {mine} at {index}, {committed[index]} is committed")
