"""An order is carried out once, however often it is in the log: the second time it changes nothing."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hansard.consensus.content import Entry, Fact, Proposed
from hansard.distributor.bucket import Bucket as Record
from hansard.distributor.command import Order, decode
from hansard.distributor.orders import Standing

from .oracle import Oracle

if TYPE_CHECKING:
    from sim.cluster.world import World


class OrdersOnce(Oracle):
    promise = "an order is carried out once"

    def __init__(self) -> None:
        self.seen: dict[str, int] = {}

    def committed(self, world: "World", index: int, entry: Entry, fact: Fact | None, before: Sequence[Record]) -> None:
        command = decode(fact.content) if isinstance(fact, Proposed) else None
        if not isinstance(command, Order):
            return
        if command.id not in self.seen:
            self.seen[command.id] = index
            return
        world.coverage.counts["order repeated"] += 1
        if world.table.hashes[index] != world.table.hashes[index + 1]:
            raise self.broken(f"{command} at {self.seen[command.id]} changes something again at {index}")

    def finish(self, world: "World") -> None:
        """Each has come to an end, if it could."""
        for id, given in world.operator.given.items():
            status = world.table.distributor.orders.get(id)
            if status is None or given.status is None:
                raise self.broken(f"{given.order} is not in the log")
            if status.standing is Standing.RUNNING and world.table.distributor.slots.eligible:
                raise self.broken(f"{given.order} is still running")
