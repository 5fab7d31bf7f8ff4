"""Voters change one at a time, each change after the one before is committed, and never before a leader has committed
something of its own term."""

from typing import TYPE_CHECKING

from hansard.consensus.cluster import Peer
from hansard.consensus.content import Council, Entry, Fact

from .oracle import Oracle

if TYPE_CHECKING:
    from sim.atomic.participant import Participant


class OneAtATime(Oracle):
    promise = "voters change one at a time"

    def __init__(self) -> None:
        self.voters: tuple[Peer, ...] = ()
        """By the latest council that is committed."""

    def appended(self, participant: "Participant", start: int) -> None:
        consensus = participant.consensus
        assert consensus is not None
        log, term, committed = consensus.log, consensus.term, consensus.committed
        for index, voters in log.councils:
            if index < start or log.entries[index - log.start].term != term:
                continue
            if log.term_before(committed) != term:
                raise self.broken(f"{participant.name} changes the voters before it has committed anything in {term}")
            pending = [other for other, _ in log.councils if committed <= other < index]
            if pending:
                raise self.broken(
                    f"{participant.name} changes the voters at {index}, and at {pending}, not committed yet"
                )
            self._step(log.voters_before(index), voters)

    def committed(self, index: int, entry: Entry, fact: Fact | None) -> None:
        if isinstance(entry.content, Council):
            if self.voters:
                self._step(self.voters, entry.content.voters)
            self.voters = entry.content.voters

    def _step(self, before: tuple[Peer, ...], after: tuple[Peer, ...]) -> None:
        if len(set(before) ^ set(after)) != 1 or len(set(after)) != len(after) or not after:
            raise self.broken(f"{after} vote after {before}")
