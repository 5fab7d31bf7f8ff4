"""The state machine on the atomic log: facts in, a table out.

Everything here follows from the facts alone. What a departure makes necessary is done the moment it is told, for the
buckets that it touches; all that takes moving buckets is begun afterwards, a few at a time, and planned afresh from
what is there each time: there is no plan that could be out of date.
"""

from typing import assert_never

from msgspec.structs import replace

from . import transition, wishes
from .bucket import Bucket, State
from .command import Achievement, Grant, Names, Order, Report, Reports
from .fact import Arrived, Copy, Departed, Fact, Moved, Proposed, Upgraded
from .member import Member
from .placement import fresh
from .planner import plan
from .records import Records


class Distributor(Records):
    def apply(self, fact: Fact) -> None:
        match fact:
            case Arrived():
                self._arrived(fact)
            case Moved():
                if fact.member in self.slots.present:
                    self.slots.move(fact.member, fact.zone)
            case Departed():
                self._departed(fact.member)
            case Upgraded():
                self.rules = fact.rules
            case Proposed():
                if not self._proposed(fact):
                    return
            case _:
                assert_never(fact)
        self._settle()
        self.count_version()

    def _arrived(self, arrived: Arrived) -> None:
        member = arrived.member
        self.slots.arrive(member, arrived.zone)
        for copy in arrived.copies:
            if copy.intact and 0 <= copy.bucket < len(self.buckets):
                bucket = self.buckets[copy.bucket]
                if suffices(copy, bucket) and member not in bucket.returned:
                    # Where the log was made anew from an older copy, disks may know later epochs than it does.
                    last = max(bucket.epoch, copy.counted, copy.expanded)
                    epoch = last if bucket.leader is None else bucket.epoch
                    returned = (*bucket.returned, member)
                    self.put(copy.bucket, replace(bucket, epoch=epoch, returned=returned))

    def _departed(self, member: Member) -> None:
        if member not in self.slots.present:
            return
        slot = self.slots.depart(member)
        self.connections.forget(member)
        living = self.slots.present
        for number, bucket in enumerate(self.buckets):
            if member in bucket.full or member in bucket.newcomers or member in bucket.members + bucket.returned:
                self.put(number, transition.departed(bucket, member, slot, living))

    def _proposed(self, proposed: Proposed) -> bool:
        """Says whether anything may follow from it for the buckets."""
        member, command = proposed.member, proposed.command
        match command:
            case Reports():
                for report in command.reports:
                    self._reported(member, report)
                return True
            case Grant():
                self.connections.grant(member, command)
                return False
            case Names():
                self.connections.name(command, self.settings.memory_us)
                return False
            case Order():
                if command.id in self.orders:
                    return False
                wishes.take(self, command)
                return True
            case _:
                assert_never(command)

    def _reported(self, member: Member, report: Report) -> None:
        if not 0 <= report.bucket < len(self.buckets):
            return
        bucket = self.buckets[report.bucket]
        if bucket.leader != member:
            return
        match report.achievement:
            case Achievement.OPENED:
                bucket = transition.opened(bucket, report.epoch)
            case Achievement.EXPANDED:
                bucket = transition.expanded(bucket, report.epoch)
            case _:
                assert_never(report.achievement)
        self.put(report.bucket, bucket)

    # What follows from all of it.

    def _settle(self) -> None:
        self._tidy()
        self.slots.fill()
        self._place()
        self._grow()
        if wishes.ordered(self):  # they take room, and what is missing comes first
            self._begin_moves(missing_only=True)
        wishes.follow(self)
        self._begin_moves()

    def _tidy(self) -> None:
        """Vacancies that are filled, or have no place any more, are none; and places that nobody needs any more go. How
        many copies are wanted may follow from those that are left, so it is done until nothing goes."""
        while True:
            wanted, waiting = self.wanted, self.slots.waiting
            for number, bucket in enumerate(self.buckets):
                if bucket.vacant and (
                    len(bucket.copies) + len(bucket.vacant) > wanted or not waiting.issuperset(bucket.vacant)
                ):
                    self.put(number, replace(bucket, vacant=self._vacant(bucket, wanted)))
            slots = len(self.slots)
            if any(slot.holder is None or self.slots.leaving(slot.number) for slot in self.slots):
                missed = dict.fromkeys([slot for bucket in self.buckets for slot in bucket.vacant])
                self.slots.clear(missed, self.has_buckets)
            if len(self.slots) == slots:
                return

    def _vacant(self, bucket: Bucket, wanted: int) -> tuple[int, ...]:
        """What is missed in a bucket. A copy that is to go does not stand for one that is missed."""
        slots = self.slots
        standing = [number for number in bucket.vacant if number in slots and not slots.leaving(number)]
        if bucket.state is State.LOST:
            return tuple(standing)
        steady = bucket.state is State.STEADY
        missing = [number for number in standing if not (steady and slots[number].holder in bucket.full)]
        places = [slots.of(member) for member in bucket.copies if member.node not in slots.drained]
        there = [number for number in places if number not in missing]
        return tuple(missing[: max(0, wanted - len(there))])

    def _place(self) -> None:
        """Governments for buckets without one: the first ones for all of them at once, others where somebody has come
        back who has everything, or where there is nothing to have because none has ever opened."""
        founding = self.founding
        if founding is not None and len(self.slots.present) >= founding.participants:
            self.founding = None
            self.make(founding.buckets)
        leaderless = [number for number, bucket in enumerate(self.buckets) if bucket.leader is None]
        for number in leaderless:
            bucket = self.buckets[number]
            if bucket.returned:
                member = bucket.returned[0]
                slot = self.slots.of(member) or self.slots.grow(member)
                self.put(number, transition.revived(bucket, member, slot))
        waiting = [number for number in leaderless if self.buckets[number].opened == 0]
        if waiting:
            self._grow()
            if self.slots.eligible:
                for number, members in zip(waiting, fresh(len(waiting), self.slots, self.settings), strict=True):
                    self.put(number, transition.placed(self.buckets[number], members, self.settings.shape))

    def _grow(self) -> None:
        """Who waits for a slot gets one more, if there is something to put there and it is not held back."""
        while spares := self.slots.spares:
            standing, copies = self.slots.standing, self.settings.replication
            held_back = len(spares) <= self.settings.spares and standing >= copies
            if held_back or len(self.buckets) * min(copies, standing + 1) < standing + 1:
                return
            self.slots.grow(spares[0])

    def _begin_moves(self, *, missing_only: bool = False) -> None:
        room, settings = self.room, self.settings
        if room > 0 and self.buckets:
            ordered = wishes.ordered(self)
            what = (self.buckets, self.slots, settings, room)
            for number, goal in plan(*what, paused=self.paused, missing_only=missing_only, ordered=ordered):
                self.put(number, transition.moved(self.buckets[number], goal, settings.shape))


def suffices(copy: Copy, bucket: Bucket) -> bool:
    """Whether a copy surely has everything that was ever acknowledged in the bucket."""
    full = copy.counted >= bucket.opened
    grown = bucket.expanded == bucket.opened and copy.expanded >= bucket.opened
    return bucket.opened > 0 and (full or grown)
