"""One seed of a whole cluster, run to its end: what came of it."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from sim import run as bucket

from .plan import plan
from .world import World

ACKNOWLEDGED_MIN: Final = 200
FAULTS_MIN: Final = 3


class Result(bucket.Result, frozen=True):
    touched_us: tuple[int, ...] = ()
    """Pauses of buckets that lost a member, and of buckets on the move."""
    moved_us: tuple[int, ...] = ()
    split_us: tuple[tuple[int, int], ...] = ()
    """Of halves of a split, with where the log ended."""

    @property
    def counts_as_run(self) -> bool:
        """A run in which little happened has tested little."""
        return self.acknowledged >= ACKNOWLEDGED_MIN and self.faults >= FAULTS_MIN


def run(seed: int, kept: Sequence[int] | None = None, tell: Callable[[str], None] | None = None) -> Result:
    """Run a seed; with only these of its faults, if they are given."""
    planned = plan(seed)
    faults = planned.faults if kept is None else [planned.faults[number] for number in kept]
    world = World(planned, faults, tell)
    broken = bucket.broken_promise(world.run)
    return Result(
        seed,
        world.traffic.acknowledged,
        world.nemesis.took_effect,
        world.clock.now_us,
        world.trace_hash,
        world.coverage.counts,
        broken,
        tuple(world.pauses.touched),
        tuple(world.pauses.moved),
        tuple(world.pauses.split),
    )


def summary(results: Sequence[bucket.Result]) -> Iterator[str]:
    """The pauses of all of them. A split does not take longer where there is more history."""
    several = [result for result in results if isinstance(result, Result)]
    splits = sorted([pause for result in several for pause in result.split_us], key=lambda pause: pause[1])
    half = len(splits) // 2
    for what, pauses_us in (
        ("touched by a departure", [pause for result in several for pause in result.touched_us]),
        ("moved", [pause for result in several for pause in result.moved_us]),
        ("split", [pause for pause, _ in splits]),
        ("split with the shorter histories", [pause for pause, _ in splits[:half]]),
        ("split with the longer histories", [pause for pause, _ in splits[half:]]),
    ):
        ordered = sorted(pauses_us)
        if ordered:
            p50, p99, most = ordered[len(ordered) // 2], ordered[len(ordered) * 99 // 100], ordered[-1]
            figures = f"p50 {p50 / 1000:.1f} ms, p99 {p99 / 1000:.1f} ms, max {most / 1000:.1f} ms"
            yield f"  pauses of buckets {what} ({len(ordered)}): {figures}"
