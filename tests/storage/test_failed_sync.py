"""A failed sync is the end of the store in this process: no retry, no guess."""

from collections.abc import Callable
from random import Random

import pytest

from hansard.storage.errors import DirectoryLocked, StoreFailed, SyncFailed
from hansard.storage.store import Store
from sim.disk import SimDisk
from tests.storage.stores import batch_at, fill, new_store, offsets, reopen


def test_nothing_is_taken_after_a_failed_sync_and_the_directory_stays_locked() -> None:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 30)
    disk.fail_sync = disk.sync_count + 1
    with pytest.raises(SyncFailed):
        store.append([(0, batch_at(30))])
    assert offsets(store) == list(range(30)), "what was acknowledged can still be read"
    attempts: list[Callable[[], None]] = [
        lambda: store.append([(0, batch_at(30))]),
        lambda: store.truncate_after(0, 2),
        store.file,
        lambda: store.retain({}, now=0),
    ]
    for attempt in attempts:
        with pytest.raises(StoreFailed, match="restart"):
            attempt()
    store.close()
    with pytest.raises(DirectoryLocked):
        reopen(disk)


def append_and_file(store: Store) -> None:
    for base in range(0, 600, 6):
        store.append([(0, batch_at(base, 6))])
        if base % 60 == 0:
            store.file()


@pytest.mark.parametrize("failing", range(1, 40))
def test_whichever_sync_fails_a_new_process_finds_all_that_was_acknowledged(failing: int) -> None:
    disk = SimDisk()
    store = new_store(disk)
    disk.fail_sync = disk.sync_count + failing
    with pytest.raises(SyncFailed):
        append_and_file(store)
    end = store.bounds(0)[1]
    for draw in range(10):
        random = Random(f"{failing} {draw}")
        after = disk.restarted(disk.operation_count)
        found = reopen(after)
        seen = offsets(found)
        assert seen in (list(range(end)), list(range(end + 6)))
        again = reopen(after.crashed(after.operation_count, random))
        assert offsets(again) == seen, "what a reader has seen is there for good"


@pytest.mark.parametrize("draw", range(20))
def test_a_file_whose_header_was_not_synced_keeps_what_is_appended_after_a_restart(draw: int) -> None:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 9)
    disk.fail_sync = disk.sync_count + 3  # the old file's mark, the new slot's name, then its header
    with pytest.raises(SyncFailed):
        store.file()
    disk = disk.restarted(disk.operation_count)
    fill(reopen(disk), 9, 18)
    assert offsets(reopen(disk.crashed(disk.operation_count, Random(draw)))) == list(range(18))
