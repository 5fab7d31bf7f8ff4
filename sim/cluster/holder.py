"""Somebody who holds on to a place in the log: moves along with what it reads, renews, lets go; or is not heard of any
more, and the hold has to end by itself.

One request of a name is under way at a time. Whoever gets no answer goes on under another name: what becomes of the
former one is not known.
"""

from random import Random
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from hansard.bookmark import Bookmark
from hansard.distributor.command import Configure
from hansard.participant.effect import AnswerHold
from hansard.participant.event import Hold, LetGo

if TYPE_CHECKING:
    from .node import Node
    from .world import World

PATIENCE_US: Final = 3_000_000
CLOCKS_US: Final = 2_000_000
"""The cluster's time is as near as that."""


class Granted(Struct, frozen=True):
    place: Bookmark
    until_us: int
    """By the simulation's clock, and at the least."""


class Holder:
    def __init__(self, world: "World", number: int) -> None:
        self.world = world
        self.number = number
        self.random = Random(world.plan.seed * 10 + number)
        """Its own, so that it changes nothing for others that it draws."""
        self.pace = self.random.choice((1, 1, 4))
        """Some move slowly, and hold for longer."""
        self.names = 0
        self.granted: Granted | None = None
        """What nobody may drop."""
        self._place: Bookmark | None = None
        """Where it is, whatever is held."""
        self._asked: dict[int, Granted | None] = {}
        """What is under way: a hold, or that it lets go."""

    @property
    def name(self) -> str:
        return f"holder {self.number}, name {self.names}"

    def act(self) -> None:
        world, random = self.world, self.random
        if world.producing:
            world.clock.after(self.pace * random.randrange(200_000, 2_000_000), self.act)
        nodes = [node for node in world.living if not node.paused]
        if self._asked or not nodes:
            return
        node = random.choice(nodes)
        match random.randrange(20):
            case 0:
                world.operator.order(Configure(retain_changes=random.choice((0, 5, 20, 60)), retain_bytes=0))
            case 1 | 2 if self.granted is not None:
                self._let_go(node)
            case 3 | 4:
                pass
            case 5:
                self.names += 1  # the one before is left to end by itself
                self.granted = self._place = None
            case _:
                self._hold(node)

    def _hold(self, node: "Node") -> None:
        assert node.core is not None
        table, random, world = node.core.distributor, self.random, self.world
        there = [number for number, record in enumerate(table.buckets) if record.level]
        if not there:
            return
        before = self._place
        if before is not None and any(bucket not in there for bucket in before.offsets):
            return  # this one has not heard of a split
        offsets: dict[int, int] = {}
        for bucket in there:
            ends = [node.disk.part(bucket).current.end for node in world.living]
            start = table.holds.floor(bucket) if before is None else before.offset(bucket) or 0
            forward = random.choice((0, 0, 3, 10, 40)) if random.random() < 0.98 else -5
            offsets[bucket] = max(0, min(start + forward, max(start, *ends)))
        if before is not None and random.random() < 0.3:  # it says the same again, whatever was split since
            offsets = dict(before.offsets)
        place = Bookmark(table.log, offsets)
        lasts_us = self.pace * random.choice((3_000_000, 5_000_000, 12_000_000))
        until_us = world.clock.now_us + lasts_us - CLOCKS_US
        if self.granted is not None:  # from now on it may be moved at any time
            both = {bucket: max(offset, self.granted.place.offset(bucket) or 0) for bucket, offset in offsets.items()}
            self.granted = Granted(Bookmark(table.log, both), min(self.granted.until_us, until_us))
        self._ask(node, Granted(place, until_us), Hold(world.next_number(), self.name, offsets, lasts_us))

    def _let_go(self, node: "Node") -> None:
        self.granted = None
        self._ask(node, None, LetGo(self.world.next_number(), self.name))

    def _ask(self, node: "Node", wanted: Granted | None, event: Hold | LetGo) -> None:
        self._asked[event.id] = wanted
        self.world.holders_asked[event.id] = self
        self.world.clock.after(PATIENCE_US, lambda: self._give_up(event.id))
        node.happen(event)

    def _give_up(self, id: int) -> None:
        if id in self._asked:
            self._asked.clear()
            self.names += 1
            self.granted = self._place = None

    def answered(self, answer: AnswerHold) -> None:
        wanted, counts = self._asked.pop(answer.id, None), self.world.coverage.counts
        if answer.refusal:
            counts["hold refused"] += 1
            counts["hold refused, not retained any more"] += "is retained from" in answer.refusal
            self._place = self.granted.place if self.granted is not None else None
        elif wanted is not None:
            counts["hold granted"] += 1
            self.granted, self._place = wanted, wanted.place

    def holds(self, bucket: int) -> int | None:
        """Nobody may drop anything of the bucket from here on."""
        over = self.granted is None or self.world.clock.now_us > self.granted.until_us
        if self.granted is None or over or self.world.leapt:
            return None
        return self.granted.place.offset(bucket) or 0
