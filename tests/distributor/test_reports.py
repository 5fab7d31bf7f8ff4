"""From an appointment to an opened government, and what a report can and cannot change."""

import pytest

from hansard.distributor.bucket import State
from hansard.distributor.command import Achievement, Report, Reports
from tests.distributor.company import Company, company, names

OPENED, EXPANDED = Achievement.OPENED, Achievement.EXPANDED


@pytest.fixture
def moving() -> Company:
    """Bucket 0 goes from a to b, with nobody but these."""
    found = company(["a"], 2, 1)
    found.arrive("b")
    assert found.distributor.buckets[0].state is State.EXPANDING
    return found


def test_a_first_government_has_everybody_and_opens() -> None:
    cluster = Company()
    cluster.arrive("a", "b", "c")
    cluster.found(1)
    bucket = cluster.distributor.buckets[0]
    assert (bucket.epoch, bucket.opened, bucket.state) == (1, 0, State.SWITCHING)
    assert cluster.nodes(0) == ["a", "b", "c"] and bucket.newcomers == ()
    cluster.report(0, OPENED)
    assert cluster.distributor.buckets[0].state is State.STEADY


def test_a_move_expands_and_then_switches(moving: Company) -> None:
    bucket = moving.distributor.buckets[0]
    assert [member.node for member in (*bucket.members, *bucket.newcomers)] == ["a", "b"]
    assert bucket.leader == moving.member("a") and bucket.goal == (moving.member("b"),)
    moving.report(0, OPENED)
    assert moving.distributor.buckets[0].state is State.EXPANDING
    moving.report(0, EXPANDED)
    bucket = moving.distributor.buckets[0]
    assert bucket.state is State.SWITCHING and bucket.leader == moving.member("b")
    assert bucket.members == (moving.member("b"),) and len(bucket.full) == 2
    moving.report(0, OPENED)
    bucket = moving.distributor.buckets[0]
    assert bucket.state is State.STEADY and moving.nodes(0) == ["b"] and bucket.goal == ()


def test_an_expansion_alone_needs_no_second_government() -> None:
    cluster = company(["a"], 1, 2)
    epoch = cluster.distributor.buckets[0].epoch
    cluster.arrive("b")
    cluster.report(0, OPENED)
    cluster.report(0, EXPANDED)
    bucket = cluster.distributor.buckets[0]
    assert (bucket.epoch, bucket.state) == (epoch + 1, State.STEADY)
    assert cluster.nodes(0) == ["a", "b"]


def test_opened_and_expanded_may_come_in_one_entry(moving: Company) -> None:
    epoch = moving.distributor.buckets[0].epoch
    moving.propose(Reports((Report(0, epoch, OPENED), Report(0, epoch, EXPANDED))), "a")
    assert moving.distributor.buckets[0].epoch == epoch + 1


@pytest.mark.parametrize("achievement", list(Achievement))
def test_a_report_for_a_past_epoch_changes_nothing(moving: Company, achievement: Achievement) -> None:
    moving.report(0, OPENED)
    before = moving.distributor.hash
    for epoch in range(1, moving.distributor.buckets[0].epoch):
        moving.report(0, achievement, epoch=epoch)
    assert moving.distributor.hash == before


def test_a_past_government_is_not_opened_when_the_newest_has_not(moving: Company) -> None:
    moving.depart("b")
    assert moving.distributor.buckets[0].epoch == 3
    before = moving.distributor.hash
    moving.report(0, OPENED, epoch=2)
    moving.report(0, EXPANDED, epoch=2)
    assert moving.distributor.hash == before


@pytest.mark.parametrize("achievement", list(Achievement))
def test_a_report_for_an_epoch_to_come_changes_nothing(moving: Company, achievement: Achievement) -> None:
    before = moving.distributor.hash
    moving.report(0, achievement, epoch=moving.distributor.buckets[0].epoch + 1)
    assert moving.distributor.hash == before


def test_nobody_but_the_leader_reports(moving: Company) -> None:
    before = moving.distributor.hash
    moving.report(0, OPENED, node="b")
    assert moving.distributor.hash == before


def test_a_repeated_report_changes_nothing(moving: Company) -> None:
    for achievement in (OPENED, EXPANDED):
        epoch = moving.distributor.buckets[0].epoch
        moving.report(0, achievement)
        before = moving.distributor.hash
        moving.report(0, achievement, epoch=epoch, node="a")
        assert moving.distributor.hash == before


def test_nothing_is_expanded_before_it_has_opened(moving: Company) -> None:
    before = moving.distributor.hash
    moving.report(0, EXPANDED)
    assert moving.distributor.hash == before


def test_a_report_of_a_bucket_that_is_not_there_changes_nothing(moving: Company) -> None:
    before = moving.distributor.hash
    moving.propose(Reports((Report(2, 1, OPENED), Report(-1, 1, OPENED))), "a")
    assert moving.distributor.hash == before


# The version of the table.


def test_the_version_grows_when_a_bucket_changes_and_then_only() -> None:
    cluster = company(names(3), 8)
    distributor = cluster.distributor
    version = distributor.version
    distributor.touched[3] = None  # whoever looks has not emptied it
    cluster.report(0, OPENED)
    cluster.arrive("spare")
    touched = cluster.distributor.version
    assert touched == version + 1  # a bucket has begun to move to it
    cluster.report(0, OPENED, epoch=1)
    assert cluster.distributor.version == touched


def test_after_a_restoration_everything_is_touched() -> None:
    cluster = company(names(3), 8)
    assert not cluster.distributor.touched
    cluster.distributor.restore(cluster.distributor.image())
    assert list(cluster.distributor.touched) == list(range(8))
