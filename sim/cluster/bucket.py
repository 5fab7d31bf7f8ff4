"""One bucket of a cluster, as the oracles of the bucket's own world see it: who has a copy, and what the table says.

Those oracles were written for a world of one bucket under an edict. Here the distributor is the edict: the furthest
table that anybody has.
"""

from random import Random
from typing import TYPE_CHECKING, cast

from hansard.batch import Batch
from hansard.distributor.bucket import Bucket as Record
from hansard.participant.name import named
from hansard.phaser.effect import Achievement
from hansard.phaser.event import Submit
from hansard.phaser.government import Government, NodeId, Shape
from hansard.phaser.outcome import Outcome
from hansard.phaser.phaser import Phaser
from sim.oracles import Oracle, oracles
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
        return self.node.disk.part(self.world.number)

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


class Bucket:
    def __init__(self, world: "World", number: int) -> None:
        self.cluster = world
        self.number = number
        self.by_place = Copies(self)
        self.oracles: list[Oracle] = oracles(thorough=world.plan.thorough)
        self.turn_oracles = [oracle for oracle in self.oracles if type(oracle).after_turn is not Oracle.after_turn]
        (self.sequence,) = [oracle for oracle in self.oracles if isinstance(oracle, OneSequence)]
        self.strangers: list[Stranger] = []
        self.asked: dict[tuple[str, int, int], tuple[Batch, int]] = {}
        """What phasers were given to store, by node, process and number, and when that was."""

    @property
    def cast(self) -> "BucketWorld":
        return cast("BucketWorld", self)

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
        asker = Asker(stranger)
        self.cluster.submit(asker, submit.id, self.number, submit.batch, None, stranger.place)

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
