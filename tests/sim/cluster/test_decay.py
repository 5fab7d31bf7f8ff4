"""Whole clusters whose disks decay: what is mended is what was there, all promises hold, and all is whole again."""

from sim.cluster.decay import Decay, decayed
from sim.cluster.node import Node
from sim.cluster.plan import plan
from sim.cluster.world import World

SEEDS = [1, 5, 7, 8, 9, 22]


def decaying(seed: int) -> World:
    planned = plan(seed)
    world = World(planned, planned.faults)
    world.decay = Decay(world)
    world.run()
    world.clock.run_until(world.clock.now_us + 30_000_000)
    return world


def left(world: World) -> list[tuple[str, int]]:
    """What is still damaged, though somebody else has it."""
    return [
        (node.name, bucket)
        for node in world.living
        for bucket in list(node.disk.decayed)
        if (found := decayed(node.disk, bucket)) is not None
        and any(_has(other, bucket, found[1][0].header.base_offset) for other in world.living if other is not node)
    ]


def _has(node: Node, bucket: int, offset: int) -> bool:
    assert node.core is not None
    copy = node.core.copies.running.get(bucket)
    return copy is not None and copy.phaser is not None and copy.phaser.ledger.start <= offset


def test_decaying_clusters_keep_their_promises_and_are_whole_in_the_end() -> None:
    struck = spoiled = mended = 0
    for seed in SEEDS:
        world = decaying(seed)
        assert not left(world), f"seed {seed}"
        assert world.decay is not None
        struck, spoiled = struck + world.decay.struck, spoiled + world.decay.spoiled
        mended += world.decay.mended
    assert struck > 20 and mended > 10 and spoiled > 2, "nothing has happened"
