"""A fork is what its source is, without a copy of its history; and from then on each goes its own way."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from hansard.storage.disk import RealDisk
from hansard.storage.errors import CannotFork
from hansard.storage.manifest import Hold
from hansard.storage.reading import Query
from hansard.storage.scrub import scrub
from hansard.storage.store import open_store
from hansard.storage.write import Append, Cut, Discard, Drop, Fork, Keep, Note, Reset, Trim, Write
from sim.disk import SimDisk
from sim.history import IDENTITY, SETTINGS, content_of
from sim.platter import Write as Written
from tests.storage.stores import again, batch_at, fill, forkable, new_store, offsets, segment_files

FILED = pytest.mark.parametrize("filed", ["all", "some", "none"])


@FILED
def test_a_fork_is_what_its_source_is(filed: str) -> None:
    disk = SimDisk()
    store = forkable(disk, filed)
    store.write([Fork(1, 0)])
    for step in range(4):
        assert store.buckets() == [0, 1]
        for bucket in (0, 1):
            assert store.bounds(bucket) == (0, 120) and store.note(bucket) == b"a note"
            assert offsets(store, bucket=bucket) == list(range(120))
            assert offsets(store, Query(tags=frozenset([b"ten"])), bucket=bucket) == list(range(0, 120, 10))
            assert store.documents(bucket) == ["snapshot", "votes"] and store.document(bucket, "snapshot") == b"state"
        assert not scrub(store, deep=True).damage
        if step == 1:
            store.file()
        store = again(disk, store)


@pytest.mark.parametrize("one", [0, 1], ids=["source", "fork"])
@FILED
@pytest.mark.parametrize(
    "writes",
    [
        [Append(9, batch_at(120, 30)), Note(9, b"another")],
        [Cut(9, 30), Append(9, batch_at(30, 3, time=5_000))],
        [Cut(9, 60), Cut(9, 33)],
        [Cut(9, 0)],
        [Reset(9, 7), Append(9, batch_at(7, 3))],
        [Trim(9, 75)],
        [Keep(9, "snapshot", b"newer"), Discard(9, "votes"), Keep(9, "third", b"3")],
        [Drop(9)],
        [Drop(9), Append(9, batch_at(0, 3)), Keep(9, "snapshot", b"of another")],
    ],
    ids=lambda writes: " ".join(type(write).__name__ for write in writes),
)
def test_what_happens_to_one_is_not_seen_in_the_other(writes: Sequence[Write], filed: str, one: int) -> None:
    disk = SimDisk()
    store = forkable(disk, filed)
    store.write([Fork(1, 0)])
    other = 1 - one
    before = content_of(store)[other]
    store.write([_of(one, write) for write in writes])
    changed = content_of(store)[one]
    assert changed != before or (isinstance(writes[0], Trim) and filed == "none")
    for step in range(4):
        assert content_of(store)[other] == before and content_of(store)[one] == changed
        assert not scrub(store, deep=True).damage
        if step == 1:
            store.file()
        store = again(disk, store)
    fill(store, 120, 150, bucket=other)
    store.file()
    assert content_of(store)[one] == changed and offsets(store, bucket=other) == list(range(150))


def _of(bucket: int, write: Write) -> Write:
    """The same for another bucket."""
    fields = {field: getattr(write, field) for field in write.__struct_fields__}
    return type(write)(**{**fields, "bucket": bucket})


@pytest.mark.parametrize("is_opened_again", [True, False])
def test_no_file_that_two_buckets_share_is_changed(is_opened_again: bool) -> None:
    disk = SimDisk()
    store = forkable(disk, "all")
    store.write([Fork(1, 0)])
    if is_opened_again:
        store = again(disk, store)
    shared = {path: content for path, content in disk.files().items() if path.startswith("buckets/")}
    for bucket in (0, 1):
        store.append([(bucket, batch_at(120, 3, time=2_000 + bucket))])
    store.file()
    after = disk.files()
    assert {path: after[path] for path in shared} == shared
    for bucket in (0, 1):
        times = {change.timestamp for batch in store.scan(bucket, Query(first=120)) for change in batch.changes()}
        assert times == {2_000 + bucket}


def test_an_index_that_is_made_anew_for_one_leaves_the_other_its_own() -> None:
    disk = SimDisk()
    store = forkable(disk, "all")
    store.write([Fork(1, 0), Cut(1, 33)])
    kept = {path: content for path, content in disk.files().items() if path.startswith("buckets/00000/")}
    assert offsets(store, Query(tags=frozenset([b"ten"])), bucket=1) == [0, 10, 20, 30]
    assert {path: disk.files()[path] for path in kept} == kept


def test_a_fork_costs_the_same_for_a_long_history() -> None:
    written, syncs = [], []
    for count in (30, 3_000):
        disk = SimDisk()
        store = new_store(disk)
        fill(store, 0, count, by=30)
        store.file()
        before, synced = disk.operation_count, disk.sync_count
        store.write([Fork(1, 0)])
        done = [operation for operation in disk.log[before:] if isinstance(operation, Written)]
        written.append(sum(len(operation.data) for operation in done) - 50 * len(store.log(1).filed.segments))
        syncs.append(disk.sync_count - synced)
    assert written[1] < written[0] + 500 and syncs[0] == syncs[1]


def test_what_is_shared_takes_space_until_nobody_has_it() -> None:
    disk = SimDisk(capacity=10 << 20)
    store = forkable(disk, "all")
    free, size = disk.free_bytes(), sum(len(disk.files()[path]) for path in segment_files(disk))
    store.write([Fork(1, 0)])
    assert free - disk.free_bytes() < 1_000
    store.write([Drop(0)])
    store.file()
    assert offsets(store, bucket=1) == list(range(120)) and disk.free_bytes() < free + size // 2
    store.write([Drop(1)])
    store.file()
    assert not segment_files(disk) and not segment_files(disk, ".index") and disk.free_bytes() > free + size // 2


@pytest.mark.parametrize("end", [Drop(1), Reset(1, 0), Cut(1, 30)], ids=["drop", "reset", "cut"])
def test_a_fork_that_ends_before_it_is_filed_leaves_no_files(end: Write) -> None:
    disk = SimDisk()
    store = forkable(disk)
    store.write([Fork(1, 0), end])
    store.file()
    names = {path.split("/")[-1] for path in segment_files(disk) if path.startswith("buckets/00001/")}
    assert names == {f"{segment.id:010d}.segment" for segment in store.log(1).filed.segments}
    assert len(names) <= 1


def test_a_source_that_is_trimmed_before_the_fork_is_filed_takes_nothing_from_it() -> None:
    disk = SimDisk()
    store = forkable(disk)
    store.write([Fork(1, 0), Trim(0, 90)])
    assert store.bounds(0)[0] > 50
    for _ in range(2):
        assert offsets(store, bucket=1) == list(range(120))
        store = again(disk, store)


def test_a_fork_is_trimmed_before_it_is_filed_and_stays_so() -> None:
    disk = SimDisk()
    store = forkable(disk)
    store.write([Fork(1, 0), Trim(1, 90), Append(1, batch_at(120, 3))])
    start, _ = store.bounds(1)
    assert start > 50 and not [entry for entry in store.manifest.buckets if entry.bucket == 1 and not entry.forked]
    for step in range(4):
        assert store.bounds(1) == (start, 123) and offsets(store, bucket=1) == list(range(start, 123))
        assert store.bounds(0) == (0, 120) and offsets(store) == list(range(120))
        if step == 1:
            store.file()
        store = again(disk, store)
    assert not [entry for entry in store.manifest.buckets if entry.forked]


def test_what_readers_hold_of_the_source_is_not_held_of_the_fork() -> None:
    disk = SimDisk()
    store = forkable(disk, "all")
    store.hold(Hold("a reader", 0, 5, expires_at=1 << 60))
    store.write([Fork(1, 0), Trim(0, 120), Trim(1, 120)])
    assert store.bounds(0) == (0, 120) and store.bounds(1) == (120, 120)
    store = again(disk, store)
    assert store.bounds(0) == (0, 120) and offsets(store) == list(range(120))


def test_a_hold_of_a_fork_is_its_own() -> None:
    disk = SimDisk()
    store = forkable(disk)
    store.write([Fork(1, 0)])
    store.hold(Hold("a reader", 1, 5, expires_at=1 << 60))
    store.write([Trim(0, 90), Trim(1, 90)])
    store = again(disk, store)
    assert store.bounds(0)[0] > 50 and store.bounds(1)[0] == 0


@pytest.mark.parametrize(
    ("before", "problem"),
    [
        ([Append(1, batch_at(0))], "not empty"),
        ([Append(1, batch_at(0)), Cut(1, 0), Note(1, b"x")], "not empty"),
        ([Reset(1, 7)], "not empty"),
        ([Keep(1, "snapshot", b"")], "not empty"),
        ([Drop(0)], "nothing of that one"),
    ],
    ids=["batches", "note", "an empty log that begins later", "documents", "no source"],
)
def test_what_cannot_be_forked_is_refused_and_nothing_happens(before: Sequence[Write], problem: str) -> None:
    disk = SimDisk()
    store = forkable(disk)
    store.write(before)
    content, files = content_of(store), disk.files()
    with pytest.raises(CannotFork, match=problem):
        store.write([Fork(1, 0)])
    assert content_of(store) == content and disk.files() == files
    store = again(disk, store)
    assert content_of(store) == content
    store.write([Note(1, b"it goes on")])


def test_a_bucket_is_no_fork_of_itself() -> None:
    store = forkable(SimDisk())
    with pytest.raises(CannotFork, match="bucket 0"):
        store.write([Fork(0, 0)])


def test_a_bucket_that_exists_and_is_empty_may_become_a_fork() -> None:
    disk = SimDisk()
    store = forkable(disk)
    store.write([Note(1, b"x"), Note(1, b""), Append(2, batch_at(5)), Cut(2, 0), Fork(1, 0)])
    store = again(disk, store)
    assert offsets(store, bucket=1) == list(range(120))


def test_a_fork_of_a_bucket_without_a_log_has_its_documents() -> None:
    disk = SimDisk()
    store = new_store(disk)
    store.write([Keep(0, "snapshot", b"x"), Fork(1, 0)])
    for step in range(3):
        assert content_of(store)[1] == content_of(store)[0] and store.document(1, "snapshot") == b"x"
        if step == 1:
            store.file()
        store = again(disk, store)
    store.write([Discard(1, "snapshot")])
    assert store.buckets() == [0]


def test_forks_are_forked_and_may_be_turned_back() -> None:
    disk = SimDisk()
    store = forkable(disk)
    store.write([Fork(1, 0), Append(1, batch_at(120, 3)), Fork(2, 1), Drop(0), Fork(0, 2), Append(2, batch_at(123, 3))])
    store.write([Drop(1), Fork(1, 2), Note(1, b"the last")])
    for step in range(4):
        assert [store.bounds(bucket)[1] for bucket in range(3)] == [123, 126, 126]
        assert all(offsets(store, bucket=bucket) == list(range(store.bounds(bucket)[1])) for bucket in range(3))
        assert [store.note(bucket) for bucket in range(3)] == [b"a note", b"the last", b"a note"]
        assert all(store.document(bucket, "snapshot") == b"state" for bucket in range(3))
        if step == 1:
            store.file()
        store = again(disk, store)


def test_one_bucket_becomes_many_and_each_has_all_of_it() -> None:
    disk = SimDisk()
    store = forkable(disk)
    count = 1
    while count < 64:
        store.write([Fork(bucket + count, bucket) for bucket in range(count)])
        count *= 2
    assert store.journal.unfiled_bytes + store.log(0).tail_bytes < SETTINGS.unfiled_bytes_max, "it was filed on the way"
    for _ in range(2):
        assert all(offsets(store, bucket=bucket) == list(range(120)) for bucket in range(count))
        store = again(disk, store)


def test_what_forks_have_in_the_journal_counts_as_not_filed() -> None:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 15)
    due = [store.filing_due]
    store.write([Fork(bucket, 0) for bucket in range(1, 5)])
    due.append(store.filing_due)
    store = again(disk, store)
    due.append(store.filing_due)
    store.file()
    assert [*due, store.filing_due] == [False, True, True, False]


def test_on_the_real_disk_too(tmp_path: Path) -> None:
    disk = RealDisk(tmp_path)
    store = open_store(disk, create=IDENTITY, settings=SETTINGS)
    fill(store, 0, 90)
    store.write([Keep(0, "snapshot", b"x")])
    store.file()
    fill(store, 90, 120)
    store.write([Fork(1, 0), Note(0, b"later")])
    for name in disk.list("buckets/00001"):
        first, second = (tmp_path / "buckets" / folder / name for folder in ("00000", "00001"))
        assert first.samefile(second)
    store.close()
    store = open_store(disk, settings=SETTINGS)
    assert offsets(store, bucket=1) == list(range(120)) and store.document(1, "snapshot") == b"x"
    store.write([Drop(0), Append(1, batch_at(120, 3))])
    store.file()
    store.close()
    store = open_store(disk, settings=SETTINGS)
    assert store.buckets() == [1] and offsets(store, bucket=1) == list(range(123))
    store.close()
