"""Faults that wait for their moment: they look at the table, and strike when a bucket is where they want it."""

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Final, cast

from hansard.distributor.bucket import Bucket as Record
from hansard.distributor.bucket import State
from hansard.distributor.member import Member
from hansard.participant.event import Leave
from hansard.phaser.leader import Phase
from sim.atomic.participant import Participant as LogParticipant
from sim.atomic.plan import Fault

from .node import Node
from .reserve import spares

if TYPE_CHECKING:
    from .nemesis import Nemesis

AMBUSHES: Final = (
    "lose bucket",
    "crash opening leader",
    "give up while opening",
    "depart expanding",
    "depart expanded",
)
WAIT_US: Final = 4_000_000
LOOK_US: Final = 3_000


class Ambush:
    def __init__(self, nemesis: "Nemesis") -> None:
        self.nemesis = nemesis
        self.world = nemesis.cluster

    def wait(self, fault: Fault, random: Random) -> bool:
        strike: dict[str, Callable[[Fault, Random], bool]] = {
            "lose bucket": self._lose,
            "crash opening leader": self._crash_opening,
            "give up while opening": self._give_up_while_opening,
            "depart expanding": self._depart_expanding,
            "depart expanded": self._depart_expanded,
        }
        self._try(strike[fault.kind], fault, random, self.world.clock.now_us + WAIT_US)
        return True

    def _try(self, strike: Callable[[Fault, Random], bool], fault: Fault, random: Random, until_us: int) -> None:
        if not strike(fault, random) and self.world.clock.now_us < until_us:
            self.nemesis.later(LOOK_US, lambda: self._try(strike, fault, random, until_us))

    def _records(self) -> list[Record]:
        return self.world.table.distributor.buckets

    def _node(self, member: Member) -> Node:
        return self.world.by_name[member.node]

    # Strikes.

    def _lose(self, fault: Fault, random: Random) -> bool:
        """Everybody of a bucket goes at once, for longer than their leases, and one after the other comes back: perhaps
        first one that was a member of an older government."""
        world, log = self.world, self.world.plan.settings.consensus
        records = [record for record in self._records() if record.leader is not None and record.opened]
        if not records:
            return False
        record = random.choice(records)
        victims = [self._node(member) for member in dict.fromkeys((*record.kept, *record.newcomers))]
        random.shuffle(victims)
        away_us = log.lease_us + 3 * log.election_us
        struck = False
        for number, victim in enumerate(victims):
            length_us = away_us + number * random.randrange(2_000_000)
            struck |= self.nemesis.crash([cast("LogParticipant", victim)], length_us)
        world.coverage.counts["everybody of a bucket crashed"] += struck
        return struck

    def _crash_opening(self, fault: Fault, random: Random) -> bool:
        """A leader, between its report and that one's acceptance."""
        for node in self.world.living:
            assert node.core is not None
            for copy in node.core.copies.running.values():
                leading = copy.phaser.leading if copy.phaser is not None else None
                if leading is not None and leading.phase is Phase.REPORTING and not node.paused:
                    self.world.coverage.counts["opening leader crashed"] += 1
                    return self.nemesis.crash([cast("LogParticipant", node)], fault.length_us)
        return False

    def _give_up_while_opening(self, fault: Fault, random: Random) -> bool:
        """Another departure, while the government that the first one made necessary has not opened: the report of that
        one comes too late."""
        for record in random.sample(self._records(), len(self._records())):
            if record.leader is not None and record.epoch > record.opened and len(record.members) > 1:
                others = [member for member in record.members if member != record.leader]
                if self.given_up(random.choice(others)):
                    self.world.coverage.counts["given up while opening"] += 1
                    return True
        return False

    def given_up(self, member: Member) -> bool:
        """An operator takes it for lost, though it is there."""
        leader = self.world.log_leader
        if leader is None or leader.name == member.node or not spares(self.world, [member.node]):
            return False
        leader.happen(Leave(member.node))
        return True

    def _depart_expanding(self, fault: Fault, random: Random) -> bool:
        """Somebody of a bucket whose newcomers do not count yet."""
        records = [one for one in self._records() if one.state is State.EXPANDING]
        if not records:
            return False
        record = random.choice(records)
        return self._away(random, random.choice((*record.members, *record.newcomers)))

    def _depart_expanded(self, fault: Fault, random: Random) -> bool:
        """Somebody of a bucket whose newcomers count, and that is to switch to others."""
        records = [
            one for one in self._records() if one.state is State.SWITCHING and one.goal and one.expanded == one.opened
        ]
        if not records:
            return False
        record = random.choice(records)
        return self._away(random, random.choice((*record.full, *record.members)))

    def _away(self, random: Random, member: Member) -> bool:
        node = self._node(member)
        if random.random() < 0.4:
            return self.given_up(member)
        return node.core is not None and self.nemesis.absent([node], random)
