"""What operators want of a cluster, drawn from what is there."""

from random import Random
from typing import TYPE_CHECKING

from hansard.distributor.command import Configure, Double, Drain, Move, Pause, Release, Resume, Undrain
from hansard.distributor.settings import Shape

if TYPE_CHECKING:
    from .world import World


class Wishes:
    def __init__(self, world: "World") -> None:
        self.world = world

    def give(self, kind: str, random: Random) -> bool:
        world = self.world
        table, order = world.table.distributor, world.operator.order
        nodes = [member.node for member in table.slots.present]
        if not table.buckets or not nodes:
            return False
        bucket = random.randrange(len(table.buckets))
        match kind:
            case "drain":
                others = [node for node in nodes if node not in table.slots.drained]
                if len(others) < 2:
                    return False
                order(Drain(random.choice(others)))
            case "undrain":
                order(Undrain(random.choice(list(table.slots.drained) or nodes)))
            case "move bucket":
                order(Move(bucket, tuple(random.sample(nodes, random.randint(1, min(3, len(nodes)))))))
            case "release":
                order(Release(bucket))
            case "double":
                count, most = len(table.buckets), world.plan.buckets_max
                if count >= most:
                    return False
                order(Double(min(count * random.choice((2, 2, 4)), most)))
            case "pause moves":
                order(Pause())
                world.nemesis.later(random.randrange(5_000_000), lambda: order(Resume()))
            case _:
                order(self._configuration(random))
        return True

    def _configuration(self, random: Random) -> Configure:
        match random.choice(("replication", "shape", "moves", "spares")):
            case "replication":
                return Configure(replication=random.choice((1, 2, 3, 5)))
            case "shape":
                return Configure(shape=random.choice((Shape.STAR, Shape.CHAIN)))
            case "moves":
                return Configure(moves_max=random.choice((1, 2, 4)))
            case _:
                return Configure(spares=random.choice((0, 1, 2)))
