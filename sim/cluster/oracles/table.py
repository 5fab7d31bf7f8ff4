"""The same atomic log gives the same table: on every node, at every index, from entries or from another's state, and
again when it is replayed in the end, from its beginning and from the states on the way."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from hansard.consensus.content import Entry, Fact
from hansard.consensus.effect import Applied
from hansard.consensus.recovered import STATE, decode_state
from hansard.distributor.bucket import Bucket as Record
from hansard.distributor.distributor import Distributor
from hansard.participant.machine import Machine

from .oracle import Oracle

if TYPE_CHECKING:
    from sim.cluster.node import Node
    from sim.cluster.world import World

KEPT_EVERY: Final = 25
Told = Callable[[int, Entry, Fact | None, Sequence[Record]], None]


class SameTable(Oracle):
    promise = "the same log gives the same table"

    def __init__(self, tell: Told) -> None:
        self._tell = tell
        self.entries: list[Entry] = []
        """Everything that was ever applied by anybody, in order."""
        self.facts: list[Fact | None] = []
        self.distributor = Distributor()
        """As it is after all of them."""
        self._machine = Machine(self.distributor)
        self.hashes: list[int] = [self.distributor.hash]
        """What it was before each index."""
        self.images: dict[int, bytes] = {}
        self.ends: dict[str, int] = {}
        """How far each node has come."""

    @property
    def end(self) -> int:
        return len(self.entries)

    def started(self, node: "Node") -> None:
        end = decode_state(node.vault.synced.documents.get(STATE, b"")).end
        self.ends[node.name] = end
        if end > self.end:
            raise self.broken(f"{node.name} starts with a state at {end}, and nothing after {self.end} was applied")
        self.look(node)

    def applied(self, node: "Node", applied: Applied) -> None:
        name, index = node.name, applied.index
        if index != self.ends[name]:
            raise self.broken(f"{name} applies {index} after {self.ends[name]} entries")
        self.ends[name] = index + 1
        if index == len(self.entries):
            self._append(index, applied.entry, applied.fact)
            return
        known = self.entries[index]
        if known is not applied.entry and known != applied.entry:
            raise self.broken(f"{name} applies {applied.entry} at {index}, where another has applied {known}")
        if self.facts[index] != applied.fact:
            raise self.broken(f"{name} finds {applied.fact} at {index}, where another has found {self.facts[index]}")

    def _append(self, index: int, entry: Entry, fact: Fact | None) -> None:
        self.entries.append(entry)
        self.facts.append(fact)
        before = self.distributor.buckets.copy()
        if fact is not None:
            self._machine.apply(index, fact)
        self.hashes.append(self.distributor.hash if fact is not None else self.hashes[-1])
        if index % KEPT_EVERY == 0:
            self.images[index + 1] = self.distributor.image()
        self._tell(index, entry, fact, before)

    def restored(self, node: "Node", end: int) -> None:
        before = self.ends[node.name]
        if not before < end <= self.end:
            raise self.broken(f"{node.name} has a state at {end}; it had {before}, and {self.end} were applied")
        self.ends[node.name] = end

    def look(self, node: "Node") -> None:
        """At the end of a turn."""
        assert node.core is not None
        end = self.ends[node.name]
        if node.core.distributor.hash != self.hashes[end]:
            raise self.broken(f"{node.name} has another table at {end} than others had: {self._difference(node)}")

    def _difference(self, node: "Node") -> str:
        assert node.core is not None
        ours, theirs = self.distributor, node.core.distributor
        pairs = enumerate(zip(ours.buckets, theirs.buckets, strict=False))
        found = [f"bucket {number} {one} or {other}" for number, (one, other) in pairs if one != other]
        return "; ".join(found[:2]) or "not in the buckets"

    def finish(self, world: "World") -> None:
        for node in world.living:
            if self.ends[node.name] != self.end:
                raise self.broken(f"{node.name} has applied {self.ends[node.name]} of {self.end}")
        for start, image in [(0, b""), *self.images.items()]:
            replayed = Distributor()
            replayed.restore(image)
            machine = Machine(replayed)
            for index, fact in enumerate(self.facts[start:], start):
                if fact is not None:
                    machine.apply(index, fact)
                if index % KEPT_EVERY == 0 and replayed.hash != self.hashes[index + 1]:
                    raise self.broken(f"replayed from {start} there is another table after {index}")
            if replayed.hash != self.hashes[-1]:
                raise self.broken(f"replayed from {start} there is another table in the end")
