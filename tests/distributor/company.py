"""Participants as the distributor sees them: they come with what is on their disks, carry out what they are appointed
to, say so, and go. Every fact is followed by all invariants.

Each copy of a bucket is a number of changes. An acknowledged change is in every copy that counts; whoever opens a
government without having all of them has lost something, and the test fails.
"""

from collections.abc import Iterable
from copy import copy

from msgspec import Struct

from hansard.distributor.bucket import Bucket, State
from hansard.distributor.command import Achievement, Command, Found, Order, Report, Reports, Wish
from hansard.distributor.distributor import Distributor
from hansard.distributor.fact import Arrived, Copy, Departed, Fact, Moved, Proposed
from hansard.distributor.invariants import check_state, check_step, moment
from hansard.distributor.member import Member
from hansard.distributor.orders import Standing, Status
from hansard.distributor.settings import Settings


class Stored(Struct):
    """One copy."""

    counted: int = 0
    expanded: int = 0
    changes: int = 0
    level: int = 1


class Company:
    def __init__(self, every: int = 1) -> None:
        self.every = every
        """After how many facts the invariants are looked at: with a thousand buckets that takes its time."""
        self.distributor = Distributor()
        self.facts: list[Fact] = []
        self.incarnations: dict[str, int] = {}
        self.disks: dict[str, dict[int, Stored]] = {}
        self.acknowledged: dict[int, int] = {}
        self.ready: dict[int, tuple[int, Achievement]] = {}
        """What the leader of a bucket has achieved, and in which epoch; it may not have said so yet."""
        self.orders = 0
        self.moves = 0
        """How many were begun."""
        self.splits = 0

    def apply(self, fact: Fact) -> None:
        before = moment(self.distributor)
        self.facts.append(fact)
        self.distributor.apply(fact)
        if len(self.facts) % self.every == 0:
            check_state(self.distributor)
            check_step(before, self.distributor)
        for number in self.distributor.touched:
            old = before.buckets[number] if number < len(before.buckets) else Bucket()
            self.moves += self.distributor.buckets[number].goal not in ((), old.goal)
            if old.level == 0 and (level := self.distributor.buckets[number].level) and before.buckets:
                self.splits += 1
                self.acknowledged[number] = self.acknowledged.get(number - level // 2, 0)
        self.distributor.touched.clear()

    def clone(self) -> "Company":
        """One that goes another way from here."""
        other = Company()
        other.distributor.restore(self.distributor.image())
        other.distributor.touched.clear()
        other.incarnations = dict(self.incarnations)
        other.disks = {node: {n: copy(stored) for n, stored in disk.items()} for node, disk in self.disks.items()}
        other.acknowledged, other.ready = dict(self.acknowledged), dict(self.ready)
        other.orders = self.orders
        return other

    # Coming and going.

    def member(self, node: str) -> Member:
        return Member(node, self.incarnations[node])

    @property
    def here(self) -> list[str]:
        return [member.node for member in self.distributor.slots.present]

    def arrive(self, *nodes: str, zone: str = "", intact: bool = True) -> None:
        for node in nodes:
            self.incarnations[node] = self.incarnations.get(node, 0) + 1
            disk = self.disks.setdefault(node, {})
            copies = [brought(number, copy, intact=intact) for number, copy in sorted(disk.items())]
            self.apply(Arrived(self.member(node), zone, tuple(copies)))

    def bring(self, node: str, *copies: Copy) -> None:
        """It arrives, and says that it has these, whatever is on its disk."""
        self.incarnations[node] = self.incarnations.get(node, 0) + 1
        self.disks.setdefault(node, {})
        self.apply(Arrived(self.member(node), "", copies))

    def depart(self, *nodes: str) -> None:
        for node in nodes:
            self.apply(Departed(self.member(node)))

    def move(self, node: str, zone: str) -> None:
        self.apply(Moved(self.member(node), zone))

    # Saying something.

    def propose(self, command: Command, node: str = "") -> None:
        self.apply(Proposed(self.member(node or self.here[0]), command))

    def order(self, wish: Wish, id: str = "") -> str:
        self.orders += 1
        id = id or f"order {self.orders}"
        self.propose(Order(id, wish))
        return id

    def found(self, buckets: int, settings: Settings | None = None, *, participants: int = 1) -> str:
        return self.order(Found(buckets, settings or Settings(), participants))

    def status(self, id: str) -> Status:
        status = self.distributor.orders.get(id)
        assert status is not None
        return status

    def standing(self, id: str) -> Standing:
        return self.status(id).standing

    def report(self, number: int, achievement: Achievement, *, epoch: int = 0, node: str = "") -> None:
        bucket = self.distributor.buckets[number]
        leader = node or (bucket.leader.node if bucket.leader else self.here[0])
        self.propose(Reports((Report(number, epoch or bucket.epoch, achievement),)), leader)

    # Carrying out.

    def copy(self, member: Member, number: int) -> Stored:
        disk, whole = self.disks[member.node], number
        while whole not in disk and whole:
            whole -= 1 << whole.bit_length() - 1
        self._fork(disk, whole)
        return disk.setdefault(number, Stored(level=self.distributor.buckets[number].level))

    def fork(self, node: str) -> None:
        """It has learned of all splits: its copies are those of the halves now."""
        for number in sorted(self.disks[node]):
            self._fork(self.disks[node], number)

    def _fork(self, disk: dict[int, Stored], number: int) -> None:
        buckets, stored = self.distributor.buckets, disk.get(number)
        if stored is not None and number < len(buckets) and buckets[number].level > stored.level:
            for half in range(number + stored.level, len(buckets), stored.level):
                if buckets[half].level and half not in disk:
                    disk[half] = copy(stored)
                    disk[half].level = buckets[half].level
            stored.level = buckets[number].level

    def due(self, number: int) -> Achievement | None:
        """What the leader has to do next."""
        bucket = self.distributor.buckets[number]
        if bucket.leader is None:
            return None
        if bucket.opened < bucket.epoch:
            return Achievement.OPENED
        return Achievement.EXPANDED if bucket.state is State.EXPANDING else None

    def achieve(self, number: int) -> None:
        """All members, or all newcomers, have what the leader has; nobody has been told yet."""
        due, bucket = self.due(number), self.distributor.buckets[number]
        if due is None or bucket.leader is None or self.ready.get(number) == (bucket.epoch, due):
            return
        source = self.copy(bucket.leader, number)
        if due is Achievement.OPENED:
            assert source.changes >= self.acknowledged.get(number, 0), f"bucket {number} has lost changes"
        for member in bucket.members if due is Achievement.OPENED else bucket.newcomers:
            stored = self.copy(member, number)
            stored.changes = source.changes
            if due is Achievement.OPENED:
                stored.counted = bucket.epoch
            else:
                stored.expanded = bucket.epoch
        self.ready[number] = (bucket.epoch, due)

    def restart(self, number: int) -> None:
        """The leader's process; that it has expanded was not on its disk, and it goes on without the newcomers."""
        if self.due(number) is Achievement.EXPANDED:
            self.ready.pop(number, None)

    def announce(self, numbers: Iterable[int]) -> None:
        """What these have achieved, one fact for each leader."""
        reports: dict[Member, list[Report]] = {}
        for number in numbers:
            due, bucket = self.due(number), self.distributor.buckets[number]
            if bucket.leader is not None and due is not None and self.ready.get(number) == (bucket.epoch, due):
                reports.setdefault(bucket.leader, []).append(Report(number, bucket.epoch, due))
        for member, said in reports.items():
            self.apply(Proposed(member, Reports(tuple(said))))

    def write(self, number: int) -> bool:
        """Acknowledge a change, if that may be."""
        bucket = self.distributor.buckets[number]
        if bucket.leader is None or bucket.opened < bucket.epoch:
            return False
        expanded = self.ready.get(number) == (bucket.epoch, Achievement.EXPANDED)
        everybody = dict.fromkeys((*bucket.full, *(bucket.newcomers if expanded else ())))
        changes = self.copy(bucket.leader, number).changes + 1
        for member in everybody:
            self.copy(member, number).changes = changes
        self.acknowledged[number] = changes
        return True

    def write_late(self, number: int) -> bool:
        """Acknowledge one in the government before, as long as nobody of it has heard of the next; before a split that
        is the one of both halves."""
        bucket = self.distributor.buckets[number]
        if bucket.leader is None or not bucket.opened or bucket.opened == bucket.epoch:
            return False
        level = bucket.level // 2 if bucket.splitting else bucket.level
        numbers = (number % level, number % level + level) if bucket.splitting else (number,)
        copies = []
        for member in bucket.full:
            stored = self.disks[member.node].get(numbers[0])
            counts = stored is not None and bucket.opened in (stored.counted, stored.expanded)
            if stored is None or not counts or stored.level != level or self.member(member.node) != member:
                return False
            copies.append(stored)
        changes = max([stored.changes for stored in copies]) + 1
        for stored in copies:
            stored.changes = changes
        self.acknowledged.update(dict.fromkeys(numbers, changes))
        return True

    def step(self, number: int) -> None:
        self.achieve(number)
        self.announce([number])
        self.write(number)

    def settle(self, facts_max: int = 100_000) -> int:
        """Until nobody has anything to do; says how many facts that took."""
        begun = len(self.facts)
        while due := [number for number in range(len(self.distributor.buckets)) if self.due(number) is not None]:
            for number in due:
                self.achieve(number)
            self.announce(due)
            for number in due:
                self.write(number)
            assert len(self.facts) - begun < facts_max, "it does not come to rest"
        return len(self.facts) - begun

    # Looking.

    def nodes(self, number: int) -> list[str]:
        """Who has a bucket, the leader first."""
        bucket = self.distributor.buckets[number]
        others = [member.node for member in bucket.kept if member != bucket.leader]
        return [bucket.leader.node, *others] if bucket.leader else []

    def loads(self) -> dict[str, int]:
        """Copies of everybody who may have some."""
        found = {slot.node: 0 for slot in self.distributor.slots.eligible}
        for number in range(len(self.distributor.buckets)):
            for node in self.nodes(number):
                found[node] = found.get(node, 0) + 1
        return found

    def leads(self) -> dict[str, int]:
        found = {slot.node: 0 for slot in self.distributor.slots.eligible}
        for number in range(len(self.distributor.buckets)):
            for node in self.nodes(number)[:1]:
                found[node] = found.get(node, 0) + 1
        return found

    def states(self) -> set[State]:
        return {bucket.state for bucket in self.distributor.buckets}

    def levels(self) -> list[int]:
        return [bucket.level for bucket in self.distributor.buckets]

    def steady(self) -> bool:
        return self.states() == {State.STEADY}

    def balanced(self) -> bool:
        return width(self.loads()) <= 1 and width(self.leads()) <= 1


def brought(number: int, stored: Stored, *, intact: bool = True) -> Copy:
    promised = max(stored.counted, stored.expanded)
    return Copy(number, stored.counted, stored.changes, intact, stored.expanded, stored.level, promised)


def width(counts: dict[str, int]) -> int:
    return max(counts.values()) - min(counts.values())


def company(
    nodes: Iterable[str], buckets: int, replication: int = 3, *, moves_max: int = 1, spares: int = 0, every: int = 1
) -> Company:
    """These, founded and come to rest."""
    found = Company(every)
    found.arrive(*nodes)
    found.found(buckets, Settings(replication=replication, moves_max=moves_max, spares=spares))
    found.settle()
    return found


def names(count: int) -> list[str]:
    return [f"n{number:02}" for number in range(1, count + 1)]
