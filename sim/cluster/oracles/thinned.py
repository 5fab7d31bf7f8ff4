"""A bucket that has fewer copies than it should is not passed over in silence: in the end everybody says the same, and
what is true."""

from typing import TYPE_CHECKING

from .oracle import Oracle

if TYPE_CHECKING:
    from sim.cluster.world import World


class SaidSo(Oracle):
    promise = "thinned out is said so"

    def finish(self, world: "World") -> None:
        thinned = tuple([one.bucket for one in world.table.distributor.thinned()])
        world.coverage.counts["thinned out in the end"] += bool(thinned)
        for node in world.living:
            if node.thinned != thinned:
                raise self.broken(f"{node.name} says that {node.thinned} are thinned out, and {thinned} are")
