"""One participant's process: a phaser, its disk, its clock, and what it knows of the edict.

Events that come while it is busy are handled together, as one turn. It crashes between any two turns, and restarts from
its disk; what it knew of the edict it knows again. Declared departed, it arrives anew under a new name, with its old
disk.
"""

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Final, assert_never

from hansard.phaser import Phaser
from hansard.phaser.effect import (
    Achievement,
    Answer,
    AnswerRead,
    Committed,
    Effect,
    Fetch,
    Persist,
    Pressure,
    Report,
    Send,
)
from hansard.phaser.event import (
    Accepted,
    Appointed,
    Connected,
    Event,
    Fetched,
    Persisted,
    Received,
    Tick,
    Trimmed,
)
from hansard.phaser.government import NodeId
from hansard.phaser.hearing import patient
from hansard.phaser.message import Message
from sim.counter import Counter

from .edict import Acceptance, Appointment, Departure
from .vault import Vault

if TYPE_CHECKING:
    from .world import World

TICK_US: Final = 400_000
RETRY_US: Final = 400_000
WALL_US: Final = 1_700_000_000_000_000
COUNTED: Final = 4
"""One seed in so many has an application on its bucket: it takes a third of the time, and mostly does the same."""


class Participant:
    def __init__(self, world: "World", place: str, vault: Vault, rate: float, skew_us: int) -> None:
        self.world = world
        self.place = place
        self.incarnation = 1
        self.name: NodeId = f"{place}1"
        """Of this place in its present incarnation."""
        self.vault = vault
        self.rate = rate
        self.skew_us = skew_us
        self.phaser: Phaser | None = None
        """None while it is down."""
        self.life = 0
        self.paused = False
        self.stalled = False
        """Its disk does not finish anything."""
        self.sync_us = world.plan.sync_us
        self.inbox: list[Event] = []
        self._turn_planned = False
        self._syncing = False
        self._written = 0
        self.known = 0
        """Facts of the edict that it has heard of; on its disk, too."""
        self._told = 0
        """Facts that this life's phaser was told."""

    @property
    def random(self) -> Random:
        return self.world.random

    def start(self) -> None:
        assert self.phaser is None
        self.life += 1
        plan = self.world.plan
        attached = [Counter()] if plan.seed % COUNTED == 0 else []
        self.phaser = Phaser(self.name, plan.bucket, plan.settings, self.vault.recover(), applications=attached)
        self.inbox, self._turn_planned, self._syncing, self._told = [], False, False, 0
        self.world.started(self)
        self._learn()
        self._later(TICK_US, self._tick)

    def crash(self) -> None:
        if self.phaser is not None:
            self.phaser = None
            self.vault.crash(self.random)
            self.world.crashed(self)

    def _later(self, delay_us: int, action: Callable[[], None]) -> None:
        """In this life, or never. Delays are by this participant's own clock."""
        life = self.life
        delay = int(delay_us / self.rate)
        self.world.clock.after(delay, lambda: action() if self.life == life and self.phaser is not None else None)

    def happen(self, event: Event) -> None:
        if self.phaser is not None:
            self.inbox.append(event)
            self._plan_turn()

    def _plan_turn(self) -> None:
        if not self._turn_planned and not self.paused:
            self._turn_planned = True
            self._later(20 + int(self.random.random() * 60), self._turn)

    def _turn(self) -> None:
        self._turn_planned = False
        if self.paused or self.phaser is None:
            return
        events, self.inbox = self.inbox, []
        now = int(self.world.clock.now_us * self.rate)
        self.world.before_turn(self, events)
        effects = self.phaser.begin(events, now, WALL_US + now + self.skew_us)
        if not patient(self.phaser) or now & 1:  # every other one waits, as a shell's do that has nothing else to do
            effects += self.phaser.finish()
        self.world.after_turn(self, events, effects)
        for effect in effects:
            self._carry_out(effect)

    def resume(self) -> None:
        self.paused = False
        if self.phaser is not None and self.inbox:
            self._plan_turn()

    def _tick(self) -> None:
        self.happen(Tick())
        self._later(TICK_US, self._tick)

    def _carry_out(self, effect: Effect) -> None:
        world = self.world
        match effect:
            case Send():
                world.send(self, effect.to, effect.message)
            case Persist():
                self.vault.write(effect.ticket, effect.writes)
                self._written = effect.ticket
                self._sync()
            case Answer():
                world.answered(self, effect)
            case AnswerRead():
                world.read_answered(self, effect)
            case Committed():
                pass
            case Report():
                self._report(effect)
            case Fetch():
                self._fetch(effect)
            case Pressure():
                world.pressed(self, effect.high)
            case _:
                assert_never(effect)

    # Messages.

    def receive(self, sender: NodeId, to: NodeId, message: Message) -> None:
        if to == self.name:
            self.happen(Received(sender, message))

    def connected(self, node: NodeId) -> None:
        self.happen(Connected(node))

    # The disk.

    def _sync(self) -> None:
        if not self._syncing:
            self._syncing = True
            ticket = self._written
            self._later(self.sync_us + int(self.random.random() * self.sync_us), lambda: self._synced(ticket))

    def _synced(self, ticket: int) -> None:
        if self.stalled:
            self._later(20_000, lambda: self._synced(ticket))
            return
        self.vault.sync(ticket)
        self._syncing = False
        self.happen(Persisted(ticket))
        if self._written > ticket:
            self._sync()

    def _fetch(self, fetch: Fetch) -> None:
        def read() -> None:
            batches = self.vault.fetch(fetch.offset, fetch.bytes_max)
            self.happen(Fetched(fetch.to, fetch.term, fetch.offset, self.vault.start, batches))

        self._later(200 + int(self.random.random() * 500), read)

    def trim(self) -> bool:
        """Retention drops what it may. Says whether there was something."""
        if self.phaser is None or self._turn_planned:
            return False
        before = self.phaser.ledger.start
        start = self.vault.trim(self.phaser.droppable)
        if start > before:
            self.happen(Trimmed(start))
        return start > before

    # The edict.

    def hear(self, count: int) -> None:
        """So many facts are known here by now."""
        if count > self.known:
            self.known = count
            if self.phaser is not None:
                self._learn()

    def _learn(self) -> None:
        facts = self.world.edict.facts[: self.known]
        departed = any(isinstance(fact, Departure) and fact.node == self.name for fact in facts)
        if departed:
            self._arrive_anew()
            return
        appointments = [n for n, fact in enumerate(facts) if isinstance(fact, Appointment)]
        if self._told == 0 and appointments:
            self._told = appointments[-1]  # a new life asks the table, not its history
        for fact in facts[self._told :]:
            match fact:
                case Appointment():
                    self.happen(Appointed(fact.government))
                case Acceptance():
                    self.happen(Accepted(fact.achievement, fact.epoch))
                case Departure():
                    pass
                case _:
                    assert_never(fact)
        self._told = len(facts)

    def replace(self) -> None:
        """Another machine takes its place, with an empty disk and a new name."""
        self.crash()
        self.world.edict.leave(self.name)
        self.vault = self.world.vault()
        self._rename()
        self.world.clock.after(1000, self._come_back)

    def _rename(self) -> None:
        self.incarnation += 1
        self.name = f"{self.place}{self.incarnation}"

    def _arrive_anew(self) -> None:
        """It was declared departed: it gives up everything, and comes back as another."""
        self.crash()
        self._rename()
        self.world.clock.after(1000, self._come_back)

    def _come_back(self) -> None:
        if self.phaser is None:
            self.start()
        self.world.edict.arrive(self.name)

    def _report(self, report: Report) -> None:
        acceptance = Acceptance(report.achievement, report.epoch)
        if acceptance in self.world.edict.facts[: self.known]:
            self.happen(Accepted(report.achievement, report.epoch))
            return
        self._propose(report.achievement, report.epoch)

    def _propose(self, achievement: Achievement, epoch: int) -> None:
        """Until it is seen in the log, or is of no interest any more."""
        phaser = self.phaser
        assert phaser is not None
        leading = phaser.leading
        known = Acceptance(achievement, epoch) in self.world.edict.facts[: self.known]
        if leading is None or leading.government.epoch != epoch or known:
            return
        self.world.propose(self, achievement, epoch)
        self._later(RETRY_US, lambda: self._propose(achievement, epoch))
