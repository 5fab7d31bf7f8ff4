"""What becomes of the halves of a split when somebody departs, at each stage; and whose copies bring them back."""

import pytest

from hansard.distributor.bucket import Bucket, State
from hansard.distributor.command import Achievement, Double
from hansard.distributor.distributor import stands_for, suffices
from hansard.distributor.fact import Copy
from hansard.distributor.orders import Standing
from tests.distributor.company import Company, company

STAGES = {
    "split": [],
    "one has learned of it": ["learn"],
    "the first half can open": ["achieve 0"],
    "the second half can open": ["achieve 1"],
    "the first half is open": ["step 0"],
    "the second half is open": ["step 1"],
    "both are open": ["step 0", "step 1"],
}


def split(stage: str = "split", nodes: str = "abc", replication: int = 3) -> Company:
    """One bucket, with three changes, that is being split in two."""
    cluster = company(nodes, 1, replication)
    for _ in range(3):
        assert cluster.write(0)
    cluster.order(Double(2), "double")
    assert cluster.levels() == [2, 2] and cluster.splits == 1
    for step in STAGES[stage]:
        what, _, number = step.partition(" ")
        match what:
            case "learn":
                cluster.fork("a")
            case "achieve":
                cluster.achieve(int(number))
            case _:
                cluster.step(int(number))
    return cluster


def finish(cluster: Company) -> None:
    cluster.settle()
    assert cluster.steady() and cluster.balanced() and cluster.levels() == [2, 2]
    assert cluster.standing("double") is Standing.DONE


@pytest.mark.parametrize("gone", ["a", "b", "c", "ab", "ba", "bc", "ca"])
@pytest.mark.parametrize("stage", STAGES)
def test_whoever_departs_at_whatever_stage_both_halves_go_on(stage: str, gone: str) -> None:
    cluster = split(stage)
    cluster.depart(*gone)
    assert all(bucket.leader is not None for bucket in cluster.distributor.buckets)
    cluster.settle()
    cluster.arrive(*gone)
    finish(cluster)


@pytest.mark.parametrize("first", "abc")
@pytest.mark.parametrize("stage", STAGES)
def test_when_all_depart_the_halves_wait_for_somebody_who_has_everything(stage: str, first: str) -> None:
    """No half opens with less than what was acknowledged: the company looks at that."""
    cluster = split(stage)
    cluster.write(0)
    cluster.write(1)
    cluster.depart("c", "a", "b")
    assert cluster.states() == {State.LOST}
    assert [found.bucket for found in cluster.distributor.lost()] == [0, 1]
    assert all(sorted(found.nodes) == ["a", "b", "c"] for found in cluster.distributor.lost())
    cluster.arrive(first)
    assert not list(cluster.distributor.lost())  # whoever it is: all three counted in what has opened
    cluster.arrive(*[node for node in "abc" if node != first])
    finish(cluster)


def test_an_unsplit_copy_revives_both_halves_and_they_go_on_from_it() -> None:
    cluster = split()
    cluster.depart("a", "b", "c")
    (whole,) = cluster.disks["b"].values()
    assert whole.level == 1
    changes = whole.changes
    cluster.arrive("b")
    assert [cluster.nodes(0), cluster.nodes(1)] == [["b"], ["b"]]
    cluster.settle()
    assert [bucket.opened >= bucket.born for bucket in cluster.distributor.buckets] == [True, True]
    assert [stored.changes for stored in cluster.disks["b"].values()] == [changes + 1, changes + 1]


def test_forked_copies_revive_each_their_own_half() -> None:
    cluster = split()
    cluster.fork("b")
    cluster.depart("a", "b", "c")
    del cluster.disks["b"][0]
    cluster.arrive("b")
    assert [cluster.nodes(0), cluster.nodes(1)] == [[], ["b"]]


def test_an_unsplit_copy_is_too_old_for_a_half_that_has_opened_since() -> None:
    """Everybody but c is gone when the second half opens; what it acknowledges then is on c's disk alone."""
    cluster = split()
    cluster.depart("a", "b")
    cluster.step(1)
    assert cluster.write(1)
    cluster.depart("c")
    cluster.arrive("a")
    assert [cluster.nodes(0), cluster.nodes(1)] == [["a"], []]
    cluster.arrive("c")
    assert [cluster.nodes(0), cluster.nodes(1)] == [["a"], ["c"]]
    cluster.arrive("b")
    finish(cluster)


def test_a_copy_of_the_first_half_is_none_of_the_second() -> None:
    cluster = split()
    cluster.fork("a")
    del cluster.disks["a"][1]
    cluster.depart("c", "b", "a")
    cluster.arrive("a")
    assert [cluster.nodes(0), cluster.nodes(1)] == [["a"], []]


def test_an_old_unsplit_copy_is_of_no_use_to_a_grandchild() -> None:
    cluster = company("abc", 1)
    cluster.depart("a")
    cluster.order(Double(4))
    cluster.settle()
    cluster.depart("b", "c")
    assert cluster.states() == {State.LOST} and cluster.levels() == [4] * 4
    cluster.arrive("a")
    assert cluster.states() == {State.LOST}
    cluster.arrive("b")
    assert State.LOST not in cluster.states()


def test_a_copy_stands_for_what_was_split_off_from_it_and_for_nothing_else() -> None:
    founded, half, idle = Bucket(epoch=3, level=8), Bucket(epoch=3, level=8, born=2), Bucket()
    buckets = [half, founded, half, half, half, founded, idle, half]
    assert list(stands_for(Copy(0, 1, 1, intact=True, level=2), buckets)) == [0, 2, 4]
    assert list(stands_for(Copy(3, 1, 1, intact=True, level=4), buckets)) == [3, 7]
    assert list(stands_for(Copy(1, 1, 1, intact=True, level=4), buckets)) == [1]  # 5 never was a part of another one
    assert list(stands_for(Copy(3, 1, 1, intact=True, level=1), buckets)) == [3, 7]  # a half that is not noted as one
    assert list(stands_for(Copy(3, 1, 1, intact=True, level=8), buckets)) == [3]
    assert not list(stands_for(Copy(6, 1, 1, intact=True, level=8), buckets))
    assert not list(stands_for(Copy(9, 1, 1, intact=True, level=16), buckets))
    assert not list(stands_for(Copy(-1, 1, 1, intact=True, level=2), buckets))
    assert not list(stands_for(Copy(0, 1, 1, intact=True, level=3), buckets))


def test_half_a_copy_is_not_enough_for_a_bucket_that_the_log_knows_as_a_whole() -> None:
    """Where the log was made anew from before the split."""
    whole = Bucket(epoch=3, opened=3, level=4)
    assert suffices(Copy(1, 5, 1, intact=True, level=4), whole)
    assert not suffices(Copy(1, 5, 1, intact=True, level=8), whole)


def test_nothing_is_acknowledged_in_the_old_epoch_once_one_has_learned_of_the_split() -> None:
    """That is what the halves' openings rest on; the company says so, and the phasers do it."""
    cluster = split()
    assert cluster.write_late(1)
    assert cluster.acknowledged == {0: 5, 1: 5}
    cluster.fork("c")
    assert not cluster.write_late(0) and not cluster.write_late(1)
    finish(cluster)


def test_a_report_about_the_parent_opens_neither_half() -> None:
    cluster = split()
    epoch = cluster.distributor.buckets[0].epoch
    cluster.report(0, Achievement.OPENED, epoch=epoch - 1)
    assert cluster.states() == {State.SWITCHING}
    cluster.report(1, Achievement.OPENED, node=cluster.nodes(0)[0])  # who does not lead it
    assert cluster.states() == {State.SWITCHING}
