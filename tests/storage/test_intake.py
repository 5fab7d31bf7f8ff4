"""What is placed in the journal, and settled when somebody has synced it: there from the sync on, not before; placing
never waits, and nothing that happens between the two loses it or takes it for more than it is."""

from collections.abc import Callable
from random import Random

import pytest

from hansard.storage.errors import DirectoryLocked, DiskFull, StoreFailed, SyncFailed
from hansard.storage.intake import Unsettled
from hansard.storage.settings import StoreSettings
from hansard.storage.store import Store, open_store
from hansard.storage.write import Note
from sim.crashes import Crash, check_crash, crashes
from sim.disk import SimDisk
from sim.history import IDENTITY
from tests.storage.placing import (
    PlacingDisk,
    PlacingHistory,
    at,
    descriptor_of,
    finish,
    left_by_crashes,
    nothing,
    placed,
    roomy_store,
)
from tests.storage.stores import batch_at, fill, new_store, offsets, reopen

DRAWS = 40


@pytest.fixture
def disk() -> PlacingDisk:
    return PlacingDisk()


@pytest.fixture
def store(disk: PlacingDisk) -> Store:
    """With offsets 0 to 5 of bucket 0."""
    store = roomy_store(disk)
    fill(store, 0, 6)
    return store


def journal_of(disk: SimDisk) -> str:
    (path,) = [path for path in disk.files() if path.endswith(".journal")]
    return path


# Placing, a sync, settling.


def test_what_is_placed_is_read_at_once_and_is_on_disk_with_its_sync(disk: PlacingDisk, store: Store) -> None:
    unsettled = placed(store, at(6), Note(0, b"a note"), at(0, bucket=7))
    assert offsets(store) == list(range(7)) and offsets(store, bucket=7) == [0] and store.note(0) == b"a note"
    unsynced = [(offsets(left), left.note(0), offsets(left, bucket=7)) for left in left_by_crashes(disk, DRAWS)]
    assert ([*range(7)], b"a note", [0]) in unsynced, "it was written"
    assert ([*range(6)], b"", []) in unsynced, "it was not synced"
    for found, note, other in unsynced:
        assert found in ([*range(6)], [*range(7)])
        assert len(found) == 7 or not note, "a note without what comes before it"
        assert note or not other
    failure = disk.sync(descriptor_of(unsettled))
    for left in left_by_crashes(disk, DRAWS):
        assert offsets(left) == list(range(7)) and left.note(0) == b"a note" and offsets(left, bucket=7) == [0]
    store.settle(unsettled, failure)
    assert offsets(reopen(disk.again())) == list(range(7))


def test_a_process_that_dies_in_between_leaves_what_was_placed_and_the_next_one_makes_it_last(
    disk: PlacingDisk, store: Store
) -> None:
    placed(store, at(6))
    after = disk.again()
    assert offsets(reopen(after)) == list(range(7))
    assert all(offsets(left) == list(range(7)) for left in left_by_crashes(after, DRAWS))


def test_what_is_written_otherwise_comes_after_what_was_placed_and_syncs_it_too(
    disk: PlacingDisk, store: Store
) -> None:
    unsettled = placed(store, at(6))
    store.append([(0, batch_at(7))])
    assert all(offsets(left) == list(range(8)) for left in left_by_crashes(disk, DRAWS))
    finish(disk, store, unsettled)
    fill(store, 8, 11)
    assert offsets(store) == list(range(11))
    assert all(offsets(left) == list(range(11)) for left in left_by_crashes(disk, DRAWS))


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_several_are_placed_before_the_first_is_settled_and_settled_in_any_order(
    disk: PlacingDisk, store: Store, order: tuple[int, ...]
) -> None:
    unsettled = [placed(store, at(6 + number)) for number in range(3)]
    for left in left_by_crashes(disk, DRAWS):
        found = offsets(left)
        assert found == list(range(len(found))) and len(found) >= 6
    for number in order:
        finish(disk, store, unsettled[number])
        assert all(offsets(left) == list(range(9)) for left in left_by_crashes(disk, 10))
    assert_vouched_for(disk, store, 8)


def test_a_sync_speaks_for_what_was_placed_before_it_alone(disk: PlacingDisk, store: Store) -> None:
    first = placed(store, at(6))
    failure = disk.sync(descriptor_of(first))
    second = placed(store, at(7))
    store.settle(first, failure)
    found = [offsets(left) for left in left_by_crashes(disk, DRAWS)]
    assert [*range(7)] in found and [*range(8)] in found and all(len(each) >= 7 for each in found)
    third = placed(store, at(8))
    assert all(offsets(left)[:7] == [*range(7)] for left in left_by_crashes(disk, DRAWS))
    finish(disk, store, second)
    store.settle(third)  # the sync of the second came after it was placed
    assert_vouched_for(disk, store, 8)


# Where it would have to wait, or something is in the way.


def assert_nothing_placed(disk: SimDisk, store: Store, offset: int) -> None:
    operations, bounds = disk.operation_count, store.bounds(0)
    assert store.place([at(offset)], nothing) is None
    assert disk.operation_count == operations and store.bounds(0) == bounds == (0, offset)


def test_nothing_is_placed_while_somebody_else_writes(disk: PlacingDisk, store: Store) -> None:
    asked: list[Unsettled | None] = []

    def ask(_path: str, _position: int, _data: bytes) -> None:
        asked.append(store.place([at(0, bucket=7)], nothing))

    disk.refuse = ask
    store.append([(0, batch_at(6))])
    disk.refuse = None
    assert asked and not any(asked) and store.buckets() == [0]
    finish(disk, store, placed(store, at(7)))
    assert offsets(reopen(disk.again())) == list(range(8))


def test_nothing_is_placed_when_filing_is_overdue(disk: PlacingDisk) -> None:
    store = open_store(disk, create=IDENTITY, settings=StoreSettings(unfiled_records_max=10))
    for offset in range(10):
        finish(disk, store, placed(store, at(offset)))
    assert store.filing_due
    assert_nothing_placed(disk, store, 10)
    store.append([(0, batch_at(10))])  # which files first
    finish(disk, store, placed(store, at(11)))
    assert offsets(reopen(disk.again())) == list(range(12))


def test_nothing_is_placed_where_the_journals_file_has_no_room(disk: PlacingDisk) -> None:
    store = new_store(disk)
    end = 0
    while (unsettled := store.place([at(end)], nothing)) is not None:
        finish(disk, store, unsettled)
        end += 1
    assert 10 < end < 30, "tiny files"
    assert_nothing_placed(disk, store, end)
    store.append([(0, batch_at(end))])
    finish(disk, store, placed(store, at(end + 1)))
    assert offsets(reopen(disk.again())) == list(range(end + 2))


def test_nothing_is_placed_where_the_journals_file_would_have_to_grow(disk: PlacingDisk, store: Store) -> None:
    size = len(disk.files()[journal_of(disk)])
    run = [Note(0, bytes(60_000)) for _ in range(size // 60_000 + 1)]
    operations = disk.operation_count
    assert store.place(run, nothing) is None
    assert disk.operation_count == operations and store.note(0) == b""


def test_nothing_is_placed_in_a_file_that_one_large_batch_has_filled(disk: PlacingDisk) -> None:
    """It has grown for that one, and has room left."""
    store = new_store(disk)
    store.append([(0, batch_at(0, size=5_000))])
    assert_nothing_placed(disk, store, 1)
    store.append([(0, batch_at(1))])
    finish(disk, store, placed(store, at(2)))
    assert offsets(reopen(disk.again())) == [0, 1, 2]


def test_nothing_is_placed_once_the_disk_was_full_before_there_is_room(disk: PlacingDisk, store: Store) -> None:
    disk.refuse = lambda _path, _position, data: None if not any(data) else 0
    with pytest.raises(DiskFull):
        store.append([(0, batch_at(6))])
    disk.refuse = None
    assert_nothing_placed(disk, store, 6)
    store.append([(0, batch_at(6))])
    finish(disk, store, placed(store, at(7)))
    assert offsets(reopen(disk.again())) == list(range(8))


@pytest.mark.parametrize("through", [0, 30, 64, 200, 400])
def test_what_finds_the_disk_full_is_not_placed_and_never_comes_back(
    disk: PlacingDisk, store: Store, through: int
) -> None:
    before = placed(store, at(6))
    disk.refuse = lambda _path, _position, data: None if not any(data) else through
    assert store.place([at(7), at(8)], nothing) is None
    disk.refuse = None
    assert store.full is not None and store.bounds(0) == (0, 7)
    finish(disk, store, before)
    assert all(offsets(left) == list(range(7)) for left in left_by_crashes(disk, DRAWS))
    store.append([(0, batch_at(7))])
    assert all(offsets(left) == list(range(8)) for left in left_by_crashes(disk, DRAWS))


def test_nothing_is_placed_in_a_file_without_a_descriptor() -> None:
    disk = SimDisk()
    store = roomy_store(disk)
    fill(store, 0, 6)
    assert_nothing_placed(disk, store, 6)


def test_nothing_is_placed_in_a_log_of_which_the_end_is_in_doubt(disk: PlacingDisk, store: Store) -> None:
    store.append([(7, batch_at(0))])
    journal = journal_of(disk)
    last = disk.files()[journal].rindex(b"key 5")
    disk.flip(journal, disk.files()[journal].rindex(b"HNSR", 0, last), 1)
    after = disk.again()
    store = open_store(after, settings=StoreSettings())
    assert store.damage
    assert_nothing_placed(after, store, 3)
    finish(after, store, placed(store, at(1, bucket=7)))
    assert offsets(reopen(after.again()), bucket=7) == [0, 1]


# What happens in between.


@pytest.mark.parametrize("synced_first", [False, True])
def test_filing_between_placing_and_settling_loses_nothing(disk: PlacingDisk, store: Store, synced_first: bool) -> None:
    unsettled = placed(store, at(6), Note(0, b"a note"), at(0, bucket=7))
    failure = disk.sync(descriptor_of(unsettled)) if synced_first else None
    begun = disk.operation_count
    store.file()
    for operation in range(begun, disk.operation_count + 1):
        for left in left_by_crashes(disk, 4, operation):
            found = offsets(left)
            assert found in ([*range(6)], [*range(7)])
            assert not synced_first or (len(found) == 7 and left.note(0) == b"a note")
    for left in left_by_crashes(disk, DRAWS):
        assert offsets(left) == list(range(7)) and left.note(0) == b"a note" and offsets(left, bucket=7) == [0]
    if not synced_first:
        failure = disk.sync(descriptor_of(unsettled))
    store.settle(unsettled, failure)
    assert offsets(store) == list(range(7)) and store.note(0) == b"a note"
    finish(disk, store, placed(store, at(7), at(1, bucket=7)))
    for left in [reopen(disk.again()), *left_by_crashes(disk, DRAWS)]:
        assert offsets(left) == list(range(8)) and offsets(left, bucket=7) == [0, 1]


def test_what_was_placed_before_several_filings_is_settled_after_them(disk: PlacingDisk, store: Store) -> None:
    """Its file of the journal is used again by then, for other things."""
    unsettled = placed(store, at(6))
    for offset in range(7, 13):
        store.file()
        finish(disk, store, placed(store, at(offset)))
    finish(disk, store, unsettled)
    assert offsets(store) == list(range(13))
    finish(disk, store, placed(store, at(13)))
    assert all(offsets(left) == list(range(14)) for left in left_by_crashes(disk, DRAWS))


def test_what_is_not_synced_is_not_vouched_for(disk: PlacingDisk, store: Store) -> None:
    first = placed(store, at(6))
    finish(disk, store, first)
    unsettled = placed(store, at(7))
    store.vouch()
    second = placed(store, at(8))
    store.vouch()
    for left in left_by_crashes(disk, 4 * DRAWS):  # where a mark or a record says too much, a torn one is damage
        found = offsets(left)
        assert found == list(range(len(found))) and len(found) >= 7
    finish(disk, store, unsettled)
    finish(disk, store, second)
    assert_vouched_for(disk, store, 8)


def assert_vouched_for(disk: PlacingDisk, store: Store, offset: int) -> None:
    """Once a mark is written, damage to what was written last is not taken for a torn write."""
    store.vouch()
    left = disk.again()
    journal = journal_of(left)
    left.flip(journal, left.files()[journal].rindex(b"key %d" % offset), 1)
    assert reopen(left).damage


# Failures.


def test_what_is_synced_is_not_settled_where_the_store_has_failed_meanwhile(disk: PlacingDisk, store: Store) -> None:
    """Filing has met a failure: which writes that was about nobody knows."""
    unsettled = placed(store, at(6))
    disk.fail_sync = disk.sync_count + 1
    with pytest.raises(SyncFailed):
        store.file()
    with pytest.raises(StoreFailed):
        store.settle(unsettled)
    with pytest.raises(StoreFailed):
        store.settle(unsettled, OSError(5, "failed, too"))


def test_a_failed_sync_is_the_end_of_the_store_in_this_process(disk: PlacingDisk, store: Store) -> None:
    unsettled = placed(store, at(6))
    disk.fail_sync = disk.sync_count + 1
    with pytest.raises(SyncFailed):
        finish(disk, store, unsettled)
    attempts: list[Callable[[], object]] = [
        lambda: store.place([at(7)], nothing),
        lambda: store.append([(0, batch_at(7))]),
        lambda: store.truncate_after(0, 2),
        store.file,
        store.vouch,
    ]
    operations = disk.operation_count
    for attempt in attempts:
        with pytest.raises(StoreFailed, match="restart"):
            attempt()
    assert disk.operation_count == operations, "nothing is written any more"
    store.close()
    with pytest.raises(DirectoryLocked):
        reopen(disk)
    for draw in range(DRAWS):
        after = disk.again()
        seen = offsets(reopen(after))
        assert seen in ([*range(6)], [*range(7)])
        again = reopen(after.crashed(after.operation_count, Random(draw)))
        assert offsets(again) == seen, "what a reader has seen is there for good"


# Lives.

LIVES = 8
FORKING = 100
"""Lives from this one on fork buckets too."""
STEPS = 50


def lived(life: int) -> PlacingHistory:
    history = PlacingHistory(PlacingDisk(), Random(f"placing life {life}"), forks=life >= FORKING)
    history.live(STEPS)
    return history


@pytest.mark.parametrize("life", [*range(LIVES), FORKING, FORKING + 1])
def test_no_crash_loses_what_was_settled(life: int) -> None:
    """Of what was not, the first ones may be there; and whatever was in between, none of it looks like damage."""
    history = lived(life)
    for crash in crashes(life, history, draws=1):
        check_crash(history, Crash(*crash))


def test_the_lives_were_eventful() -> None:
    """Otherwise the crashes above proved nothing."""
    seen: dict[str, int] = {}
    for life in range(LIVES):
        for name, count in lived(life).sightings.items():
            seen[name] = seen.get(name, 0) + count
    wanted = ("placed", "placed twice", "written", "written among placed", "filed among placed", "settled")
    assert all(seen.get(name, 0) >= LIVES / 2 for name in wanted), seen
