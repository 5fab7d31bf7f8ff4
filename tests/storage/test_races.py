"""What happens at the same moment elsewhere does not show: filing, retention, reading and scrubbing side by side."""

import pytest

from hansard.storage.errors import Trimmed
from hansard.storage.manifest import Hold
from hansard.storage.reading import Query
from hansard.storage.retention import Retention
from hansard.storage.scrub import scrub
from hansard.storage.settings import StoreSettings
from hansard.storage.store import Store, open_store
from sim.disk import SimDisk
from sim.history import IDENTITY
from sim.refusing import RefusingDisk
from tests.storage.stores import batch_at, fill, new_store, offsets, reopen, segment_files


def filed_store(disk: RefusingDisk) -> Store:
    store = new_store(disk)
    fill(store, 0, 90)
    store.file()
    store.close()
    return reopen(disk)


@pytest.mark.parametrize("way", ["read", "by time"])
def test_a_segment_that_retention_drops_under_a_reader_is_not_taken_for_damage(way: str) -> None:
    disk = RefusingDisk()
    store = filed_store(disk)
    dropped: list[str] = []

    def drop_once(path: str) -> None:
        if path.endswith(".index") and not dropped:
            dropped.append(path)
            store.retain({0: Retention(change_count=10)}, now=0)

    disk.on_open = drop_once
    if way == "read":
        with pytest.raises(Trimmed):
            store.read(0, Query())
    else:
        assert store.offset_since(0, 0) == store.bounds(0)[0]
    assert dropped


def test_a_segment_that_retention_drops_under_a_scrub_is_not_taken_for_damage() -> None:
    store = filed_store(RefusingDisk())
    told: list[int] = []

    def drop_once(byte_count: int) -> None:
        if not told:
            store.retain({0: Retention(change_count=10)}, now=0)
        told.append(byte_count)

    assert scrub(store, progress=drop_once).damage == []


def test_filing_many_buckets_reads_the_journal_about_once() -> None:
    disk = RefusingDisk()
    store = open_store(disk, create=IDENTITY, settings=StoreSettings())
    for base in range(20):
        store.append([(bucket, batch_at(base, size=3_000)) for bucket in range(64)])
    read: list[int] = []
    disk.on_read = lambda path, length: read.append(length) if path.startswith("journal") else None
    size = store.journal.unfiled_bytes
    store.file()
    assert sum(read) < 4 * size


def test_a_full_disk_does_not_keep_an_index_from_being_made_anew() -> None:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 90)
    store.file()
    for path in segment_files(disk, ".index"):
        disk.remove(path)
    store.close()
    disk.capacity = sum(len(content) for content in disk.files().values())
    assert offsets(reopen(disk)) == list(range(90))


def test_what_is_gone_cannot_be_held() -> None:
    store = new_store()
    fill(store, 0, 90)
    store.retain({0: Retention(change_count=10)}, now=0)
    with pytest.raises(Trimmed):
        store.hold(Hold("late", 0, 0, expires_at=1_000_000))
