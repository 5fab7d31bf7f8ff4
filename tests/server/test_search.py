"""What is read for a member that is behind: after all that was to be written before, from where the log begins."""

from threading import Event, Thread

from hansard.storage.retention import Retention
from hansard.storage.write import Cut
from sim.history import SETTINGS
from tests.storage.stores import batch_at, fill

from .office import PATIENCE_S, Office, SlowDisk, at


def test_search_sees_the_writes_handed_over_before_it(disk: SlowDisk, office: Office) -> None:
    disk.hold()
    office.put(at(0))
    assert disk.syncing.wait(PATIENCE_S)
    office.put(at(1), at(2), Cut(0, 2))
    found = office.search(0)
    disk.let_one_go()
    assert disk.syncing.wait(PATIENCE_S)
    assert not Event().wait(0.1)  # what reads is a thread of its own: it has its chance to be too early
    office.look()
    assert not found
    disk.let_go()
    assert office.await_found(found) == (0, [0, 1])


def test_search_is_answered_once_and_in_order(office: Office) -> None:
    searches = []
    for offset in range(20):
        office.put(at(offset))
        searches.append(office.search(offset))
    for offset, found in enumerate(searches):
        start, bases = office.await_found(found)
        assert start == 0 and bases[0] == offset


def test_search_takes_no_more_than_it_was_asked_for(office: Office) -> None:
    office.put(*[at(offset) for offset in range(10)])
    _, bases = office.await_found(office.search(2, 3 * batch_at(2).length))
    assert bases in ([2, 3], [2, 3, 4])
    assert office.await_found(office.search(2, 1)) == (0, [2])
    assert office.await_found(office.search(10)) == (0, [])
    assert office.await_found(office.search(99)) == (0, [])


def test_search_of_what_was_trimmed_begins_where_the_log_does(disk: SlowDisk) -> None:
    office = Office(disk, SETTINGS)
    fill(office.store, 0, 300, by=1)
    office.store.file()
    office.store.retain({0: Retention(change_count=100)}, now=0)
    start, _ = office.store.bounds(0)
    assert 0 < start <= 200
    begins, bases = office.await_found(office.search(0))
    assert begins == start and bases[0] == start
    assert office.await_found(office.search(250)) == (start, list(range(250, 300)))
    office.journal.stop()


def test_search_that_retention_overtakes_begins_where_the_log_does_by_then(disk: SlowDisk) -> None:
    office = Office(disk, SETTINGS)
    fill(office.store, 0, 300, by=1)
    office.store.file()

    def trim(path: str, _length: int) -> None:
        if path.endswith(".segment"):
            disk.on_read = None
            trimming = Thread(target=office.store.retain, args=({0: Retention(change_count=100)}, 0))
            trimming.start()
            trimming.join(PATIENCE_S)
            assert not trimming.is_alive()

    disk.on_read = trim
    begins, bases = office.await_found(office.search(0))
    start, _ = office.store.bounds(0)
    assert start > 0
    assert (begins, bases[0]) in ((0, 0), (start, start))
    office.journal.stop()


def test_stop_answers_the_searches_before_it(office: Office) -> None:
    office.put(at(0))
    found = office.search(0)
    office.journal.stop()
    assert office.await_found(found) == (0, [0])
