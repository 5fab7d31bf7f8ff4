"""A connection number is given to one client only; the same name gets the same number.

A name expires by the log's own time. Where no more than two vote, and their clocks are days apart, nobody can say which
one is wrong: if the log's time leaps then, or leaps later from what those two had told it, names may be gone.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hansard.consensus.content import Council, Entry, Fact, Proposed
from hansard.distributor.bucket import Bucket as Record
from hansard.distributor.command import Names, decode

from .oracle import Oracle

if TYPE_CHECKING:
    from sim.cluster.world import World


class OwnNumbers(Oracle):
    promise = "a connection number is given once"

    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        self.numbers: dict[str, int] = {}
        self._voters = 0
        self._wall_us = 0
        self._few = False
        """No more than two voted when the log's time was told last."""

    def committed(self, world: "World", index: int, entry: Entry, fact: Fact | None, before: Sequence[Record]) -> None:
        if isinstance(entry.content, Council):
            self._voters = len(entry.content.voters)
        command = decode(fact.content) if isinstance(fact, Proposed) else None
        if isinstance(command, Names):
            leapt = command.wall_us - self._wall_us > 2 * world.plan.table.memory_us
            if leapt and (self._few or self._voters <= 2):
                self.numbers.clear()
            if command.wall_us >= self._wall_us:
                self._wall_us, self._few = command.wall_us, self._voters <= 2

    def connected(self, name: str, connection: int) -> None:
        if connection in self.names and not (name and self.names[connection] == name):
            raise self.broken(f"{connection} is given to {name or 'a client'}, and was to {self.names[connection]!r}")
        self.names[connection] = name
        if name and self.numbers.setdefault(name, connection) != connection:
            raise self.broken(f"{name} gets {connection}, and had {self.numbers[name]}")
