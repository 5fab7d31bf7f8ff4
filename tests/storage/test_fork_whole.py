"""A fork is whole or absent, whatever a crash or a full disk comes between."""

from random import Random

import pytest

from hansard.storage.errors import DiskFull
from hansard.storage.record import RECORD_BYTES
from hansard.storage.retention import Retention
from hansard.storage.write import Append, Cut, Discard, Drop, Fork, Keep, Note, Trim
from sim.disk import SimDisk
from sim.history import content_of
from sim.refusing import RefusingDisk
from tests.storage.stores import again, batch_at, fill, forkable, new_store, offsets, reopen


def test_retention_makes_room_on_a_full_disk_though_a_fork_is_not_filed() -> None:
    disk = SimDisk()
    store = forkable(disk, "all")
    fill(store, 120, 180)
    store.write([Fork(1, 0)])
    disk.capacity = sum(len(content) for path, content in disk.files().items() if "/00001/" not in path)
    assert disk.free_bytes() == 0
    keep = Retention(change_count=10)
    store.retain({0: keep, 1: keep}, now=0)
    assert store.bounds(0)[0] > 100 and store.bounds(1)[0] > 100 and disk.free_bytes() > 0


@pytest.mark.parametrize("filed", ["all", "some", "none"])
def test_a_reader_sees_the_same_as_whoever_opens_it_after_a_crash(filed: str) -> None:
    """Whoever reads may not finish what a crash has left undone."""
    disk = SimDisk()
    store = forkable(disk, filed)
    before, seen = disk.operation_count, set[int]()
    possible = [content_of(store)]
    store.write([Fork(1, 0)])
    possible.append(content_of(store))
    for at in range(before, disk.operation_count + 1):
        left = disk.restarted(at)
        reader = reopen(left, read_only=True)
        found = content_of(reader)
        reader.close()
        assert found in possible and content_of(reopen(left)) == found
        seen.add(possible.index(found))
        drafts = [path for path in left.files() if ".fork" in path]
        assert not drafts, "what is not needed is gone"
    assert seen == {0, 1}


def test_documents_of_a_fork_that_never_was_are_not_taken_for_those_of_an_earlier_one() -> None:
    disk = SimDisk()
    store = new_store(disk)
    store.write([Keep(0, "snapshot", b"x"), Fork(1, 0), Discard(1, "snapshot")])
    before, seen = disk.operation_count, set[tuple[bytes, bytes, bytes | None]]()
    store.write([Note(0, b"y"), Fork(1, 0)])
    for at in range(before, disk.operation_count + 1):
        for draw in range(8):
            left = reopen(disk.crashed(at, Random(f"{at} {draw}")) if draw else disk.restarted(at))
            seen.add((left.note(0), left.note(1), left.document(1, "snapshot")))
    assert seen == {(b"", b"", None), (b"y", b"", None), (b"y", b"y", b"x")}


def test_without_room_there_is_no_fork_and_nothing_is_left_of_it() -> None:
    disk = RefusingDisk()
    store = forkable(disk, "all")
    before = sorted(disk.files())
    disk.refuse = lambda path, _, data: 9 if path.startswith("journal/") and len(data) > RECORD_BYTES else None
    for _ in range(2):
        with pytest.raises(DiskFull):
            store.write([Fork(1, 0)])
        assert store.buckets() == [0] and sorted(disk.files()) == before
    for draw in range(8):
        assert reopen(disk.crashed(disk.operation_count, Random(draw))).buckets() == [0]
    disk.refuse = None
    store.write([Fork(1, 0)])
    store = again(disk, store)
    assert offsets(store, bucket=1) == list(range(120))


def test_a_store_that_is_full_takes_no_fork_until_there_is_room() -> None:
    disk = SimDisk()
    store = forkable(disk)
    disk.capacity = sum(map(len, disk.files().values()))
    with pytest.raises(DiskFull):
        fill(store, 120, 900)
    _, end = store.bounds(0)
    with pytest.raises(DiskFull):
        store.write([Fork(1, 0)])
    assert store.buckets() == [0] and offsets(store) == list(range(end))
    disk.capacity = None
    store.write([Fork(1, 0)])
    assert offsets(store, bucket=1) == list(range(end)) and store.full is None


def test_what_the_journal_needs_of_a_fork_that_is_gone_stays_until_it_is_filed() -> None:
    """Whoever reads the journal again cuts it first where it was cut first, and has to look into the segment there."""
    disk = RefusingDisk()
    store = forkable(disk)
    disk.refuse = lambda path, position, _: 0 if path.startswith("journal/") and position == 0 else None
    store.write([Fork(1, 0), Cut(1, 63), Cut(1, 3), Append(1, batch_at(3)), Drop(1), Trim(0, 60)])
    start, end = store.bounds(0)
    disk.refuse = None
    assert 0 < start <= 60
    for _ in range(3):
        assert store.buckets() == [0] and offsets(store) == list(range(start, end))
        assert [path for path in disk.files() if "/00001/" in path], "filing was not possible"
        store = again(disk, store)
    store.file()
    assert [path for path in disk.files() if "/00001/" in path] == []
    store = again(disk, store)
    assert store.buckets() == [0] and offsets(store) == list(range(start, end))


def test_a_fork_is_made_again_before_the_first_one_is_filed() -> None:
    disk = RefusingDisk()
    store = forkable(disk)
    disk.refuse = lambda path, position, _: 0 if path.startswith("journal/") and position == 0 else None
    store.write([Fork(1, 0), Cut(1, 63), Drop(1)])
    possible, before = [content_of(store)], disk.operation_count
    store.write([Fork(1, 0)])
    possible.append(content_of(store))
    for at in range(before, disk.operation_count + 1):
        for draw in range(12):
            left = reopen(disk.crashed(at, Random(f"{at} {draw}")))
            assert content_of(left) in possible
            left.file()
            assert content_of(left) in possible
    assert offsets(store, bucket=1) == list(range(120))


def test_a_crash_while_a_fork_is_dropped_leaves_none_of_its_documents_behind() -> None:
    disk = SimDisk()
    store = forkable(disk)
    store.write([Fork(1, 0)])
    possible, before, seen = [content_of(store)], disk.operation_count, set[int]()
    store.write([Drop(1)])
    possible.append(content_of(store))
    for at in range(before, disk.operation_count + 1):
        found = content_of(reopen(disk.restarted(at)))
        assert found in possible
        seen.add(possible.index(found))
    assert seen == {0, 1}
