"""The way of a submission to its bucket's leader, and of the answer back (held.py says where each may be).

A submission that is refused because somebody else leads was certainly not stored by that attempt, so it goes on from
here to whoever does. So does one of a stream whose outcome is unknown: its series tells it apart, and from then on only
that it is stored is conclusive. So does what is imported, by its offsets. Without either only the client may try again.

Tables have versions: whoever gets a hop from one with a newer table waits for that table, so two nodes that disagree do
not send anything to and fro. Nothing of a bucket overtakes what came before: what is parked goes first, and nothing
goes to a new leader while something is under way to the one before, for a while.

A submission is cut for a bucket at a level. Where the bucket was split since, one of a stream is cut anew by its
client, which knows what it has sent where; one without goes to the half that has its keys. Who has cut it finer than we
know has seen a newer table than ours.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from hansard.batch import bucket_mask
from hansard.phaser import event as phaser
from hansard.phaser.effect import Answer as Answered
from hansard.phaser.outcome import (
    Busy,
    Expired,
    Importing,
    Invalid,
    Misplaced,
    NotLeader,
    Outcome,
    ReadOnly,
    Repeated,
    Stored,
    Unknown,
)

from .copies import Copies
from .effect import Answer
from .event import Import, Submit
from .held import AWAY, GONE, LOCAL, PARKED, Held, Origin, Parked, Straight, Ways, held_of, is_bucket, is_sound
from .here import Here
from .hops import Register, Verdict
from .message import SUBMITTED, Hop, HopAnswer

WAIT_US_MAX: Final = 3600 * 1_000_000
"""Nothing is held any longer, whatever is asked for."""
SHARES: Final = 8
"""Of the room for submissions that are held those for one bucket that nobody leads get one, and leave the rest to the
others."""
OVERTAKEN: Final = 5
"""So many times longer what would overtake waits for what is under way: a node that does not answer has departed by
then."""


PASSING: Final = (NotLeader, Unknown)
"""Not the end of it, perhaps."""
CONCLUSIVE: Final = (Stored, Repeated)
LATER: Final = (Busy, ReadOnly, Expired, NotLeader, Importing)
"""Whoever is told so may come again."""


class Router:
    def __init__(self, here: Here, copies: Copies) -> None:
        self._here = here
        self._copies = copies
        self._number = 0
        """Of the last attempt, and of the last submission that came."""
        self.local: dict[int, Held | Submit] = {}
        """By the numbers of their attempts; what went straight there is kept as it came."""
        self.away: dict[int, Held] = {}
        self.parked = Parked()
        self.ways = Ways()
        self._register = Register()
        self.count = 0
        self.bytes = 0
        self.met_newer = 0
        """Hops that met a table newer than the sender's, or the receiver's."""

    # Coming in.

    def submit(self, submits: Sequence[Submit]) -> None:
        """What came one after the other. Where the phaser that it is for is here, it goes straight there, as it is, if
        there is nothing more to say about it: that is most of what a busy leader gets."""
        here, local, queues, busy = self._here, self.local, self.parked.queues, self._copies.busy
        now_us, node, settings = here.now_us, here.node, here.settings
        straight: dict[int, Straight | None] = {}
        for submit in submits:
            bucket, batch = submit.bucket, submit.batch
            if bucket not in straight:
                straight[bucket] = self._straight(bucket)
            way = straight[bucket]
            if (
                way is None
                or way.level != submit.buckets
                or submit.deadline_us <= now_us
                or self.count >= settings.held_count_max
                or self.bytes + batch.length > settings.held_bytes_max
                or bucket in queues
                or not is_sound(submit)
            ):
                self._go(submit)
                continue
            self._number += 2  # its place in the order, and its attempt
            number = self._number
            way.inbox.append(phaser.Submit(number, batch, submit.deadline_us, way.epoch, way.level, submit.continues))
            local[number] = submit
            way.count += 1
            self.count += 1
            self.bytes += batch.length
        for bucket, way in straight.items():
            if way is not None and way.count:
                busy[bucket] = None
                self.ways.begin(bucket, node, way.count)

    def _straight(self, bucket: int) -> Straight | None:
        """Where what is routed would be handed over here (see `_route`)."""
        here, copy = self._here, self._copies.running.get(bucket)
        if copy is None or copy.phaser is None:
            return None
        record = here.distributor.buckets[bucket]
        if record.leader is None or record.leader != here.member or self.ways.elsewhere(bucket, here.node):
            return None
        return Straight(record.level, record.epoch, copy.inbox)

    def _go(self, submit: Submit) -> None:
        """By itself, and looked at closely."""
        self._number += 1
        held = held_of(self._number, submit)
        if self._admit(held, sound=is_sound(submit)):
            self._begin(held)

    def bring(self, event: Import) -> None:
        """It goes the way of a submission. Whose keys are in it is not asked: the leader takes what is its own."""
        self._number += 1
        where = (event.bucket, event.batch, event.deadline_us, event.buckets, None, event.follows)
        held = Held(self._number, event.id, *where)
        if self._admit(held, sound=is_bucket(held) and event.follows >= 0):
            self._begin(held)

    def hopped(self, hop: Hop) -> None:
        here = self._here
        verdict = self._register.judge(hop)
        if verdict is Verdict.AGAIN:
            return
        if verdict is Verdict.FORGOTTEN:
            here.send(hop.origin, HopAnswer(hop.process, hop.number, here.distributor.version, Unknown()))
            return
        self._number += 1
        source = Origin(hop.origin, hop.process, hop.number, hop.hops)
        deadline_us = here.now_us + min(hop.wait_us, WAIT_US_MAX)
        where = (hop.bucket, hop.batch, deadline_us, hop.buckets, hop.continues, hop.follows)
        held = Held(self._number, source, *where)
        if hop.version > here.distributor.version:
            self.met_newer += 1
            held.version = hop.version
        if self._admit(held, sound=True):
            self._begin(held)

    def _admit(self, held: Held, *, sound: bool) -> bool:
        """Whether it goes on; or else it is answered. `sound`: it is what it says it is. Among nodes that is taken for
        granted."""
        settings = self._here.settings
        self.count += 1
        self.bytes += held.batch.length
        full = self.count > settings.held_count_max or self.bytes > settings.held_bytes_max
        if full or (self.parked.queues and not self._may_wait(held)):
            self._settle(held, Busy())
        elif not sound:
            self._settle(held, Invalid(f"not all of its keys live in bucket {held.bucket} of {held.buckets}"))
        elif held.deadline_us <= self._here.now_us:
            self._settle(held, Expired())
        else:
            return True
        return False

    def _begin(self, held: Held) -> None:
        if held.bucket in self.parked.queues or held.version > self._here.distributor.version:
            self._park(held)
        else:
            self._route(held)

    def _may_wait(self, held: Held) -> bool:
        """Whether there is room for one more behind those that wait for a leader; for one there always is."""
        parked, settings = self.parked, self._here.settings
        if held.bucket not in parked:
            return True
        length = parked.bytes(held.bucket) + held.batch.length
        few = parked.count(held.bucket) < settings.held_count_max // SHARES
        return few and length <= settings.held_bytes_max // SHARES

    # Going on.

    def _route(self, held: Held, *, anyway: bool = False) -> None:
        """`anyway`: though something that came before is under way elsewhere, and perhaps lost."""
        here = self._here
        buckets = here.distributor.buckets
        held.version = held.epoch = 0
        record = buckets[held.bucket] if held.bucket < len(buckets) else None
        leader = record.leader if record is not None else None
        ours = leader is not None and leader.node == here.node
        if record is None or leader is None or held.buckets > record.level or (ours and leader != here.member):
            self._park(held)
        elif held.buckets < record.level:
            self._cut_anew(held, record.level)
        elif self.ways.elsewhere(held.bucket, leader.node) and not anyway:
            self._park(held, OVERTAKEN)
        elif ours:
            self._hand_over(held, record.epoch)
        else:
            self._hop(held, leader.node, str(leader), record.epoch)

    def _cut_anew(self, held: Held, level: int) -> None:
        """The bucket was split. Without a stream it may go on as it is if all of it lives in one half."""
        distributor, batch = self._here.distributor, held.batch
        home = distributor.home(int(batch.key_hashes[0]))
        whole = bucket_mask(batch, home, distributor.buckets[home].level).all()
        if held.unmistakable or not whole:
            self._settle(held, Misplaced(level))
            return
        held.bucket, held.buckets = home, distributor.buckets[home].level
        if home in self.parked:
            self._park(held)
        else:
            self._route(held)

    def _level(self, bucket: int) -> int:
        """Of a bucket, or of the one that it will be split off from; 0 where there is none yet."""
        buckets = self._here.distributor.buckets
        while bucket >= len(buckets) or not buckets[bucket].level:
            if not bucket:
                return 0
            bucket -= 1 << bucket.bit_length() - 1
        return buckets[bucket].level

    def _hand_over(self, held: Held, epoch: int) -> None:
        self._number += 1
        number = self._number
        event: phaser.Event
        if held.follows == SUBMITTED:
            event = phaser.Submit(number, held.batch, held.deadline_us, epoch, held.buckets, held.continues)
        else:
            event = phaser.Import(number, held.batch, held.deadline_us, held.follows)
        if self._copies.happen(held.bucket, event):
            held.place, held.node = LOCAL, self._here.node
            self.local[number] = held
            self.ways.begin(held.bucket, held.node)
        else:
            self._park(held)

    def _hop(self, held: Held, node: str, leader: str, epoch: int) -> None:
        here, source = self._here, held.source
        if isinstance(source, int):
            self._number += 1
            origin, process, number, hops = here.node, here.process, self._number, 0
        else:
            origin, process, number, hops = source.node, source.process, source.number, source.hops
        if hops >= here.settings.hops_max or not here.address(node):
            self._settle(held, NotLeader(leader, epoch))
            return
        wait_us, version = held.deadline_us - here.now_us, here.distributor.version
        where = (held.bucket, held.batch, wait_us, held.buckets, held.continues, held.follows)
        here.send(node, Hop(origin, process, number, hops + 1, version, *where))
        if isinstance(source, int):
            held.place, held.node = AWAY, node
            self.away[number] = held
            self.ways.begin(held.bucket, node)
        else:
            self._release(held)  # who has it now answers to the origin

    def _park(self, held: Held, times: int = 1) -> None:
        here = self._here
        held.until_us = held.until_us or min(held.deadline_us, here.now_us + here.settings.patience_us)
        held.again_us = here.now_us + times * here.settings.retry_us
        self.parked.put(held)

    def look_again(self) -> None:
        """The table has changed: what is parked may go on, in order."""
        present = {member.node for member in self._here.distributor.slots.present}
        self._lose([number for number, held in self.away.items() if held.node not in present])
        for bucket in list(self.parked.queues):
            self.look_at(bucket)

    def look_at(self, bucket: int) -> None:
        if bucket not in self.parked.queues:
            return
        distributor = self._here.distributor
        epoch = distributor.buckets[bucket].epoch if bucket < len(distributor.buckets) else 0
        while held := self.parked.take(
            bucket, lambda first: first.version <= distributor.version and first.epoch <= epoch
        ):
            self._route(held)
            if held.place is PARKED:
                return

    # Answers.

    def answered(self, answers: Iterable[Answered]) -> None:
        """By one of the phasers here."""
        local, effects = self.local, self._here.effects
        bucket = arrived = 0
        for answer in answers:
            held, outcome = local.pop(answer.id, None), answer.outcome
            if isinstance(held, Submit) and isinstance(outcome, CONCLUSIVE):  # as it mostly is
                self.bytes -= held.batch.length
                effects.append(Answer(held.id, outcome))
                bucket = held.bucket
                arrived += 1
            elif held is not None:
                self._come_back(self._locally(answer.id, held), outcome, 0)
        if arrived:
            self.count -= arrived
            if self.ways.end(bucket, self._here.node, arrived) and self.parked.queues:
                self.look_at(bucket)

    def _locally(self, number: int, held: Held | Submit) -> Held:
        if isinstance(held, Held):
            return held
        here = held_of(number - 1, held)
        here.place, here.node = LOCAL, self._here.node
        return here

    def hop_answered(self, answer: HopAnswer) -> None:
        held = self.away.pop(answer.number, None) if answer.process == self._here.process else None
        if held is not None:
            self.met_newer += answer.version > self._here.distributor.version
            self._come_back(held, answer.outcome, answer.version)

    def _come_back(self, held: Held, outcome: Outcome, version: int) -> None:
        last = self.ways.end(held.bucket, held.node)
        if isinstance(outcome, PASSING):
            self._judge(held, outcome, version)
        else:
            self._settle(held, outcome)
        if last and self.parked.queues:
            self.look_at(held.bucket)

    def _judge(self, held: Held, outcome: NotLeader | Unknown, version: int) -> None:
        """Whether it is settled by that, or goes on."""
        here = self._here
        if held.deadline_us <= here.now_us:
            self._settle(held, outcome)
        elif isinstance(outcome, NotLeader):
            distributor = here.distributor
            epoch = distributor.buckets[held.bucket].epoch if held.bucket < len(distributor.buckets) else 0
            held.version = version
            held.epoch = outcome.epoch + (outcome.epoch == epoch)  # if we know no better, we wait for the next one
            self._park(held)
        elif held.unmistakable and isinstance(held.source, int):
            held.unknown, held.version = True, version
            self._park(held)
        else:
            self._settle(held, outcome)
        if held.place is PARKED:
            self.look_at(held.bucket)

    def _settle(self, held: Held, outcome: Outcome) -> None:
        here, source, retry_us = self._here, held.source, 0
        self._release(held)
        if not isinstance(outcome, CONCLUSIVE):
            outcome = Unknown() if held.unknown else outcome
            retry_us = here.retry_us() if isinstance(source, int) and isinstance(outcome, LATER) else 0
        if isinstance(source, int):
            here.effects.append(Answer(source, outcome, retry_us))
        else:
            answer = HopAnswer(source.process, source.number, here.distributor.version, outcome)
            here.send(source.node, answer)

    def _release(self, held: Held) -> None:
        held.place = GONE
        self.count -= 1
        self.bytes -= held.batch.length

    # What is lost, and what takes too long.

    def connected(self, node: str) -> None:
        """What was under way to it may not have come, nor its answers."""
        self._lose([number for number, held in self.away.items() if held.node == node])

    def _lose(self, numbers: list[int]) -> None:
        for number in numbers:
            self._come_back(self.away.pop(number), Unknown(), 0)

    def stopped(self, buckets: list[int]) -> None:
        """The phasers here were given up, with what they had."""
        gone = set(buckets)
        for number in [number for number, held in self.local.items() if held.bucket in gone]:
            self._come_back(self._locally(number, self.local.pop(number)), Unknown(), 0)

    def tick(self) -> None:
        now_us = self._here.now_us
        self._lose([number for number, held in self.away.items() if held.deadline_us <= now_us])
        for late in self.parked.expired(now_us):
            level = self._level(late.bucket)
            self._settle(late, Misplaced(level) if late.buckets > level > 0 else Expired())
        for bucket in list(self.parked.queues):
            while held := self.parked.take(bucket, lambda first: first.again_us <= now_us):
                self._route(held, anyway=True)
                if held.place is PARKED:
                    break
