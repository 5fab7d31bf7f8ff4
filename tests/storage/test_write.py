"""Writes of several kinds, strictly in order: a crash, a refusal or a mistake leaves the first ones, each whole."""

from collections.abc import Sequence
from random import Random

import pytest

from hansard.storage.errors import DiskFull, NotABoundary, OutOfOrder, SyncFailed
from hansard.storage.manifest import Hold
from hansard.storage.record import RECORD_BYTES
from hansard.storage.retention import Retention
from hansard.storage.store import Store
from hansard.storage.write import Append, Cut, Discard, Drop, Fork, Keep, Note, Reset, Write
from sim.disk import SimDisk
from sim.history import Content, after, content_of
from sim.refusing import RefusingDisk
from tests.storage.stores import batch_at, fill, new_store, offsets, reopen, segment_files

MIXED: Sequence[Write] = (
    Append(0, batch_at(90, 3)),
    Note(0, b"a note"),
    Cut(0, 60),
    Append(0, batch_at(60, 3, time=5_000)),
    Note(1, b"of another"),
    Keep(1, "snapshot", b"much" * 50),
    Reset(1, 30),
    Append(1, batch_at(30, 3, time=4)),
    Keep(1, "snapshot", b"more" * 99),
    Drop(2),
    Append(2, batch_at(0, 2)),
    Keep(2, "votes", b""),
    Discard(1, "snapshot"),
    Note(2, b"again"),
)
FORKED: Sequence[Write] = (
    Keep(0, "snapshot", b"much" * 50),
    Append(0, batch_at(90, 3)),
    Drop(1),
    Fork(1, 0),
    Append(1, batch_at(93, 2)),
    Keep(0, "snapshot", b"more" * 99),
    Cut(0, 60),
    Note(0, b"a note"),
    Drop(2),
    Fork(2, 1),
    Discard(1, "snapshot"),
    Cut(2, 33),
    Append(0, batch_at(60, 3, time=5_000)),
    Drop(1),
    Fork(1, 0),
    Drop(0),
    Fork(0, 2),
    Reset(2, 7),
    Note(1, b"again"),
)
SEQUENCES = pytest.mark.parametrize("writes", [MIXED, FORKED], ids=["mixed", "forked"])


def begun(disk: SimDisk) -> Store:
    """Three buckets, each with a part in segments and a part in the journal."""
    store = new_store(disk)
    for bucket in range(3):
        fill(store, 0, 60, bucket=bucket)
    store.write([Keep(2, "votes", b"old"), Note(2, b"old")])
    store.file()
    for bucket in range(3):
        fill(store, 60, 90, bucket=bucket)
    return store


def states(content: Content, writes: Sequence[Write]) -> list[Content]:
    """What is there after none, one, two... of the writes."""
    found = [content]
    for write in writes:
        found.append(after(found[-1], write))
    return found


@SEQUENCES
def test_writes_are_done_in_order(writes: Sequence[Write]) -> None:
    disk = SimDisk()
    store = begun(disk)
    expected = states(content_of(store), writes)[-1]
    store.write(writes)
    assert content_of(store) == expected
    store.close()
    store = reopen(disk)
    assert content_of(store) == expected
    store.file()
    assert content_of(store) == expected


@SEQUENCES
def test_a_crash_anywhere_leaves_the_first_writes_whole(writes: Sequence[Write]) -> None:
    disk = SimDisk()
    store = begun(disk)
    possible = states(content_of(store), writes)
    before, seen = disk.operation_count, set[int]()
    store.write(writes)
    for at in range(before, disk.operation_count + 1):
        for draw in range(6):
            left = disk.crashed(at, Random(f"{at} {draw}")) if draw else disk.restarted(at)
            found = content_of(reopen(left))
            assert found in possible, f"crash after operation {at}, draw {draw}"
            seen.add(possible.index(found))
    assert len(seen) > len(writes) / 2


@SEQUENCES
@pytest.mark.parametrize("refused", range(40))
def test_a_full_disk_leaves_the_first_writes_whole(refused: int, writes: Sequence[Write]) -> None:
    disk = RefusingDisk()
    store = begun(disk)
    possible = states(content_of(store), writes)
    countdown = [refused]

    def refuse(_path: str, _position: int, data: bytes) -> int | None:
        countdown[0] -= 1
        return len(data) // 2 if countdown[0] == -1 else None

    disk.refuse = refuse
    try:
        store.write(writes)
    except (DiskFull, SyncFailed) as error:
        stopped = isinstance(error, SyncFailed)
        found = content_of(store)
        assert found in possible
        for left in (disk.restarted(disk.operation_count), disk.crashed(disk.operation_count, Random(refused))):
            later = content_of(reopen(left))
            assert later == found or (stopped and later in possible)
    else:
        assert content_of(store) == possible[-1], "what was refused was tidying up"


@SEQUENCES
@pytest.mark.parametrize("failing", range(1, 75))
def test_whichever_sync_fails_a_new_process_finds_the_first_writes_whole_and_for_good(
    failing: int, writes: Sequence[Write]
) -> None:
    disk = SimDisk()
    store = begun(disk)
    possible = states(content_of(store), writes)
    disk.fail_sync = disk.sync_count + failing
    try:
        store.write(writes)
    except SyncFailed:
        after_it = disk.restarted(disk.operation_count)
        found = content_of(reopen(after_it))
        assert found in possible
        for draw in range(4):
            again = content_of(reopen(after_it.crashed(after_it.operation_count, Random(f"{failing} {draw}"))))
            assert again == found, "what a reader has seen is there for good"
    else:
        assert content_of(store) == possible[-1]
        assert disk.sync_count < disk.fail_sync, "there are no more syncs to fail"


@pytest.mark.parametrize(
    ("wrong", "error"),
    [(Append(0, batch_at(4)), OutOfOrder), (Cut(0, 5), NotABoundary), (Append(1, batch_at(9, time=0)), OutOfOrder)],
)
def test_after_a_mistake_what_came_before_its_run_is_there(wrong: Write, error: type[Exception]) -> None:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 9, by=9)
    fill(store, 0, 9, bucket=1)
    run: list[Write] = [Append(0, batch_at(9)), Note(0, b"of the run")]
    with pytest.raises(error):
        store.write([Append(1, batch_at(9, time=70)), Cut(1, 9), *run, wrong, Note(0, b"later")])
    for _ in range(2):
        assert store.bounds(1) == (0, 9)
        if isinstance(wrong, Cut):  # a run of its own
            assert store.bounds(0) == (0, 10) and store.note(0) == b"of the run"
        else:
            assert store.bounds(0) == (0, 9) and store.note(0) == b""
        store.close()
        store = reopen(disk)


@pytest.mark.parametrize("filed", [True, False])
@pytest.mark.parametrize("start", [0, 7, 31, 500])
def test_a_reset_bucket_is_empty_and_takes_any_epoch_and_time(start: int, filed: bool) -> None:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 60)
    store.write([Note(0, b"stays"), Keep(0, "stays-too", b"yes")])
    if filed:
        store.file()
    store.append([(0, batch_at(60, epoch=9))])
    store.write([Reset(0, start)])
    for _ in range(2):
        assert store.bounds(0) == (start, start) and offsets(store) == []
        assert store.note(0) == b"stays" and store.document(0, "stays-too") == b"yes"
        store.close()
        store = reopen(disk)
    assert not filed or not segment_files(disk), "the segments are gone"
    store.append([(0, batch_at(start, 3, epoch=2, time=1))])
    assert offsets(store) == list(range(start, start + 3))
    store.file()
    store.close()
    store = reopen(disk)
    assert store.bounds(0) == (start, start + 3) and offsets(store) == list(range(start, start + 3))


@pytest.mark.parametrize("filed", [True, False])
def test_of_a_dropped_bucket_nothing_is_left(filed: bool) -> None:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 60)
    fill(store, 0, 9, bucket=1)
    store.write([Note(0, b"goes"), Keep(0, "goes-too", b"yes")])
    if filed:
        store.file()
    store.hold(Hold("a reader", 0, 5, expires_at=1 << 60))
    store.hold(Hold("a reader", 1, 5, expires_at=1 << 60))
    store.write([Drop(0), Drop(0), Drop(77)])
    for _ in range(2):
        assert store.buckets() == [1] and store.bounds(0) == (0, 0)
        assert store.note(0) == b"" and store.documents(0) == [] and store.document(0, "goes-too") is None
        assert [hold.bucket for hold in store.manifest.holds] == [1]
        store.close()
        store = reopen(disk)
    assert not [path for path in disk.files() if path.startswith("buckets/00000/")]
    store.append([(0, batch_at(3, 3))])
    assert offsets(store) == [3, 4, 5]


def test_what_readers_hold_of_a_dropped_bucket_goes_though_the_manifest_cannot_be_written() -> None:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 90)
    store.file()
    fill(store, 90, 93)
    store.hold(Hold("a reader", 0, 0, expires_at=1 << 60))
    disk.capacity = sum(map(len, disk.files().values()))
    store.write([Drop(0)])
    assert store.manifest.holds == () and segment_files(disk), "the journal alone knows"
    store.close()
    disk.capacity = None
    store = reopen(disk)
    assert store.manifest.holds == () and store.buckets() == []
    store.hold(Hold("a reader", 0, 0, expires_at=1 << 60))
    store.close()
    store = reopen(disk)
    assert [hold.name for hold in store.manifest.holds] == ["a reader"], "that of the new bucket stays"


@pytest.mark.parametrize("write", [Reset(0, 7), Drop(0)], ids=["reset", "drop"])
def test_retention_does_not_bring_back_what_the_journal_alone_has_thrown_away(write: Write) -> None:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 90)
    store.file()
    fill(store, 90, 93)
    disk.capacity = sum(map(len, disk.files().values()))
    store.write([write])
    disk.capacity = None
    store.retain({0: Retention(change_count=10)}, now=0)
    for _ in range(2):
        assert offsets(store) == [] and not segment_files(disk)
        store.close()
        store = reopen(disk)


def test_a_reset_that_damage_hides_does_not_keep_the_store_from_opening() -> None:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 9)
    fill(store, 9, 19, by=10)
    file, place = store.journal.current, store.journal.current.end
    store.write([Reset(0, 12)])
    fill(store, 12, 18)
    store.close()
    disk.flip(file.path, place + RECORD_BYTES // 2, 1)
    store = reopen(disk)
    assert store.damage and store.bounds(0)[1] == 18
    assert [batch.header.base_offset for batch in store.batches(0, 12, 1 << 20)] == [12, 15]


def test_a_reader_at_a_bucket_that_is_dropped_comes_to_an_end() -> None:
    store = new_store()
    fill(store, 0, 60)
    store.file()
    fill(store, 60, 90)
    log = store.log(0)
    store.write([Drop(0)])
    assert log.end == 0 and not log.filed.segments and not log.tail
