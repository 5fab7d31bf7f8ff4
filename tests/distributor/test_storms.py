"""Whatever happens in whatever order: what was acknowledged is there, and in the end everything is where it belongs.

`Company` checks the invariants after every fact, and at every opening that the leader has all that was acknowledged.
"""

from collections import Counter
from collections.abc import Sequence

import pytest

from hansard.distributor.bucket import Bucket, State
from hansard.distributor.distributor import stands_for, suffices
from hansard.distributor.fact import Departed, Fact
from hansard.distributor.invariants import moment
from tests.distributor.company import Company, brought
from tests.distributor.flow import best_possible
from tests.distributor.storm import Storm


@pytest.mark.parametrize("seed", range(30))
def test_after_a_storm_everything_is_in_its_place(seed: int) -> None:
    storm = Storm(seed)
    storm.rage(300)
    storm.calm()
    cluster = storm.company
    assert cluster.steady() and cluster.balanced()
    assert not list(cluster.distributor.thinned()) and not cluster.distributor.orders.running
    assert {len(bucket.kept) for bucket in cluster.distributor.buckets} == {cluster.distributor.wanted}
    assert not any(bucket.vacant or bucket.returned for bucket in cluster.distributor.buckets)


@pytest.mark.parametrize("seed", range(100, 115))
def test_after_a_storm_over_zones_every_bucket_is_in_as_many_as_it_can(seed: int) -> None:
    storm = Storm(seed, zones=("a", "b", "c"))
    storm.rage(300)
    storm.calm()
    cluster = storm.company
    assert cluster.steady() and not list(cluster.distributor.thinned())
    slots, buckets = cluster.distributor.slots, cluster.distributor.buckets
    zones = [slots.zone(slot.holder) for slot in slots.eligible if slot.holder is not None]
    copies = cluster.distributor.wanted
    for bucket in buckets:
        assert len({slots.zone(member) for member in bucket.full}) == min(len(set(zones)), copies)
    if copies <= len(set(zones)):
        loads = cluster.loads().values()
        assert (max(loads), min(loads)) == best_possible(zones, len(buckets), copies)


@pytest.mark.parametrize("seed", range(300, 303))
def test_a_long_storm(seed: int) -> None:
    storm = Storm(seed, zones=("a", "b", ""))
    storm.rage(5000)
    assert len(storm.company.facts) > 1500
    storm.calm()
    assert storm.company.steady() and not list(storm.company.distributor.thinned())


@pytest.mark.parametrize("seed", range(200, 215))
def test_when_disks_are_lost_nobody_pretends(seed: int) -> None:
    storm = Storm(seed, wiping=True)
    storm.rage(300)
    storm.calm()
    cluster = storm.company
    buckets, lost = cluster.distributor.buckets, storm.lost
    assert [found.bucket for found in cluster.distributor.lost()] == lost
    for number, bucket in enumerate(buckets):  # what is lost cannot be split
        assert bucket.state in (State.STEADY, State.LOST) or (bucket.level == 0 and number - len(buckets) // 2 in lost)
    for disk in cluster.disks.values():
        for copy in [brought(number, stored) for number, stored in disk.items()]:
            standing = [number for number in stands_for(copy, buckets) if number in lost]
            assert not any(suffices(copy, buckets[number]) for number in standing)


def test_the_storms_are_storms() -> None:
    """Everything that is said to be survived has happened, and often."""
    seen: Counter[str] = Counter()
    for seed in range(60):
        storm = Storm(seed)
        for _ in range(300):
            known, before = len(storm.company.facts), moment(storm.company.distributor).buckets
            storm.rage(1)
            for fact in storm.company.facts[known:]:
                _watch(storm.company, before, fact, seen)
        seen["acknowledged late"] += storm.late
    assert min(seen[kind] for kind in KINDS) >= 25, seen


KINDS = (
    *("steady", "expanding, opened", "expanding, not opened", "switching", "after expanded", "revived", "everybody"),
    *("split", "half of a split", "half of a split, lost", "half of a split, revived", "acknowledged late"),
)


def _watch(cluster: Company, before: Sequence[Bucket], fact: Fact, seen: Counter[str]) -> None:
    after = cluster.distributor.buckets
    seen["revived"] += sum(bucket.leader in bucket.returned for bucket in after)
    for old, new in zip(before, after, strict=False):
        seen["split"] += old.level < new.level
        seen["half of a split, lost"] += new.splitting and old.leader is not None and new.leader is None
        seen["half of a split, revived"] += new.splitting and old.leader is None and new.leader in new.returned
    if not isinstance(fact, Departed):
        return
    seen["everybody"] += not cluster.here
    for bucket in before:
        if fact.member in bucket.members or fact.member in bucket.newcomers:
            opened = "opened" if bucket.opened == bucket.epoch else "not opened"
            expanding = bucket.state is State.EXPANDING
            seen["half of a split"] += bucket.splitting
            seen[f"expanding, {opened}" if expanding else bucket.state.value] += 1
            seen["after expanded"] += bool(bucket.goal) and bucket.state is State.SWITCHING
