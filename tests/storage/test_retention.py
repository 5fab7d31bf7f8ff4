"""Retention drops whole segments from the oldest on, and waits for those who hold them."""

import pytest

from hansard.storage.errors import Trimmed
from hansard.storage.manifest import Hold
from hansard.storage.reading import Query
from hansard.storage.retention import Retention
from hansard.storage.write import Reset
from sim.disk import SimDisk
from tests.storage.stores import fill, new_store, offsets, reopen, segment_files


def test_by_count_at_least_that_many_changes_stay() -> None:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 300)
    store.file()
    files = len(segment_files(disk))
    store.retain({0: Retention(change_count=100)}, now=0)
    start, end = store.bounds(0)
    assert 0 < start <= 200 and end == 300
    assert offsets(store) == list(range(start, 300))
    assert len(segment_files(disk)) < files, "the files are gone too"
    store.close()
    assert reopen(disk).bounds(0) == (start, end)


def test_by_size_at_least_that_many_bytes_stay() -> None:
    store = new_store()
    fill(store, 0, 300)
    store.retain({0: Retention(byte_count=20_000)}, now=0)
    kept = sum(segment.length for segment in store.log(0).filed.segments)
    assert store.bounds(0)[0] > 0 and 20_000 <= kept < 20_000 + 10_000


def test_by_age_only_what_is_older_goes() -> None:
    store = new_store()
    fill(store, 0, 300)  # a change's time is ten times its offset, three at a time
    store.retain({0: Retention(age_us=1_000)}, now=2_970)
    start, _ = store.bounds(0)
    assert 150 < start <= 197
    segment = store.log(0).filed.segments[0]
    assert segment.last_timestamp >= 1_970


def test_everything_may_go_and_the_log_goes_on_after_it() -> None:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 100)
    store.retain({0: Retention(age_us=0)}, now=1_000_000)
    assert store.bounds(0) == (100, 100) and offsets(store) == [] and segment_files(disk) == []
    store.close()
    store = reopen(disk)
    assert store.bounds(0) == (100, 100)
    fill(store, 100, 130)
    assert offsets(store) == list(range(100, 130))


def test_only_the_buckets_named_are_touched() -> None:
    store = new_store()
    fill(store, 0, 200)
    fill(store, 0, 200, bucket=1)
    store.retain({1: Retention(change_count=10)}, now=0)
    assert store.bounds(0)[0] == 0 and store.bounds(1)[0] > 0


def test_a_hold_keeps_what_it_names_until_it_expires() -> None:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 300)
    store.hold(Hold("archive", 0, 120, expires_at=5_000))
    store.hold(Hold("another", 0, 250, expires_at=5_000))
    store.close()
    store = reopen(disk)
    store.retain({0: Retention(change_count=0)}, now=4_999)
    assert 60 < store.bounds(0)[0] <= 120
    assert offsets(store, Query(first=120)) == list(range(120, 300))
    store.retain({0: Retention(change_count=0)}, now=5_000)
    assert store.bounds(0)[0] == 300


def test_a_hold_moves_with_its_name_and_goes_when_released() -> None:
    store = new_store()
    fill(store, 0, 300)
    store.hold(Hold("archive", 0, 50, expires_at=5_000))
    store.hold(Hold("archive", 0, 200, expires_at=5_000))
    store.retain({0: Retention(change_count=0)}, now=1)
    assert 130 < store.bounds(0)[0] <= 200
    store.release("archive")
    store.retain({0: Retention(change_count=0)}, now=1)
    assert store.bounds(0)[0] == 300


def test_a_reader_that_retention_overtakes_is_told_where_the_log_begins() -> None:
    store = new_store()
    fill(store, 0, 300)
    page = store.read(0, Query(changes_max=10))
    store.retain({0: Retention(change_count=30)}, now=0)
    with pytest.raises(Trimmed) as caught:
        store.read(0, Query(first=page.end))
    assert caught.value.start == store.bounds(0)[0]
    assert offsets(store)[0] == caught.value.start, "without a place to begin, a read begins at the first change"


def test_a_cut_that_only_the_journal_knows_of_is_not_undone() -> None:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 90)
    fill(store, 0, 90, bucket=1)
    store.file()
    fill(store, 90, 93)
    disk.capacity = sum(len(content) for content in disk.files().values())
    store.truncate_after(0, 29)  # there is no room to file what is left, so the manifest still has all
    disk.capacity = None
    store.retain({bucket: Retention(change_count=10) for bucket in (0, 1)}, now=0)
    start, end = store.bounds(0)
    assert store.bounds(1)[0] > 0 and end == 30 and offsets(store) == list(range(start, 30))
    store.close()
    assert offsets(reopen(disk)) == list(range(start, 30))


def test_by_name_nothing_goes_that_came_since() -> None:
    """A log that was begun anew has the same offsets, in other segments."""
    store = new_store()
    fill(store, 0, 300)
    store.file()
    named = store.log(0).filed.segments[2]
    store.write([Reset(0, 0)])
    fill(store, 0, 300)
    store.file()
    store.retain({0: Retention(before=named.end, through=named.id)}, now=0, file=False)
    assert store.bounds(0) == (0, 300)
    named = store.log(0).filed.segments[2]
    fill(store, 300, 330)
    store.retain({0: Retention(before=330, through=named.id)}, now=0, file=False)
    assert store.bounds(0) == (named.end, 330) and store.log(0).tail, "what is not filed stays in the journal"
