"""How long buckets could not acknowledge, in virtual time.

    touched    a member has departed: from the departure in the log until the leader of a later government opens
    moved      the bucket is on the move: from each appointment in the log until that government's leader opens
    split      the bucket was split: from that in the log until the leader opens, of either half

The time before the departure is in the log, which is the lease's, is not in it. A bucket that no departure touches has
no pause for it: by the entry of a departure it gets no other government, unless that begins a move or a split; and a
leader that has opened stays open as long as the table has no later government for the bucket, and its participant is
there.

A split takes as long however much is in the bucket, because nothing of that is copied: of each of these pauses it is
noted where the log ended.
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from hansard.consensus.content import Departed, Fact
from hansard.distributor.bucket import Bucket as Record
from hansard.distributor.bucket import State
from hansard.distributor.member import Member
from hansard.distributor.records import has
from sim.oracles.oracle import Violation

if TYPE_CHECKING:
    from .world import World

PROMISE = "a departure leaves other buckets alone"


class Cause(IntEnum):
    """Of several the last one counts."""

    MOVE = 0
    SPLIT = 1
    DEPARTURE = 2


class Wait(Struct, frozen=True):
    since_us: int
    cause: Cause


class Pauses:
    def __init__(self, world: "World") -> None:
        self.world = world
        self.touched: list[int] = []
        self.moved: list[int] = []
        self.split: list[tuple[int, int]] = []
        """With where the log ended."""
        self.untouched = 0
        """Buckets that a departure did not concern."""
        self._waiting: dict[int, Wait] = {}
        """Buckets that wait for a leader that opens."""

    def applied(self, fact: Fact | None, before: Sequence[Record], after: Sequence[Record]) -> None:
        gone = Member(fact.node, fact.incarnation) if isinstance(fact, Departed) else None
        now_us = self.world.clock.now_us
        for number, (old, new) in enumerate(zip(before, after, strict=True)):
            if gone is not None and not has(old, gone):
                self._left_alone(number, old, new)
            if new.epoch == old.epoch and new.leader == old.leader:
                continue
            split = new.level != old.level and new.born > 0
            if new.leader is None:
                self._waiting.pop(number, None)  # lost: that is another matter
            elif old.opened or split:
                cause = Cause.SPLIT if split else Cause.MOVE
                if gone is not None and has(old, gone):
                    cause = Cause.DEPARTURE
                before_it = self._waiting.get(number, Wait(now_us, cause))
                self._waiting[number] = Wait(before_it.since_us, max(cause, before_it.cause))

    def _left_alone(self, number: int, old: Record, new: Record) -> None:
        if old.state is not State.STEADY:
            return
        self.untouched += 1
        if new.epoch != old.epoch and not new.goal and new.level == old.level:
            raise Violation(PROMISE, f"bucket {number} was {old} and is {new}")

    def opened(self, number: int, epoch: int) -> None:
        """By its leader."""
        if number not in self._waiting or self.world.table.distributor.buckets[number].epoch != epoch:
            return
        wait = self._waiting.pop(number)
        pause_us = self.world.clock.now_us - wait.since_us
        match wait.cause:
            case Cause.MOVE:
                self.moved.append(pause_us)
            case Cause.SPLIT:
                self.split.append((pause_us, self.world.buckets[number].sequence.end))
            case Cause.DEPARTURE:
                self.touched.append(pause_us)
