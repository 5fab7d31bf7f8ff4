"""What happened to splits in a run, and how often: who went at which stage of one, what they came back from, and what
else was under way."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from hansard.bookmark import parent
from hansard.consensus.content import Arrived, Departed, Fact
from hansard.distributor import fact as inventory
from hansard.distributor.bucket import Bucket as Record
from hansard.distributor.bucket import State
from hansard.distributor.member import Member
from hansard.distributor.records import has
from hansard.participant.effect import Fork

if TYPE_CHECKING:
    from .node import Node
    from .world import World

STAGES: Final = ("both halves to open", "one half open")
ROLES: Final = ("first leader", "second leader", "member")
WAYS: Final = ("down", "without its disk", "cut off", "asleep", "by itself", "given up")
"""How somebody is when its departure is in the log."""
FORKED: Final = ("nobody", "some", "everybody")
REQUIRED: Final = (
    *[f"split, {stage}: {role} {went}" for stage in STAGES for role in ROLES for went in ("crashed", "departed")],
    *[f"split under way: departed {way}" for way in WAYS],
    *[f"split, {who} forked: {went}" for who in FORKED for went in ("crash", "departure")],
    "split to come: departure",
    "split to come: crash",
    *[f"split, {stage}: half lost" for stage in STAGES],
    "lost half came back from a copy of its own",
    "lost half came back from one that was not split",
    "forked after a restart",
    "crash between a fork and what follows it",
    "doubling finished",
    "split beside a move",
    "split during a drain",
    "split while moves are paused",
    "batch cut into several",
    "several batches cut anew",
    "two splits learned at once",
    "answer Misplaced",
    "bookmark split",
    "page asked of another level",
    "reader met an older table",
    "reader went back across a split",
    "fault reboot",
    *[f"reboot {disk} disk, of {node}" for disk in ("without a", "with an empty") for node in "abc"],
    "reboot without a disk, the log's leader's",
    "reboot without a disk, a bucket's leader's",
    "reboot with an empty disk, the log's leader's",
    "reboot with an empty disk, a bucket's leader's",
    "reboot while a bucket is split",
)


class Splits:
    def __init__(self, world: "World", counts: Counter[str]) -> None:
        self.world = world
        self.counts = counts

    def committed(self, fact: Fact | None, before: Sequence[Record], after: Sequence[Record]) -> None:
        if isinstance(fact, Departed):
            self._departed(Member(fact.node, fact.incarnation), before, after)
        elif isinstance(fact, Arrived):
            self._arrived(fact, before, after)
        table, counts = self.world.table.distributor, self.counts
        for old, new in zip(before, after, strict=True):
            if new.born > old.born and not old.level:
                counts["split"] += 1
                counts["split beside a move"] += any(other.goal for other in after)
                counts["split during a drain"] += bool(table.slots.drained)
                counts["split while moves are paused"] += table.paused

    def _departed(self, gone: Member, before: Sequence[Record], after: Sequence[Record]) -> None:
        for number, stage in _under_way(before):
            old, new = before[number], after[number]
            if has(old, gone):
                self.counts[f"split, {stage}: {_role(number, old, gone)} departed"] += 1
                self.counts[f"split, {stage}: half lost"] += new.leader is None and old.leader is not None
                self.counts[f"split, {stage}: departed {self.way(gone)}"] += 1
                self.counts[f"split under way: departed {self.way(gone)}"] += 1
                self.counts[f"split, {self.who_forked(number, old)} forked: departure"] += 1
        self.counts["split to come: departure"] += any(has(before[number], gone) for number in _to_come(before))

    def _arrived(self, arrived: Arrived, before: Sequence[Record], after: Sequence[Record]) -> None:
        own = {copy.bucket for copy in inventory.decode(arrived.inventory)}
        for number, stage in _under_way(before):
            if before[number].state is State.LOST and after[number].state is not State.LOST:
                what = "a copy of its own" if number in own else "one that was not split"
                self.counts[f"lost half came back from {what}"] += 1
                self.counts[f"split, {stage}: lost half came back"] += 1

    def crashed(self, node: "Node") -> None:
        records = self.world.table.distributor.buckets
        members = [member for record in records for member in record.full if member.node == node.name]
        if members:
            me = members[0]
            for number, stage in _under_way(records):
                if me in records[number].full:
                    self.counts[f"split, {stage}: {_role(number, records[number], me)} crashed"] += 1
                    self.counts[f"split, {self.who_forked(number, records[number])} forked: crash"] += 1
            self.counts["split to come: crash"] += any(me in records[number].full for number in _to_come(records))

    def way(self, gone: Member) -> str:
        world = self.world
        node = world.by_name[gone.node]
        if not node.disk.parts:
            return "without its disk"
        if node.core is None:
            return "down"
        if node.paused:
            return "asleep"
        if node.leaving:
            return "by itself"
        cut = any(count and node.name in link for link, count in world.network.cuts.items())
        return "cut off" if cut else "given up"

    def who_forked(self, number: int, record: Record) -> str:
        """Who of a half's members have the second one's copy on disk."""
        half = record.level // 2
        second = number if number >= half else number + half
        disks = [self.world.by_name[member.node].disk for member in record.full]
        there = [second in disk.parts and not disk.parts[second].synced.empty for disk in disks]
        return FORKED[2] if all(there) else FORKED[any(there)]

    def forked(self, node: "Node", fork: Fork) -> None:
        (birth, *_) = self.world.buckets[fork.child].births
        self.counts["fork"] += 1
        self.counts["forked after a restart"] += birth.at_us < node.started_us


def _under_way(records: Sequence[Record]) -> Iterator[tuple[int, str]]:
    """Halves that have not opened, and at which stage their split is."""
    half = len(records) // 2
    for number, record in enumerate(records):
        if record.splitting:
            other = records[number - half if number >= half else number + half]
            yield number, STAGES[not other.splitting]


def _to_come(records: Sequence[Record]) -> list[int]:
    """Buckets that are to be split, and are not yet."""
    return [parent(number) for number, record in enumerate(records) if not record.level]


def _role(number: int, record: Record, member: Member) -> str:
    if record.leader != member:
        return "member"
    return "first leader" if number < record.level // 2 else "second leader"
