"""One seed of the atomic log, run to its end: what came of it."""

from collections.abc import Callable, Sequence
from typing import Final

from sim import run as bucket

from .plan import plan
from .world import World

SETTLED_MIN: Final = 200
FAULTS_MIN: Final = 10
VIRTUAL_US_MIN: Final = 20_000_000


class Result(bucket.Result, frozen=True):
    @property
    def counts_as_run(self) -> bool:
        """A run in which little happened has tested little."""
        return self.acknowledged >= SETTLED_MIN and self.faults >= FAULTS_MIN and self.virtual_us >= VIRTUAL_US_MIN


def run(seed: int, kept: Sequence[int] | None = None, tell: Callable[[str], None] | None = None) -> Result:
    """Run a seed; with only these of its faults, if they are given."""
    planned = plan(seed)
    faults = planned.faults if kept is None else [planned.faults[number] for number in kept]
    world = World(planned, faults, tell)
    broken = bucket.broken_promise(world.run)
    return Result(
        seed,
        world.workload.settled_count,
        world.nemesis.took_effect,
        world.clock.now_us,
        world.trace_hash,
        world.coverage.counts,
        broken,
    )
