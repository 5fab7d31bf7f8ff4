"""What the distributor costs: applying one entry of the atomic log, and how many entries it takes to come to rest.

A table of 1,024 buckets on 50 participants, with three copies of each. Everything that one entry makes necessary is in
its time, the plan of the next moves too. `python -m bench.distributor` shows where the time of a departure goes.
"""

from collections.abc import Callable, Sequence
from cProfile import Profile
from pstats import Stats
from statistics import median
from time import process_time
from typing import Final

from bench.table import NO_TARGET, Row, show
from hansard.distributor.bucket import State
from hansard.distributor.command import Achievement, Double, Found, Order, Report, Reports
from hansard.distributor.distributor import Distributor
from hansard.distributor.fact import Arrived, Departed, Fact, Proposed
from hansard.distributor.member import Member
from hansard.distributor.settings import Settings

BUCKETS: Final = 1024
PARTICIPANTS: Final = 50
FEW: Final = 3
TARGET_MS: Final = 5.0
TURNS: Final = 8
MOVES: Final = (1, 64)
RUNS: Final = 3
ZONES: Final = {"": ("",), ", in 3 zones": ("a", "b", "c")}


class Cluster:
    """Participants that do at once whatever they are appointed to; each says all that it has to say in one entry."""

    def __init__(self, zones: Sequence[str] = ("",)) -> None:
        self.distributor = Distributor()
        self.zones = zones
        self.here: list[Member] = []
        self.seconds: dict[str, list[float]] = {}
        self.entries = 0

    def apply(self, kind: str, fact: Fact) -> None:
        begun = process_time()
        self.distributor.apply(fact)
        self.seconds.setdefault(kind, []).append(process_time() - begun)
        self.entries += 1

    def arrive(self, count: int = 1) -> None:
        for _ in range(count):
            number = len(self.here)
            member = Member(f"n{number:02}", 1)
            self.here.append(member)
            self.apply("arrival", Arrived(member, self.zones[number % len(self.zones)]))

    def found(self, participants: int, moves_max: int = 1, buckets: int = BUCKETS) -> None:
        order = Order("found", Found(buckets, Settings(moves_max=moves_max), participants))
        self.apply("founding", Proposed(self.here[0], order))

    def double(self) -> None:
        order = Order("double", Double(2 * len(self.distributor.buckets)))
        self.apply("order to double", Proposed(self.here[0], order))

    def leave(self, number: int) -> None:
        """And come back, as somebody else."""
        gone = self.here[number]
        self.apply("departure", Departed(gone))
        self.settle()
        self.here[number] = Member(gone.node, gone.incarnation + 1)
        self.apply("arrival", Arrived(self.here[number], self.zones[number % len(self.zones)]))
        self.settle()

    def settle(self) -> None:
        while due := self._due():
            for member, reports in due.items():
                self.apply("report", Proposed(member, Reports(tuple(reports))))

    def _due(self) -> dict[Member, list[Report]]:
        due: dict[Member, list[Report]] = {}
        for number, bucket in enumerate(self.distributor.buckets):
            if bucket.leader is not None and bucket.opened < bucket.epoch:
                due.setdefault(bucket.leader, []).append(Report(number, bucket.epoch, Achievement.OPENED))
            elif bucket.leader is not None and bucket.state is State.EXPANDING:
                due.setdefault(bucket.leader, []).append(Report(number, bucket.epoch, Achievement.EXPANDED))
        return due


def settled(zones: Sequence[str], moves_max: int = 1, buckets: int = BUCKETS) -> Cluster:
    cluster = Cluster(zones)
    cluster.arrive(PARTICIPANTS)
    cluster.found(PARTICIPANTS, moves_max, buckets)
    cluster.settle()
    return cluster


def least(live: Callable[[], Cluster]) -> dict[str, list[float]]:
    """What each entry costs, sorted by that. A life goes the same way each time, so what one run takes longer for an
    entry than another is not the entry's."""
    runs = [live().seconds for _ in range(RUNS)]
    return {kind: sorted([min(times) for times in zip(*[run[kind] for run in runs], strict=True)]) for kind in runs[0]}


def shown(claim: str, seconds: Sequence[float]) -> Row:
    middle, high, most = median(seconds), seconds[len(seconds) * 99 // 100], seconds[-1]
    measured = f"{middle * 1e3:.2f} ms, p99 {high * 1e3:.2f} ms, max {most * 1e3:.2f} ms"
    return Row(claim, measured, f"max {TARGET_MS:.0f} ms", most * 1e3 < TARGET_MS)


def times() -> list[Row]:
    rows = []
    for moves_max in MOVES:
        for where, zones in ZONES.items():
            seconds = least(lambda zones=zones, moves_max=moves_max: _troubled(zones, moves_max))  # type: ignore[misc]
            (founding,) = seconds.pop("founding")
            how = f"{where}, {moves_max} at a time"
            rows += [shown(f"applying one {kind}{how}: median", seconds[kind]) for kind in seconds]
            rows.append(Row(f"placing all buckets{where}", f"{founding * 1e3:.1f} ms", NO_TARGET, ok=True))
    return rows


def _troubled(zones: Sequence[str], moves_max: int) -> Cluster:
    cluster = settled(zones, moves_max)
    cluster.seconds = {"founding": cluster.seconds["founding"]}
    for turn in range(TURNS):
        cluster.leave(turn % PARTICIPANTS)
    return cluster


def doublings() -> list[Row]:
    """Half as many buckets are doubled, and balanced again."""
    rows = []
    for moves_max in MOVES:
        seconds = least(lambda moves_max=moves_max: _doubled(moves_max))  # type: ignore[misc]
        entries = sum([len(kind) for kind in seconds.values()])
        how = f"doubling {BUCKETS // 2} buckets, {moves_max} at a time"
        rows.append(Row(f"{how}: log entries", f"{entries:,}", NO_TARGET, ok=True))
        rows += [shown(f"{how}: one {kind}, median", seconds[kind]) for kind in seconds]
    return rows


def _doubled(moves_max: int) -> Cluster:
    cluster = settled(("",), moves_max, BUCKETS // 2)
    cluster.seconds.clear()
    cluster.double()
    cluster.settle()
    assert [bucket.level for bucket in cluster.distributor.buckets] == [BUCKETS] * BUCKETS
    return cluster


def founded_together() -> int:
    cluster = Cluster()
    cluster.arrive(FEW)
    cluster.found(FEW)
    cluster.settle()
    return _entries(cluster)


def founded_alone(moves_max: int) -> int:
    """The others come one after the other, each when the last one has its share."""
    cluster = Cluster()
    cluster.arrive()
    cluster.found(1, moves_max)
    cluster.settle()
    for _ in range(FEW - 1):
        cluster.arrive()
        cluster.settle()
    return _entries(cluster)


def _entries(cluster: Cluster) -> int:
    assert all(bucket.state is State.STEADY and len(bucket.full) == FEW for bucket in cluster.distributor.buckets)
    return cluster.entries


def entries() -> list[Row]:
    ways: dict[str, Callable[[], int]] = {
        f"log entries until {FEW} that are there have {BUCKETS:,} buckets": founded_together,
        f"the same, one coming after the other, {1} move at a time": lambda: founded_alone(1),
        f"the same, {64} moves at a time": lambda: founded_alone(64),
    }
    return [Row(claim, f"{way():,}", NO_TARGET, ok=True) for claim, way in ways.items()]


def measure() -> list[Row]:
    return [*times(), *doublings(), *entries()]


def profile() -> None:
    cluster, profiler = settled(("",)), Profile()
    profiler.runcall(cluster.apply, "departure", Departed(cluster.here[7]))
    Stats(profiler).sort_stats("tottime").print_stats(25)


if __name__ == "__main__":
    profile()
    show(measure())
