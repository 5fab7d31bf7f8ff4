"""How long buckets could not acknowledge, in virtual time.

    touched    a member has departed: from the departure in the log until the leader of a later government opens
    moved      the bucket is on the move: from each appointment in the log until that government's leader opens

The time before the departure is in the log, which is the lease's, is not in it. A bucket that no departure touches has
no pause for it: by the entry of a departure it gets no other government, unless that begins a move; and a leader that
has opened stays open as long as the table has no later government for the bucket, and its participant is there.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hansard.consensus.content import Departed, Fact
from hansard.distributor.bucket import Bucket as Record
from hansard.distributor.bucket import State
from hansard.distributor.member import Member
from hansard.distributor.records import has
from sim.oracles.oracle import Violation

if TYPE_CHECKING:
    from .world import World

PROMISE = "a departure leaves other buckets alone"


class Pauses:
    def __init__(self, world: "World") -> None:
        self.world = world
        self.touched: list[int] = []
        self.moved: list[int] = []
        self.untouched = 0
        """Buckets that a departure did not concern."""
        self._since: dict[int, tuple[int, bool]] = {}
        """Since when a bucket waits for a leader that opens, and whether because of a departure."""

    def applied(self, fact: Fact | None, before: Sequence[Record], after: Sequence[Record]) -> None:
        gone = Member(fact.node, fact.incarnation) if isinstance(fact, Departed) else None
        now_us = self.world.clock.now_us
        for number, (old, new) in enumerate(zip(before, after, strict=False)):
            if gone is not None and not has(old, gone):
                self._left_alone(number, old, new)
            if new.epoch == old.epoch and new.leader == old.leader:
                continue
            if new.leader is None:
                self._since.pop(number, None)  # lost: that is another matter
            elif old.opened:
                since_us, departure = self._since.get(number, (now_us, False))
                self._since[number] = (since_us, departure or (gone is not None and has(old, gone)))

    def _left_alone(self, number: int, old: Record, new: Record) -> None:
        if old.state is not State.STEADY:
            return
        self.untouched += 1
        if new.epoch != old.epoch and not new.goal:
            raise Violation(PROMISE, f"bucket {number} was {old} and is {new}")

    def opened(self, number: int, epoch: int) -> None:
        """By its leader."""
        if number in self._since and self.world.table.distributor.buckets[number].epoch == epoch:
            since_us, departure = self._since.pop(number)
            (self.touched if departure else self.moved).append(self.world.clock.now_us - since_us)
