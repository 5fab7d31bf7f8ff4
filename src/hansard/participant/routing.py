"""The way of a submission to its bucket's leader, and of the answer back.

    parked   its bucket has no leader, or the table that says who leads is not here yet; it waits, in order
    local    a phaser here has it
    away     it hopped to the leader's node, which answers to where it came from

A submission that is refused because somebody else leads was certainly not stored by that attempt, so it goes on from
here to whoever does. Tables have versions: whoever gets a hop from one with a newer table waits for that table, so two
nodes that disagree do not send anything to and fro. What is parked is not overtaken by what comes later for the same
bucket: one client's changes stay in order.
"""

from collections import deque
from collections.abc import Callable
from enum import Enum, auto
from typing import Final

from msgspec import Struct

from hansard.batch import Batch
from hansard.phaser import event as phaser
from hansard.phaser.event import Continues
from hansard.phaser.outcome import Busy, Expired, Misplaced, NotLeader, Outcome, Unknown

from .copies import Copies
from .effect import Answer
from .event import Submit
from .here import Here
from .hops import Seen
from .message import Hop, HopAnswer

SESSION_BITS: Final = 40
"""Numbers of one process; those of the next are all higher."""


class Client(Struct, frozen=True, gc=False):
    """It came from a client of ours, under this id."""

    id: int


class Origin(Struct, frozen=True, gc=False):
    """It hopped here."""

    node: str
    number: int
    hops: int


class Place(Enum):
    PARKED = auto()
    LOCAL = auto()
    AWAY = auto()


class Held(Struct):
    source: Client | Origin
    bucket: int
    batch: Batch
    deadline_us: int
    buckets: int
    continues: Continues | None
    place: Place = Place.PARKED
    until_us: int = 0
    """While it is parked: no longer than that."""
    again_us: int = 0
    """While it is parked: then it is tried again, whatever is known."""
    version: int = 0
    """While it is parked: the table that it waits for."""
    epoch: int = 0
    """And the bucket's epoch."""


class Router:
    def __init__(self, here: Here, copies: Copies, session: int) -> None:
        self._here = here
        self._copies = copies
        self._number = session << SESSION_BITS
        self.local: dict[int, Held] = {}
        self.away: dict[str, dict[int, Held]] = {}
        """By the node that was asked."""
        self.parked: dict[int, deque[Held]] = {}
        """By bucket."""
        self._seen: dict[str, Seen] = {}
        self.count = 0
        self.bytes = 0
        self.met_newer = 0
        """Hops that met a table newer than the sender's, or the receiver's."""

    # Coming in.

    def submit(self, submit: Submit) -> None:
        source = Client(submit.id)
        held = Held(source, submit.bucket, submit.batch, submit.deadline_us, submit.buckets, submit.continues)
        self._take(held)

    def hopped(self, hop: Hop) -> None:
        seen = self._seen.setdefault(hop.origin, Seen())
        if not seen.first(hop.number, hop.hops):
            return
        source = Origin(hop.origin, hop.number, hop.hops)
        deadline_us = self._here.now_us + hop.wait_us
        held = Held(source, hop.bucket, hop.batch, deadline_us, hop.buckets, hop.continues)
        if hop.version > self._here.distributor.version:
            self.met_newer += 1
            held.version = hop.version
        self._take(held)

    def _take(self, held: Held) -> None:
        settings, length = self._here.settings, held.batch.length
        self.count += 1
        self.bytes += length
        if self.count > settings.held_count_max or self.bytes > settings.held_bytes_max:
            self._settle(held, Busy())
        elif held.deadline_us <= self._here.now_us:
            self._settle(held, Expired())
        elif self.parked.get(held.bucket) or held.version > self._here.distributor.version:
            self._park(held)
        else:
            self._route(held)

    # Going on.

    def _route(self, held: Held) -> None:
        here = self._here
        buckets = here.distributor.buckets
        if buckets and not 0 <= held.bucket < len(buckets):
            self._settle(held, Misplaced(len(buckets)))
            return
        record = buckets[held.bucket] if buckets else None
        leader = record.leader if record is not None else None
        if record is None or leader is None:
            self._park(held)
        elif leader == here.member:
            self._hand_over(held, record.epoch)
        elif leader.node == here.node:  # an incarnation of ours that is no more, or is not yet
            self._park(held)
        else:
            self._hop(held, leader.node, str(leader), record.epoch)

    def _hand_over(self, held: Held, epoch: int) -> None:
        self._number += 1
        number = self._number
        submit = phaser.Submit(number, held.batch, held.deadline_us, epoch, held.buckets, held.continues)
        if self._copies.happen(held.bucket, submit):
            held.place = Place.LOCAL
            self.local[number] = held
        else:
            self._park(held)

    def _hop(self, held: Held, node: str, leader: str, epoch: int) -> None:
        here, source = self._here, held.source
        if isinstance(source, Client):
            self._number += 1
            origin, number, hops = here.node, self._number, 0
        else:
            origin, number, hops = source.node, source.number, source.hops
        if hops >= here.settings.hops_max or not here.address(node):
            self._settle(held, NotLeader(leader, epoch))
            return
        wait_us = held.deadline_us - here.now_us
        version, buckets, continues = here.distributor.version, held.buckets, held.continues
        hop = Hop(origin, number, hops + 1, version, epoch, held.bucket, held.batch, wait_us, buckets, continues)
        here.send(node, hop)
        if isinstance(source, Client):
            held.place = Place.AWAY
            self.away.setdefault(node, {})[number] = held
        else:
            self._release(held)  # who has it now answers to the origin

    def _park(self, held: Held) -> None:
        here = self._here
        held.place = Place.PARKED
        held.until_us = held.until_us or min(held.deadline_us, here.now_us + here.settings.patience_us)
        held.again_us = here.now_us + here.settings.retry_us
        self.parked.setdefault(held.bucket, deque()).append(held)

    def look_again(self) -> None:
        """The table has changed: what is parked may go on, in order."""
        distributor = self._here.distributor
        for bucket in list(self.parked):
            known = bucket < len(distributor.buckets)
            epoch = distributor.buckets[bucket].epoch if known else 0
            self._unpark(bucket, lambda held, e=epoch: held.version <= distributor.version and held.epoch <= e)  # type: ignore[misc]
        for node in [node for node in self.away if distributor.slots.member(node) is None]:
            self._lose(node)

    def _unpark(self, bucket: int, ready: Callable[[Held], bool]) -> None:
        """From the first on, as long as they may go: nothing overtakes."""
        queue = self.parked.pop(bucket)
        while queue and ready(queue[0]):
            held = queue.popleft()
            held.version = held.epoch = 0
            self._route(held)
            if self.parked.get(bucket):
                break
        if queue:
            self.parked.setdefault(bucket, deque()).extend(queue)

    # Answers.

    def answered(self, number: int, outcome: Outcome) -> None:
        """By a phaser here."""
        held = self.local.pop(number, None)
        if held is not None:
            self._judge(held, outcome, 0)

    def hop_answered(self, sender: str, answer: HopAnswer) -> None:
        held = self.away.get(sender, {}).pop(answer.number, None)
        if held is None:  # another one has answered for it, or it was passed on: look there
            held = next((those.pop(answer.number) for those in self.away.values() if answer.number in those), None)
        if held is not None:
            if answer.version > self._here.distributor.version:
                self.met_newer += 1
            self._judge(held, answer.outcome, answer.version)

    def _judge(self, held: Held, outcome: Outcome, version: int) -> None:
        if isinstance(outcome, NotLeader) and held.deadline_us > self._here.now_us:
            distributor = self._here.distributor
            held.version = version
            held.epoch = outcome.epoch
            epoch = distributor.buckets[held.bucket].epoch if held.bucket < len(distributor.buckets) else 0
            news = version <= distributor.version and outcome.epoch < epoch
            if news and not self.parked.get(held.bucket):
                held.version = held.epoch = 0
                self._route(held)
            else:
                held.epoch = outcome.epoch + (outcome.epoch == epoch and version <= distributor.version)
                self._park(held)
        else:
            self._settle(held, outcome)

    def _settle(self, held: Held, outcome: Outcome) -> None:
        here, source = self._here, held.source
        self._release(held)
        if isinstance(source, Client):
            again = isinstance(outcome, Busy | Expired | NotLeader)
            here.effects.append(Answer(source.id, outcome, here.retry_us() if again else 0))
        else:
            here.send(source.node, HopAnswer(source.number, here.distributor.version, outcome))

    def _release(self, held: Held) -> None:
        self.count -= 1
        self.bytes -= held.batch.length

    # What is lost, and what takes too long.

    def connected(self, node: str) -> None:
        """What was under way to it may not have come, nor its answers."""
        self._lose(node)

    def _lose(self, node: str) -> None:
        for held in self.away.pop(node, {}).values():
            self._settle(held, Unknown())

    def stopped(self, bucket: int) -> None:
        """The phaser here was given up, with what it had."""
        for number in [number for number, held in self.local.items() if held.bucket == bucket]:
            self._settle(self.local.pop(number), Unknown())

    def tick(self) -> None:
        now_us = self._here.now_us
        for those in self.away.values():
            for number in [number for number, held in those.items() if held.deadline_us <= now_us]:
                self._settle(those.pop(number), Unknown())
        for bucket in list(self.parked):
            queue = self.parked.pop(bucket)
            for held in [held for held in queue if held.until_us <= now_us]:
                self._settle(held, Expired())
            waiting = deque([held for held in queue if held.until_us > now_us])
            if waiting:
                self.parked[bucket] = waiting
                self._unpark(bucket, lambda held: held.again_us <= now_us)
