"""Documents of a bucket: each in a file of its own, whole or not there, and never lost or brought back by a crash."""

from random import Random

import pytest

from hansard.storage.documents import HEADER_BYTES
from hansard.storage.errors import Corrupt, DiskFull
from hansard.storage.scrub import scrub
from hansard.storage.write import DOCUMENT_BYTES_MAX, Discard, Drop, Keep, Note
from sim.disk import SimDisk
from tests.storage.stores import fill, new_store, offsets, reopen, segment_files


def test_documents_are_kept_replaced_and_discarded() -> None:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 90)
    store.file()
    store.write([Keep(0, "snapshot", b"one"), Keep(0, "a-7", b""), Keep(4, "snapshot", b"two")])
    store.write([Keep(0, "snapshot", b"three"), Discard(0, "unknown"), Discard(9, "unknown")])
    for _ in range(2):
        assert store.documents(0) == ["a-7", "snapshot"] and store.documents(1) == []
        assert store.document(0, "snapshot") == b"three" and store.document(0, "a-7") == b""
        assert store.document(4, "snapshot") == b"two" and store.document(4, "a-7") is None
        assert store.buckets() == [0, 4], "a bucket with nothing but a document exists"
        store.close()
        store = reopen(disk)
    store.write([Discard(0, "snapshot"), Discard(4, "snapshot")])
    for _ in range(2):
        assert store.documents(0) == ["a-7"] and store.document(0, "snapshot") is None
        assert store.buckets() == [0] and offsets(store) == list(range(90))
        store.close()
        store = reopen(disk)


@pytest.mark.parametrize("name", ["", "A", "a.b", "../x", "a/b", "x" * 41, "a\n"])
def test_names_are_plain(name: str) -> None:
    with pytest.raises(ValueError, match="name"):
        Keep(0, name, b"")


def test_a_document_has_a_limit() -> None:
    with pytest.raises(ValueError, match="the most"):
        Keep(0, "large", bytes(DOCUMENT_BYTES_MAX + 1))


@pytest.mark.parametrize("position", [0, 9, 21, 25, 33, HEADER_BYTES, HEADER_BYTES + 99])
def test_a_damaged_document_is_named_and_can_be_replaced_or_given_up(position: int) -> None:
    disk = SimDisk()
    store = new_store(disk)
    store.write([Keep(0, "snapshot", b"x" * 100), Note(0, b"a note")])
    path = segment_files(disk, ".document")[0]
    disk.flip(path, position, 1)
    for _ in range(2):
        with pytest.raises(Corrupt) as caught:
            store.document(0, "snapshot")
        assert caught.value.path == path and caught.value.bucket == 0
        assert [found.path for found in scrub(store).damage] == [path]
        store.close()
        store = reopen(disk)
    if position % 2:
        store.write([Keep(0, "snapshot", b"good")])
        assert store.document(0, "snapshot") == b"good"
    else:
        store.give_up(scrub(store).damage)
        assert store.documents(0) == [] and store.note(0) == b"a note"
    assert not scrub(store).damage


def test_one_that_is_cut_short_or_missing_is_damaged() -> None:
    disk = SimDisk()
    store = new_store(disk)
    store.write([Keep(0, "snapshot", b"x" * 100)])
    (path,) = segment_files(disk, ".document")
    for length in (HEADER_BYTES + 99, HEADER_BYTES, 5, 0):
        disk.open(path).truncate(length)
        with pytest.raises(Corrupt):
            store.document(0, "snapshot")
    disk.remove(path)
    with pytest.raises(Corrupt, match="missing"):
        store.document(0, "snapshot")
    store.write([Discard(0, "snapshot")])
    assert store.document(0, "snapshot") is None


def test_without_room_the_old_one_stays_and_nothing_is_left_of_the_new() -> None:
    disk = SimDisk()
    store = new_store(disk)
    store.write([Keep(0, "snapshot", b"old")])
    before = disk.files()
    disk.capacity = sum(map(len, before.values())) + 500
    with pytest.raises(DiskFull):
        store.write([Keep(0, "snapshot", b"new" * 1_000)])
    assert store.document(0, "snapshot") == b"old" and disk.files() == before
    disk.capacity = None
    store.write([Keep(0, "snapshot", b"new" * 1_000)])
    assert store.document(0, "snapshot") == b"new" * 1_000


def test_the_draft_of_one_is_removed_when_the_store_is_opened() -> None:
    disk = SimDisk()
    store = new_store(disk)
    store.write([Keep(0, "snapshot", b"old")])
    store.close()
    disk.open("buckets/00000/snapshot.document.new", create=True).write(0, [b"half"])
    store = reopen(disk)
    assert store.documents(0) == ["snapshot"]
    assert segment_files(disk, ".new") == []


def test_what_a_killed_process_left_is_not_undone_by_a_power_cut_once_it_was_seen() -> None:
    lived = SimDisk()
    store = new_store(lived)
    store.write([Keep(0, "first", b"1"), Keep(0, "first", b"2"), Keep(0, "second", b"3"), Discard(0, "first")])
    for at in range(lived.operation_count + 1):
        disk = lived.restarted(at)
        store = new_store(disk)
        seen = {name: store.document(0, name) for name in store.documents(0)}
        for draw in range(6):
            left = reopen(disk.crashed(disk.operation_count, Random(f"{at} {draw}")))
            assert {name: left.document(0, name) for name in left.documents(0)} == seen, f"killed after {at}"


def test_those_of_a_dropped_bucket_do_not_come_back_and_later_ones_do_not_go() -> None:
    disk = SimDisk()
    store = new_store(disk)
    store.write([Note(0, b"x"), Keep(0, "old", b"1")])
    before = disk.operation_count
    store.write([Drop(0), Keep(0, "new", b"2"), Note(0, b"y")])
    seen = set()
    for at in range(before, disk.operation_count + 1):
        left = disk.restarted(at)
        reader = reopen(left, read_only=True)
        found = (reader.documents(0), reader.note(0))
        assert found in ((["old"], b"x"), ([], b""), (["new"], b""), (["new"], b"y")), at
        seen.add(str(found))
        reader.close()
        store = reopen(left)
        assert (store.documents(0), store.note(0)) == found
        store.file()
        store.close()
        store = reopen(left)
        assert (store.documents(0), store.note(0)) == found
    assert len(seen) == 4
