"""What nodes hold for others stays within bounds and is let go of, and the cores' invariants hold after every turn.

The phasers have an oracle of their own for that (sim/oracles/bounded.py).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hansard.consensus import invariants as log
from hansard.consensus.content import Entry, Fact
from hansard.distributor import invariants as table
from hansard.distributor.bucket import Bucket as Record
from hansard.participant.effect import Effect
from hansard.participant.event import Event

from .oracle import Oracle

if TYPE_CHECKING:
    from sim.cluster.node import Node
    from sim.cluster.world import World


class Bounded(Oracle):
    promise = "bounded memory, and the invariants"

    def __init__(self, *, thorough: bool = True) -> None:
        self._thorough = thorough
        self._log: dict[str, log.Moment] = {}
        self._table: table.Moment | None = None

    def started(self, node: "Node") -> None:
        """What was only in memory is gone."""
        self._log.pop(node.name, None)

    def after_turn(self, node: "Node", events: Sequence[Event], effects: Sequence[Effect]) -> None:
        core, settings = node.core, node.world.plan.settings
        assert core is not None
        router = core.router
        if router.count > settings.held_count_max:
            raise self.broken(f"{node.name} holds {router.count} submissions")
        if not self._thorough:
            return
        before = self._log.get(node.name)
        try:
            log.check_state(core.consensus)
            if before is not None:
                log.check_step(before, core.consensus)
        except AssertionError as error:
            raise self.broken(f"{node.name}: {error}") from error
        self._log[node.name] = log.moment(core.consensus)

    def committed(self, world: "World", index: int, entry: Entry, fact: Fact | None, before: Sequence[Record]) -> None:
        if fact is None or not self._thorough:
            return
        records = world.table.distributor
        try:
            table.check_state(records)
            if self._table is not None:
                table.check_step(self._table, records)
        except AssertionError as error:
            raise self.broken(f"after {index}, {fact}: {error}") from error
        self._table = table.moment(records)

    def finish(self, world: "World") -> None:
        for node in world.living:
            assert node.core is not None
            if node.core.router.count:
                raise self.broken(f"{node.name} still holds {node.core.router.count} submissions")
