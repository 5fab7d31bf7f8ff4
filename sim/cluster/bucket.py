"""One bucket of a cluster, as the oracles of the bucket's own world see it: who has a copy, and what the table says.

Those oracles were written for a world of one bucket under an edict. Here the distributor is the edict: the furthest
table that anybody has. Half of a split begins with all that they know of the bucket that it is split off from; and as
long as some copy of that one has not heard of the split, what it shows and acknowledges is the half's too.
"""

from random import Random
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from hansard.batch import Batch
from hansard.bookmark import parent
from hansard.distributor.bucket import Bucket as Record
from hansard.participant.name import named
from hansard.phaser.effect import Achievement
from hansard.phaser.event import Submit
from hansard.phaser.government import Government, NodeId, Shape
from hansard.phaser.outcome import Outcome
from hansard.phaser.phaser import Phaser
from sim.oracles import Oracle, oracles
from sim.oracles.durable import Durable
from sim.oracles.sequence import OneSequence
from sim.world.client import Stranger
from sim.world.clock import Clock

from .client import Client
from .disk import Part
from .node import Node
from .plan import Plan

if TYPE_CHECKING:
    from sim.world.participant import Participant as BucketParticipant
    from sim.world.world import World as BucketWorld

    from .world import World


class Copy:
    """Of a bucket, at a node: running, on its disk only, or not there at all."""

    __slots__ = ("generation", "name", "node", "process", "shown", "world")

    def __init__(self, bucket: "Bucket", node: Node) -> None:
        self.world = bucket
        self.node = node
        self.name: NodeId = ""
        """Of the member that ran it last."""
        self.process = self.generation = 0
        """Which phaser it is that runs it."""
        self.shown = 0

    @property
    def place(self) -> str:
        return self.node.name

    @property
    def phaser(self) -> Phaser | None:
        copy = self.node.core.copies.running.get(self.world.number) if self.node.core is not None else None
        return copy.phaser if copy is not None else None

    @property
    def vault(self) -> Part:
        """While nobody runs it, a copy that was not split yet may stand for it."""
        disk, number = self.node.disk, self.world.number
        return disk.part(number) if self.phaser is not None else disk.evidence(number)

    @property
    def cast(self) -> "BucketParticipant":
        return cast("BucketParticipant", self)


class Copies(dict[str, Copy]):
    """By the names of nodes: whoever is looked for is found."""

    def __init__(self, bucket: "Bucket") -> None:
        super().__init__()
        self._bucket = bucket

    def __missing__(self, name: str) -> Copy:
        self[name] = copy = Copy(self._bucket, self._bucket.cluster.by_name[name])
        return copy


class Birth(Struct, frozen=True):
    """A bucket was split, or split off: from this epoch on it has fewer keys."""

    epoch: int
    level: int
    heir: "Bucket | None"
    """Who has the others."""
    at_us: int


class Bucket:
    def __init__(self, world: "World", number: int) -> None:
        self.cluster = world
        self.number = number
        self.by_place = Copies(self)
        self.oracles: list[Oracle] = oracles(thorough=world.plan.thorough)
        self.turn_oracles = [oracle for oracle in self.oracles if type(oracle).after_turn is not Oracle.after_turn]
        (self.sequence,) = [oracle for oracle in self.oracles if isinstance(oracle, OneSequence)]
        (self.durable,) = [oracle for oracle in self.oracles if isinstance(oracle, Durable)]
        self.births: list[Birth] = []
        """Its splits, in order."""
        self.strangers: list[Stranger] = []
        self.asked: dict[tuple[str, int, int], tuple[Batch, int]] = {}
        """What phasers were given to store, by node, process and number, and when that was."""

    @property
    def cast(self) -> "BucketWorld":
        return cast("BucketWorld", self)

    # Splits.

    def split(self, record: Record) -> None:
        """By the table, now."""
        half, now_us = record.level // 2, self.cluster.clock.now_us
        if self.number < half:
            self.births.append(Birth(record.born, record.level, self.cluster.buckets[self.number + half], now_us))
        else:
            self.births.append(Birth(record.born, record.level, None, now_us))
            self._inherit(self.cluster.buckets[parent(self.number)])

    def _inherit(self, parent: "Bucket") -> None:
        self.sequence.batches, self.sequence.bases = parent.sequence.batches.copy(), parent.sequence.bases.copy()
        self.durable.end = parent.durable.end

    def heirs_unknown_to(self, copy: Copy) -> "list[Bucket]":
        """Those that were split off from it, of which this copy has not heard."""
        if not self.births:
            return []
        instance = copy.phaser
        assert instance is not None
        level = instance.ledger.buckets
        return [birth.heir for birth in self.births if birth.heir is not None and birth.level > level]

    @property
    def split_off(self) -> bool:
        """It has its beginning from another one."""
        return bool(self.births) and self.births[0].heir is None

    def level_in(self, epoch: int) -> int:
        """Of what is written in an epoch: whose keys it may have."""
        births = [birth for birth in self.births if birth.epoch <= epoch]
        return births[-1].level if births else self.cluster.plan.buckets

    def at(self, node: Node) -> Copy:
        return self.by_place[node.name]

    # As an edict.

    @property
    def edict(self) -> "Bucket":
        return self

    @property
    def record(self) -> Record:
        return self.cluster.table.distributor.buckets[self.number]

    @property
    def full(self) -> tuple[NodeId, ...]:
        return tuple([named(member) for member in self.record.full])

    @property
    def opened(self) -> int:
        return self.record.opened

    @property
    def expanded(self) -> bool:
        return self.record.opened > 0 and self.record.expanded == self.record.opened

    # As a world, to strangers and oracles.

    @property
    def clients(self) -> list[Client]:
        return self.cluster.clients

    @property
    def plan(self) -> Plan:
        return self.cluster.plan

    @property
    def random(self) -> Random:
        return self.cluster.random

    @property
    def clock(self) -> Clock:
        return self.cluster.clock

    @property
    def places(self) -> list[str]:
        return self.cluster.places

    def next_number(self) -> int:
        return self.cluster.next_number()

    def submit(self, stranger: Stranger, submit: Submit) -> None:
        cluster, asker = self.cluster, Asker(stranger)
        cluster.traffic.submit(asker, submit.id, (self.number, self.plan.buckets), submit.batch, None, stranger.place)

    def accepted(self, before: Record, achievement: Achievement) -> None:
        """A report is in the log; the record is as it was before."""
        assert before.leader is not None
        government = Government(
            before.epoch,
            named(before.leader),
            tuple([named(member) for member in before.members]),
            tuple([named(member) for member in before.newcomers]),
            Shape(before.shape),
        )
        for oracle in self.oracles:
            oracle.accepted(self.cast, achievement, government)


class Asker:
    """A stranger as the world sees its clients."""

    def __init__(self, stranger: Stranger) -> None:
        self.stranger = stranger

    def answered(self, number: int, outcome: Outcome, retry_us: int) -> None:
        self.stranger.answered(number, outcome)
