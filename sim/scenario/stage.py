"""The stage of a scenario: carrying out what the phasers want done."""

from typing import assert_never

from hansard.phaser import Settings
from hansard.phaser.effect import (
    Answer,
    AnswerRead,
    Committed,
    Cut,
    Effect,
    Fetch,
    Keep,
    Persist,
    Pressure,
    Report,
    Reset,
    Send,
    Write,
)
from hansard.phaser.event import Accepted, Appointed, Event, Fetched, Persisted, Received, Tick
from hansard.phaser.government import NodeId, Shape
from hansard.phaser.invariants import check_state, check_step, summary
from hansard.phaser.message import Message
from hansard.phaser.recovered import STATE, decode_state

from . import promise, wording
from .actor import Actor
from .chances import Chances
from .edicts import ACCEPT_US, Edicts
from .links import DELAY_US
from .scene import Scene

TICK_US = 100_000
WALL_US = 1_000_000_000
"""The leaders' clocks when a scenario begins."""


class Stage(Scene[Message]):
    def __init__(self, shape: Shape, settings: Settings, chances: Chances) -> None:
        super().__init__(chances, TICK_US)
        self.shape = shape
        self.settings = settings
        self.actors: dict[NodeId, Actor] = {}
        self.edicts = Edicts()
        self.answers: dict[int, str] = {}
        self.reads: dict[int, str] = {}
        self.submitted: dict[int, list[str]] = {}
        """The changes of every submission."""
        self.asked: dict[int, int] = {}
        """For every read, up to where changes had been acknowledged when it was asked for."""
        self.kept_promises = promise.Promises()

    def tick(self) -> None:
        for actor in self.actors.values():
            if not actor.paused:
                self.happen(actor, Tick())

    # Participants.

    def actor(self, name: NodeId) -> Actor:
        if name not in self.actors:
            self.actors[name] = Actor(name, self.settings)
            self.actors = dict(sorted(self.actors.items()))
        return self.actors[name]

    def happen(self, actor: Actor, event: Event) -> None:
        """Something happens to a participant; then all that it wants done is done, if it still is what it should be."""
        if not actor.alive:
            return
        if actor.paused:
            actor.inbox.append(event)
            return
        phaser = actor.phaser
        part, synced = actor.part(), (phaser.ledger.synced, phaser.ledger.promised_synced)
        before = summary(phaser)
        effects = phaser.turn([event], self.now_us, WALL_US + self.now_us)
        check_state(phaser)
        check_step(before, summary(phaser))
        if isinstance(event, Persisted):
            self._tell_synced(actor, synced)
        if actor.part() != part:
            self.tell_detail(f"{actor.name}  {actor.part()}")
        for effect in effects:
            self._carry_out(actor, effect)

    def _tell_synced(self, actor: Actor, before: tuple[int, int]) -> None:
        ledger = actor.phaser.ledger
        if ledger.promised_synced != before[1]:
            self.tell_detail(f"{actor.name}  promise of {wording.epoch(ledger.promised_synced)} is on disk")
        if ledger.synced != before[0]:
            self.tell_detail(f"{actor.name}  log is on disk to {ledger.synced}")

    def _carry_out(self, actor: Actor, effect: Effect) -> None:
        match effect:
            case Send():
                self._send(actor, effect.to, effect.message)
            case Persist():
                for write in effect.writes:
                    self._tell_write(actor, write)
                actor.drive.write(effect)
                self._sync_later(actor)
            case Answer():
                assert effect.id not in self.answers, "a submission has one answer"
                self.answers[effect.id] = wording.outcome(effect.outcome)
                self.tell(f"{actor.name}  answers {effect.id}: {self.answers[effect.id]}")
                self.kept_promises.answered(self, actor, effect)
            case AnswerRead():
                assert effect.id not in self.reads, "a read has one answer"
                self.reads[effect.id] = wording.outcome(effect.outcome)
                self.tell(f"{actor.name}  answers read {effect.id}: {self.reads[effect.id]}")
                self.kept_promises.read(self, actor, effect)
            case Committed():
                self.tell_detail(f"{actor.name}  committed {effect.end}")
            case Report():
                self.tell_detail(f"{actor.name}  reports epoch {effect.epoch} {effect.achievement}")
                self.edicts.waiting.append((actor.name, actor.life, effect))
                self.after(ACCEPT_US, self.judge_reports)
            case Fetch():
                self._fetch(actor, effect)
            case Pressure():
                self.tell(f"{actor.name}  {'asks to hold back' if effect.high else 'has room again'}")
            case _:
                assert_never(effect)

    # The disk.

    def _tell_write(self, actor: Actor, write: Write) -> None:
        match write:
            case Cut():
                unrolled = actor.drive.latest.end - write.end
                actor.unrolled += unrolled
                self.tell(f"{actor.name}  unrolls {unrolled}: ends at {write.end}")
            case Reset():
                self.tell(f"{actor.name}  begins anew at {write.start}")
            case Keep() if write.name == STATE:
                self.tell_detail(f"{actor.name}  keeps the state at {decode_state(write.content).offset}")
            case _:
                pass

    def _sync_later(self, actor: Actor) -> None:
        drive, life, stalls = actor.drive, actor.life, actor.drive.stalls
        drive.busy_until_us = max(drive.busy_until_us, self.now_us) + drive.sync_us

        def synced() -> None:
            if actor.life == life and actor.alive and drive.stalls == stalls and not drive.stalled:
                self._persisted(actor)

        self.after(drive.busy_until_us - self.now_us, synced)

    def _persisted(self, actor: Actor) -> None:
        if actor.drive.unsynced:
            self.happen(actor, Persisted(actor.drive.sync().ticket))

    def go_on_syncing(self, actor: Actor) -> None:
        """The disk was stalled: what it was asked for meanwhile takes its time from now."""
        actor.drive.stalled, actor.drive.busy_until_us = False, 0
        for _ in actor.drive.unsynced:
            self._sync_later(actor)

    def _fetch(self, actor: Actor, fetch: Fetch) -> None:
        log, life = actor.drive.latest, actor.life

        def fetched() -> None:
            found = [batch for batch in log.batches if batch.header.base_offset >= fetch.offset]
            chosen, total = [], 0
            for batch in found:
                chosen.append(batch)
                total += batch.length
                if total >= fetch.bytes_max:
                    break
            if actor.life == life:
                self.happen(actor, Fetched(fetch.to, fetch.term, fetch.offset, log.start, chosen))

        self.after(DELAY_US, fetched)

    # The network.

    def _send(self, actor: Actor, to: NodeId, message: Message) -> None:
        way = (actor.name, to)
        self.kept_promises.sent(actor, message)
        if way in self.links.held:
            self.tell_message(f"{way[0]} -> {way[1]}  {wording.message(message)} [held back]")
            self.links.held[way].append(message)
            return
        self.after(DELAY_US, lambda: self.deliver(*way, message))
        if way in self.links.doubling:
            self.after(DELAY_US, lambda: self.deliver(*way, message))

    def deliver(self, sender: NodeId, to: NodeId, message: Message) -> None:
        receiver = self.actor(to)
        text = f"{sender} -> {to}  {wording.message(message)}"
        if (sender, to) in self.links.cut or not receiver.alive:
            self.tell_message(f"{text} [lost]")
            return
        self.tell_message(f"{text} [waits]" if receiver.paused else text)
        self.happen(receiver, Received(sender, message))

    # The atomic log.

    def judge_reports(self) -> None:
        """Accept what waits to be accepted, if anything is at the moment."""
        if not self.edicts.accepting:
            return
        waiting, self.edicts.waiting = self.edicts.waiting, []
        for name, life, report in waiting:
            actor = self.actors[name]
            if not self.edicts.accept(report):
                self.tell(f"atomic log  does not accept that epoch {report.epoch} has {report.achievement}")
                continue
            self.tell_detail(f"atomic log  epoch {report.epoch} has {report.achievement}")
            if actor.life == life:
                self.happen(actor, Accepted(report.achievement, report.epoch))

    def hear(self, actor: Actor) -> None:
        """A participant learns of the edict that it knows of last."""
        if actor.heard is not None:
            self.happen(actor, Appointed(actor.heard))
