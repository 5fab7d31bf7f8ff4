"""Whole participants joined in one process: virtual time, a network that keeps the order, disks that sync in order.

Nothing happens but what follows from what a test makes happen. `run` lets time pass, `until` stops at a condition.
After every turn all tables that have come equally far are compared.
"""

from collections.abc import Callable
from copy import deepcopy
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Final

from msgspec.structs import replace

from hansard.application import Application
from hansard.batch import build
from hansard.batch.keyhash import bucket_of, key_hash
from hansard.consensus import effect as atomic
from hansard.consensus.cluster import ClusterId, Peer
from hansard.consensus.recovered import founding
from hansard.distributor.bucket import State
from hansard.distributor.command import Found, Order, Wish
from hansard.distributor.distributor import Distributor
from hansard.distributor.settings import Settings as Wanted
from hansard.participant.copies import shelved
from hansard.participant.effect import (
    ATOMIC,
    Answer,
    AnswerCommand,
    AnswerConnect,
    AnswerHold,
    AnswerRead,
    Drop,
    Effect,
    Excerpt,
    Fetch,
    Fork,
    Load,
    Mend,
    Persist,
    Send,
)
from hansard.participant.event import (
    Command,
    Damaged,
    Event,
    Excerpted,
    Fetched,
    Loaded,
    Mended,
    Persisted,
    Received,
    Submit,
    Tick,
)
from hansard.participant.invariants import check_state
from hansard.participant.participant import Participant
from hansard.participant.settings import Settings
from hansard.phaser.event import Continues
from hansard.phaser.outcome import Outcome
from hansard.phaser.recovered import decode_note, standing
from sim.world.vault import ModelVault
from tests.consensus.disk import Disk

SECOND: Final = 1_000_000
DELAY_US: Final = 300
SYNC_US: Final = 200
WALL_US: Final = 1_700_000_000 * SECOND


class Node:
    """What it is told to be, its disk, and its process while there is one."""

    def __init__(self, name: str, disk: Disk, seeds: tuple[str, ...], zone: str) -> None:
        self.name = name
        self.address = f"{name}:1"
        self.disk = disk
        self.vaults: dict[int, ModelVault] = {}
        self.seeds = seeds
        self.zone = zone
        self.skew_us = 0
        self.core: Participant | None = None
        self.process = 0
        self.paused = False
        self.spoiled: dict[int, Damaged] = {}
        """What keeps a bucket from being loaded until it is mended."""
        self.inbox: list[Event] = []


class Cluster:
    def __init__(self, settings: Settings | None = None, seed: int = 0) -> None:
        self.settings = settings or Settings()
        self.now_us = 0
        self.nodes: dict[str, Node] = {}
        self.answers: dict[int, tuple[Outcome, int]] = {}
        self.reads: dict[int, AnswerRead] = {}
        self.connections: dict[int, AnswerConnect] = {}
        self.commands: dict[int, AnswerCommand] = {}
        self.holds: dict[int, AnswerHold] = {}
        self.told: list[tuple[str, Effect]] = []
        self.sent: list[tuple[str, Send]] = []
        self.lose: Callable[[str, Send], bool] = lambda sender, send: False
        self.fits = True
        """Whether disks take what they are to be mended with."""
        self.hashes: dict[int, int] = {}
        self.applications: list[Callable[[], Application]] = []
        """Of whoever is started from here on."""
        self._agenda: list[tuple[int, int, Callable[[], None]]] = []
        self._order = count()
        self._ids = count(1)
        self._lives = count(1001)
        self._random = Random(seed)
        self._cut: set[str] = set()

    # Nodes.

    def add(self, *names: str, zone: str = "") -> None:
        """The first one founds; who comes later joins through those who are there."""
        for name in names:
            first = not self.nodes
            disk = Disk(founding(ClusterId("joined"), Peer(name, next(self._lives)))) if first else Disk()
            self.nodes[name] = Node(name, disk, tuple([node.address for node in self.nodes.values()]), zone)
            self.start(name)

    def start(self, name: str) -> None:
        node = self.nodes[name]
        assert node.core is None
        node.process += 1
        node.inbox = []
        shelf = {}
        for bucket, vault in sorted(node.vaults.items()):
            if vault.synced.note or vault.synced.batches:
                shelf[bucket] = shelved(bucket, standing(vault.recover()))
            else:
                del node.vaults[bucket]
        node.core = Participant(
            name,
            node.address,
            self.settings,
            node.disk.recovered(),
            shelf,
            jitter=self._random.random,
            draw_life=lambda: next(self._lives),
            now_us=self.now_us,
            seeds=node.seeds,
            zone=node.zone,
            applications=self.applications,
        )
        self._turn(node, [])
        self._tick(node, node.process)

    def crash(self, *names: str) -> None:
        for name in names:
            node = self.nodes[name]
            node.core, node.paused = None, False
            node.disk.crash(0)
            for vault in node.vaults.values():
                vault.crash(self._random)

    def wipe(self, name: str) -> None:
        self.crash(name)
        node = self.nodes[name]
        node.disk, node.vaults = Disk(), {}
        node.seeds = tuple([other.address for other in self.nodes.values() if other is not node])

    def pause(self, name: str) -> None:
        self.nodes[name].paused = True

    def resume(self, name: str) -> None:
        node = self.nodes[name]
        node.paused = False
        self._turn(node, [Tick()])

    def cut(self, *names: str) -> None:
        self._cut |= set(names)

    def heal(self) -> None:
        self._cut.clear()

    def core(self, name: str) -> Participant:
        core = self.nodes[name].core
        assert core is not None, f"{name} is down"
        return core

    @property
    def up(self) -> list[Participant]:
        return [node.core for node in self.nodes.values() if node.core is not None]

    @property
    def table(self) -> Distributor:
        """Of whoever has come furthest."""
        return max(self.up, key=lambda core: core.consensus.committed).distributor

    def leader(self, bucket: int) -> str:
        leader = self.table.buckets[bucket].leader
        return leader.node if leader is not None else ""

    # What happens.

    def order(self, wish: Wish, at: str = "", order: str = "") -> int:
        id = next(self._ids)
        self.happen(at or next(iter(self.nodes)), Command(id, Order(order or f"order-{id}", wish)))
        return id

    def found(self, buckets: int = 4, participants: int = 1, **settings: object) -> None:
        id = self.order(Found(buckets, Wanted(**settings), participants))  # type: ignore[arg-type]
        self.until(lambda: id in self.commands)

    def submit(
        self,
        at: str,
        key: bytes,
        value: bytes = b"v",
        *,
        connection: int = 0,
        series: int = 0,
        previous: int = -1,
        seconds: float = 3,
        continues: Continues | None = None,
        level: int = 0,
    ) -> int:
        """Cut for the bucket's own level, or for another one."""
        id = next(self._ids)
        if not level:
            level = self.table.buckets[self.table.home(key_hash(key))].level if self.table.buckets else 1
        stream = {"connection": connection, "first_series": series, "previous_series": previous} if connection else {}
        batch = build([key], [value], **stream)  # type: ignore[arg-type]
        deadline_us = self.now_us + int(seconds * SECOND)
        self.happen(at, Submit(id, bucket_of(key_hash(key), level), batch, deadline_us, level, continues))
        return id

    def answer(self, id: int, seconds: float = 10) -> Outcome:
        self.until(lambda: id in self.answers, seconds)
        return self.answers[id][0]

    def happen(self, name: str, *events: Event) -> None:
        self._come(self.nodes[name], *events)

    def next_id(self) -> int:
        return next(self._ids)

    def run(self, seconds: float) -> None:
        end_us = self.now_us + int(seconds * SECOND)
        while self._agenda and self._agenda[0][0] <= end_us:
            self._next()
        self.now_us = end_us

    def until(self, condition: Callable[[], object], seconds: float = 20) -> int:
        begin_us = self.now_us
        while not condition():
            assert self._agenda and self._agenda[0][0] <= begin_us + seconds * SECOND, f"not within {seconds} s"
            self._next()
        return self.now_us - begin_us

    def steady(self, seconds: float = 60) -> int:
        """Let time pass until every bucket is steady, nothing moves, and everybody has the same table."""
        return self.until(self._is_steady, seconds)

    def _is_steady(self) -> bool:
        buckets = self.table.buckets
        if not buckets or any(bucket.state is not State.STEADY or bucket.goal for bucket in buckets):
            return False
        up = [core for core in self.up if core.here.member is not None]
        return len({core.distributor.version for core in up}) == 1

    # The machinery.

    def _after(self, delay_us: int, action: Callable[[], None]) -> None:
        heappush(self._agenda, (self.now_us + delay_us, next(self._order), action))

    def _next(self) -> None:
        self.now_us, _, action = heappop(self._agenda)
        action()

    def _tick(self, node: Node, process: int) -> None:
        if node.core is not None and node.process == process:
            self._come(node, Tick())
            self._after(self.settings.consensus.heartbeat_us // 3, lambda: self._tick(node, process))

    def _come(self, node: Node, *events: Event) -> None:
        if node.paused:
            node.inbox += events
        elif node.core is not None:
            self._turn(node, list(events))

    def _turn(self, node: Node, events: list[Event]) -> None:
        assert node.core is not None
        events, node.inbox = [*node.inbox, *events], []
        effects = node.core.turn(events, self.now_us, WALL_US + self.now_us + node.skew_us)
        committed, table = node.core.consensus.committed, node.core.distributor
        if effects:
            check_state(node.core)
            assert self.hashes.setdefault(committed, table.hash) == table.hash, f"two tables at {committed}"
        for effect in effects:
            self.told.append((node.name, effect))
            self._carry_out(node, effect)

    def _carry_out(self, node: Node, effect: Effect) -> None:
        process = node.process
        match effect:
            case Send():
                self._send(node, effect)
            case Persist():
                self._persist(node, effect)
            case Load():
                self._after(2 * SYNC_US, lambda: self._load(node, process, effect))
            case Fork():
                self._fork(node, process, effect)
            case Drop():
                node.vaults.pop(effect.bucket, None)
            case Fetch():
                vault = node.vaults[effect.bucket]
                batches = vault.fetch(effect.offset, effect.bytes_max)
                fetched = Fetched(effect.bucket, effect.to, effect.term, effect.offset, vault.start, batches)
                self._after(0, lambda: self._still(node, process, fetched))
            case Excerpt():
                self._excerpt(node, process, effect)
            case Mend():
                node.spoiled.pop(effect.bucket, None)
                mended = Mended(effect.bucket, effect.number, fits=self.fits)
                self._after(SYNC_US, lambda: self._still(node, process, mended))
            case Answer():
                assert effect.id not in self.answers, "a submission is answered once"
                self.answers[effect.id] = (effect.outcome, effect.retry_us)
            case AnswerRead():
                assert effect.id not in self.reads, "a read is answered once"
                self.reads[effect.id] = effect
            case AnswerConnect():
                assert effect.id not in self.connections
                self.connections[effect.id] = effect
            case AnswerCommand():
                self.commands[effect.id] = effect
            case AnswerHold():
                assert effect.id not in self.holds, "a hold is answered once"
                self.holds[effect.id] = effect
            case _:
                pass

    def _still(self, node: Node, process: int, event: Event) -> None:
        if node.core is not None and node.process == process:
            self._come(node, event)

    def _send(self, node: Node, send: Send) -> None:
        to = next((other for other in self.nodes.values() if other.address == send.address), None)
        self.sent.append((node.name, send))
        if to is not None and not {node.name, to.name} & self._cut and not self.lose(node.name, send):
            self._after(DELAY_US, lambda: self._come(to, Received(node.name, send.message)))

    def _persist(self, node: Node, persist: Persist) -> None:
        process = node.process
        if persist.part == ATOMIC:
            node.disk.write(atomic.Persist(persist.ticket, persist.writes))  # type: ignore[arg-type]
        else:
            node.vaults.setdefault(persist.part, ModelVault()).write(persist.ticket, persist.writes)  # type: ignore[arg-type]
        self._after(SYNC_US, lambda: self._synced(node, process, persist))

    def _synced(self, node: Node, process: int, persist: Persist) -> None:
        if node.core is None or node.process != process:
            return
        if persist.part == ATOMIC:
            node.disk.sync(persist.ticket)
        elif persist.part in node.vaults:
            node.vaults[persist.part].sync(persist.ticket)
        self._come(node, Persisted(persist.part, persist.generation, persist.ticket))

    def _load(self, node: Node, process: int, load: Load) -> None:
        vault = node.vaults.setdefault(load.bucket, ModelVault())
        if load.bucket in node.spoiled:
            runs = decode_note(vault.recover().note).runs
            spoiled = replace(node.spoiled[load.bucket], generation=load.generation, runs=runs)
            self._still(node, process, spoiled)
            return
        self._still(node, process, Loaded(load.bucket, load.generation, vault.recover()))

    def _excerpt(self, node: Node, process: int, wanted: Excerpt) -> None:
        batches = node.vaults[wanted.bucket].fetch(wanted.first, wanted.bytes_max)
        found = [batch for batch in batches if batch.header.end_offset <= wanted.end]
        excerpted = Excerpted(wanted.to, wanted.bucket, wanted.number, wanted.first, found)
        self._after(0, lambda: self._still(node, process, excerpted))

    def _fork(self, node: Node, process: int, fork: Fork) -> None:
        assert fork.child not in node.vaults, f"bucket {fork.child} is here already"
        vault = node.vaults[fork.child] = ModelVault()
        forked = node.vaults[fork.parent].current
        vault.current = deepcopy(forked)
        kept = deepcopy(forked)

        def synced() -> None:
            if node.process == process and node.core is not None:
                vault.synced = kept

        self._after(SYNC_US, synced)
