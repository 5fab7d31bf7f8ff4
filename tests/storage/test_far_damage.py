"""Damage that reaches further than a batch: to a bucket's end, to a cut, to a whole file; and repairs out of place."""

from random import Random

import pytest

from hansard.storage.errors import Corrupt
from hansard.storage.reading import Query
from hansard.storage.record import RECORD_BYTES
from hansard.storage.repair import DoesNotFit
from hansard.storage.retention import Retention
from hansard.storage.scrub import scrub
from hansard.storage.store import Store
from hansard.storage.write import Note
from sim.disk import SimDisk
from tests.storage.stores import batch_at, fill, new_store, offsets, reopen, segment_files


def doubted() -> tuple[SimDisk, Store]:
    """A store whose last record is damaged at its head: nobody knows what it was."""
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 9)
    entry = store.log(0).tail[-1]
    disk.flip(entry.file.path, entry.position - RECORD_BYTES + 20, 1)
    store.close()
    store = reopen(disk)
    assert store.damage and store.log(0).doubt
    return disk, store


def test_filing_does_not_forget_that_the_end_is_in_doubt() -> None:
    disk, store = doubted()
    with pytest.raises(Corrupt):
        store.file()
    store.close()
    store = reopen(disk)
    assert store.damage and store.log(0).doubt


def test_a_cut_at_the_known_end_and_a_new_note_settle_the_doubt() -> None:
    _, store = doubted()
    assert store.bounds(0) == (0, 6)
    store.truncate_after(0, 5)
    with pytest.raises(Corrupt, match="note"):
        fill(store, 6, 12)
    store.write([Note(0, b"as agreed")])
    fill(store, 6, 12)
    assert offsets(store) == list(range(12))


def test_a_cut_whose_record_is_lost_is_not_undone() -> None:
    disk = SimDisk()
    store = new_store(disk)
    store.append([(0, batch_at(0, 5, time=1))])
    store.append([(0, batch_at(5, 5, time=2))])
    cut = store.journal.current
    position = cut.end
    store.truncate_after(0, 4)
    store.append([(0, batch_at(5, 3, time=77))])
    disk.flip(cut.path, position + 20, 1)
    store.close()
    store = reopen(disk)
    assert store.damage
    times = [(change.offset, change.timestamp) for batch in store.scan(0, Query()) for change in batch.changes()]
    assert times == [(0, 1), (1, 1), (2, 1), (3, 1), (4, 1), (5, 77), (6, 77), (7, 77)]


def test_a_journal_file_whose_header_is_damaged_is_not_taken_for_an_empty_slot() -> None:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 9)
    store.journal.begin_file()
    fill(store, 9, 18)
    path = store.journal.current.path
    store.close()
    disk.flip(path, 9, 1)
    with pytest.raises(Corrupt, match="header"):
        reopen(disk)


def test_a_cut_is_not_held_up_by_the_damage_of_another_bucket() -> None:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 30)
    store.file()
    fill(store, 0, 9, bucket=1)
    entry = store.log(1).tail[1]
    disk.flip(entry.file.path, entry.position + entry.length - 5, 1)
    store.truncate_after(0, 8)
    assert store.bounds(0) == (0, 9)


def damaged_journal() -> tuple[SimDisk, Store]:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 9)
    entry = store.log(0).tail[1]
    disk.flip(entry.file.path, entry.position + entry.length - 5, 1)
    return disk, store


def test_what_recovery_reports_can_be_repaired_as_it_is() -> None:
    disk, store = damaged_journal()
    store.close()
    store = reopen(disk)
    store.repair(store.damage[0], [batch_at(3, 3)])
    store.close()
    store = reopen(disk)
    assert not store.damage and offsets(store) == list(range(9))


def test_a_repair_that_comes_too_late_touches_nothing() -> None:
    _, store = damaged_journal()
    damage = scrub(store).damage[0]
    store.truncate_after(0, 2)
    store.file()
    fill(store, 3, 18)
    with pytest.raises(DoesNotFit):
        store.repair(damage, [batch_at(3, 3)])
    assert offsets(store) == list(range(18))


def test_a_repair_of_a_segment_that_was_dropped_leaves_the_store_alone() -> None:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 90)
    store.file()
    disk.flip(segment_files(disk)[0], 200, 1)
    damage = scrub(store).damage[0]
    store.retain({0: Retention(change_count=10)}, now=0)
    with pytest.raises(DoesNotFit):
        store.repair(damage, [batch_at(0, 3)])
    fill(store, 90, 93)


def test_giving_up_can_be_interrupted_anywhere_and_done_again() -> None:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 60)
    store.file()
    fill(store, 60, 90)
    store.close()
    disk.flip(segment_files(disk)[0], 1_000, 4)
    live = next(path for path in disk.files() if b"84 " in disk.files()[path] and path.startswith("journal"))
    disk.flip(live, disk.files()[live].rfind(b"84 "), 4)
    disk = disk.crashed(disk.operation_count, Random(0))
    store = reopen(disk)
    damage = scrub(store).damage
    lost = {offset for found in damage for offset in range(found.first or 0, found.end or 0)}
    assert len(damage) == 2
    before = disk.operation_count
    store.give_up(damage)
    for at in range(before, disk.operation_count + 1):
        for draw in range(4):
            found = reopen(disk.crashed(at, Random(f"{at} {draw}")))
            found.give_up(scrub(found).damage)
            assert offsets(found) == [offset for offset in range(90) if offset not in lost]
            assert found.bounds(0) == (0, 90) and not scrub(found).damage
