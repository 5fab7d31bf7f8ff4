"""A failing seed cut down to the faults that matter."""

from collections.abc import Callable, Sequence

from sim.run import Result, run
from sim.world.plan import plan

Runner = Callable[[int, Sequence[int]], Result]
"""A seed, with only these of its faults."""


def promise(result: Result) -> str:
    """What broke, without the particulars, which change as faults are left out."""
    return result.broken.partition(":")[0]


def shrink(
    seed: int,
    tell: Callable[[str], None],
    run: Runner = run,
    faults: Callable[[int], Sequence[object]] = lambda seed: plan(seed).faults,
) -> list[int]:
    """The numbers of the faults that are left when none of them can be left out."""
    kept = list(range(len(faults(seed))))
    wanted = promise(run(seed, kept))
    assert wanted, "only what fails can be shrunk"
    size = max(1, len(kept) // 2)
    while True:
        start, smaller = 0, False
        while start < len(kept):
            fewer = kept[:start] + kept[start + size :]
            if promise(run(seed, fewer)) == wanted:
                kept, smaller = fewer, True
                tell(f"{len(kept)} faults are enough")
            else:
                start += size
        if size == 1 and not smaller:
            return kept
        size = max(1, size // 2)
