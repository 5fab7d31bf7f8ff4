"""All participants apply the same entries, with the same facts, at the same indexes, before and after any restart; and
whatever brought a machine to an index, entries or another's state, it is in the same state there."""

from typing import TYPE_CHECKING

from hansard.consensus.content import Entry, Fact
from hansard.consensus.effect import Applied
from hansard.consensus.recovered import STATE, decode_state
from sim.atomic.machine import chained

from .oracle import Oracle

if TYPE_CHECKING:
    from sim.atomic.participant import Participant
    from sim.atomic.world import World


class OneSequence(Oracle):
    promise = "all apply one sequence"

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        """Everything that was ever applied by anybody, in order."""
        self.facts: list[Fact | None] = []
        self.chains: list[int] = [0]
        """What the machines' chain is before each index."""
        self.ends: dict[str, int] = {}
        """How far each participant has come."""

    @property
    def end(self) -> int:
        return len(self.entries)

    def started(self, participant: "Participant") -> None:
        end = decode_state(participant.vault.synced.documents.get(STATE, b"")).end
        self.ends[participant.name] = end
        if end > self.end:
            raise self.broken(
                f"{participant.name} starts with a state at {end}, and nothing after {self.end} was applied"
            )
        self.look(participant)

    def applied(self, participant: "Participant", applied: Applied) -> None:
        name, index = participant.name, applied.index
        if index != self.ends[name]:
            raise self.broken(f"{name} applies {index} after {self.ends[name]} entries")
        self.ends[name] = index + 1
        if index == len(self.entries):
            chain = self.chains[-1]
            self.entries.append(applied.entry)
            self.facts.append(applied.fact)
            self.chains.append(chained(chain, index, applied.fact) if applied.fact is not None else chain)
            return
        known = self.entries[index]
        if known is not applied.entry and known != applied.entry:
            raise self.broken(f"{name} applies {applied.entry} at {index}, where another has applied {known}")
        if self.facts[index] != applied.fact:
            raise self.broken(f"{name} finds {applied.fact} at {index}, where another has found {self.facts[index]}")

    def restored(self, participant: "Participant", end: int) -> None:
        before = self.ends[participant.name]
        if not before < end <= self.end:
            raise self.broken(f"{participant.name} has a state at {end}; it had {before}, and {self.end} were applied")
        self.ends[participant.name] = end

    def look(self, participant: "Participant") -> None:
        """At the end of a turn. Who finds rules that it does not know has told its machine nothing of them."""
        end = self.ends[participant.name]
        consensus = participant.consensus
        if consensus is not None and consensus.ledger.outdated:
            return
        if participant.machine.chain != self.chains[end]:
            raise self.broken(f"{participant.name}'s machine is in another state at {end} than others were")

    def finish(self, world: "World") -> None:
        for participant in world.living:
            if self.ends[participant.name] != self.end:
                raise self.broken(f"{participant.name} has applied {self.ends[participant.name]} of {self.end}")
