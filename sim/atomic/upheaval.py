"""Faults that concern who takes part: disks that are lost, departures, addresses, rules, leadership, strangers."""

from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING, Final

from hansard.consensus.cluster import NO_CLUSTER, ClusterId, Peer
from hansard.consensus.content import Council, Depart, Entry
from hansard.consensus.event import Leave, Raise, Transfer
from hansard.consensus.message import Append, Ask, Collection, Envelope, Gone, Message, Offer, Part, Vote

from .participant import Participant
from .plan import Fault
from .reserve import is_whole, spares

if TYPE_CHECKING:
    from .nemesis import Nemesis

FINDING_US: Final = 3_000_000
"""Within this time after somebody has moved nobody is blamed for not finding it, nor it for not finding anybody."""


class Upheaval:
    def __init__(self, nemesis: "Nemesis") -> None:
        self.nemesis = nemesis
        self.world = nemesis.world

    def does(self, fault: Fault, random: Random, shuffled: Sequence[Participant], leader: Participant | None) -> bool:
        here, length = shuffled[0], fault.length_us
        match fault.kind:
            case "move":
                return self._restart([here], length, random, move=True)
            case "move leader":
                return leader is not None and self._restart([leader], length, random, move=True)
            case "swap":
                return self._swap(shuffled[:2], length)
            case "upgrade":
                return self._restart([here], length // 4, random, upgrade=True)
            case "raise":
                return self._tell(here, Raise(self.world.newest_rules))
            case "transfer":
                to = random.choice(("", random.choice(shuffled).name))
                return leader is not None and self._tell(leader, Transfer(to))
            case "leave":
                return self._leave(here, length)
            case "leader leaves":
                return leader is not None and self._leave(leader, length)
            case "give up":
                return self._give_up(shuffled, length)
            case "wipe":
                return self._wipe(shuffled, length)
            case "stray":
                return self._stray(here, shuffled[1:], random)
            case "ambush":
                return self._ambush(fault, random, self.world.clock.now_us + 2_000_000)
            case "turncoat":
                return self._turn_coats(leader, length)
            case unknown:
                raise AssertionError(unknown)

    def _tell(self, participant: Participant, event: Raise | Transfer | Leave) -> bool:
        if participant.consensus is None:
            return False
        participant.happen(event)
        return True

    def _restart(
        self,
        victims: Sequence[Participant],
        length_us: int,
        random: Random,
        *,
        move: bool = False,
        upgrade: bool = False,
    ) -> bool:
        """They stop, and start again at other addresses, or with newer rules."""
        for victim in victims:
            victim.crash()
            if move:
                self.world.move(victim, reuse=random.random() < 0.5)
                self.nemesis.trouble(self.world.participants, length_us + FINDING_US)
            if upgrade:
                victim.rules_max = self.world.newest_rules
            self.nemesis.start_later(victim, length_us)
        return True

    def _swap(self, pair: Sequence[Participant], length_us: int) -> bool:
        """Each comes back where the other one was."""
        if len(pair) < 2:
            return False
        one, other = pair
        for victim in pair:
            victim.crash()
        self.world.swap(one, other)
        self.nemesis.trouble(self.world.participants, length_us + FINDING_US)
        for victim in pair:
            self.nemesis.start_later(victim, length_us)
        return True

    # Coming and going.

    def _leave(self, participant: Participant, length_us: int) -> bool:
        """It goes by itself, in order; and comes back, perhaps on the same disk."""
        others = [one for one in self.world.living if one is not participant and not one.leaving]
        consensus = participant.consensus
        if consensus is None or participant.leaving or not consensus.roster.here(consensus.peer):
            return False
        if not any(one.consensus is not None and one.consensus.roster.here(one.peer) for one in others):
            return False
        if not is_whole(self.world) and not spares(self.world, [participant.name]):
            return False
        participant.leave()
        self._return(participant, length_us)
        return True

    def _return(self, participant: Participant, length_us: int) -> None:
        """Some time after it has gone."""
        if participant.consensus is None:
            self.nemesis.start_later(participant, length_us)
        elif participant.leaving:
            self.nemesis.later(200_000, lambda: self._return(participant, length_us))

    def _give_up(self, shuffled: Sequence[Participant], length_us: int) -> bool:
        """Somebody is down, and an operator does not wait for its lease."""
        leader = self.world.leader
        if leader is None or leader.consensus is None:
            return False
        for victim in shuffled:
            participant = leader.consensus.roster.participants.get(victim.name)
            if participant is None or victim is leader or not spares(self.world, [victim.name]):
                continue
            self.nemesis.crash([victim], length_us)
            self.world.given_up.add(participant.peer)
            asked = next((one for one in shuffled if one is not victim and one.consensus is not None), leader)
            return self._tell(asked, Leave(victim.name))
        return False

    def _wipe(self, shuffled: Sequence[Participant], length_us: int) -> bool:
        """Somebody's disk is lost, where the cluster can do without it; it comes back with an empty one."""
        for victim in shuffled:
            if spares(self.world, [victim.name]) and victim.vault.note.cluster != NO_CLUSTER:
                victim.wipe()
                self.world.give_seeds(victim)
                self.nemesis.start_later(victim, length_us)
                return True
        return False

    # Strangers.

    def _stray(self, here: Participant, others: Sequence[Participant], random: Random) -> bool:
        """Something comes from another cluster, from somebody with a name that is known here."""
        consensus = here.consensus
        if consensus is None or consensus.cluster == NO_CLUSTER:
            return False
        cluster = consensus.cluster
        strange = random.choice((ClusterId("another"), ClusterId(cluster.id, cluster.incarnation - 1)))
        sender = random.choice([Peer("stranger", 7), *[other.peer for other in others]])
        message = _temptation(here, sender, random)
        return here.stray(Envelope(strange, sender, "elsewhere", here.peer.life, message))

    def _turn_coats(self, leader: Participant | None, length_us: int) -> bool:
        """There is an election, and whoever votes in it crashes right then, and is back before it is over."""
        self.world.turncoats_until_us = self.world.clock.now_us + 4 * self.world.plan.settings.election_us
        return self.nemesis.crash([leader], length_us)

    def voted(self, participant: Participant) -> None:
        if self.world.clock.now_us < self.world.turncoats_until_us:
            self.nemesis.later(100, lambda: self.nemesis.crash([participant], 500))

    def _ambush(self, fault: Fault, random: Random, until_us: int) -> bool:
        """Wait for somebody who has got a part of a state, and disturb it: itself, the leader, or the way between."""
        world, nemesis = self.world, self.nemesis
        collecting = [world.by_name[name] for name in world.coverage.collecting]
        waiting = [one for one in collecting if one.consensus is not None and not one.paused]
        if not waiting:
            if world.clock.now_us < until_us:
                nemesis.later(1_000, lambda: self._ambush(fault, random, until_us))
            return world.clock.now_us < until_us
        victim, leader, length_us = random.choice(waiting), world.leader, min(fault.length_us, 500_000)
        match random.choice(("crash", "pause", "leader", "cut")):
            case "crash":
                return nemesis.crash([victim], length_us // 4)
            case "pause":
                return nemesis.pause(victim, length_us)
            case "leader":
                return nemesis.crash([leader], length_us)
            case _:
                return leader not in (None, victim) and nemesis.cut([victim], [leader], length_us)


def _temptation(victim: Participant, sender: Peer, random: Random) -> Message:
    """What would do harm if it were obeyed."""
    consensus = victim.consensus
    assert consensus is not None
    term, end = consensus.term + random.choice((0, 1, 5)), consensus.log.end
    poison = (Entry(term, Council((sender,))),)
    return random.choice(
        (
            Append(term, end, consensus.log.last_term, poison, end + 1, 0),
            Append(term, consensus.committed, 0, (), end, 0),
            Ask(term + 1, end + 1, term, True),
            Vote(consensus.term, True),
            Gone(victim.peer.life, 1),
            Offer((Depart(victim.peer),), False),
            Part(term, 0, Collection(end + 5, term, 1, 0), 0, b""),
        )
    )
