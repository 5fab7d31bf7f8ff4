"""One seed, run to its end: what came of it."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from sim.oracles import Violation
from sim.world.plan import plan
from sim.world.world import World

ACKNOWLEDGED_MIN: Final = 200
FAULTS_MIN: Final = 3
VIRTUAL_US_MIN: Final = 60_000_000


class Result(Struct, frozen=True):
    seed: int
    acknowledged: int
    faults: int
    """That took effect."""
    virtual_us: int
    trace: str
    """The hash of the trace: equal for equal runs."""
    counts: Counter[str]
    broken: str
    """Which promise was broken, and how; empty if none was."""

    @property
    def counts_as_run(self) -> bool:
        """A run in which little happened has tested little."""
        return self.acknowledged >= ACKNOWLEDGED_MIN and self.faults >= FAULTS_MIN and self.virtual_us >= VIRTUAL_US_MIN


def run(seed: int, kept: Sequence[int] | None = None, tell: Callable[[str], None] | None = None) -> Result:
    """Run a seed; with only these of its faults, if they are given."""
    planned = plan(seed)
    faults = planned.faults if kept is None else [planned.faults[number] for number in kept]
    world = World(planned, faults, tell)
    broken = broken_promise(world.run)
    counts = world.coverage.counts
    counts["acclimation interrupted"] += world.edict.interrupted
    return Result(
        seed,
        world.acknowledged,
        world.nemesis.took_effect,
        world.clock.now_us,
        world.trace_hash,
        counts,
        broken,
    )


def broken_promise(run: Callable[[], None]) -> str:
    """Which promise a run breaks, and how; empty if none."""
    try:
        run()
    except Violation as violation:
        return str(violation)
    except AssertionError as error:
        return f"an assertion failed: {_where(error)}"
    except Exception as error:  # the top of a run: whatever goes wrong in it is this seed's, and is reported with it
        return f"{type(error).__name__} was raised: {_where(error)}"
    return ""


def _where(error: Exception) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    assert trace is not None
    code = trace.tb_frame.f_code
    return f"{code.co_filename.rpartition('/')[2]}:{trace.tb_lineno} in {code.co_qualname}: {error}"
