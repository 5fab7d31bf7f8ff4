"""A full disk stops writing, not reading; nothing acknowledged is lost, and nothing refused comes back."""

from collections.abc import Sequence
from random import Random

import pytest

from hansard.storage.disk import Buffer, File
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


class CopyOnWriteDisk(SimDisk):
    """A file system on which even overwriting takes new space: a write may fail half-way in the middle of a file."""

    fails_next = False

    def open(self, path: str, *, create: bool = False, read_only: bool = False) -> File:
        return _CopyOnWriteFile(self, super().open(path, create=create, read_only=read_only))


class _CopyOnWriteFile:
    def __init__(self, disk: CopyOnWriteDisk, file: File) -> None:
        self._disk = disk
        self._file = file
        self.read, self.allocate, self.truncate = file.read, file.allocate, file.truncate
        self.sync, self.size, self.close = file.sync, file.size, file.close

    def write(self, position: int, chunks: Sequence[Buffer]) -> None:
        if not self._disk.fails_next:
            self._file.write(position, chunks)
            return
        self._disk.fails_next = False
        data = b"".join(chunks)
        self._file.write(position, [data[: len(data) * 3 // 4]])
        raise DiskFull("a file", len(data))


@pytest.mark.parametrize("draw", range(20))
def test_the_first_records_of_a_group_that_was_refused_do_not_come_back(draw: int) -> None:
    disk = CopyOnWriteDisk()
    store = new_store(disk)
    fill(store, 0, 3)
    disk.fails_next = True
    with pytest.raises(DiskFull):
        store.append([(0, batch_at(3)), (0, batch_at(4))])
    assert offsets(reopen(disk.crashed(disk.operation_count, Random(draw)))) == [0, 1, 2]
    store.append([(0, batch_at(3))])
    assert offsets(store) == [0, 1, 2, 3]
