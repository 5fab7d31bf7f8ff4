"""How the short way to the disk ends: a failure ends the participant at once and for good, closing loses nothing that
was put, abandoning does; and what was written is vouched for when nothing more comes."""

import asyncio
import shutil
from pathlib import Path

import pytest

from hansard.server.journal import IDLE_S
from hansard.server.syncs import Syncs
from hansard.storage.disk import RealDisk
from hansard.storage.errors import StoreFailed, SyncFailed
from hansard.storage.store import open_store
from tests.storage.stores import offsets

from .hall import THREAD, TOO_MUCH, Hall, HeldSyncs, WatchedDisk, broken
from .office import LARGE, at
from .test_shortcut import Loop, found_again, require_syncs
from .trio import run, until


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> HeldSyncs:
    syncs = HeldSyncs()
    monkeypatch.setattr(Syncs, "made", lambda: syncs)
    return syncs


async def a_while() -> None:
    """Whoever would vouch for something has had the time to."""
    await asyncio.sleep(3 * IDLE_S)


# Failures.


async def assert_over(hall: Hall, disk: WatchedDisk, kind: type[Exception]) -> None:
    """Nothing more is written, nothing more is persisted, and what it was is said once: all that the threads find out
    by themselves, when they would vouch for something, is that the store has failed."""
    failure = hall.failures[0]
    assert isinstance(failure, kind)
    persisted, written = list(hall.persisted), len(disk.writers)
    end = hall.store.bounds(0)[1]
    said = list(hall.failures)
    hall.put(at(end))
    hall.put(at(end + 1), length=TOO_MUCH)
    assert hall.failures == said and hall.journal.handed == 0
    await a_while()
    await hall.stop()
    assert hall.persisted == persisted and len(disk.writers) == written
    assert all(isinstance(later, StoreFailed) for later in hall.failures[1:])


@pytest.mark.parametrize("after_others", [False, True], ids=["the first", "a later one"])
def test_a_sync_that_fails_ends_it(held: HeldSyncs, tmp_path: Path, after_others: bool) -> None:
    disk = WatchedDisk(tmp_path)

    async def test() -> None:
        hall = Hall(disk)
        if after_others:
            hall.put(at(0))
            held.let_go()
            await hall.all_persisted()
        hall.put(at(1))
        hall.put(at(2))
        hall.put(at(3), length=TOO_MUCH)
        held.failure = broken()
        held.let_go()
        await until(lambda: bool(hall.failures))
        assert len(hall.persisted) == after_others
        await assert_over(hall, disk, SyncFailed)

    run(test())
    assert offsets(found_again(tmp_path)) in ([1], [0, 1])


@pytest.mark.parametrize("waiting", [False, True], ids=["alone", "during a sync"])
@pytest.mark.parametrize("closed", [False, True], ids=["open", "closed at once"])
def test_where_no_sync_can_be_begun_it_is_done_here_once_and_then_by_the_thread(
    held: HeldSyncs, tmp_path: Path, waiting: bool, closed: bool
) -> None:
    """That the kernel does not want to, as an old one does not, says nothing of what was written."""
    disk = WatchedDisk(tmp_path)

    async def test() -> None:
        hall = Hall(disk)
        if waiting:
            hall.put(at(0))
        held.refusal = broken()
        hall.put(at(waiting))
        if waiting:
            held.let_go()
        if not closed:
            await hall.all_persisted()
            begun = len(disk.writers)
            hall.put(at(waiting + 1))
            await hall.all_persisted()
            assert set(disk.writers[begun:]) == {THREAD} and held.is_closed
        await hall.stop()
        assert not hall.failures and hall.in_order()
        assert hall.persisted[-1] == {0: 1 + waiting + (not closed)}

    run(test())
    assert offsets(found_again(tmp_path)) == list(range(1 + waiting + (not closed)))


@pytest.mark.parametrize("fails", [False, True], ids=["done", "failed, too"])
@pytest.mark.parametrize("closed", [False, True], ids=["open", "closed"])
def test_a_sync_counts_for_nothing_once_the_store_has_failed(
    held: HeldSyncs, tmp_path: Path, fails: bool, closed: bool
) -> None:
    """Filing has heard of a failure, and the kernel may tell of it only once."""
    disk = WatchedDisk(tmp_path)

    async def test() -> None:
        hall = Hall(disk)
        hall.put(at(0))
        hall.put(at(1))
        disk.fails_to_sync = True
        with pytest.raises(SyncFailed):
            hall.store.file()
        held.failure = broken() if fails else None
        if closed:
            hall.way.close()
        else:
            held.let_go()
        await until(lambda: bool(hall.failures))
        assert not hall.persisted
        await assert_over(hall, disk, StoreFailed)

    run(test())


def test_where_no_sync_can_be_begun_and_none_can_be_done_it_is_over(held: HeldSyncs, tmp_path: Path) -> None:
    disk = WatchedDisk(tmp_path)

    async def test() -> None:
        hall = Hall(disk)
        held.refusal = broken()
        disk.fails_to_sync = True
        hall.put(at(0))
        assert not hall.persisted
        await assert_over(hall, disk, SyncFailed)

    run(test())


@pytest.mark.parametrize("waiting", [False, True], ids=["alone", "during a sync"])
def test_a_write_that_fails_ends_it(held: HeldSyncs, tmp_path: Path, waiting: bool) -> None:
    """What was synced before is persisted; what was to be written is not, and somebody has to know."""
    disk = WatchedDisk(tmp_path)

    async def test() -> None:
        hall = Hall(disk)
        if waiting:
            hall.put(at(0))
        disk.failure = broken()
        hall.put(at(1))
        if waiting:
            held.let_go()
        await until(lambda: bool(hall.failures))
        assert hall.persisted == ([{0: 1}] if waiting else [])
        await assert_over(hall, disk, StoreFailed)

    run(test())


# The end.


def test_closing_waits_for_the_sync_under_way_and_hands_the_rest_to_the_journal(
    held: HeldSyncs, tmp_path: Path, loop: Loop
) -> None:
    disk = WatchedDisk(tmp_path)

    async def test() -> None:
        hall = Hall(disk)
        hall.put(at(0))
        hall.put(at(1))
        hall.put(at(2), length=TOO_MUCH)
        hall.put(at(3))
        begun = len(disk.writers)
        hall.way.close()
        assert held.waited == 1 and held.is_closed
        assert hall.persisted == [{0: 1}] and hall.journal.handed == 3
        hall.put(at(4))
        hall.way.close()
        await hall.stop()
        assert hall.is_persisted(5) and hall.in_order() and hall.journal.handed == 0
        assert set(disk.writers[begun:]) == {THREAD} and not hall.failures

    run(test(), loop)
    assert offsets(found_again(tmp_path)) == list(range(5))


def test_closing_hears_of_a_sync_that_fails(held: HeldSyncs, tmp_path: Path) -> None:
    disk = WatchedDisk(tmp_path)

    async def test() -> None:
        hall = Hall(disk)
        hall.put(at(0))
        hall.put(at(1))
        held.failure = broken()
        hall.way.close()
        assert not hall.persisted and held.is_closed
        await assert_over(hall, disk, SyncFailed)

    run(test())
    assert offsets(found_again(tmp_path)) in ([], [0])


def test_closing_with_nothing_to_do_is_harmless(loop: Loop, tmp_path: Path) -> None:
    async def test() -> None:
        hall = Hall(WatchedDisk(tmp_path))
        hall.way.close()
        hall.way.close()
        await hall.stop()
        assert not hall.failures and not hall.persisted

    run(test(), loop)


@pytest.mark.parametrize("turns", range(12))
def test_whenever_it_is_closed_all_that_was_put_is_persisted(loop: Loop, tmp_path: Path, turns: int) -> None:
    async def test() -> None:
        hall = Hall(WatchedDisk(tmp_path))
        for offset in range(turns + 1):
            hall.put(at(offset))
            for _ in range(turns % 4):
                await asyncio.sleep(0)
        await hall.stop()
        assert hall.is_persisted(turns + 1) and hall.in_order() and not hall.failures

    run(test(), loop)
    assert offsets(found_again(tmp_path)) == list(range(turns + 1))


def test_abandoning_loses_what_was_not_persisted(held: HeldSyncs, tmp_path: Path) -> None:
    disk = WatchedDisk(tmp_path)

    async def test() -> None:
        hall = Hall(disk)
        hall.put(at(0))
        held.let_go()
        await hall.all_persisted()
        hall.put(at(1))
        hall.put(at(2))
        hall.put(at(3), length=TOO_MUCH)
        written = len(disk.writers)
        await hall.stop(abandon=True)
        assert hall.persisted == [{0: 1}] and not hall.failures
        assert len(disk.writers) == written and held.is_closed and not held.waited

    run(test())
    assert offsets(found_again(tmp_path)) in ([0], [0, 1])


# When nothing more comes.


def is_vouched_for(folder: Path, copy: Path, key: bytes) -> bool:
    """Whether damage to what was written last would be told from a write that a crash has torn."""
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy)
    (journal,) = (copy / "journal").iterdir()
    content = bytearray(journal.read_bytes())
    content[content.rindex(key)] ^= 1
    journal.write_bytes(content)
    store = open_store(RealDisk(copy), settings=LARGE, read_only=True)
    try:
        return bool(store.damage)
    finally:
        store.close()


def test_what_is_written_is_vouched_for_when_nothing_more_comes(loop: Loop, tmp_path: Path) -> None:
    require_syncs()
    folder, copy = tmp_path / "store", tmp_path / "copy"
    disk = WatchedDisk(folder)

    async def test() -> None:
        hall = Hall(disk)
        for turn in range(2):
            for offset in range(3 * turn, 3 * turn + 3):
                hall.put(at(offset))
            await hall.all_persisted()
            await until(lambda: is_vouched_for(folder, copy, b"key %d" % (hall.store.bounds(0)[1] - 1)))
            await until(lambda: not hall.journal.handed)
            await a_while()  # for the thread too, which would vouch for what comes now as well
        written = len(disk.writers)
        await a_while()
        assert len(disk.writers) == written, "once is enough"
        hall.put(at(6))
        assert disk.writers[-1] != THREAD, "and the way is as short as before"
        await hall.all_persisted()
        await hall.stop()

    run(test(), loop)
    assert offsets(found_again(folder)) == list(range(7))


def test_nobody_vouches_for_what_is_not_synced(held: HeldSyncs, tmp_path: Path) -> None:
    folder, copy = tmp_path / "store", tmp_path / "copy"
    disk = WatchedDisk(folder)

    async def test() -> None:
        hall = Hall(disk)
        hall.put(at(0))
        held.let_go()
        await hall.all_persisted()
        hall.put(at(1))
        await a_while()
        assert not is_vouched_for(folder, copy, b"key 1")
        held.let_go()
        await until(lambda: is_vouched_for(folder, copy, b"key 1"))
        await hall.stop()

    run(test())
