"""The kinds of worlds that seeds are run in."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from msgspec import Struct

from sim import run as bucket
from sim.atomic import coverage as atomic_coverage
from sim.atomic import plan as atomic_plan
from sim.atomic import run as atomic
from sim.cluster import coverage as cluster_coverage
from sim.cluster import plan as cluster_plan
from sim.cluster import run as cluster
from sim.run import Result
from sim.world import coverage, plan

BUCKET: Final = "bucket"
ATOMIC: Final = "atomic"
CLUSTER: Final = "cluster"


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
    summary: Callable[[Sequence[Result]], Iterable[str]] = lambda _: ()
    """What there is to say of all results together, besides."""


KINDS: Final = {
    BUCKET: Kind(bucket.run, lambda seed: plan.plan(seed).faults, coverage.REQUIRED, "acknowledged submissions", ""),
    ATOMIC: Kind(
        atomic.run,
        lambda seed: atomic_plan.plan(seed).faults,
        atomic_coverage.REQUIRED,
        "settled proposals",
        f"--world {ATOMIC} ",
    ),
    CLUSTER: Kind(
        cluster.run,
        lambda seed: cluster_plan.plan(seed).faults,
        cluster_coverage.REQUIRED,
        "acknowledged submissions",
        f"--world {CLUSTER} ",
        cluster.summary,
    ),
}
