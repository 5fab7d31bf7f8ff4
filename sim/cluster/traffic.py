"""What clients ask nodes for, on its way there and back: submissions, reads, connections."""

from typing import TYPE_CHECKING, Final, Protocol

from msgspec import Struct

from hansard.batch import Batch
from hansard.participant.effect import Answer, AnswerConnect, AnswerRead, ReadAt
from hansard.participant.event import Connect, Read, Submit
from hansard.phaser.event import Continues
from hansard.phaser.outcome import Outcome, ReadFrom, Repeated, Stored

if TYPE_CHECKING:
    from .client import Client
    from .node import Node
    from .world import World

DEADLINES_US: Final = (300_000, 2_000_000)


class Asking(Protocol):
    def answered(self, number: int, outcome: Outcome, retry_us: int) -> None: ...


class Asked(Struct, frozen=True):
    """A submission under way, in which process of which node."""

    asking: Asking
    bucket: int
    batch: Batch
    node: str
    process: int


class Traffic:
    def __init__(self, world: "World") -> None:
        self.world = world
        self.acknowledged = 0
        self._asked: dict[int, Asked] = {}
        self._connects: dict[int, Client] = {}
        self._reads: dict[int, tuple[int, bool]] = {}
        """The bucket, and whether everything must be there."""

    def _delay_us(self) -> int:
        return 300 + self.world.random.randrange(500)

    # Submissions.

    def submit(
        self,
        asking: Asking,
        number: int,
        where: tuple[int, int],
        batch: Batch,
        continues: Continues | None,
        place: str,
    ) -> None:
        """`where`: the bucket, and its level as far as the client knows."""
        bucket, level = where

        def come() -> None:
            node = self.world.by_name[place]
            if node.core is None:
                return
            self._asked[number] = Asked(asking, bucket, batch, place, node.process)
            deadline_us = node.now_us + self.world.random.choice(DEADLINES_US)
            node.happen(Submit(number, bucket, batch, deadline_us, level, continues))

        self.world.clock.after(self._delay_us(), come)

    def answered(self, node: "Node", answer: Answer) -> None:
        world = self.world
        asked = self._asked.pop(answer.id)
        assert (asked.node, asked.process) == (node.name, node.process), "it was asked in another life"
        bucket, outcome = world.buckets[asked.bucket], answer.outcome
        self.acknowledged += isinstance(outcome, Stored | Repeated)
        for oracle in world.oracles:
            oracle.answered(bucket, asked.batch, outcome)
        world.coverage.counts[f"answer {type(outcome).__name__}"] += 1
        if world.random.random() >= world.network.conditions.loss:
            world.clock.after(self._delay_us(), lambda: asked.asking.answered(answer.id, outcome, answer.retry_us))

    # Connections.

    def connect(self, client: "Client", number: int, name: str, place: str) -> None:
        def come() -> None:
            node = self.world.by_name[place]
            if node.core is not None:
                self._connects[number] = client
                node.happen(Connect(number, node.now_us + 2_000_000, name))

        self.world.clock.after(self._delay_us(), come)

    def connected(self, node: "Node", answer: AnswerConnect) -> None:
        client, world = self._connects.pop(answer.id), self.world
        if answer.connection:
            for oracle in world.oracles:
                oracle.connected(client.name, answer.connection)
            again = client.name != "" and client.connection == answer.connection
            world.coverage.counts["named connection got its number back"] += again
        if world.random.random() >= world.network.conditions.loss:
            world.clock.after(self._delay_us(), lambda: client.connected(answer.id, answer.connection, answer.retry_us))

    # Reads.

    def read(self) -> None:
        """Now and then somebody wants to know."""
        world, random = self.world, self.world.random
        if world.producing:
            world.clock.after(100_000 + random.randrange(400_000), self.read)
        node, bucket = random.choice(world.nodes), random.choice(world.buckets)
        if node.core is None:
            return
        number, linear = world.next_number(), random.random() < 0.7
        if linear:
            for oracle in bucket.oracles:
                oracle.read_asked(number)
        self._reads[number] = (bucket.number, linear)
        node.happen(Read(number, bucket.number, node.now_us + 2_000_000, linear))

    def read_answered(self, node: "Node", answer: AnswerRead) -> None:
        world = self.world
        number, linear = self._reads.pop(answer.id)
        bucket, outcome = world.buckets[number], answer.outcome
        kind = "linear" if linear else "plain"
        world.coverage.counts[f"{kind} read {type(outcome).__name__}"] += 1
        if isinstance(outcome, ReadAt):
            committed = outcome.committed
            if committed is not None and committed > bucket.sequence.end:
                raise bucket.sequence.broken(f"{node.name} lets bucket {number} be read up to {committed}")
            if linear:
                assert committed is not None, "who leads knows up to where"
                for oracle in bucket.oracles:
                    oracle.read_answered(answer.id, ReadFrom(committed))
