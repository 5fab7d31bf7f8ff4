"""A participant's part in the cluster's time: whom it asks, what it is told, what it tells others (clock.py has the
arithmetic)."""

from hansard.consensus.consensus import Consensus

from .clock import ClusterClock
from .here import Here
from .message import ClockAsk, ClockTold


class Timekeeping:
    def __init__(self, here: Here, consensus: Consensus) -> None:
        self._here = here
        self._consensus = consensus
        self.clock = ClusterClock(here.node, here.settings.clock_us)
        self.wall_us = 0
        """This machine's clock."""
        self.due = False
        """In this turn time has passed, or somebody has told what it is."""

    @property
    def known(self) -> bool:
        return self.clock.known

    @property
    def stamp_us(self) -> int:
        """What time it is, held near the cluster's."""
        return self.clock.wall_us(self._here.now_us, self.wall_us)

    @property
    def voters(self) -> list[str]:
        return [voter.node for voter in self._consensus.voters]

    def asked(self, sender: str, ask: ClockAsk) -> None:
        now_us = self._here.now_us
        self.clock.measure(self._consensus.leader, self.voters, now_us, self.wall_us)
        self._here.send(sender, self.clock.tell(ask.asked_us, now_us, self.wall_us))

    def told(self, sender: str, told: ClockTold) -> None:
        self.clock.told(sender, told, self._consensus.leader, self._here.now_us)
        self.due = True

    def keep(self) -> None:
        """Most turns have nothing to do with it."""
        if not self.due and self.known:
            return
        here, leader = self._here, self._consensus.leader
        for node in self.clock.ask(leader, self.voters, here.now_us):
            here.send(node, ClockAsk(here.now_us))
        if leader == here.node:
            self.clock.measure(leader, self.voters, here.now_us, self.wall_us)
