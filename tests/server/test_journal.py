"""The thread that writes: in order, all that waits with one sync, and nothing is said to be on disk that is not."""

from collections.abc import Callable, Sequence
from random import Random
from threading import Thread

import pytest

from hansard.server import journal as journals
from hansard.server.journal import GROUP_BYTES_MAX, Job, Journal
from hansard.storage.errors import Corrupt, DiskFull, SyncFailed
from hansard.storage.store import Store, open_store
from hansard.storage.write import Append, Cut, Discard, Keep, Note, Reset, Write
from sim.history import SETTINGS
from sim.refusing import RefusingDisk
from tests.storage.stores import batch_at, offsets

from .office import LARGE, PATIENCE_S, Office, SlowDisk, at, found_again, until

# In order, and together.


def test_everything_handed_over_is_written_in_order(office: Office) -> None:
    for offset in range(200):
        office.put(at(offset))
        office.put(at(offset, bucket=7))
    office.await_persisted(7, 200)
    assert offsets(office.store) == offsets(office.store, bucket=7) == list(range(200))


def test_each_ticket_is_persisted_after_the_ones_before_it(office: Office) -> None:
    for offset in range(100):
        office.put(at(offset))
        office.put(Note(7, b"%d" % offset))
    office.await_persisted(0, 100)
    office.await_persisted(7, 100)
    for bucket in (0, 7):
        tickets = [group[bucket] for group in office.persisted if bucket in group]
        assert tickets == sorted(set(tickets)) and tickets[-1] == 100


def test_what_gathers_during_a_sync_goes_out_with_one(office: Office, disk: SlowDisk) -> None:
    disk.hold()
    office.put(at(0))
    assert disk.syncing.wait(PATIENCE_S)
    for offset in range(1, 50):
        office.put(at(offset))
        office.put(at(offset - 1, bucket=7))
    syncs_before = disk.sync_count
    disk.let_go()
    office.await_persisted(7, 49)
    assert disk.sync_count - syncs_before == 2
    assert office.persisted == [{0: 1}, {0: 50, 7: 49}]
    assert offsets(office.store) == list(range(50)) and offsets(office.store, bucket=7) == list(range(49))


def test_nothing_is_persisted_before_its_sync_has_returned(office: Office, disk: SlowDisk) -> None:
    office.put(at(0))
    office.await_persisted(0, 1)
    disk.hold()
    office.put(at(1))
    assert disk.syncing.wait(PATIENCE_S)
    assert office.last_persisted(0) == 1
    disk.let_go()
    office.await_persisted(0, 2)


def test_persisted_survives_a_crash_of_the_machine(office: Office, disk: SlowDisk) -> None:
    """The journal never runs ahead of the disk: at the moment of the word, a power cut would leave all of it."""
    kept: list[int] = []
    office.journal.stop()

    def persisted(tickets: dict[int, int]) -> None:
        kept.append(tickets[0])

    def at_once(function: Callable[..., object], *arguments: object) -> None:
        function(*arguments)
        left = disk.crashed(disk.operation_count, seeded)
        assert open_store(left, settings=LARGE).bounds(0)[1] >= kept[-1]

    seeded = Random(5)
    failures: list[BaseException] = []
    journal = Journal(office.store, at_once, persisted, failures.append)
    for offset in range(20):
        journal.put([Job(0, offset + 1, [at(offset)], 0)])
    journal.stop()
    assert kept[-1] == 20 and not failures


def test_large_groups_do_not_wait_for_each_other(office: Office, disk: SlowDisk) -> None:
    disk.hold()
    office.put(at(0))
    assert disk.syncing.wait(PATIENCE_S)
    for offset in range(1, 4):
        office.put(at(offset), length=GROUP_BYTES_MAX)
    disk.let_go()
    office.await_persisted(0, 4)
    assert office.persisted == [{0: 1}, {0: 2}, {0: 3}, {0: 4}]


def test_cuts_resets_and_documents_keep_their_places_among_appends(office: Office, disk: SlowDisk) -> None:
    disk.hold()
    office.put(at(0))
    assert disk.syncing.wait(PATIENCE_S)
    office.put(at(1), at(2), Cut(0, 1), Append(0, batch_at(1, 2, epoch=2)))
    office.put(Keep(0, "state", b"old"), Note(0, b"promise"), Discard(0, "state"))
    office.put(at(0, bucket=7), Reset(7, 10), at(10, bucket=7))
    office.put(Keep(0, "state", b"new"))
    disk.let_go()
    office.await_persisted(0, 4)
    store = office.store
    assert [batch.header.epoch for batch in store.batches(0, 0, 1 << 20)] == [1, 2] and store.bounds(0) == (0, 3)
    assert store.document(0, "state") == b"new" and store.note(0) == b"promise"
    assert store.bounds(7) == (10, 11)


# A full disk.


MIXED: Sequence[Sequence[Write]] = (
    [at(1), at(2)],
    [Note(0, b"first")],
    [at(0, bucket=7)],
    [Cut(0, 2), Append(0, batch_at(2, epoch=2))],
    [Keep(0, "state", b"kept"), Append(0, batch_at(3, epoch=2))],
    [Note(0, b"second"), Discard(0, "absent"), Append(0, batch_at(4, epoch=2))],
    [at(1, bucket=7)],
)


def check_mixed(store: Store) -> None:
    """What the writes above leave, each done once."""
    assert [(batch.header.base_offset, batch.header.epoch) for batch in store.batches(0, 0, 1 << 20)] == [
        (0, 1),
        (1, 1),
        (2, 2),
        (3, 2),
        (4, 2),
    ]
    assert offsets(store) == [0, 1, 2, 3, 4] and offsets(store, bucket=7) == [0, 1]
    assert store.note(0) == b"second" and store.document(0, "state") == b"kept"


class NoRoom:
    """From the given write of the disk on there is no room, until somebody makes some."""

    def __init__(self, disk: RefusingDisk, nth: int) -> None:
        self.refused = 0
        self._left = nth
        self._disk = disk
        disk.refuse = self._refuse

    def _refuse(self, path: str, _position: int, data: bytes) -> int | None:
        self._left -= 1
        if self._left >= 0 or not any(data):  # zeros are how what was refused is made unreadable
            return None
        self.refused += 1
        return len(data) // 2

    def make_room(self) -> None:
        self._disk.refuse = None


@pytest.mark.parametrize("nth", range(6))
def test_full_disk_is_waited_for_and_nothing_is_lost_doubled_or_reordered(
    disk: SlowDisk, office: Office, nth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever in a group the room ends, be it in an append, a cut or a document."""
    monkeypatch.setattr(journals, "FULL_RETRY_S", 0.001)
    disk.hold()
    office.put(at(0))
    assert disk.syncing.wait(PATIENCE_S)
    for writes in MIXED:
        office.put(*writes)
    no_room = NoRoom(disk, nth)
    disk.let_go()
    until(lambda: no_room.refused >= 2)
    assert office.last_persisted(0) <= 1 and office.last_persisted(7) == 0
    no_room.make_room()
    office.await_persisted(0, 6)
    assert office.last_persisted(7) == 2
    check_mixed(office.store)
    check_mixed(found_again(disk))


def test_room_comes_back_and_what_came_meanwhile_goes_on(
    disk: SlowDisk, office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journals, "FULL_RETRY_S", 0.001)
    no_room = NoRoom(disk, 0)
    for offset in range(30):
        office.put(at(offset))
        until(lambda: no_room.refused > 0)
    assert office.last_persisted(0) == 0
    no_room.make_room()
    office.await_persisted(0, 30)
    assert offsets(office.store) == list(range(30))


def test_full_disk_does_not_keep_anybody_from_stopping(disk: SlowDisk, office: Office) -> None:
    no_room = NoRoom(disk, 0)
    office.put(at(0))
    until(lambda: no_room.refused > 0)
    office.journal.stop()
    assert office.last_persisted(0) == 0
    assert isinstance(office.await_failure(), DiskFull)
    no_room.make_room()
    assert found_again(disk).bounds(0) == (0, 0)


# Failures.


def test_failed_sync_ends_it_and_nothing_is_said_to_be_persisted(disk: SlowDisk, office: Office) -> None:
    office.put(at(0))
    office.await_persisted(0, 1)
    disk.fail_sync = disk.sync_count + 1
    for offset in range(1, 10):
        office.put(at(offset))
    assert isinstance(office.await_failure(), SyncFailed)
    office.put(at(10))
    office.journal.stop()
    assert office.last_persisted(0) == 1 and len(office.failures) == 1


def test_what_cannot_be_read_ends_it(disk: SlowDisk, office: Office) -> None:
    """Whoever waits for it would wait for ever."""
    office.put(at(0), at(1))
    office.await_persisted(0, 1)
    (journal,) = [path for path in disk.files() if path.endswith(".journal")]
    disk.flip(journal, disk.files()[journal].index(b"key 0"), 1)
    office.search(0)
    assert isinstance(office.await_failure(), Corrupt)


# The end.


def test_stop_writes_what_was_handed_over(disk: SlowDisk, office: Office) -> None:
    disk.hold()
    office.put(at(0))
    assert disk.syncing.wait(PATIENCE_S)
    for offset in range(1, 30):
        office.put(at(offset), length=GROUP_BYTES_MAX // 4)
    stopping = Thread(target=office.journal.stop)
    stopping.start()
    disk.let_go()
    stopping.join(PATIENCE_S)
    assert not stopping.is_alive()
    assert office.last_persisted(0) == 30
    assert offsets(found_again(disk)) == list(range(30))


def test_journal_on_tiny_files_is_filed_while_it_is_written() -> None:
    disk = SlowDisk()
    office = Office(disk, SETTINGS)
    for offset in range(400):
        office.put(at(offset))
        if offset % 50 == 0:
            office.await_persisted(0, offset + 1)
    office.await_persisted(0, 400)
    office.journal.stop()
    assert not office.failures
    assert any(path.endswith(".segment") for path in disk.files())
    assert offsets(office.store) == list(range(400))
