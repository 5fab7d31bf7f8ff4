"""A full disk stops writing, not reading; nothing acknowledged is lost, and nothing refused comes back."""

from random import Random

import pytest

from hansard.storage.errors import DiskFull
from hansard.storage.retention import Retention
from hansard.storage.store import Store
from sim.disk import SimDisk
from tests.storage.stores import batch_at, fill, new_store, offsets, reopen


def used(disk: SimDisk) -> int:
    return sum(len(content) for content in disk.files().values())


def is_full(store: Store) -> bool:
    return store.full is not None


def fill_up(store: Store, disk: SimDisk, spare: int) -> int:
    """Appends until the disk has no room; how many changes were acknowledged."""
    disk.capacity = used(disk) + spare
    with pytest.raises(DiskFull):
        append_pairs(store, 1000)
    return store.bounds(0)[1]


def append_pairs(store: Store, groups_max: int) -> None:
    for _ in range(groups_max):
        end = store.bounds(0)[1]
        store.append([(0, batch_at(end, 1)), (0, batch_at(end + 1, 2))])


@pytest.mark.parametrize("spare", [0, 100, 500, 3_000, 10_000, 30_000])
def test_appends_fail_reads_go_on_and_room_helps(spare: int) -> None:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 60)
    end = fill_up(store, disk, spare)
    assert is_full(store)
    assert store.bounds(0) == (0, end) and offsets(store) == list(range(end))
    with pytest.raises(DiskFull):
        store.append([(0, batch_at(end, 3))])
    disk.capacity = None
    fill(store, end, end + 30)
    assert not is_full(store)
    assert offsets(store) == list(range(end + 30))


@pytest.mark.parametrize("spare", [0, 100, 500, 3_000, 10_000])
def test_what_was_refused_is_not_there_after_a_crash(spare: int) -> None:
    for draw in range(40):
        random = Random(f"{spare} {draw}")
        disk = SimDisk()
        store = new_store(disk)
        fill(store, 0, 30 + 3 * random.randrange(20))
        end = fill_up(store, disk, spare + random.randrange(200))
        disk = disk.crashed(disk.operation_count, random)
        disk.capacity = None
        assert offsets(reopen(disk)) == list(range(end))


def test_a_full_disk_can_be_opened_read_and_thinned_out() -> None:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 600)
    end = fill_up(store, disk, 0)
    store.close()
    store = reopen(disk)
    assert offsets(store) == list(range(end))
    disk.capacity = used(disk)
    store.retain({0: Retention(change_count=10)}, now=0)
    disk.capacity = used(disk) + 60_000
    fill(store, end, end + 30)
    assert store.bounds(0)[1] == end + 30


def test_a_cut_holds_even_if_there_is_no_room_to_tidy_up_after_it() -> None:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 90)
    store.file()
    fill(store, 90, 93)
    disk.capacity = used(disk)
    store.truncate_after(0, 29)
    assert store.bounds(0) == (0, 30)
    store.close()
    assert reopen(disk).bounds(0) == (0, 30)


def test_retries_on_a_full_disk_do_not_pile_up() -> None:
    """An error that is raised again and again keeps every frame that it passed through, and what those hold."""
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 9)
    disk.capacity = used(disk)
    for _ in range(50):
        with pytest.raises(DiskFull):
            store.append([(0, batch_at(9, size=5_000))])
    assert store.full is not None
    depth, frame = 0, store.full.__traceback__
    while frame is not None:
        depth, frame = depth + 1, frame.tb_next
    assert depth < 10
