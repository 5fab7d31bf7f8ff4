"""Clusters without faults, for tests that bring their own."""

from msgspec.structs import replace

from hansard.distributor.settings import Settings as TableSettings
from sim.atomic.plan import Fault
from sim.cluster.plan import Plan, plan
from sim.cluster.world import World

SECOND = 1_000_000


def quiet(places: int = 3, buckets: int = 2, replication: int = 2, **changes: object) -> Plan:
    """Everybody is there soon, and nothing happens to anybody."""
    planned = replace(
        plan(0),
        faults=(),
        places=places,
        buckets=buckets,
        buckets_max=buckets,
        founders=1,
        table=TableSettings(replication=replication),
        arrivals_us=(0, *[400_000 + 100_000 * number for number in range(places - 1)]),
        zones=("",) * places,
        rates=(1.0,) * places,
        skews_us=(0,) * places,
        wrong_clock=None,
        clients=2,
        named=1,
        strangers=1,
        readers=1,
        gap_us=200_000,
        range_end=1 << 40,
        ordered=True,
        delay_us=200,
        loss=0.0,
        double=0.0,
        echo=0.0,
        sync_us=300,
        left_down=0,
        thorough=False,
        holders=0,
    )
    return replace(planned, **changes)


def begun(planned: Plan, seconds: float) -> World:
    """Run for a while."""
    world = World(planned)
    world.begin()
    world.clock.run_until(int(seconds * SECOND))
    return world


def struck(*kinds: str, apart_us: int = 600_000, seconds: float = 9, buckets: int = 2, **changes: object) -> World:
    """A cluster in which these faults happen from the fourth second on, one after the other."""
    faults = [Fault(4 * SECOND + number * apart_us, kind, 200_000, number) for number, kind in enumerate(kinds)]
    return begun(replace(quiet(3, buckets, **changes), faults=tuple(faults)), seconds)  # type: ignore[arg-type]
