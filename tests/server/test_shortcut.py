"""What is small is written by the loop and synced by the kernel, the rest by the journal's thread: nothing overtakes
anything, and nothing is said to be on disk that is not."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from threading import current_thread
from typing import Any

import pytest

from hansard.server import journal as journals
from hansard.server.journal import Errand, Item, Job, Search
from hansard.server.shortcut import Shortcut
from hansard.server.syncs import Syncs
from hansard.storage.disk import RealDisk
from hansard.storage.settings import StoreSettings
from hansard.storage.store import Store, open_store
from hansard.storage.write import Append, Cut, Drop, Keep, Note, Reset, Write
from sim.disk import SimDisk
from sim.history import SETTINGS, History, content_of
from tests.storage.placing import PlacingDisk
from tests.storage.stores import offsets

from .hall import THREAD, TOO_MUCH, Hall, HeldSyncs, WatchedDisk
from .office import LARGE, Office, SlowDisk, at
from .trio import run, until

Loop = Callable[[], asyncio.AbstractEventLoop]


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> HeldSyncs:
    syncs = HeldSyncs()
    monkeypatch.setattr(Syncs, "made", lambda: syncs)
    return syncs


def require_syncs() -> None:
    syncs = Syncs.made()
    if syncs is None:
        pytest.skip("the kernel does not sync by itself here: everything goes through the thread")
    syncs.close()


def found_again(folder: Path) -> Store:
    """The store as the next process finds it."""
    return open_store(RealDisk(folder), settings=LARGE)


# What is small.


def test_what_is_small_is_written_by_the_loop_in_order_and_found_again(loop: Loop, tmp_path: Path) -> None:
    require_syncs()
    disk = WatchedDisk(tmp_path)

    async def test() -> None:
        hall = Hall(disk)
        disk.writers.clear()
        for offset in range(40):
            hall.put(at(offset))
            hall.put(at(offset, bucket=7), Note(0, b"%d" % offset))
            hall.way.put([Job(None, 0, [Note(3, b"%d" % offset)], 0)])
            if offset % 5 == 0:
                await asyncio.sleep(0)
        await hall.all_persisted()
        await until(lambda: hall.store.note(3) == b"39")
        assert THREAD not in disk.writers
        assert hall.in_order() and len(hall.persisted) < 80, "what comes meanwhile goes together"
        assert not any(None in group for group in hall.persisted), "nobody waits for these"
        assert hall.journal.handed == 0 and hall.journal.synced[0] == len(hall.persisted)
        await hall.stop()

    run(test(), loop)
    store = found_again(tmp_path)
    assert offsets(store) == offsets(store, bucket=7) == list(range(40)) and store.note(0) == b"39"


def test_whoever_goes_on_when_something_is_persisted_is_served_in_order(loop: Loop, tmp_path: Path) -> None:
    """A turn that is taken right then puts more."""

    async def test() -> None:
        hall = Hall(WatchedDisk(tmp_path))
        waiting = list(range(1, 60))

        def go_on() -> None:
            for offset in waiting[:2]:
                hall.put(at(offset))
            del waiting[:2]

        hall.then = go_on
        hall.put(at(0))
        await until(lambda: hall.is_persisted(60))
        assert hall.in_order()
        await hall.stop()

    run(test(), loop)
    assert offsets(found_again(tmp_path)) == list(range(60))


def test_what_comes_during_a_sync_goes_together_with_the_next_one(held: HeldSyncs, tmp_path: Path) -> None:
    disk = WatchedDisk(tmp_path)

    async def test() -> None:
        hall = Hall(disk)
        begun = len(disk.writers)
        hall.put(at(0))
        for offset in range(1, 30):
            hall.put(at(offset))
            hall.put(at(offset - 1, bucket=7))
            await asyncio.sleep(0)
        assert len(held.begun) == 1 and not hall.persisted
        held.let_go()
        await until(lambda: bool(hall.persisted))
        assert hall.persisted == [{0: 1}] and len(held.begun) == 2
        held.let_go()
        await hall.all_persisted()
        assert hall.persisted == [{0: 1}, {0: 58, 7: 59}] and len(held.begun) == 2
        assert len(disk.writers) == begun + 2 and THREAD not in disk.writers[begun:]
        await hall.stop()

    run(test())
    assert offsets(found_again(tmp_path)) == list(range(30))


def test_persisted_survives_a_crash_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the moment of the word, a power cut would leave all of it."""
    disk, random = PlacingDisk(), Random(7)
    monkeypatch.setattr(Syncs, "made", lambda: HeldSyncs.at_once(disk.sync))

    async def test() -> None:
        hall = Hall(disk)
        looked = 0

        def look() -> None:
            nonlocal looked
            looked += 1
            left = open_store(disk.crashed(disk.operation_count, random), settings=LARGE)
            assert not left.damage and left.bounds(0)[1] >= max(hall.persisted[-1].values())

        hall.then = look
        for offset in range(60):
            hall.put(at(offset), length=TOO_MUCH if offset % 15 == 0 else 0)
            if offset % 3 == 0:
                await hall.all_persisted()
        await hall.all_persisted()
        assert looked == len(hall.persisted) >= 20
        await hall.stop()

    run(test())


# What is for the thread.


def for_the_thread(kind: str, hall: Hall, done: list[Any]) -> Sequence[Item]:
    match kind:
        case "large":
            return [hall.job(at(1), length=TOO_MUCH)]
        case "small ones that are large together":
            return [hall.job(at(offset), length=TOO_MUCH // 3 + 1) for offset in (1, 2, 3)]
        case "search":
            return [Search(0, 0, 1 << 20, lambda _, batches: done.append(len(batches)))]
        case "errand":
            return [Errand(lambda store: store.bounds(0)[1], done.append)]
        case "small with an errand":
            return [hall.job(at(1)), Errand(lambda store: store.bounds(0)[1], done.append)]
        case _:
            writes: dict[str, Write] = {"cut": Cut(0, 1), "reset": Reset(0, 0), "keep": Keep(0, "a-name", b"content")}
            return [hall.job(writes[kind])]


KINDS = {
    "large": (2, []),
    "small ones that are large together": (4, []),
    "search": (1, [1]),
    "errand": (1, [1]),
    "small with an errand": (2, [2]),
    "cut": (1, []),
    "reset": (0, []),
    "keep": (1, []),
}
"""What a log that ends at 1 ends at then, and what is done with it."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("under_way", [False, True], ids=["alone", "during a sync"])
def test_whatever_else_goes_to_the_thread_and_is_not_overtaken(
    held: HeldSyncs, tmp_path: Path, kind: str, under_way: bool
) -> None:
    disk = WatchedDisk(tmp_path)
    end, seen = KINDS[kind]

    async def test() -> None:
        hall = Hall(disk)
        done: list[Any] = []
        hall.put(at(0))
        if not under_way:
            held.let_go()
            await hall.all_persisted()
        begun = len(disk.writers)
        hall.way.put(for_the_thread(kind, hall, done))
        hall.put(at(end))
        if under_way:
            assert hall.journal.handed == 0 and not hall.persisted
            held.let_go()
        await hall.all_persisted()
        await until(lambda: len(done) == len(seen))
        assert set(disk.writers[begun:]) == {THREAD} and len(held.begun) == 1
        assert hall.in_order() and hall.store.bounds(0) == (0, end + 1)
        assert all(was >= due for was, due in zip(done, seen, strict=True))
        hall.put(at(end + 1))
        assert disk.writers[-1] != THREAD and len(held.begun) == 2, "the way is free again"
        held.let_go()
        await hall.all_persisted()
        await hall.stop()

    run(test())
    assert offsets(found_again(tmp_path)) == list(range(end + 2))


class Recorded(History):
    """Does what it is told in a plain store, and hands out what that was."""

    def __init__(self, random: Random) -> None:
        self.writes: list[Write] = []
        super().__init__(SimDisk(), random)

    def _write(self, writes: Sequence[Write]) -> None:
        self.writes += writes
        super()._write(writes)

    def step(self) -> Sequence[Write]:
        del self.writes[:]
        often, seldom = (
            [self.append] * 16 + [self.note] * 8,
            [self.mix, self.keep, self.reset, self.drop, self.truncate],
        )
        while not self.writes:
            self._random.choice(often + seldom)()
        return list(self.writes)


LEDGER = 9
"""A bucket whose note counts what was put."""


def looking(due: int, seen: list[tuple[int, int]]) -> Errand:
    """Sees what the note says by then, and knows what is due."""
    return Errand(lambda store: int(store.note(LEDGER)), lambda was: seen.append((was, due)))


def mixed(random: Random, hall: Hall, plain: Recorded, seen: list[tuple[int, int]]) -> list[Item]:
    """What one turn wants: some jobs, small or not, and now and then somebody who looks at what is there by then."""
    items: list[Item] = []
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        length = TOO_MUCH if random.random() < 0.1 else 0
        items.append(hall.job(*plain.step(), length=length))
        items.append(hall.job(Note(LEDGER, b"%d" % hall.last)))
        if random.random() < 0.1:
            items.append(looking(hall.last - 1, seen))
    return items


@pytest.mark.parametrize("settings", [LARGE, SETTINGS], ids=["roomy", "tiny files"])
@pytest.mark.parametrize("seed", range(4))
def test_whatever_is_put_in_whatever_order_leaves_what_a_plain_store_would_hold(
    tmp_path: Path, seed: int, settings: StoreSettings, loop: Loop
) -> None:
    require_syncs()
    disk, random = WatchedDisk(tmp_path), Random(f"mixed {seed}")
    plain = Recorded(random)
    seen: list[tuple[int, int]] = []

    async def test() -> None:
        hall = Hall(disk, settings)
        disk.writers.clear()
        for _ in range(60):
            hall.way.put(mixed(random, hall, plain, seen))
            match random.randrange(4):
                case 0:
                    await hall.all_persisted()
                case 1:
                    await asyncio.sleep(0)
                case _:
                    pass
        await hall.all_persisted()
        assert hall.in_order()
        assert content_of(hall.store) == content_of(plain.store)
        await hall.stop()

    run(test(), loop)
    assert content_of(open_store(RealDisk(tmp_path), settings=settings)) == content_of(plain.store)
    assert len(seen) > 3 and all(was >= due for was, due in seen)
    assert THREAD in disk.writers and THREAD != current_thread().name in disk.writers


# Without it.


def test_without_a_loop_everything_goes_through_the_thread(office: Office, disk: SlowDisk) -> None:
    way = Shortcut(office.store, office.journal, office.persisted.append, office.failures.append, None)
    for offset in range(20):
        way.put([Job(0, offset + 1, [at(offset)], 0)])
    assert office.journal.handed == 20
    office.await_persisted(0, 20)
    assert office.journal.handed == 0 and offsets(office.store) == list(range(20))
    way.close()


def test_without_syncs_everything_goes_through_the_thread(
    loop: Loop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Syncs, "made", lambda: None)
    disk = WatchedDisk(tmp_path)

    async def test() -> None:
        hall = Hall(disk)
        begun = len(disk.writers)
        for offset in range(50):
            hall.put(at(offset))
            await asyncio.sleep(0)
        hall.put(Drop(7), Append(7, at(0).batch))
        await hall.all_persisted()
        assert hall.in_order() and set(disk.writers[begun:]) == {THREAD}
        await hall.stop()

    run(test(), loop)
    assert offsets(found_again(tmp_path)) == list(range(50))


def test_what_was_handed_over_is_counted_until_the_loop_has_heard_of_it(office: Office, disk: SlowDisk) -> None:
    done: list[None] = []
    disk.hold()
    office.put(at(0))
    office.journal.put([Errand(lambda _: None, done.append), Job(None, 0, [at(1)], 0)])
    found = office.search(0)
    office.put(at(2), length=journals.GROUP_BYTES_MAX)
    office.put(at(3))
    assert office.journal.handed == 6
    disk.let_go()
    assert office.await_found(found)[1][:2] == [0, 1]
    office.await_persisted(0, 3)
    assert office.journal.handed == 0 and done
