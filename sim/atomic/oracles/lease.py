"""Nobody is declared departed for nothing: who was heard all the time stays.

A lease may be as aggressive as one wants, and then it costs availability; but a participant that nothing has happened
to, on ways that nothing has happened to, is not to suffer for what happens to others: a leader that was paused, an
election, a stalled disk elsewhere.
"""

from typing import TYPE_CHECKING

from hansard.consensus.content import Depart, Departed, Entry, Fact

from .oracle import Oracle

if TYPE_CHECKING:
    from sim.atomic.participant import Participant


class NotForNothing(Oracle):
    promise = "nobody departs for nothing"

    def __init__(self) -> None:
        self.unfounded: dict[tuple[int, int], str] = {}
        """By index and term: what nobody should have proposed. It counts if it is committed."""

    def appended(self, participant: "Participant", start: int) -> None:
        consensus, world = participant.consensus, participant.world
        assert consensus is not None
        log, settings = consensus.log, world.plan.settings
        patience_us = settings.lease_us + 2 * settings.election_us
        for index in range(max(start, log.start), log.end):
            entry = log.entries[index - log.start]
            if not isinstance(entry.content, Depart) or entry.term != consensus.term:
                continue
            peer = entry.content.peer
            one, now_us = world.by_name[peer.node], world.clock.now_us
            gone = one.consensus is None or one.peer != peer or one.leaving or peer in world.given_up
            if not gone and world.plan.loss == 0 and now_us > one.troubled_until_us + patience_us:
                since = (now_us - one.troubled_until_us) / 1e6
                what = f"{participant.name} proposes the departure of {peer}, untroubled for {since:.3f} s"
                self.unfounded[index, entry.term] = what

    def committed(self, index: int, entry: Entry, fact: Fact | None) -> None:
        if isinstance(fact, Departed) and (index, entry.term) in self.unfounded:
            raise self.broken(self.unfounded[index, entry.term])
