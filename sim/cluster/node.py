"""One node's process: the core, its disk, its clocks, and where it can be reached.

It crashes between any two turns, and restarts from its disk under the same name, perhaps at another address, or on an
empty disk. To the nemesis of the atomic log it looks like one of that one's participants.
"""

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Final, assert_never

from msgspec.structs import replace

from hansard.batch import Batch
from hansard.consensus.cluster import Peer
from hansard.consensus.consensus import Consensus
from hansard.consensus.effect import Departing, Led, Left, Outdated, Refused, Strange, Superseded
from hansard.consensus.role import Role
from hansard.participant.effect import (
    Answer,
    AnswerCommand,
    AnswerConnect,
    AnswerHold,
    AnswerRead,
    Bereft,
    Committed,
    Drop,
    Effect,
    Excerpt,
    Fetch,
    Fork,
    GivenUp,
    Load,
    Mend,
    Persist,
    Pressure,
    Retired,
    Send,
    Thinned,
)
from hansard.participant.event import Connected, Event, Excerpted, Fetched, Leave, Received, Tick, Trimmed
from hansard.participant.message import Message
from hansard.participant.retaining import surplus
from hansard.storage.manifest import Segment
from sim.atomic.vault import Vault
from sim.counter import Counter
from sim.segments import ends, segments
from sim.world.participant import COUNTED

from . import decay
from .core import Core
from .disk import Disk

if TYPE_CHECKING:
    from .world import World

WALL_US: Final = 1_700_000_000_000_000
_ticks: list[Event] = [Tick()]


class Node:
    def __init__(self, world: "World", name: str, rate: float, skew_us: int, zone: str) -> None:
        self.world = world
        self.name = name
        self.disk = Disk(lazy=world.plan.lazy)
        self.rate = rate
        self.skew_us = skew_us
        self.zone = zone
        self.address = ""
        self.seeds: tuple[str, ...] = ()
        self.core: Core | None = None
        """None while it is down."""
        self.process = 0
        """Counts its starts."""
        self.started_us = 0
        """When this process began."""
        self.paused = False
        self.stalled = False
        """Its disk does not finish anything."""
        self.slowness = 1
        """So many times as long as usual a sync takes."""
        self.leaving = False
        self.retired: Retired | None = None
        """It wants to go, and stops when it may."""
        self.left = False
        """It has gone in order."""
        self.thinned: tuple[int, ...] = ()
        """The buckets that it says have too few copies."""
        self.down_for_good = False
        self.troubled_until_us = 0
        self.address_number = 0
        self.inbox: list[Event] = []
        self._turn_planned = False
        self._syncing = False
        self._tick_us = world.plan.settings.consensus.heartbeat_us // 3

    @property
    def random(self) -> Random:
        return self.world.random

    @property
    def now_us(self) -> int:
        """By its steady clock."""
        return int(self.world.clock.now_us * self.rate)

    @property
    def wall_us(self) -> int:
        wrong = self.world.plan.wrong_clock
        now_us = self.world.clock.now_us
        wrong_us = wrong.by_us if wrong is not None and self.world.wrong is self and now_us >= wrong.at_us else 0
        return WALL_US + now_us + self.skew_us + wrong_us

    @property
    def consensus(self) -> Consensus | None:
        return self.core.consensus if self.core is not None else None

    @property
    def vault(self) -> Vault:
        """Of the atomic log."""
        return self.disk.atomic

    @property
    def leads(self) -> bool:
        return self.core is not None and self.core.consensus.role is Role.LEADER

    @property
    def peer(self) -> Peer:
        """In its present life: of the process, or of the disk that it would start from."""
        return self.core.consensus.peer if self.core is not None else Peer(self.name, self.vault.note.life)

    # Processes.

    def start(self) -> None:
        assert self.core is None
        if self.down_for_good:
            return
        self.process += 1
        self.started_us = self.world.clock.now_us
        self.core = Core(
            self,
            self.name,
            self.address,
            self.world.plan.settings,
            self.vault.recover(),
            self.disk.shelf(),
            jitter=self.random.random,
            draw_life=self._draw_life,
            now_us=self.now_us,
            seeds=self.seeds,
            zone=self.zone,
            applications=[Counter] if self.world.plan.seed % COUNTED == 0 else (),
        )
        self.inbox, self._turn_planned, self._syncing, self.leaving, self.left = [], False, False, False, False
        self.retired = None
        self.thinned = ()
        self.world.started(self)
        self.turn([])
        self._later(int(self.random.random() * self._tick_us), self._tick)

    def _draw_life(self) -> int:
        return self.random.getrandbits(40) + 1

    def crash(self) -> None:
        if self.core is not None:
            self.core = None
            self.world.crashed(self, self.disk.crash(self.random))

    def wipe(self) -> None:
        """Its disk is lost: it will begin from nothing."""
        self.crash()
        self.disk = Disk(lazy=self.world.plan.lazy)
        for bucket in self.world.buckets:
            bucket.at(self).name = ""

    def leave(self) -> None:
        self.leaving = True
        self.happen(Leave(self.name))

    def _later(self, delay_us: int, action: Callable[[], None]) -> None:
        """In this process, or never. Delays are by this node's own clock."""
        process = self.process
        delay = int(delay_us / self.rate)
        self.world.clock.after(delay, lambda: action() if self.process == process and self.core is not None else None)

    # Turns.

    def happen(self, event: Event) -> None:
        if self.core is None:
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
        if not self.paused and self.inbox:
            events, self.inbox = self.inbox, []
            self.turn(events)

    def turn(self, events: list[Event]) -> None:
        core, world = self.core, self.world
        assert core is not None
        effects = core.turn(events, self.now_us, self.wall_us)
        world.after_turn(self, events, effects)
        for effect in effects:
            self._carry_out(effect)

    def resume(self) -> None:
        """Time has jumped, and what came meanwhile is there all at once."""
        if self.paused:
            self.paused = False
            if self.core is not None:
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
            case Persist() | Load() | Drop() | Fork():
                self.disk.carry_out(effect)
                self._sync()
            case Answer():
                world.answered(self, effect)
            case AnswerRead():
                world.read_answered(self, effect)
            case AnswerConnect():
                world.connected_to(self, effect)
            case AnswerCommand():
                world.operator.answered(self, effect)
            case AnswerHold():
                world.hold_answered(effect)
            case Fetch():
                self._fetch(effect)
            case Thinned():
                self.thinned = effect.buckets
            case Left():
                self.left = True
                self._later(500, self.crash)
            case Superseded() | Outdated():
                raise AssertionError("nobody has given up this cluster, nor raised its rules")
            case Retired():
                self.retired = effect
            case Excerpt():
                self._excerpt(effect)
            case Mend():
                self._later(1_000, lambda: self.happen(decay.mend(self, effect)))
            case Committed() | GivenUp() | Pressure() | Bereft() | Led() | Departing() | Strange() | Refused():
                pass
            case _:
                assert_never(effect)

    # The network.

    def receive(self, sender: str, message: Message) -> None:
        self.happen(Received(sender, message))

    def connected(self, node: str) -> None:
        self.happen(Connected(node))

    # The disk.

    def _sync(self) -> None:
        if not self._syncing:
            self._syncing = True
            number = self.disk.number
            sync_us = self.world.plan.sync_us * self.slowness
            self._later(sync_us + int(self.random.random() * sync_us), lambda: self._synced(number))

    def _synced(self, number: int) -> None:
        if self.stalled:
            self._later(10_000, lambda: self._synced(number))
            return
        said = self.disk.sync(number)
        self._syncing = False
        if self.disk.number > number:
            self._sync()
        for event in said:
            self.happen(decay.spoil(self.disk, event))

    def _fetch(self, fetch: Fetch) -> None:
        def read() -> None:
            part = self.disk.part(fetch.bucket)
            batches = decay.readable(self.disk, fetch.bucket, part.fetch(fetch.offset, fetch.bytes_max))
            if not batches and decay.decayed(self.disk, fetch.bucket) is not None:
                self._later(50_000, read)  # until it is mended
                return
            self.happen(Fetched(fetch.bucket, fetch.to, fetch.term, fetch.offset, part.start, batches))

        self._later(200 + int(self.random.random() * 500), read)

    def retain(self) -> bool:
        """By the settings and the holds: look for what need not be kept, and drop what is agreed on. Says whether there
        was something. What readers may go back to counts as held."""
        core = self.core
        if core is None or self.paused:
            return False
        retaining, disk, found = core.retaining, self.disk, None
        if looks := retaining.looks():
            limits = {number: self._allowed(number, limit) for number, limit in looks.limits.items()}
            found = surplus(replace(looks, limits=limits), {number: self._filed(number) for number in limits})
            if found is not None:
                self.happen(found)
        drops = {} if disk.forking else retaining.drops()
        for number, before in drops.items():
            gone = [batch for batch in disk.part(number).current.batches if ends(batch, before)]
            delay_us = self.world.keeping.randrange(50_000)
            self._later(delay_us, lambda number=number, gone=gone: self._drop(number, gone))  # type: ignore[misc]
        return found is not None or bool(drops)

    def _allowed(self, bucket: int, limit: int) -> int:
        return min([limit, *[reader.hold(bucket) for reader in self.world.readers]])

    def _filed(self, bucket: int) -> list[Segment]:
        """What is committed is in segments."""
        assert self.core is not None
        instance = self.core.copies.running[bucket].phaser
        assert instance is not None
        batches, committed = self.disk.part(bucket).synced_batches(), instance.ledger.committed
        return segments([batch for batch in batches if ends(batch, committed)])

    def _drop(self, bucket: int, gone: list[Batch]) -> None:
        """These very batches, as far as they are still there."""
        part = self.disk.part(bucket)
        before = part.start
        there = [batch for batch, one in zip(part.current.batches, gone, strict=False) if batch is one]
        start = part.trim(there[-1].header.end_offset) if there else before
        if start > before:
            for oracle in self.world.oracles:
                oracle.dropped(self, bucket, start)
            self.happen(Trimmed(bucket, start))

    def _excerpt(self, wanted: Excerpt) -> None:
        def read() -> None:
            part = self.disk.part(wanted.bucket)
            batches = [
                batch
                for batch in decay.readable(self.disk, wanted.bucket, part.fetch(wanted.first, wanted.bytes_max))
                if batch.header.end_offset <= wanted.end and wanted.first >= part.start
            ]
            self.happen(Excerpted(wanted.to, wanted.bucket, wanted.number, wanted.first, batches))

        self._later(200 + int(self.random.random() * 500), read)

    def trim(self) -> bool:
        """Retention drops what it may, in all buckets. Says whether there was something. Nothing of what a bookmark
        may need, nor while copies are being made of it."""
        if self.core is None or self._turn_planned or self.inbox or self.disk.forking:
            return False
        trimmed = False
        for bucket, copy in list(self.core.copies.running.items()):
            if copy.phaser is not None and not copy.inbox:
                before = copy.phaser.ledger.start
                held = [reader.hold(bucket) for reader in self.world.readers]
                start = self.disk.part(bucket).trim(min([copy.phaser.droppable, *held]))
                if start > before:
                    trimmed = True
                    self.happen(Trimmed(bucket, start))
        return trimmed
