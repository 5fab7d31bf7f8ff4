"""One participant's process: the core, its disk, its clock, and where it can be reached.

It crashes between any two turns, and restarts from its disk under the same name, perhaps at another address, with newer
rules, or on an empty disk.
"""

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Final, assert_never

import msgspec

from hansard.consensus.cluster import Peer
from hansard.consensus.consensus import Consensus
from hansard.consensus.effect import (
    AnswerRead,
    Applied,
    Departing,
    Effect,
    Led,
    Left,
    Outdated,
    Persist,
    Refused,
    Restored,
    Send,
    Settled,
    Strange,
    Superseded,
)
from hansard.consensus.event import Event, Leave, Persisted, Received, Tick
from hansard.consensus.message import Envelope
from hansard.consensus.role import Role

from .machine import Recorder
from .vault import Vault

if TYPE_CHECKING:
    from .world import World

CLOSE: Final = 0.02
_ticks: list[Event] = [Tick()]


class Seen:
    """How a participant was at the end of its last turn."""

    __slots__ = ("committed", "end", "led", "term", "voters")

    def __init__(self) -> None:
        self.term = self.end = self.committed = 0
        self.led = False
        self.voters: tuple[Peer, ...] = ()


class Participant:
    def __init__(self, world: "World", name: str, vault: Vault, rate: float, zone: str) -> None:
        self.world = world
        self.name = name
        self.vault = vault
        self.rate = rate
        self.zone = zone
        self.rules_max = world.plan.rules
        self.address = ""
        self.seeds: tuple[str, ...] = ()
        self.consensus: Consensus | None = None
        """None while it is down."""
        self.machine = Recorder()
        self.process = 0
        """Counts its starts."""
        self.paused = False
        self.stalled = False
        """Its disk does not finish anything."""
        self.slowness = 1
        """So many times as long as usual a sync takes."""
        self.leaving = False
        """It wants to go, and stops when it may."""
        self.left = False
        """It has gone in order: nobody needs it any more."""
        self.down_for_good = False
        self.troubled_until_us = 0
        """Nothing has kept it from being heard since then."""
        self.address_number = 0
        self.seen = Seen()
        self.inbox: list[Event] = []
        self._turn_planned = False
        self._syncing = False
        self._written = 0
        self._tick_us = world.plan.settings.heartbeat_us // 3

    @property
    def random(self) -> Random:
        return self.world.random

    @property
    def now_us(self) -> int:
        return int(self.world.clock.now_us * self.rate)

    @property
    def leads(self) -> bool:
        return self.consensus is not None and self.consensus.role is Role.LEADER

    @property
    def peer(self) -> Peer:
        """In its present life: of the process, or of the disk that it would start from."""
        return self.consensus.peer if self.consensus is not None else Peer(self.name, self.vault.note.life)

    def start(self) -> None:
        assert self.consensus is None and not self.down_for_good
        self.process += 1
        self.machine = Recorder()
        self.consensus = Consensus(
            self.name,
            self.address,
            self.world.plan.settings,
            self.machine,
            self.vault.recover(),
            jitter=self._jitter,
            draw_life=self._draw_life,
            now_us=self.now_us,
            seeds=self.seeds,
            zone=self.zone,
            rules_max=self.rules_max,
            inventory=self.name.encode(),
        )
        self.inbox, self._turn_planned, self._syncing, self.leaving, self.left = [], False, False, False, False
        self.world.started(self)
        self.turn([])
        self._later(int(self.random.random() * self._tick_us), self._tick)

    def _jitter(self) -> float:
        """In some worlds those who wait for a leader lose their patience at nearly the same time; until it heals."""
        drawn = self.random.random()
        return drawn * CLOSE if self.world.plan.close and not self.world.healings else drawn

    def _draw_life(self) -> int:
        return self.random.getrandbits(40) + 1

    def crash(self) -> None:
        if self.consensus is not None:
            self.consensus = None
            self.world.crashed(self, self.vault.crash(self.random))

    def _later(self, delay_us: int, action: Callable[[], None]) -> None:
        """In this process, or never. Delays are by this participant's own clock."""
        process = self.process
        delay = int(delay_us / self.rate)
        self.world.clock.after(
            delay, lambda: action() if self.process == process and self.consensus is not None else None
        )

    def happen(self, event: Event) -> None:
        if self.consensus is None:
            return
        if self.world.plan.prompt and not self.paused and not self.inbox:
            self.turn([event])
            return
        self.inbox.append(event)
        self._plan_turn()

    def _plan_turn(self) -> None:
        if not self._turn_planned and not self.paused:
            self._turn_planned = True
            self._later(20 + int(self.random.random() * 60), self._handle)

    def _handle(self) -> None:
        self._turn_planned = False
        if not self.paused:
            events, self.inbox = self.inbox, []
            self.turn(events)

    def turn(self, events: list[Event]) -> list[Effect]:
        consensus, world = self.consensus, self.world
        assert consensus is not None
        effects = consensus.turn(events, int(world.clock.now_us * self.rate))
        world.after_turn(self, events, effects)
        for effect in effects:
            self._carry_out(effect)
        return effects

    def see(self) -> None:
        consensus, seen = self.consensus, self.seen
        assert consensus is not None
        ledger = consensus.ledger
        seen.term, seen.committed, seen.end = ledger.term, ledger.committed, ledger.log.end
        seen.led, seen.voters = consensus.role is Role.LEADER, ledger.log.voters

    def resume(self) -> None:
        """Time has jumped, and what came meanwhile is there all at once."""
        if self.paused:
            self.paused = False
            if self.consensus is not None:
                self.inbox.append(_ticks[0])
                self._plan_turn()

    def _tick(self) -> None:
        if not self.paused:
            if self.inbox:
                self.happen(_ticks[0])
            else:
                self.turn(_ticks)
        self._later(self._tick_us, self._tick)

    def _carry_out(self, effect: Effect) -> None:
        world = self.world
        match effect:
            case Send():
                world.send(self, effect)
            case Persist():
                self.vault.write(effect.ticket, effect.writes)
                self._written = effect.ticket
                self._sync()
            case Settled():
                world.settled(self, effect.id)
            case AnswerRead():
                world.read_answered(self, effect)
            case Left():
                self.left = True
                self._later(500, self.crash)
            case Outdated():
                self._later(500, self._replace_program)
            case Refused() if "rules" in effect.reason:
                self._later(100_000, self._replace_program)
            case Superseded():
                raise AssertionError("nobody has given up this cluster")
            case Applied() | Restored() | Led() | Departing() | Strange() | Refused():
                pass
            case _:
                assert_never(effect)

    def _replace_program(self) -> None:
        """It does not know the cluster's rules: somebody installs the newest."""
        self.crash()
        self.rules_max = self.world.newest_rules
        self.world.start_later(self, 1_000)

    def receive(self, envelope: Envelope | bytes) -> None:
        if isinstance(envelope, bytes):
            envelope = msgspec.msgpack.decode(envelope, type=Envelope)
        self.happen(Received(envelope))

    def stray(self, envelope: Envelope) -> bool:
        """Something comes from another cluster, in a turn of its own, when nothing else is left to do. Says whether it
        was heard."""
        if self.consensus is None or self.paused:
            return False
        events, self.inbox = self.inbox, []
        self.turn([*events, Tick()])
        self.world.stray(self, envelope, self.turn([]))
        return True

    def leave(self) -> None:
        self.leaving = True
        self.happen(Leave(self.name))

    def wipe(self) -> None:
        """Its disk is lost: it will begin from nothing."""
        self.crash()
        self.vault = self.world.vault()

    # The disk.

    def _sync(self) -> None:
        if not self._syncing:
            self._syncing = True
            ticket = self._written
            sync_us = self.world.plan.sync_us * self.slowness
            self._later(sync_us + int(self.random.random() * sync_us), lambda: self._synced(ticket))

    def _synced(self, ticket: int) -> None:
        if self.stalled:
            self._later(10_000, lambda: self._synced(ticket))
            return
        self.vault.sync(ticket)
        self._syncing = False
        if self._written > ticket:
            self._sync()
        self.happen(Persisted(ticket))
