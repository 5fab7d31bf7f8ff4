"""A trim drops whole segments before an offset, and nothing else; in order with other writes, whatever crashes."""

from random import Random

import pytest

from hansard.storage.errors import Trimmed
from hansard.storage.manifest import Hold
from hansard.storage.reading import Query
from hansard.storage.write import Cut, Note, Trim
from sim.crashes import check_crash, crashes
from sim.disk import SimDisk
from sim.history import History
from tests.storage.stores import batch_at, fill, new_store, offsets, reopen, segment_files

LIVES = 4


@pytest.mark.parametrize("start", [0, 1, 100, 150, 300, 900])
def test_whole_segments_before_an_offset_go(start: int) -> None:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 300)
    store.file()
    segments = store.log(0).filed.segments
    kept = [segment for segment in segments if segment.end > start]
    store.write([Trim(0, start)])
    for _ in range(2):
        begin = kept[0].base if kept else 300
        assert store.bounds(0) == (begin, 300) and offsets(store) == list(range(begin, 300))
        assert len(segment_files(disk)) == len(kept) and (start < 100 or len(kept) < len(segments))
        store.close()
        store = reopen(disk)
    store.append([(0, batch_at(300))])
    assert offsets(store)[-1] == 300


def test_what_is_in_the_journal_goes_with_a_later_trim() -> None:
    store = new_store()
    fill(store, 0, 90)
    store.write([Trim(0, 80)])
    assert store.bounds(0)[0] == 0
    store.file()
    store.write([Trim(0, 80)])
    start, end = store.bounds(0)
    assert 30 < start <= 80 and end == 90 and offsets(store) == list(range(start, end))
    with pytest.raises(Trimmed):
        store.read(0, Query(first=start - 1))


def test_a_trim_that_drops_nothing_writes_nothing() -> None:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 300)
    store.file()
    before = disk.operation_count
    store.write([Trim(0, 2), Trim(1, 50)])
    assert disk.operation_count == before and store.buckets() == [0]


def test_a_trim_does_not_go_past_a_hold() -> None:
    store = new_store()
    fill(store, 0, 300)
    store.file()
    store.hold(Hold("a reader", 0, 120, expires_at=1))
    store.write([Trim(0, 300)])
    assert 60 < store.bounds(0)[0] <= 120 and len(store.manifest.holds) == 1
    store.release("a reader")
    store.write([Trim(0, 300)])
    assert store.bounds(0) == (300, 300)


def test_a_trim_keeps_its_place_among_other_writes() -> None:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 300)
    store.file()
    store.write([Note(0, b"before"), Cut(0, 210), Trim(0, 100), Note(0, b"after")])
    for _ in range(2):
        start, end = store.bounds(0)
        assert 30 < start <= 100 and end == 210 and store.note(0) == b"after"
        assert offsets(store) == list(range(start, end))
        store.close()
        store = reopen(disk)


def test_a_trim_does_not_undo_a_cut_that_only_the_journal_knows_of() -> None:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 90)
    store.file()
    fill(store, 90, 93)
    disk.capacity = sum(map(len, disk.files().values()))
    store.write([Cut(0, 60), Trim(0, 50)])  # there is no room to file what is left, so the manifest still has all
    disk.capacity = None
    for _ in range(2):
        assert offsets(store) == list(range(60))
        store.close()
        store = reopen(disk)
    store.file()
    store.write([Trim(0, 50)])
    start, end = store.bounds(0)
    assert 0 < start <= 50 and end == 60


def trimmed_life(life: int) -> History:
    """As others, with trims in between."""
    history = History(SimDisk(), Random(f"trimmed life {life}"))
    for _ in range(12):
        history.live(3)
        history.trim()
    return history


@pytest.mark.parametrize("life", range(LIVES))
def test_no_crash_loses_what_was_not_trimmed(life: int) -> None:
    history = trimmed_life(life)
    for crash in crashes(life, history, draws=1):
        check_crash(history, crash)


def test_the_lives_lost_something_to_trims() -> None:
    dropped = 0
    for life in range(LIVES):
        history = History(SimDisk(), Random(f"trimmed life {life}"))
        for _ in range(12):
            history.live(3)
            before = [history.store.bounds(bucket)[0] for bucket in range(3)]
            history.trim()
            dropped += before != [history.store.bounds(bucket)[0] for bucket in range(3)]
    assert dropped >= LIVES
