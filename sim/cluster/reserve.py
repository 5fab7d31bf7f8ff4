"""What a cluster can do without: disks are lost only where what was acknowledged is still on another one.

Of each bucket at least one copy stays that has everything, and of a government that is to open at least one member's:
its report may be on its way, and nobody else could go on from there. Of the atomic log a majority of the voters stays
(sim/atomic/reserve.py).
"""

from collections.abc import Collection
from typing import TYPE_CHECKING, cast

from sim.atomic import reserve

if TYPE_CHECKING:
    from sim.atomic.world import World as LogWorld

    from .node import Node
    from .world import World


def spares(world: "World", names: Collection[str]) -> bool:
    """Whether everything is there without these."""
    return reserve.spares(cast("LogWorld", world), names) and keeps_data(world, names)


def keeps_data(world: "World", names: Collection[str]) -> bool:
    for number, record in enumerate(world.table.distributor.buckets):
        members = [member.node for member in record.members]
        if not record.opened:
            if members and all(name in names for name in members):
                return False
            continue
        there = [node.name for node in holders(world, number) if node.name not in names]
        if not there:
            return False
        opening = record.leader is not None and record.epoch != record.opened
        if opening and not any(name in members for name in there):
            return False
    return True


def holders(world: "World", number: int) -> list["Node"]:
    """Who has everything that was ever acknowledged in a bucket, on its disk, and comes back if it is away."""
    record = world.table.distributor.buckets[number]
    expanded = record.expanded == record.opened
    return [
        node
        for node in world.nodes
        if not node.down_for_good
        and number not in node.disk.decayed
        and not node.disk.part(number).spoiled
        and node.disk.evidence(number).synced_standing().suffices(record.opened, expanded=expanded)
    ]
