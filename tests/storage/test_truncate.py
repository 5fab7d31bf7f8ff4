"""Cutting a log back: everything after an offset goes, wherever it lies, and what comes next takes its place."""

import pytest

from hansard.storage.errors import NotABoundary
from hansard.storage.reading import Query
from hansard.storage.retention import Retention
from sim.disk import SimDisk
from tests.storage.stores import batch_at, fill, new_store, offsets, reopen


@pytest.mark.parametrize("cut", [297, 270, 150, 3, 0])
@pytest.mark.parametrize("filed", [True, False])
def test_a_cut_log_ends_there_also_after_reopening(cut: int, filed: bool) -> None:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 300)
    if filed:
        store.file()
    store.truncate_after(0, cut - 1)
    assert store.bounds(0) == (0, cut) and offsets(store) == list(range(cut))
    store.close()
    store = reopen(disk)
    assert store.bounds(0) == (0, cut) and offsets(store) == list(range(cut))


def test_other_content_takes_the_place_of_what_was_cut() -> None:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 200)
    store.file()
    store.truncate_after(0, 98)
    fill(store, 99, 150, by=1)
    store.file()
    assert offsets(store) == list(range(150))
    assert offsets(store, Query(tags=frozenset([b"ten"]))) == list(range(0, 150, 10))
    store.close()
    assert offsets(reopen(disk)) == list(range(150))


def test_other_buckets_are_not_touched() -> None:
    store = new_store()
    fill(store, 0, 90)
    fill(store, 0, 90, bucket=1)
    store.truncate_after(0, 29)
    assert store.bounds(0) == (0, 30) and store.bounds(1) == (0, 90)


def test_a_cut_takes_the_log_back_to_the_epoch_and_time_of_what_is_left() -> None:
    store = new_store()
    store.append([(0, batch_at(0, 3, epoch=1, time=100))])
    store.append([(0, batch_at(3, 3, epoch=5, time=900))])
    store.truncate_after(0, 2)
    store.append([(0, batch_at(3, 3, epoch=2, time=200))])
    assert (store.log(0).epoch, store.log(0).timestamp) == (2, 200)


def test_a_cut_at_or_past_the_end_does_nothing() -> None:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 30)
    before = disk.operation_count
    store.truncate_after(0, 29)
    store.truncate_after(0, 1000)
    store.truncate_after(9, 5)
    assert disk.operation_count == before


@pytest.mark.parametrize("filed", [True, False])
def test_a_batch_is_not_cut_in_two(filed: bool) -> None:
    store = new_store()
    fill(store, 0, 90, by=10)
    if filed:
        store.file()
    with pytest.raises(NotABoundary) as caught:
        store.truncate_after(0, 44)
    assert (caught.value.first, caught.value.end) == (40, 50)
    assert store.bounds(0) == (0, 90)


def test_a_cut_below_what_is_retained_leaves_nothing() -> None:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 300)
    store.retain({0: Retention(change_count=50)}, now=0)
    store.truncate_after(0, 5)
    assert store.bounds(0) == (6, 6) and offsets(store) == []
    store.close()
    store = reopen(disk)
    assert store.bounds(0) == (6, 6)
    fill(store, 6, 30)
    assert offsets(store) == list(range(6, 30))


@pytest.mark.parametrize("filed", [True, False])
def test_everything_can_be_cut_also_from_a_log_that_began_later(filed: bool) -> None:
    store = new_store()
    store.append([(0, batch_at(5, 3, epoch=4, time=700))])
    if filed:
        store.file()
    store.truncate_after(0, -1)
    assert store.bounds(0) == (0, 0)
    store.append([(0, batch_at(0, 3, epoch=1, time=0))])
    assert offsets(store) == [0, 1, 2]
