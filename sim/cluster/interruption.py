"""Faults that wait for a bucket to be split, and strike while its halves have not opened: right when it is in the log,
when some have made their copies, when one half is open and the other is not."""

from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING, Final, cast

from msgspec import Struct

from hansard.distributor.bucket import Bucket as Record
from hansard.distributor.command import Double
from hansard.distributor.member import Member
from sim.atomic.participant import Participant as LogParticipant
from sim.atomic.plan import Fault

from .ambush import Ambush
from .node import Node

if TYPE_CHECKING:
    from .nemesis import Nemesis

INTERRUPTIONS: Final = ("crash splitting", "depart splitting", "power cut splitting")
WAIT_US: Final = 6_000_000
WAYS: Final = ("down", "cut off", "asleep", "given up", "by itself", "wiped")
"""In which somebody departs."""


class Waiting(Struct, frozen=True):
    fault: Fault
    random: Random
    until_us: int


class Split(Struct, frozen=True):
    """Of a bucket, that is to be interrupted."""

    fault: Fault
    random: Random
    first: int
    second: int


class Interruption:
    def __init__(self, nemesis: "Nemesis") -> None:
        self.nemesis = nemesis
        self.world = nemesis.cluster
        self._ambush = Ambush(nemesis)
        self._waiting: list[Waiting] = []
        self._splits: list[Split] = []
        """Of which one half is to open first."""

    def wait(self, fault: Fault, random: Random) -> bool:
        """For the next split; there will be one, if there is room for more buckets."""
        table = self.world.table.distributor
        if not table.buckets:
            return False
        doubling = any(isinstance(wish, Double) for wish in table.orders.running.values())
        if not doubling and not self.nemesis.wishes.give("double", random):
            return False
        self._waiting.append(Waiting(fault, random, self.world.clock.now_us + WAIT_US))
        return True

    def look(self, before: Sequence[Record], after: Sequence[Record]) -> None:
        half = len(after) // 2
        for number, (old, new) in enumerate(zip(before, after, strict=True)):
            if new.born > old.born and number >= half and self._waiting:
                waiting = self._waiting.pop(0)
                if self.world.clock.now_us <= waiting.until_us:
                    self._come(waiting, number - half, number)
        for split in list(self._splits):
            halves = [after[number] for number in (split.first, split.second)]
            if not all(one.splitting for one in halves):
                self._splits.remove(split)
                if any(one.splitting for one in halves):
                    self.nemesis.later(0, lambda split=split: self._strike(split))  # type: ignore[misc]

    def _come(self, waiting: Waiting, first: int, second: int) -> None:
        """After a moment, or as soon as one half is open and the other is not."""
        random, plan = waiting.random, self.world.plan
        split = Split(waiting.fault, random, first, second)
        if random.random() < 0.6:
            self._splits.append(split)
            self._hold_up(random.choice((first, first, second)), random)  # the second one is mostly the later anyway
        else:
            step_us = plan.delay_us + plan.sync_us
            delay_us = int(random.random() * step_us * random.choice((0, 0, 1, 3, 8)))
            self.nemesis.later(delay_us, lambda: self._strike(split))

    def _hold_up(self, half: int, random: Random) -> None:
        """One half does not open before the other: its leader does not reach one who leads neither of them."""
        records = self.world.table.distributor.buckets
        leaders = [records[number].leader for number in (half, *self._beside(half))]
        others = [member for member in records[half].full if member not in leaders]
        if leaders[0] is not None and others:
            pair = [self.world.by_name[member.node] for member in (leaders[0], random.choice(others))]
            lease_us = self.world.plan.settings.consensus.lease_us
            self.nemesis.cut(_disguised(pair[:1]), _disguised(pair[1:]), int(random.uniform(0.2, 3) * lease_us))

    def _beside(self, half: int) -> list[int]:
        count = len(self.world.table.distributor.buckets) // 2
        return [half - count if half >= count else half + count]

    def _strike(self, split: Split) -> None:
        fault, random = split.fault, split.random
        if fault.kind == "power cut splitting":
            self._cut_power(random, split.first)
            return
        victims = self._victims(random, split.first, split.second)
        if fault.kind == "crash splitting":
            self.nemesis.crash(_disguised(victims), int(fault.length_us * random.choice((0.05, 0.3, 1))))
            return
        log = self.world.plan.settings.consensus
        for node in victims:
            away_us = int((log.lease_us + 2 * log.election_us) * random.uniform(1.0, 2.0))
            if not self._send_away(node, random.choice(WAYS), away_us):
                self._send_away(node, "down", away_us)

    def _send_away(self, node: Node, how: str, length_us: int) -> bool:
        """For longer than its lease. Says whether that could be."""
        world, nemesis, upheaval = self.world, self.nemesis, self.nemesis.cluster_upheaval
        (victim,) = _disguised([node])
        match how:
            case "down":
                return nemesis.crash([victim], length_us)
            case "cut off":
                return nemesis.cut([victim], _disguised([one for one in world.nodes if one is not node]), length_us)
            case "asleep":
                return nemesis.pause(victim, length_us)
            case "given up":
                member = world.table.distributor.slots.member(node.name)
                return member is not None and self._ambush.given_up(member)
            case "by itself":
                return upheaval.leave(node, length_us)
            case "wiped":
                return upheaval.wipe_one([node], length_us)
            case _:
                raise AssertionError(how)

    def _victims(self, random: Random, first: int, second: int) -> list[Node]:
        world = self.world
        one, other = (world.table.distributor.buckets[number] for number in (first, second))
        members = dict.fromkeys((*one.full, *other.full))
        draw = random.random()
        chosen: list[Member | None] = list(members)
        if one.splitting != other.splitting and draw < 0.8:
            chosen = [one.leader if one.splitting else other.leader]
        elif draw < 0.3:
            chosen = [one.leader]
        elif draw < 0.6:
            chosen = [other.leader]
        elif draw < 0.85:
            chosen = [random.choice([member for member in members if member != one.leader] or list(members))]
        return [world.by_name[member.node] for member in chosen if member is not None]

    def _cut_power(self, random: Random, first: int) -> None:
        """Everything goes out, or all who have the bucket; and comes back at once, or when these have departed."""
        world, log = self.world, self.world.plan.settings.consensus
        members = [world.by_name[member.node] for member in world.table.distributor.buckets[first].full]
        victims = random.choice((members, members, world.living))
        away_us = log.lease_us + 3 * log.election_us
        for number, victim in enumerate(random.sample(victims, len(victims))):
            length_us = random.randrange(400_000) if random.random() < 0.4 else away_us + number * 500_000
            self.nemesis.crash(_disguised([victim]), length_us)


def _disguised(nodes: Sequence[Node]) -> list[LogParticipant]:
    return [cast("LogParticipant", node) for node in nodes]
