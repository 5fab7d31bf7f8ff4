"""What is proposed is applied once at the most, in the order of its proposer; what was settled is there."""

from typing import TYPE_CHECKING

from hansard.consensus.content import Entry, Fact, Proposed

from .oracle import Oracle

if TYPE_CHECKING:
    from sim.atomic.participant import Participant
    from sim.atomic.world import World


class Once(Oracle):
    promise = "applied once, in order"

    def __init__(self) -> None:
        self.proposed_by: dict[bytes, str] = {}
        self.indexes: dict[bytes, int] = {}
        """Where each was applied."""
        self.settled_contents: dict[bytes, None] = {}
        self._serials: dict[str, int] = {}

    def proposed(self, participant: "Participant", content: bytes) -> None:
        self.proposed_by[content] = participant.name

    def committed(self, index: int, entry: Entry, fact: Fact | None) -> None:
        if not isinstance(fact, Proposed):
            return
        content, node = fact.content, fact.node
        if self.proposed_by.get(content) != node:
            raise self.broken(f"{content!r} at {index} is {node}'s, who never proposed it")
        if self.indexes.setdefault(content, index) != index:
            raise self.broken(f"{content!r} is applied at {self.indexes[content]} and again at {index}")
        serial = int(content.split(b":")[1])
        if serial <= self._serials.get(node, 0):
            raise self.broken(f"{content!r} at {index} comes after {self._serials[node]}")
        self._serials[node] = serial

    def settled(self, participant: "Participant", content: bytes) -> None:
        if content not in self.indexes:
            raise self.broken(f"{content!r} is settled, and nobody has applied it")
        if content in self.settled_contents:
            raise self.broken(f"{content!r} is settled twice")
        self.settled_contents[content] = None

    def finish(self, world: "World") -> None:
        if world.waiting:
            raise self.broken(f"{len(world.waiting)} proposals are never settled")
