"""All that can happen to holds and floors, in every order, up to a number of steps: what is promised is kept.

What was promised is counted here by itself, from the answers alone.
"""

from collections.abc import Iterator

from msgspec import Struct

from hansard.distributor.command import Configure, Double, Hold, LetGo, Retire
from hansard.distributor.settings import Keep, Settings
from tests.distributor.company import Company

SECOND = 1_000_000
STEPS = ("hold at 3", "hold at 6", "let go", "other at 4", "retire 5", "retire 9", "wait", "double", "keep", "limit")
DEPTH = 4


class Promise(Struct, frozen=True):
    place: int
    until_us: int


class State(Struct, frozen=True):
    cluster: Company
    now_us: int = 1
    promises: tuple[tuple[str, Promise], ...] = ()
    kept: bool = False
    """By order, everything is."""


def after(state: State, step: str) -> State:
    cluster, now_us, promises = state.cluster.clone(), state.now_us, dict(state.promises)
    floors = dict(cluster.distributor.holds.floors)
    match step.split():
        case ["hold" | "other" as name, "at", place]:
            offsets = {0: int(place)}
            cluster.propose(Hold(name, offsets, 2 * SECOND, now_us))
            held = cluster.distributor.holds.held.get(name)
            if held is not None and held.asked_us == now_us and held.offsets == offsets:
                promises[name] = Promise(int(place), now_us + 2 * SECOND)
            else:
                assert any(floor > int(place) for floor in floors.values()), "refused for nothing"
        case ["let", "go"]:
            cluster.propose(LetGo("hold", now_us))
            promises.pop("hold", None)
        case ["retire", floor]:
            for number, bucket in enumerate(cluster.distributor.buckets):
                if bucket.level and bucket.leader is not None:
                    cluster.propose(Retire(((number, int(floor)),), Keep(change_count=1), now_us), bucket.leader.node)
            assert not state.kept or cluster.distributor.holds.floors == floors, "dropped, and all is to be kept"
        case ["wait"]:
            now_us += SECOND
        case ["double"]:
            if len(cluster.distributor.buckets) < 2:
                cluster.order(Double(2))
                cluster.settle()
        case _:
            assert step in ("keep", "limit")
            cluster.order(Configure(retain_changes=0 if step == "keep" else 1))
    now_us += 1
    active = {name: promise for name, promise in promises.items() if promise.until_us > now_us}
    kept = state.kept if step not in ("keep", "limit") else step == "keep"
    return State(cluster, now_us, tuple(sorted(active.items())), kept)


def check(state: State) -> None:
    """Bucket 0, and what was split off from it, are held at the same place."""
    for number, floor in state.cluster.distributor.holds.floors.items():
        for name, promise in state.promises:
            assert floor <= promise.place, f"bucket {number} may be dropped up to {floor}; {name}: {promise}"


def everything(state: State, depth: int) -> Iterator[State]:
    if depth:
        for step in STEPS:
            following = after(state, step)
            check(following)
            yield following
            yield from everything(following, depth - 1)


def test_whatever_happens_in_whatever_order_nothing_that_is_held_may_be_dropped() -> None:
    cluster = Company()
    cluster.arrive("a")
    cluster.found(1, Settings(retain_changes=1, replication=1))
    cluster.settle()
    seen = raised = stopped = split = 0
    for state in everything(State(cluster), DEPTH):
        floors = state.cluster.distributor.holds.floors
        seen += 1
        raised += bool(floors)
        split += 1 in floors
        stopped += any(floor in (3, 4, 6) for floor in floors.values())
    assert seen == sum(len(STEPS) ** depth for depth in range(1, DEPTH + 1))
    assert raised and stopped and split
