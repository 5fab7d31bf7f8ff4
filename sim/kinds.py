"""The kinds of worlds that seeds are run in."""

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from sim import run as bucket
from sim.atomic import coverage as atomic_coverage
from sim.atomic import plan as atomic_plan
from sim.atomic import run as atomic
from sim.run import Result
from sim.world import coverage, plan

BUCKET: Final = "bucket"
ATOMIC: Final = "atomic"


class Kind(Struct, frozen=True):
    run: Callable[..., Result]
    """A seed, with only these of its faults if they are given, told line by line if somebody listens."""
    faults: Callable[[int], Sequence[object]]
    """That a seed plans."""
    required: tuple[str, ...]
    """What every batch must have seen."""
    acknowledged: str
    """What has to happen often in a seed that counts."""
    option: str
    """With which the command line asks for it, and a blank behind it."""


KINDS: Final = {
    BUCKET: Kind(bucket.run, lambda seed: plan.plan(seed).faults, coverage.REQUIRED, "acknowledged submissions", ""),
    ATOMIC: Kind(
        atomic.run,
        lambda seed: atomic_plan.plan(seed).faults,
        atomic_coverage.REQUIRED,
        "settled proposals",
        f"--world {ATOMIC} ",
    ),
}
