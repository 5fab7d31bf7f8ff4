"""The state machine on the atomic log: facts in, a table out.

Everything here follows from the facts alone. What a departure makes necessary is done the moment it is told, for the
buckets that it touches; all that takes moving buckets is begun afterwards, a few at a time, and planned afresh from
what is there each time: there is no plan that could be out of date.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import assert_never

from msgspec.structs import replace

from . import transition, wishes
from .bucket import Bucket, State
from .command import Achievement, Grant, Hold, LetGo, Names, Order, Report, Reports, Resign, Retire
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
            for number in stands_for(copy, self.buckets):
                bucket = self.buckets[number]
                enough = suffices(copy, bucket) or self._imported(copy, number)
                if copy.intact and enough and member not in bucket.returned:
                    bucket = replace(bucket, returned=(*bucket.returned, member))
                known = max(copy.promised, copy.counted, copy.expanded)
                self.put(number, transition.raised(bucket, known) if known > bucket.epoch else bucket)

    def _imported(self, copy: Copy, number: int) -> bool:
        """Whether a copy has all of what was imported into a bucket that has never opened: it counted in its last
        government, or has it up to where it ends."""
        bucket = self.buckets[number]
        if bucket.opened or not self.precious(number):
            return False
        return copy.counted >= bucket.epoch or (not self.importing and copy.end >= self.ends[number])

    def _departed(self, member: Member) -> None:
        if member not in self.slots.present:
            return
        slot = self.slots.depart(member)
        self.connections.forget(member)
        self.retiring.pop(member, None)
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
                if self.connecting:
                    self.connections.grant(member, command)
                return False
            case Names():
                if self.connecting:
                    self.connections.name(command, self.settings.memory_us)
                return False
            case Resign():
                return self._resign(member, going=command.going)
            case Hold():
                self.holds.hold(command, self.buckets)
                return False
            case LetGo():
                self.holds.let_go(command)
                return False
            case Retire():
                self.holds.retire(member, command, self.buckets, self.settings)
                return False
            case Order():
                if command.id in self.orders:
                    return False
                wishes.take(self, command)
                return True
            case _:
                assert_never(command)

    def _resign(self, member: Member, *, going: bool) -> bool:
        """Says whether that is news. It stays a member where it is one: what it has may be needed."""
        if (member in self.retiring) is going or member not in self.slots.present:
            return False
        if not going:
            del self.retiring[member]
            return True
        self.retiring[member] = None
        leads = Counter([bucket.lead for bucket in self.buckets])
        for number, bucket in enumerate(self.buckets):
            heirs = [heir for heir in bucket.kept if heir in self.slots.present and heir not in self.retiring]
            if heirs and (member in (bucket.leader, bucket.lead) or member in bucket.newcomers):
                heir = min(heirs, key=lambda each: (each.node in self.slots.drained, leads[each]))
                leads[heir] += bucket.leader == member
                self.put(number, transition.handed_over(bucket, member, heir))
        return True

    def _reported(self, member: Member, report: Report) -> None:
        if not 0 <= report.bucket < len(self.buckets):
            return
        bucket = self.buckets[report.bucket]
        if bucket.leader != member:
            return
        match report.achievement:
            case Achievement.OPENED if self.importing:
                return
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
        self._split()

    def _tidy(self) -> None:
        """Vacancies that are filled, or have no place any more, are none; and places that nobody needs any more go. How
        many copies are wanted may follow from those that are left, so it is done until nothing goes."""
        while True:
            wanted, waiting = self.wanted, self.slots.waiting
            for number in self.census.vacant:
                bucket = self.buckets[number]
                if len(bucket.copies) + len(bucket.vacant) > wanted or not waiting.issuperset(bucket.vacant):
                    self.put(number, replace(bucket, vacant=self._vacant(bucket, wanted)))
            slots = len(self.slots)
            if any(slot.holder is None or self.slots.leaving(slot.number) for slot in self.slots):
                missed = dict.fromkeys([slot for number in self.census.vacant for slot in self.buckets[number].vacant])
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
        back who has everything, or where there is nothing to have because none has ever opened and nothing was
        imported."""
        founding = self.founding
        if founding is not None and len(self.slots.present) >= founding.participants:
            self.founding = None
            self.make(founding)
        leaderless = self.census.leaderless
        for number in leaderless:
            bucket = self.buckets[number]
            if bucket.returned:
                member = bucket.returned[0]
                slot = self.slots.of(member) or self.slots.grow(member)
                self.put(number, transition.revived(bucket, member, slot))
        waiting = [number for number in leaderless if not self.precious(number)]
        if waiting:
            self._grow()
            if self.slots.eligible:
                for number, members in zip(waiting, fresh(len(waiting), self.slots, self.settings), strict=True):
                    self.put(number, transition.placed(self.buckets[number], members, self.settings.shape))

    def _grow(self) -> None:
        """Who waits for a slot gets one more, if there is something to put there and it is not held back."""
        buckets = len(self.buckets) - len(self.census.idle)
        while spares := self.slots.spares:
            standing, copies = self.slots.standing, self.settings.replication
            held_back = len(spares) <= self.settings.spares and standing >= copies
            if held_back or buckets * min(copies, standing + 1) < standing + 1:
                return
            self.slots.grow(spares[0])

    def _begin_moves(self, *, missing_only: bool = False) -> None:
        """While somebody is about to stop, only what is missing is moved."""
        room, settings = self.room, self.settings
        missing_only = missing_only or bool(self.retiring)
        if room > 0 and self.buckets:
            ordered = wishes.ordered(self)
            what = (self.buckets, self.slots, settings, room)
            paused = self.paused or self.doubling  # halves are moved when all are there
            for number, goal in plan(*what, paused=paused, missing_only=missing_only, ordered=ordered):
                self.put(number, transition.moved(self.buckets[number], goal, settings.shape))

    def _split(self) -> None:
        """The next ones of those that are still whole, in their order; what is lost or on the move comes later."""
        half, drained = len(self.buckets) // 2, self.slots.drained
        numbers = [number for number in self.whole if self.buckets[number].state is State.STEADY][: max(0, self.room)]
        leads = Counter([bucket.lead for bucket in self.buckets] if numbers else ())
        for number in numbers:
            parent = self.buckets[number]
            # Who leads least, the first one of several; nobody who is to go if others stay.
            leader = min(parent.full, key=lambda one: (one.node in drained or one in self.retiring, leads[one]))
            leads[leader] += 1
            first, second = transition.split(parent, number, 2 * half, leader)
            self.put(number, first)
            self.put(number + half, second)
            self.holds.split(number, number + half)


def stands_for(copy: Copy, buckets: Sequence[Bucket]) -> Iterator[int]:
    """The buckets of which a copy may have everything: its own, and those that were split off from it since."""
    level = max(copy.level, 1 << copy.bucket.bit_length())  # a half that was not noted as one yet is one
    if copy.bucket < 0 or level.bit_count() != 1:
        return
    for number in range(copy.bucket, len(buckets), level):
        if buckets[number].level and (number == copy.bucket or buckets[number].born):
            yield number


def suffices(copy: Copy, bucket: Bucket) -> bool:
    """Whether a copy surely has everything that was ever acknowledged in the bucket."""
    full = copy.counted >= bucket.opened
    grown = bucket.expanded == bucket.opened and copy.expanded >= bucket.opened
    return bucket.opened > 0 and (full or grown) and copy.level <= bucket.level
