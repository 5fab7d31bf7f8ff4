"""What an implementation of the atomic log brings for the suite: participants in virtual time, that crash, restart,
lose their disks and are cut off; and what the tests of the suite do with them."""

from abc import abstractmethod
from collections.abc import Callable
from itertools import count
from typing import Protocol

from hansard.consensus.atomic import Asked
from hansard.consensus.cluster import NodeId
from hansard.consensus.content import Arrived, Departed, Fact, Moved, Proposed
from hansard.consensus.effect import AnswerRead, Effect, Settled
from hansard.consensus.event import Propose, Read
from hansard.consensus.settings import Settings


class Cluster(Protocol):
    def add(
        self,
        node: NodeId,
        *,
        through: NodeId = "",
        address: str = "",
        zone: str = "",
        rules_max: int = 1,
        inventory: bytes = b"",
    ) -> None:
        """Start a participant on an empty disk. The first one founds; others know one who takes part, or all."""

    def crash(self, node: NodeId) -> None: ...

    def restart(self, node: NodeId, *, address: str = "", rules_max: int = 0) -> object:
        """A new process on the disk that is there; as it was before, unless something else is said."""

    def wipe(self, node: NodeId) -> None:
        """It crashes, and its disk is empty."""

    def cut(self, node: NodeId) -> None:
        """It hears nobody and nobody hears it."""

    def heal(self, node: NodeId) -> None: ...

    def happen(self, node: NodeId, *events: Asked) -> object:
        """These, in one turn of its process."""

    def run(self, seconds: float) -> None: ...

    def until(self, condition: Callable[[], object], seconds: float = 10) -> object:
        """Let time pass until something is so, and fail if it is not after so long."""

    def effects(self, node: NodeId) -> list[Effect]:
        """All that its last process has said."""

    def facts(self, node: NodeId) -> list[tuple[int, Fact]]:
        """All that its machine knows, with the indexes, in order."""


SMALL = Settings(compact_entries=40, keep_entries=10)
PATIENT = Settings(compact_entries=40, keep_entries=10, lease_us=3_600_000_000)
"""Nobody departs who is away for less than an hour."""


def proposed(facts: list[tuple[int, Fact]], node: NodeId = "") -> list[bytes]:
    return [fact.content for _, fact in facts if isinstance(fact, Proposed) and node in ("", fact.node)]


def about(facts: list[tuple[int, Fact]], node: NodeId) -> list[Fact]:
    """The comings and goings of a node."""
    return [fact for _, fact in facts if isinstance(fact, Arrived | Moved | Departed) and fact.node == node]


class Trial:
    """One test on one cluster."""

    @abstractmethod
    def cluster(self, settings: Settings) -> Cluster: ...

    def formed(self, nodes: str, settings: Settings | None = None, rules_max: int = 1) -> Cluster:
        cluster = self.cluster(settings or Settings())
        self.ids = count(1)
        for node in nodes.split():
            cluster.add(node, rules_max=rules_max)
        for node in nodes.split():
            self.arrived(cluster, nodes, node)
        return cluster

    def arrived(self, cluster: Cluster, nodes: str, node: NodeId, incarnation: int = 1) -> None:
        """Everybody knows that it is there; and in the moment after, it can be relied upon."""

        def known() -> bool:
            return all(
                any(isinstance(f, Arrived) and f.incarnation == incarnation for f in about(cluster.facts(other), node))
                for other in nodes.split()
            )

        cluster.until(known)
        cluster.run(0.5)

    def propose(self, cluster: Cluster, node: NodeId, *contents: bytes) -> list[int]:
        ids = [next(self.ids) for _ in contents]
        cluster.happen(node, *[Propose(id, content) for id, content in zip(ids, contents, strict=True)])
        return ids

    def settle(self, cluster: Cluster, node: NodeId, *contents: bytes) -> None:
        self.await_settled(cluster, node, self.propose(cluster, node, *contents))

    def await_settled(self, cluster: Cluster, node: NodeId, ids: list[int]) -> None:
        cluster.until(lambda: all(Settled(id) in cluster.effects(node) for id in ids))

    def await_departed(self, cluster: Cluster, node: NodeId, at: NodeId) -> None:
        """In its first incarnation, as the log says at one of the others."""
        cluster.until(lambda: Departed(node, 1) in about(cluster.facts(at), node), 3)

    def read(self, cluster: Cluster, node: NodeId) -> int:
        id = next(self.ids)
        cluster.happen(node, Read(id))
        return id

    def answer(self, cluster: Cluster, node: NodeId, id: int) -> AnswerRead | None:
        answers = [effect for effect in cluster.effects(node) if isinstance(effect, AnswerRead) and effect.id == id]
        assert len(answers) <= 1
        return answers[0] if answers else None

    def await_answer(self, cluster: Cluster, node: NodeId, id: int) -> AnswerRead:
        cluster.until(lambda: self.answer(cluster, node, id))
        answer = self.answer(cluster, node, id)
        assert answer is not None
        return answer

    def agree(self, cluster: Cluster, nodes: str) -> list[tuple[int, Fact]]:
        """Everybody comes to know the same; says what."""
        first, *others = nodes.split()
        cluster.until(lambda: all(cluster.facts(other) == cluster.facts(first) for other in others))
        return cluster.facts(first)
