"""All that can happen to a bucket that is split, in every order, up to a number of steps: see test_exhaustive.py."""

from collections.abc import Iterator

from hansard.distributor.bucket import State
from hansard.distributor.command import Double
from tests.distributor.company import Company, company
from tests.distributor.test_exhaustive import Step, _government

HALVES = (0, 1)


def steps(cluster: Company, nodes: str) -> Iterator[Step]:
    for node in nodes:
        if node in cluster.here:
            yield f"{node} goes", lambda cluster, node=node: cluster.depart(node)  # type: ignore[misc]
            yield f"{node} learns", lambda cluster, node=node: cluster.fork(node)  # type: ignore[misc]
        else:
            yield f"{node} comes", lambda cluster, node=node: cluster.arrive(node)  # type: ignore[misc]
    if cluster.here and cluster.levels() == [1]:
        yield "double", _double
    for half in HALVES[: len(cluster.distributor.buckets)]:
        yield f"achieve {half}", lambda cluster, half=half: cluster.achieve(half)  # type: ignore[misc]
        yield f"announce {half}", lambda cluster, half=half: cluster.announce([half])  # type: ignore[misc]
        yield f"write {half}", lambda cluster, half=half: _write(cluster, half)  # type: ignore[misc]


def _double(cluster: Company) -> None:
    cluster.order(Double(2), "double")


def _write(cluster: Company, half: int) -> None:
    """To those who do not know yet, if there is nobody else."""
    if not cluster.write(half):
        cluster.write_late(half)


def known_as(cluster: Company) -> object:
    """The same for states that are the same."""
    found: list[object] = []
    for number, bucket in enumerate(cluster.distributor.buckets):
        ready = cluster.ready.get(number)
        found.append(_government(bucket, cluster.incarnations))
        found.append((bucket.level, bucket.splitting, ready and (bucket.epoch - ready[0], ready[1])))
        for node, disk in sorted(cluster.disks.items()):
            copy = disk.get(number)
            if copy is not None:
                changes = copy.changes - cluster.acknowledged.get(number, 0)
                found.append((node, bucket.epoch - copy.counted, bucket.epoch - copy.expanded, changes, copy.level))
    slots = [(slot.number, slot.node, slot.holder is None) for slot in cluster.distributor.slots]
    return (*found, *slots, *cluster.here, "double" in cluster.distributor.orders)


def test_nothing_is_lost_in_any_order_around_a_split() -> None:
    start = company("ab", 1, 2)
    seen, states = {known_as(start)}, set()
    front: list[tuple[Company, tuple[str, ...]]] = [(start, ())]
    for _ in range(8):
        reached = []
        for cluster, way in front:
            for name, step in steps(cluster, "ab"):
                after = cluster.clone()
                try:
                    step(after)
                except AssertionError as error:
                    raise AssertionError(" -> ".join((*way, name))) from error
                state = known_as(after)
                if state not in seen:
                    seen.add(state)
                    states.add(tuple([bucket.state for bucket in after.distributor.buckets]))
                    reached.append((after, (*way, name)))
        front = reached
    halves = (State.STEADY, State.SWITCHING, State.LOST)
    assert {(one, other) for one in halves for other in halves} <= states, states
    assert len(seen) >= 3000
