"""Where a bucket can be read: at any member, the nearest first; for sure, only where its leader says so."""

from typing import Final

from crc32c import crc32c
from msgspec import Struct

from hansard.distributor.member import Member
from hansard.phaser import event as phaser
from hansard.phaser.outcome import Busy, Expired, Importing, Misplaced, NotLeader, ReadFrom, ReadOutcome

from .copies import Copies
from .effect import AnswerRead, ReadAt
from .event import Read
from .here import Here
from .message import Process, ReadHop, ReadHopAnswer

READS_MAX: Final = 20_000
WAIT_US_MAX: Final = 3600 * 1_000_000


class Asked(Struct, frozen=True, gc=False):
    id: int
    """The client's, or the asking node's number."""
    node: str
    """Who asked; empty for a client of ours."""
    process: Process
    bucket: int
    deadline_us: int


class Reading:
    def __init__(self, here: Here, copies: Copies) -> None:
        self._here = here
        self._copies = copies
        self._number = 0
        self._asked: dict[int, Asked] = {}
        self._spread = crc32c(here.node.encode())
        """Counts on, so that not all readers are sent to the same member, nor all nodes' first ones."""

    def read(self, read: Read) -> None:
        here = self._here
        buckets = here.distributor.buckets
        if not 0 <= read.bucket < len(buckets) or not buckets[read.bucket].level:
            outcome = Misplaced(len(buckets)) if buckets else Expired()
            here.effects.append(AnswerRead(read.id, outcome, here.retry_us()))
            return
        record = buckets[read.bucket]
        if not record.opened and here.distributor.precious(read.bucket):
            here.effects.append(AnswerRead(read.id, Importing(), here.retry_us()))
            return
        leader, epoch = record.leader, record.epoch
        if not read.linear and read.question is None:
            self._read_anywhere(read)
        elif leader is None or (leader.node == here.node and leader != here.member):
            here.effects.append(AnswerRead(read.id, NotLeader(None, epoch), here.retry_us()))
        elif len(self._asked) >= READS_MAX:
            here.effects.append(AnswerRead(read.id, Busy(), here.retry_us()))
        else:
            self._number += 1
            self._asked[self._number] = Asked(read.id, "", here.process, read.bucket, read.deadline_us)
            if leader == here.member:
                self._ask_here(read.bucket, read.deadline_us, read.question)
            else:
                wait_us = read.deadline_us - here.now_us
                here.send(leader.node, ReadHop(here.process, self._number, read.bucket, wait_us, read.question))

    def _ask_here(self, bucket: int, deadline_us: int, question: phaser.Question | None) -> None:
        if not self._copies.happen(bucket, phaser.Read(self._number, deadline_us, question)):
            self.answered(self._number, NotLeader(None, 0))

    def _read_anywhere(self, read: Read) -> None:
        here = self._here
        record = here.distributor.buckets[read.bucket]
        copy = self._copies.running.get(read.bucket)
        if here.member in record.full and copy is not None and copy.phaser is not None:
            committed = copy.phaser.ledger.committed
            here.effects.append(AnswerRead(read.id, ReadAt(here.node, here.address(here.node), committed)))
            return
        member = self._nearest(record.full)
        if member is None:
            here.effects.append(AnswerRead(read.id, NotLeader(None, record.epoch), here.retry_us()))
        else:
            here.effects.append(AnswerRead(read.id, ReadAt(member.node, here.address(member.node), None)))

    def _nearest(self, members: tuple[Member, ...]) -> Member | None:
        """In our zone if there is one; among several, not everybody the same."""
        slots, here = self._here.distributor.slots, self._here
        there = [member for member in members if member in slots.present and member != here.member]
        zone = slots.zone(here.member) if here.member in slots.present and here.member is not None else ""
        near = [member for member in there if slots.zone(member) == zone] or there
        self._spread += 1
        return near[self._spread % len(near)] if near else None

    # What hops.

    def hopped(self, sender: str, hop: ReadHop) -> None:
        here = self._here
        buckets = here.distributor.buckets
        leader = buckets[hop.bucket].leader if 0 <= hop.bucket < len(buckets) else None
        if leader is None or leader != here.member:
            epoch = buckets[hop.bucket].epoch if 0 <= hop.bucket < len(buckets) else 0
            refusal = NotLeader(str(leader) if leader else None, epoch)
            here.send(sender, ReadHopAnswer(hop.process, hop.number, refusal))
        elif len(self._asked) >= READS_MAX:
            here.send(sender, ReadHopAnswer(hop.process, hop.number, Busy()))
        else:
            self._number += 1
            deadline_us = here.now_us + min(hop.wait_us, WAIT_US_MAX)
            self._asked[self._number] = Asked(hop.number, sender, hop.process, hop.bucket, deadline_us)
            self._ask_here(hop.bucket, deadline_us, hop.question)

    def hop_answered(self, sender: str, answer: ReadHopAnswer) -> None:
        ours = answer.process == self._here.process
        asked = self._asked.get(answer.number) if ours else None
        if asked is not None and not asked.node:
            del self._asked[answer.number]
            self._tell(asked, sender, answer.outcome)

    def answered(self, number: int, outcome: ReadOutcome) -> None:
        """By a phaser here."""
        asked = self._asked.pop(number, None)
        if asked is not None:
            self._tell(asked, self._here.node, outcome)

    def _tell(self, asked: Asked, node: str, outcome: ReadOutcome) -> None:
        here = self._here
        if asked.node:
            here.send(asked.node, ReadHopAnswer(asked.process, asked.id, outcome))
        elif isinstance(outcome, ReadFrom):
            found = ReadAt(node, here.address(node), outcome.committed, outcome.answer)
            here.effects.append(AnswerRead(asked.id, found))
        else:
            here.effects.append(AnswerRead(asked.id, outcome, here.retry_us()))

    def stopped(self, buckets: list[int]) -> None:
        """The phasers here were given up: whoever they were asked by asks elsewhere."""
        gone = set(buckets)
        for number in [number for number, asked in self._asked.items() if asked.bucket in gone]:
            self.answered(number, NotLeader(None, 0))

    def tick(self) -> None:
        now_us = self._here.now_us
        for number in [number for number, asked in self._asked.items() if asked.deadline_us <= now_us]:
            self._tell(self._asked.pop(number), self._here.node, Expired())
