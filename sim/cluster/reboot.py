"""The whole cluster goes down and is started again, in any order: with all disks, with one that is empty, or for a long
time without one. Only where the rest has everything, and a majority of the atomic log's voters."""

from random import Random
from typing import TYPE_CHECKING, Final

from sim.atomic.plan import Fault

from .node import Node
from .reserve import spares

if TYPE_CHECKING:
    from .nemesis import Nemesis

REBOOTS: Final = ("reboot", "reboot without a disk", "reboot with an empty disk")


class Reboot:
    def __init__(self, nemesis: "Nemesis") -> None:
        self.nemesis = nemesis
        self.world = nemesis.cluster

    def all_at_once(self, fault: Fault, random: Random) -> bool:
        world, counts = self.world, self.world.coverage.counts
        if not world.table.distributor.buckets:
            return False
        victim = self._victim(random) if fault.kind != "reboot" else None
        if victim is None and fault.kind != "reboot":
            return False
        roles = self._roles(victim) if victim is not None else []
        for node in world.living:
            node.crash()
        log = world.plan.settings.consensus
        spread_us = random.choice((50_000, log.election_us, 2 * log.lease_us))
        for node in world.nodes:
            if node is not victim and not node.down_for_good:
                world.start_later(node, random.randrange(spread_us))
        if victim is not None:
            empty = fault.kind == "reboot with an empty disk"
            if empty:
                victim.wipe()
            world.start_later(victim, random.randrange(spread_us) if empty else spread_us + 4_000_000)
            counts[f"{fault.kind}, of {victim.name}"] += 1
            for role in roles:
                counts[f"{fault.kind}, {role}"] += 1
        counts["reboot while a bucket is split"] += any(one.splitting for one in world.table.distributor.buckets)
        return True

    def _victim(self, random: Random) -> Node | None:
        """One that all others can do without."""
        nodes = [node for node in self.world.nodes if not node.down_for_good]
        if len(nodes) < 2:
            return None
        return next((node for node in random.sample(nodes, len(nodes)) if spares(self.world, [node.name])), None)

    def _roles(self, node: Node) -> list[str]:
        """What it was."""
        records = self.world.table.distributor.buckets
        leads = any(record.leader is not None and record.leader.node == node.name for record in records)
        has = any(member.node == node.name for record in records for member in record.full)
        found = ["the log's leader's"] if node is self.world.log_leader else []
        return found + (["a bucket's leader's"] if leads else ["a member's"] if has else ["a spare's"])
