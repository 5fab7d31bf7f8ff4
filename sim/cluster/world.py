"""A whole cluster from one seed: safety while faults happen, then everything heals and has to move again.

Everything in it is told to the oracles, counted for the coverage, and goes into the trace, whose hash says whether two
runs were the same.
"""

from collections.abc import Callable, Sequence
from random import Random
from struct import Struct
from typing import Final, cast

import xxhash

from hansard.consensus import effect as atomic
from hansard.consensus.cluster import ClusterId, Peer
from hansard.consensus.content import Entry, Fact
from hansard.consensus.recovered import founding
from hansard.distributor.bucket import Bucket as Record
from hansard.distributor.command import Found
from hansard.participant.effect import Answer, AnswerConnect, AnswerHold, AnswerRead, Effect, Send
from hansard.participant.event import Event
from hansard.participant.message import ClockTold, Hop, Message
from hansard.phaser.effect import Achievement
from sim.atomic.oracles import Lives
from sim.atomic.participant import Participant as LogParticipant
from sim.atomic.plan import Fault
from sim.oracles import Violation
from sim.world.client import Stranger
from sim.world.clock import Clock
from sim.world.network import Network

from . import healing
from .addresses import Addresses
from .bucket import Bucket
from .client import Client
from .coverage import Coverage
from .decay import Decay
from .holder import Holder
from .keys import Keys
from .nemesis import Nemesis
from .node import Node
from .operators import Operator
from .oracles import Oracle, SameTable, oracles
from .pauses import Pauses
from .plan import FAULTED_US, Plan
from .reader import Reader
from .traffic import DEADLINES_US, Traffic
from .witness import Witness
from .words import content_words, describe, lines

STEP_US: Final = 500_000
RETENTION_US: Final = 600_000
ECHO_US: Final = 2_000_000
"""So late something may come again."""
CLUSTER: Final = ClusterId("simulated")
LOG: Final = "simulated-log"
_TRACED = Struct("<9q")

Parcel = tuple[str, str, Message, int]
"""The address that it goes to, its sender, what it says, and for which process of the receiver it was sent."""
"""What goes over the network: to which address, from whom, and what."""


class World:
    def __init__(self, plan: Plan, faults: Sequence[Fault] | None = None, tell: Callable[[str], None] | None = None):
        self.plan = plan
        self.random = Random(plan.seed)
        self.clock = Clock()
        self.network: Network[Parcel] = Network(self.clock, self.random, self._deliver, self._connected)
        self._set_conditions()
        self.nodes: list[Node] = []
        self.by_name: dict[str, Node] = {}
        self.addresses = Addresses(self)
        for rate, skew_us, zone in zip(plan.rates, plan.skews_us, plan.zones, strict=True):
            self.add_node(rate, skew_us, zone)
        wrong = plan.wrong_clock
        self.wrong = self.nodes[wrong.place] if wrong is not None else None
        """Whose clock is wrong."""
        self.healings = 0
        self.producing = True
        self.given_up: set[Peer] = set()
        self.table = SameTable(self._applied)
        self.lives = Lives()
        self.oracles: list[Oracle] = oracles(self.table, thorough=plan.thorough)
        self.pauses = Pauses(self)
        self.coverage = Coverage(self)
        self.buckets: list[Bucket] = []
        """As many as the furthest table has, or else as there will be when it is founded."""
        self._extend(plan.buckets)
        self.witness = Witness(self)
        self.keys = Keys(plan.buckets_max)
        self.traffic = Traffic(self)
        self.operator = Operator(self)
        self._numbers = 0
        self.clients: list[Client] = []
        self.readers = [Reader(self, number) for number in range(plan.readers)]
        self.holders = [Holder(self, number) for number in range(plan.holders)]
        self.holders_asked: dict[int, Holder] = {}
        self.leapt = False
        """The log's time was wrong once, because of two voters one had a wrong clock: holds may be over."""
        self.keeping = Random(plan.seed)
        """For what is dropped, and when: all else draws what it would without it."""
        self.decay: Decay | None = None
        """Only in worlds whose disks decay."""
        self.nemesis = Nemesis(self)
        self.nemesis.schedule(plan.faults if faults is None else tuple(faults))
        self._trace = xxhash.xxh3_64()
        self.tell_line = tell

    def _set_conditions(self) -> None:
        conditions, plan = self.network.conditions, self.plan
        conditions.ordered, conditions.loss, conditions.double = plan.ordered, plan.loss, plan.double
        conditions.delay_us, conditions.jitter_us = plan.delay_us, plan.delay_us * 3 // 2

    def add_node(self, rate: float, skew_us: int, zone: str) -> Node:
        """Under the next name."""
        node = Node(self, chr(ord("a") + len(self.nodes)), rate, skew_us, zone)
        self.nodes.append(node)
        self.by_name[node.name] = node
        self.addresses.add(node)
        return node

    @property
    def participants(self) -> list[LogParticipant]:
        """As the nemesis of the atomic log knows them."""
        return cast("list[LogParticipant]", self.nodes)

    @property
    def sequence(self) -> SameTable:
        return self.table

    @property
    def places(self) -> list[str]:
        return [node.name for node in self.nodes]

    # The run.

    def run(self) -> None:
        """Raises the Violation that it finds."""
        self.begin()
        self.clock.run_until(FAULTED_US)
        healing.heal(self)
        self.clock.run_until(FAULTED_US + 6 * STEP_US)
        self.producing = False
        for client in self.clients:
            client.producing = False
        for bucket in self.buckets:
            for stranger in bucket.strangers:
                stranger.producing = False
        end_us = FAULTED_US + healing.healed_us(self)
        while unsettled := healing.unsettled(self):
            if self.clock.now_us >= end_us:
                raise Violation("everything moves again", "; ".join([*unsettled, *map(describe, self.nodes)]))
            healing.release(self)
            self.clock.run_until(self.clock.now_us + STEP_US)
        if any(node.core is not None and node.core.router.count for node in self.nodes):
            self.clock.run_until(self.clock.now_us + 2 * max(DEADLINES_US))  # attempts that nobody waits for any more
        self.finish()

    def finish(self) -> None:
        for oracle in self.oracles:
            oracle.finish(self)
        for bucket in self.buckets:
            for one in bucket.oracles:
                one.finish(bucket.cast)
        self.coverage.finish()

    def begin(self) -> None:
        """One founds the cluster, the others come after it; an operator says how many buckets there are."""
        founder, *others = self.nodes
        founder.vault.write(0, founding(CLUSTER, Peer(founder.name, self.random.getrandbits(40) + 1)))
        founder.vault.sync(0)
        founder.start()
        for node, at_us in zip(others, self.plan.arrivals_us[1:], strict=True):
            self.start_later(node, at_us)
        plan = self.plan
        self.clock.after(200_000, self._found)
        names = [f"sink-{number}" if number < plan.named else "" for number in range(plan.clients)]
        self.clients = [Client(self, number, name, plan.range_end) for number, name in enumerate(names)]
        for client in self.clients:
            self.clock.after(self.random.randrange(500_000), client.connect)
            self.clock.after(self.random.randrange(1_000_000), client.produce)
        for number in range(plan.strangers):
            bucket = self.random.choice(self.buckets)
            key = self.random.choice(self.keys.of(bucket.number, plan.buckets))
            stranger = Stranger(bucket.cast, 100 + number, key)
            bucket.strangers.append(stranger)
            self.clock.after(self.random.randrange(500_000), stranger.produce)
        for reader in self.readers:
            self.clock.after(self.random.randrange(2_000_000), reader.read)
        self.clock.after(1_000_000, self.traffic.read)
        for holder in self.holders:
            self.clock.after(holder.random.randrange(1_000_000, 3_000_000), holder.act)
        if self.holders:
            self.clock.after(RETENTION_US, self._retain)

    def _retain(self) -> None:
        """Everybody looks now and then for what need not be kept."""
        self.clock.after(self.keeping.randrange(RETENTION_US), self._retain)
        self.keeping.choice(self.nodes).retain()

    def _found(self) -> None:
        self.operator.order(Found(self.plan.buckets, self.plan.table, self.plan.founders, LOG))

    @property
    def living(self) -> list[Node]:
        return [node for node in self.nodes if node.core is not None]

    @property
    def log_leader(self) -> Node | None:
        """Of the atomic log; the one with the latest term, if there are several."""
        leaders = [(node.core.consensus.term, node) for node in self.living if node.leads and node.core is not None]
        return max(leaders, key=lambda led: led[0])[1] if leaders else None

    @property
    def leader(self) -> LogParticipant | None:
        return cast("LogParticipant | None", self.log_leader)

    # What happens, told to all who watch.

    @property
    def trace_hash(self) -> str:
        return self._trace.hexdigest()

    def line(self, text: Callable[[], str]) -> None:
        if self.tell_line is not None:
            self.tell_line(f"{self.clock.now_us / 1e6:11.6f}  {text()}")

    def started(self, node: Node) -> None:
        self.nemesis.trouble([cast("LogParticipant", node)], 0)
        for oracle in self.oracles:
            oracle.started(node)
        self.line(lambda: f"{node.name} starts at {node.address}: {describe(node)}")
        if self.plan.told:
            for other in self.living:
                if other is not node:
                    self.clock.after(1_000 + self.random.randrange(5_000), lambda o=other: o.connected(node.name))  # type: ignore[misc]

    def crashed(self, node: Node, lost: int) -> None:
        self.nemesis.trouble([cast("LogParticipant", node)], 0)
        self.coverage.crashed(node, lost)
        self.line(lambda: f"{node.name} crashes and loses {lost} writes")

    def fault(self, fault: Fault, *, happened: bool) -> None:
        if happened:
            self.coverage.counts[f"fault {fault.kind}"] += 1
        self.line(lambda: f"nemesis: {fault.kind}{'' if happened else ' (to no effect)'}")

    def after_turn(self, node: Node, events: Sequence[Event], effects: Sequence[Effect]) -> None:
        core = node.core
        assert core is not None
        if self.tell_line is not None:
            for line in lines(node, events, effects):
                self.line(lambda line=line: line)  # type: ignore[misc]
        if not effects:
            return
        for oracle in self.oracles:
            oracle.after_turn(node, events, effects)
        self.coverage.after_turn(node, effects)
        ledger = core.consensus.ledger
        place = (self.clock.now_us, ord(node.name), node.process)
        numbers = (ledger.log.end, ledger.committed, ledger.term, core.distributor.version, len(events), len(effects))
        self._trace.update(_TRACED.pack(*place, *numbers))

    def agreed(self, node: Node, effect: atomic.Effect) -> None:
        """In the atomic log."""
        if isinstance(effect, atomic.Applied):
            self.table.applied(node, effect)
        elif isinstance(effect, atomic.Restored):
            self.table.restored(node, effect.end)
            self.coverage.counts["state of the log installed"] += 1
        elif isinstance(effect, atomic.Departing):
            self.lives.did(cast("LogParticipant", node), effect)

    def _extend(self, count: int) -> None:
        self.buckets += [Bucket(self, number) for number in range(len(self.buckets), count)]

    def _applied(self, index: int, entry: Entry, fact: Fact | None, before: Sequence[Record]) -> None:
        """For the first time."""
        self.lives.committed(index, entry, fact)
        after = self.table.distributor.buckets
        self._extend(len(after))
        before = [*before, *[Record()] * (len(after) - len(before))]
        for number, (old, new) in enumerate(zip(before, after, strict=True)):
            if old.level and new.opened != old.opened:
                self.buckets[number].accepted(old, Achievement.OPENED)
            elif old.level and new.expanded != old.expanded:
                self.buckets[number].accepted(old, Achievement.EXPANDED)
            if new.level != old.level and new.born:
                self.buckets[number].split(new)
        self.pauses.applied(fact, before, after)
        self.coverage.committed(fact, before, after)
        self.nemesis.committed(before, after)
        for oracle in self.oracles:
            oracle.committed(self, index, entry, fact, before)
        self.line(lambda: f"log {index}: {content_words(entry.content)}")

    # The network.

    def start_later(self, node: Node, delay_us: int) -> None:
        self.nemesis.start_later(cast("LogParticipant", node), delay_us)

    def move(self, node: Node, *, reuse: bool = False) -> None:
        self.addresses.move(node, reuse=reuse)

    def swap(self, one: Node, other: Node) -> None:
        self.addresses.swap(one, other)

    def send(self, sender: Node, send: Send) -> None:
        to = self.addresses.at(send.address)
        if to is not None and send.to in ("", to.name):
            parcel = (send.address, sender.name, send.message, to.process)
            self.network.send(sender.name, to.name, parcel)
            if self.plan.echo and self.random.random() < self.plan.echo:
                delay_us = int(self.random.random() * ECHO_US)
                self.nemesis.later(delay_us, lambda: self.network.send(sender.name, to.name, parcel))

    def _deliver(self, to: str, parcel: Parcel) -> None:
        node = self.by_name[to]
        address, sender, message, process = parcel
        if isinstance(message, Hop) and node.process != process:
            return  # a connection does not outlive its process, and what it keeps from coming twice depends on that
        if self.addresses.at(address) is node:
            node.receive(sender, message)
            if isinstance(message, ClockTold):
                for oracle in self.oracles:
                    oracle.told_time(node, sender, message.cluster_us)

    def _connected(self, here: str, there: str) -> None:
        self.by_name[here].connected(there)

    # Clients.

    def next_number(self) -> int:
        self._numbers += 1
        return self._numbers

    def ask_to_connect(self, client: Client, number: int, name: str, place: str) -> None:
        self.traffic.connect(client, number, name, place)

    def answered(self, node: Node, answer: Answer) -> None:
        self.traffic.answered(node, answer)

    def read_answered(self, node: Node, answer: AnswerRead) -> None:
        self.traffic.read_answered(node, answer)

    def hold_answered(self, answer: AnswerHold) -> None:
        self.holders_asked.pop(answer.id).answered(answer)

    def connected_to(self, node: Node, answer: AnswerConnect) -> None:
        self.traffic.connected(node, answer)
