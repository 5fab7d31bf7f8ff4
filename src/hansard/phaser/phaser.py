"""The replication of one bucket on one participant: events in, effects out.

    leading      this participant is the leader, in one of the phases of leader.py
    following    a leader's Wedge was taken: its batches are accepted, synced, acknowledged, and in a chain passed on
    wedged       a newer term is promised, and its leader has not been heard of: nothing is accepted

Whoever runs it calls `turn` with what has happened and carries out what it returns. It never decides who leads, and no
deadline or timeout in it has a bearing on what is stored: they only repeat messages and give up waiting.
"""

from collections.abc import Sequence
from typing import assert_never

from hansard.application import Application

from . import short
from .barrier import Barrier
from .derived import Derived
from .desk import Desk
from .effect import Achievement, AnswerRead, Effect, Pressure, Send
from .event import (
    Accepted,
    Appointed,
    Connected,
    Doubled,
    Event,
    Fetched,
    Hindered,
    Import,
    Imports,
    Paused,
    Persisted,
    Read,
    Received,
    Submit,
    Tick,
    Trimmed,
)
from .government import Government, NodeId, Term, epoch_of, first_term, next_term, upstream
from .importing import Intake
from .leader import OPEN, Leader, Phase
from .ledger import Ledger
from .member import Member
from .message import (
    Acknowledge,
    Append,
    Commit,
    Confirm,
    Confirmed,
    Estranged,
    Message,
    Part,
    PartKept,
    Refuse,
    Wedge,
    Wedged,
)
from .outcome import Importing, NotLeader
from .recovered import Recovered, Standing, epoch_within
from .relay import Relay
from .settings import Settings


class Phaser:
    __slots__ = (
        "announced_us",
        "barrier",
        "bucket",
        "desk",
        "effects",
        "following",
        "government",
        "intake",
        "leading",
        "ledger",
        "me",
        "now_us",
        "settings",
        "wall_us",
    )

    def __init__(
        self,
        me: NodeId,
        bucket: int,
        settings: Settings,
        recovered: Recovered,
        *,
        buckets: int = 1,
        founded: int = 1,
        applications: Sequence[Application] = (),
    ) -> None:
        """`founded`: how many buckets there were at the beginning of the log, if that was imported."""
        self.me, self.bucket, self.settings = me, bucket, settings
        self.effects: list[Effect] = []
        self.ledger = Ledger(settings, self.effects, recovered, buckets, Derived(applications, bucket, founded))
        self.desk = Desk(bucket, buckets, self.ledger, self.effects, settings)
        self.intake = Intake(self.desk)
        self.barrier = Barrier(self.effects, settings)
        self.government: Government | None = None
        """Of the epoch promised, as far as it is known."""
        self.leading: Leader | None = None
        self.following: Member | None = None
        self.announced_us = self.now_us = self.wall_us = 0

    @property
    def term(self) -> Term:
        return self.ledger.promised

    @property
    def relay(self) -> Relay | None:
        if self.leading is not None:
            return self.leading.relay
        return self.following.relay if self.following is not None else None

    @property
    def droppable(self) -> int:
        """Retention may drop what is before this offset: it is committed, a restart does not need it, and nobody is
        being sent it."""
        ledger, wanted = self.ledger, self.relay.wanted() if self.relay is not None else []
        return min([ledger.committed, ledger.saved_synced, *wanted])

    @property
    def standing(self) -> Standing:
        """What this copy is good for if its bucket loses everybody, as far as that is surely on disk."""
        ledger = self.ledger
        expanded, promised = epoch_within(ledger.expansion, ledger.synced), epoch_of(ledger.promised_synced)
        return Standing(ledger.counted_synced, expanded, ledger.synced, promised, ledger.buckets)

    def turn(self, events: Sequence[Event], now_us: int, wall_us: int) -> list[Effect]:
        """Everything that has happened, in order. `now_us` never goes back; `wall_us` is the leader's clock, already
        held close to the cluster's."""
        return self.begin(events, now_us, wall_us) + self.finish()

    def begin(self, events: Sequence[Event], now_us: int, wall_us: int) -> list[Effect]:
        """The half of a turn that somebody waits for. `finish` is to follow; it may be `patient` (hearing.py)."""
        self.now_us, self.wall_us = now_us, wall_us
        relay = self.relay
        if relay is not None:
            relay.now_us = now_us
        if self.ledger.late is not None:  # nobody should leave that, and nothing may come before it
            self.effects += self.finish()
        if len(events) != 1 or not self._took_short(events[0]):
            if self.ledger.unsettled:
                self.effects += self.finish()
            for event in events:
                self._handle(event)
            self._act()
        effects, self.effects[:] = self.effects.copy(), []
        return effects

    def _took_short(self, event: Event) -> bool:
        intake, barrier = self.intake, self.barrier
        if intake.pending or intake.allowed or barrier.running or barrier.waiting:
            return False
        if self.leading is not None:
            return type(event) is Submit and short.submitted(self.leading, self.desk, event, self.now_us, self.wall_us)
        return type(event) is Received and self.following is not None and short.followed(self.following, event)

    def _handle(self, event: Event) -> None:
        match event:
            case Received():
                self._received(event.sender, event.message)
            case Persisted():
                self.ledger.persisted(event.ticket)
            case Submit():
                self._submit(event)
            case Read():
                self._read(event)
            case Tick():
                self._tick()
            case Fetched():
                self._fetched(event)
            case Appointed():
                self._appointed(event.government)
            case Accepted():
                self._accepted(event)
            case Connected():
                self._connected(event.node)
            case Paused():
                self.desk.paused = event.paused
            case Hindered():
                self.desk.hinder(event.by)
            case Import():
                self.intake.take(event, self.leading, self.now_us)
            case Imports():
                self.intake.allow(event.allowed, event.end)
            case Doubled():
                self.ledger.buckets = event.buckets  # noted with the next promise, which comes with it
                self.desk.doubled(event.buckets)
            case Trimmed():
                if self.ledger.start < event.start <= self.ledger.committed:  # or else it was begun anew meanwhile
                    self.ledger.lineage.trim(event.start)
            case _:
                assert_never(event)

    def _act(self) -> None:
        """Whatever follows from all the events of a turn together: mostly little, so each step is looked at first."""
        ledger, leading, following = self.ledger, self.leading, self.following
        if leading is not None:
            if leading.phase is OPEN:
                leading.commit()
                self._serve(leading)
            else:
                leading.advance(self.now_us, importing=self.intake.allowed)
            if leading.relay is not None:
                leading.relay.pump()
        elif following is not None:
            following.pump()
        if self.intake.pending:
            self.intake.settle(leading, self.now_us)
        if ledger.writes:
            ledger.flush()
        if following is not None:
            following.answer()

    def finish(self) -> list[Effect]:
        """The other half, of which nobody waits for anything: what this copy makes of what is committed by now."""
        ledger, relay, following, backlog = self.ledger, self.relay, self.following, self.desk.backlog
        if ledger.late is not None:
            ledger.catch_up()
            self.desk.catch_up()
        if following is not None and ledger.commit_known > ledger.committed:
            ledger.commit()
        if ledger.unsettled:
            ledger.settle()
        if ledger.writes:
            ledger.flush()
        if relay is not None and (following is None or following.passes_on):
            relay.tell()
        if ledger.has_dispensable:
            ledger.forget(relay.needed_from() if relay is not None else ledger.end)
        if (backlog.queue or backlog.pressed) and backlog.pressure_changed():
            self.effects.append(Pressure(backlog.pressed))
        effects, self.effects[:] = self.effects.copy(), []
        return effects

    def _serve(self, leading: Leader) -> None:
        """What an open leader does for others."""
        desk, barrier, ledger = self.desk, self.barrier, self.ledger
        desk.settle()
        if desk.backlog.queue:
            ledger.settle()
            desk.drain(leading.term, self.now_us, self.wall_us)
        if leading.government.newcomers:
            leading.expand(self.wall_us)
        if (barrier.running or barrier.waiting) and ledger.purged:
            assert leading.relay is not None
            barrier.advance(leading.relay, leading.counted)

    def _send(self, to: NodeId, message: Message) -> None:
        self.effects.append(Send(to, message))

    # Governments.

    def _appointed(self, government: Government) -> None:
        epoch = government.epoch
        known = epoch_of(self.term)
        if epoch < known or (epoch == known and self.leading is not None):
            return
        if government.leader == self.me:
            assert self.ledger.stated, "only a full member is ever appointed to lead"
            self.leading = self.following = None
            self.barrier.start_again()
            self.government = government
            self.ledger.promise(next_term(epoch, self.term), counts=True)
            self.leading = Leader(self.me, government, self.term, self.ledger, self.effects)
            return
        if epoch > known:
            self._step_down(NotLeader(government.leader, epoch))
            self.ledger.promise(first_term(epoch), counts=self.me in government.members)
        self.government = government
        self.desk.hand_over(government.leader, epoch)
        self._announce()

    def _announce(self) -> None:
        """Say to whoever is to feed this copy that it is there: after a restart in a quiet bucket nobody would ask."""
        government, decree = self.government, self.ledger.latest_decree
        if government is None or self.leading is not None or self.following is not None:
            return
        if self.me in government.members or self.me in government.newcomers:
            expanded = decree is not None and decree.expanded and decree.government.epoch == government.epoch
            self.announced_us = self.now_us
            self._send(upstream(government, self.me, expanded=expanded), Estranged(self.term))

    def _step_down(self, outcome: NotLeader) -> None:
        """The term is over for this participant, in whatever part it had in it."""
        self.leading = self.following = None
        self.ledger.snapshot = None
        self.barrier.give_up(outcome)

    def _refused(self, newer: Term) -> None:
        """Somebody follows a newer term: it is over with ours, and its leader will be heard of."""
        if newer <= self.term:
            return
        following = self.following
        if following is not None:
            self._send(following.upstream, Refuse(self.term, newer))
        self._step_down(NotLeader(None, epoch_of(newer)))
        if epoch_of(newer) != epoch_of(self.term):
            self.government = None
        self.ledger.promise(newer, counts=False)  # who governs in it is not known yet

    def _accepted(self, event: Accepted) -> None:
        reporting = self.leading if self.leading is not None and self.leading.phase is Phase.REPORTING else None
        if reporting is not None and event == Accepted(Achievement.OPENED, reporting.government.epoch):
            reporting.open(self.wall_us)

    # Messages.

    def _received(self, sender: NodeId, message: Message) -> None:
        match message:
            case Append() | Commit() | Confirm() | Part():
                following = self.following
                if message.term < self.term:
                    self._send(sender, Refuse(message.term, self.term))
                elif message.term > self.term or following is None:
                    self._send(sender, Estranged(message.term))
                else:
                    following.received(sender, message)
            case Wedge():
                self._wedge(sender, message)
            case Refuse():
                self._refused(message.newer)
            case Acknowledge() | Wedged() | Estranged() | Confirmed() | PartKept():
                self._came_back(sender, message)
            case _:
                assert_never(message)

    def _came_back(self, sender: NodeId, message: Acknowledge | Wedged | Estranged | Confirmed | PartKept) -> None:
        relay = self.relay
        feed = relay.feeds.get(sender) if relay is not None else None
        if relay is None or feed is None or message.term > self.term:
            return
        if message.term < self.term and not isinstance(message, Estranged):
            return
        relay.came_back(feed, message)

    def _wedge(self, sender: NodeId, wedge: Wedge) -> None:
        if wedge.term < self.term:
            self._send(sender, Refuse(wedge.term, self.term))
            return
        counts = self.me in wedge.government.members
        if wedge.term > self.term:
            self._step_down(NotLeader(wedge.government.leader, wedge.government.epoch))
            self.ledger.promise(wedge.term, counts=counts)
        elif counts:
            self.ledger.count()
        if self.leading is not None:
            return
        self.government = wedge.government
        self.desk.hand_over(wedge.government.leader, wedge.government.epoch)
        if self.following is None:
            self.following = Member(self.me, sender, wedge, self.ledger, self.effects, self.now_us)
        else:
            self.following.wedged_again(sender, wedge)

    # Clients, disk, time.

    def _submit(self, submit: Submit) -> None:
        government, epoch = self.government, epoch_of(self.term)
        if self.intake.allowed:
            self.desk.answer(submit.id, Importing())
        elif self.leading is not None or government is None or submit.epoch > epoch:
            self.desk.put(submit, self.now_us)
        else:
            self.desk.answer(submit.id, NotLeader(government.leader, epoch))

    def _read(self, read: Read) -> None:
        if self.leading is not None:
            self.barrier.join(read, self.now_us)
        else:
            leader = self.government.leader if self.government is not None else None
            self.effects.append(AnswerRead(read.id, NotLeader(leader, epoch_of(self.term))))

    def _fetched(self, event: Fetched) -> None:
        relay = self.relay
        if relay is not None and event.term == self.term:
            relay.fetched(event)

    def _connected(self, node: NodeId) -> None:
        relay, following = self.relay, self.following
        if relay is not None:
            relay.connected(node)
        if following is not None and following.upstream == node:
            following.remind()

    def _tick(self) -> None:
        self.desk.expire(self.now_us)
        self.barrier.expire(self.now_us)
        if self.leading is not None and self.relay is not None and not self.barrier.running:
            self.relay.stop_confirming()
        if self.relay is not None:
            self.relay.resend()
        if self.following is not None:
            self.following.remind_if_complaining()
        elif self.now_us - self.announced_us >= self.settings.resend_us:
            self._announce()
