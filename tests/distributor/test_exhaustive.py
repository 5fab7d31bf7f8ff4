"""All that can happen to one bucket, in every order, up to a number of steps: nothing acknowledged is ever lost.

What random storms may miss is here, as long as it takes few steps and few participants. Two states are the same if
they differ only in how far epochs and incarnations have been counted.
"""

from collections.abc import Callable, Iterable, Iterator

import pytest

from hansard.distributor.bucket import Bucket, State
from hansard.distributor.command import Move
from hansard.distributor.member import Member
from hansard.distributor.orders import Standing
from tests.distributor.company import Company, company

Step = tuple[str, Callable[[Company], None]]


def steps(cluster: Company, nodes: str, targets: Iterable[str]) -> Iterator[Step]:
    for node in nodes:
        if node in cluster.here:
            yield f"{node} goes", lambda cluster, node=node: cluster.depart(node)  # type: ignore[misc]
        else:
            yield f"{node} comes", lambda cluster, node=node: cluster.arrive(node)  # type: ignore[misc]
    if cluster.here:
        for target in targets:
            yield f"move to {target}", lambda cluster, to=target: _order(cluster, to)  # type: ignore[misc]
    yield "achieve", lambda cluster: cluster.achieve(0)
    yield "announce", lambda cluster: cluster.announce([0])
    yield "write", _write
    yield "restart", lambda cluster: cluster.restart(0)


def _order(cluster: Company, to: str) -> None:
    cluster.order(Move(0, tuple(to)))


def _write(cluster: Company) -> None:
    cluster.write(0)


def known_as(cluster: Company) -> object:
    """The same for states that are the same."""
    distributor, bucket = cluster.distributor, cluster.distributor.buckets[0]
    acknowledged, ready = cluster.acknowledged.get(0, 0), cluster.ready.get(0)
    copies = [(node, disk.get(0)) for node, disk in sorted(cluster.disks.items())]
    return (
        _government(bucket, cluster.incarnations),
        tuple(
            [
                (node, bucket.epoch - copy.counted, bucket.epoch - copy.expanded, copy.changes - acknowledged)
                for node, copy in copies
                if copy is not None
            ]
        ),
        ready and (bucket.epoch - ready[0], ready[1]),
        tuple([(slot.number, slot.node, slot.holder is None) for slot in distributor.slots]),
        tuple(cluster.here),
        tuple([status.wish for _, status in distributor.orders.image() if status.standing is Standing.RUNNING]),
    )


def _government(bucket: Bucket, incarnations: dict[str, int]) -> object:
    def ages(members: Iterable[Member | None]) -> tuple[object, ...]:
        return tuple([member and (member.node, incarnations[member.node] - member.incarnation) for member in members])

    groups = ([bucket.leader], bucket.members, bucket.newcomers, bucket.full, bucket.goal, bucket.returned)
    epochs = (bucket.epoch - bucket.opened, bucket.epoch - bucket.expanded if bucket.expanded else None)
    return (*[ages(group) for group in groups], *epochs, bucket.vacant, bucket.pinned)


@pytest.mark.parametrize(
    ("there", "nodes", "replication", "targets", "depth", "least"),
    [("ab", "abc", 2, (), 9, 4000), ("a", "ab", 1, ("a", "b"), 11, 1500), ("ab", "abc", 2, ("ab", "c"), 7, 2000)],
)
def test_nothing_is_lost_in_any_order(
    there: str, nodes: str, replication: int, targets: tuple[str, ...], depth: int, least: int
) -> None:
    start = company(there, 1, replication)
    seen = {known_as(start)}
    front: list[tuple[Company, tuple[str, ...]]] = [(start, ())]
    states: set[State] = set()
    for _ in range(depth):
        reached = []
        for cluster, way in front:
            for name, step in steps(cluster, nodes, targets):
                after = cluster.clone()
                try:
                    step(after)
                except AssertionError as error:
                    raise AssertionError(" -> ".join((*way, name))) from error
                state = known_as(after)
                if state not in seen:
                    seen.add(state)
                    states.add(after.distributor.buckets[0].state)
                    reached.append((after, (*way, name)))
        front = reached
    assert states == {State.STEADY, State.EXPANDING, State.SWITCHING, State.LOST} and len(seen) >= least
