"""The thread that drops: these segments and no others, on a full disk too, and not while a copy is still to be made."""

from collections.abc import Callable
from queue import SimpleQueue
from threading import Event
from typing import Any

import pytest

from hansard.consensus import home as homes
from hansard.consensus.cluster import ClusterId
from hansard.distributor.settings import Keep
from hansard.participant.effect import Fork, Persist
from hansard.participant.event import Surplus
from hansard.participant.retaining import Looks
from hansard.phaser import effect as phaser
from hansard.server.retention import SEGMENTS_MAX, Dropped, drop, look, tell
from hansard.server.vault import Vault
from hansard.storage.errors import DiskFull
from hansard.storage.manifest import Segment
from hansard.storage.store import Store
from hansard.storage.write import Reset
from sim.disk import SimDisk
from tests.storage.stores import fill, new_store, offsets

GOING_ON = Event()


def filed(store: Store, bucket: int = 0) -> list[Segment]:
    return list(store.log(bucket).filed.segments)


def full(disk: SimDisk, store: Store, end: int) -> None:
    """Until nothing more gets in."""
    disk.capacity = sum(len(content) for content in disk.files().values())
    with pytest.raises(DiskFull):
        fill(store, end, 1 << 30)


def test_the_named_segments_go_and_it_is_said_what_is_left() -> None:
    store = new_store()
    fill(store, 0, 300)
    store.file()
    some = filed(store)[:2]
    dropped = drop(store, {0: some}, GOING_ON)
    byte_count = sum([segment.length for segment in some])
    assert dropped == [Dropped(0, some[-1].end, 2, byte_count)]
    assert offsets(store) == list(range(some[-1].end, 300))
    assert drop(store, {0: some}, GOING_ON) == []


def test_many_segments_go_a_few_at_a_time_and_none_after_it_is_told_to_stop() -> None:
    store = new_store()
    fill(store, 0, 3000)
    store.file()
    many = filed(store)[:-1]
    assert len(many) > 2 * SEGMENTS_MAX
    stopping = Event()
    stopping.set()
    assert drop(store, {0: many}, stopping) == [] and store.bounds(0)[0] == 0
    (dropped,) = drop(store, {0: many}, GOING_ON)
    assert (dropped.start, dropped.segments) == (many[-1].end, len(many))


def test_a_log_that_was_begun_anew_since_keeps_what_it_has() -> None:
    """Its offsets are the same ones, and a restart may need them."""
    store = new_store()
    fill(store, 0, 300)
    store.file()
    some = filed(store)[:3]
    store.write([Reset(0, 0)])
    fill(store, 0, 300)
    store.file()
    assert drop(store, {0: some}, GOING_ON) == []
    assert offsets(store) == list(range(300))


def test_a_full_disk_gets_room() -> None:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 300)
    store.file()
    full(disk, store, 300)
    assert store.full is not None
    end = store.bounds(0)[1]
    some = filed(store)[:-1]
    (dropped,) = drop(store, {0: some}, GOING_ON)
    assert dropped.start == some[-1].end
    assert disk.capacity is not None
    disk.capacity += 2 << 20  # what the file system has free besides counts for as much
    fill(store, end, end + 30)
    assert offsets(store) == list(range(dropped.start, end + 30))


def test_what_is_too_old_in_the_journal_is_put_into_segments_and_may_go() -> None:
    store = new_store()
    fill(store, 0, 60)  # a change's time is ten times its offset
    unfiled = store.log(0).tail[0].last_timestamp
    assert not filed(store)
    keep = Keep(age_us=1_000)
    assert look(store, Looks(keep, unfiled + 1_000, {0: 60})) is None and not filed(store)
    found = look(store, Looks(keep, 10_000, {0: 60}))
    assert found == Surplus(keep, {0: 60}) and filed(store)


def test_it_is_said_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    earlier = [Dropped(bucket, 50, 1, 500_000) for bucket in range(12)]
    tell([*earlier, *[Dropped(bucket, 100 + bucket, 2, 1_000_000) for bucket in range(12)]])
    (record,) = caplog.records
    assert record.getMessage().startswith("dropped 36 segments (18.0 MB) that need not be kept")
    assert record.getMessage().endswith("0:100 1:101 2:102 3:103 4:104 5:105 6:106 7:107 ...")


def test_until_a_fork_is_on_disk_its_parent_is_left_alone() -> None:
    calls: SimpleQueue[tuple[Callable[..., None], tuple[Any, ...]]] = SimpleQueue()
    home = homes.found(SimDisk(), "a", ClusterId("c"), 1)
    happened: list[object] = []
    vault = Vault(home, lambda call, *what: calls.put((call, what)), happened.append, happened.extend, happened.append)
    try:
        vault.persist(Persist(0, 1, 1, (phaser.Note(b"x"),)))
        vault.alter(Fork(0, 4))
        assert vault.forking == {0}
        vault.flush()
        while vault.forking:
            call, what = calls.get(timeout=10)
            call(*what)
        assert 4 in vault.buckets.buckets() and vault.under_way(4) == 0
    finally:
        vault.stop()
        vault.close()
