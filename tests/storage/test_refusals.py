"""A disk that has no room at the worst moments: what is acknowledged is there, and what is refused never comes back."""

from random import Random

import pytest

from hansard.batch import Batch
from hansard.storage.errors import DiskFull, StoreFailed, SyncFailed
from hansard.storage.reading import Query
from hansard.storage.record import RECORD_BYTES
from hansard.storage.retention import Retention
from hansard.storage.scrub import scrub
from hansard.storage.store import Store
from hansard.storage.write import Drop, Fork
from sim.refusing import RefusingDisk
from tests.storage.stores import batch_at, fill, new_store, offsets, reopen

BUCKETS = (0, 1)
Rows = dict[int, list[tuple[int, int]]]
"""For each bucket the offsets and times of its changes."""


def started() -> tuple[RefusingDisk, Store]:
    disk = RefusingDisk()
    store = new_store(disk)
    fill(store, 0, 3)
    return disk, store


def test_without_room_for_the_mark_an_append_is_stored_all_the_same() -> None:
    disk, store = started()
    disk.refuse = lambda path, _, data: 0 if path.startswith("journal") and len(data) == RECORD_BYTES else None
    store.append([(0, batch_at(3))])
    disk.refuse = None
    store.append([(0, batch_at(4))])
    store.close()
    assert offsets(reopen(disk)) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("draw", range(20))
def test_the_first_records_of_a_group_that_was_refused_do_not_come_back(draw: int) -> None:
    disk, store = started()
    disk.refuse = lambda _path, _position, data: len(data) - 10 if len(data) > RECORD_BYTES else None
    with pytest.raises(DiskFull):
        store.append([(0, batch_at(3)), (0, batch_at(4)), (0, batch_at(5))])
    disk.refuse = None
    assert offsets(reopen(disk.crashed(disk.operation_count, Random(draw)))) == [0, 1, 2]
    store.append([(0, batch_at(3))])  # the very bytes that were refused, as a replica would send them
    assert offsets(reopen(disk.crashed(disk.operation_count, Random(draw)))) == [0, 1, 2, 3]


def test_a_store_that_cannot_take_back_what_it_refused_stops() -> None:
    disk, store = started()
    disk.refuse = lambda _path, _position, data: len(data) * 3 // 4 if len(data) > RECORD_BYTES else 0
    with pytest.raises(SyncFailed):
        store.append([(0, batch_at(3)), (0, batch_at(4))])
    disk.refuse = None
    with pytest.raises(StoreFailed):
        store.append([(0, batch_at(3))])


def test_a_filing_that_finds_no_room_leaves_no_file_open() -> None:
    disk, store = started()
    before = disk.open_count
    disk.refuse = lambda path, _position, _data: 0 if path.endswith(".index") else None
    for _ in range(5):
        with pytest.raises(DiskFull):
            store.file()
    assert disk.open_count <= before + 1  # the journal's next file


class Life:
    """A store whose disk refuses writes and fails syncs at random, beside a model of what must be in it."""

    def __init__(self, seed: int, forks: int = 0) -> None:
        self.random, self.forks = Random(seed), forks
        self.syncs_fail = seed % 2 == 1
        self.share = 0.0
        self.disk = RefusingDisk()
        self.store = new_store(self.disk)
        self.rows: Rows = {bucket: [] for bucket in BUCKETS}
        self.time = 0
        self.refused = self.failed = self.forked = 0
        self.disk.refuse = self.refuse

    def refuse(self, _path: str, _position: int, data: bytes) -> int | None:
        if self.random.random() >= self.share:
            return None
        return self.random.choice((0, len(data) // 2, len(data) * 3 // 4, max(0, len(data) - 5)))

    def step(self) -> None:
        self.share = self.random.choice((0, 0, 0.3))
        if self.syncs_fail and self.random.random() < 0.1:
            self.disk.fail_sync = self.disk.sync_count + self.random.randint(1, 6)
        action = self.random.choice(
            [self.append] * 6 + [self.file, self.cut, self.retain, self.restart, self.crash] + [self.fork] * self.forks
        )
        possible = [self.rows]
        try:
            action(possible)
            self.rows = possible[-1]
        except DiskFull:
            self.refused += 1
        except (SyncFailed, StoreFailed):
            self.failed += 1
            self.come_back(possible)
        self.share = 0.0
        self.check()

    def append(self, possible: list[Rows]) -> None:
        group: list[tuple[int, Batch]] = []
        for _ in range(self.random.choice((1, 1, 3))):
            bucket, count = self.random.choice(BUCKETS), self.random.choice((1, 2, 5))
            rows = {other: list(known) for other, known in possible[-1].items()}
            in_group = [batch.header.end_offset for other, batch in group if other == bucket]
            end = in_group[-1] if in_group else self.store.bounds(bucket)[1]
            self.time += 1
            group.append((bucket, batch_at(end, count, time=self.time, size=self.random.choice((10, 300)))))
            rows[bucket] += [(offset, self.time) for offset in range(end, end + count)]
            possible.append(rows)
        self.store.append(group)

    def file(self, _possible: list[Rows]) -> None:
        self.store.file()

    def cut(self, possible: list[Rows]) -> None:
        bucket = self.random.choice(BUCKETS)
        rows = self.rows[bucket]
        # Every batch has a time of its own, so one begins where the time changes.
        places = [row[0] for before, row in zip([(0, -1), *rows], rows, strict=False) if row[1] != before[1]]
        if places:
            place = self.random.choice(places[-4:])
            possible.append({**self.rows, bucket: [row for row in self.rows[bucket] if row[0] < place]})
            self.store.truncate_after(bucket, place - 1)

    def fork(self, possible: list[Rows]) -> None:
        """In place of what the other bucket was."""
        source, bucket = self.random.sample(BUCKETS, 2)
        if bucket in self.store.buckets():
            possible.append({**self.rows, bucket: []})
            self.store.write([Drop(bucket)])
            self.rows = possible[-1]
        if source in self.store.buckets():
            possible.append({**self.rows, bucket: list(self.rows[source])})
            self.store.write([Fork(bucket, source)])
            self.forked += 1

    def retain(self, _possible: list[Rows]) -> None:
        self.store.retain({self.random.choice(BUCKETS): Retention(change_count=20)}, now=0)

    def restart(self, _possible: list[Rows]) -> None:
        self.share, self.disk.fail_sync = 0.0, None
        self.store.close()
        self.store = reopen(self.disk)

    def crash(self, _possible: list[Rows]) -> None:
        self.share = 0.0
        self.disk = self.disk.crashed_again(self.disk.crashed(self.disk.operation_count, self.random))
        self.store = reopen(self.disk)

    def come_back(self, possible: list[Rows]) -> None:
        """A new process after a failed sync: one of the possible contents is there, and is it from now on."""
        self.share = 0.0
        at = self.disk.operation_count
        left = self.disk.restarted(at) if self.random.random() < 0.5 else self.disk.crashed(at, self.random)
        self.disk = self.disk.crashed_again(left)
        self.store = reopen(self.disk)
        found = self.found()
        fitting = [rows for rows in possible if self.retained(rows) == found]
        assert fitting, "neither what was acknowledged nor what was under way"
        self.rows = fitting[0]

    def found(self) -> Rows:
        return {
            bucket: [
                (change.offset, change.timestamp)
                for batch in self.store.scan(bucket, Query())
                for change in batch.changes()
            ]
            for bucket in BUCKETS
        }

    def retained(self, rows: Rows) -> Rows:
        return {bucket: [row for row in rows[bucket] if row[0] >= self.store.bounds(bucket)[0]] for bucket in BUCKETS}

    def check(self) -> None:
        self.rows = self.retained(self.rows)
        assert self.found() == self.rows
        assert not self.store.damage and not scrub(self.store).damage


@pytest.mark.parametrize("seed", range(60))
def test_refusals_and_failed_syncs_neither_lose_nor_revive_anything(seed: int) -> None:
    life = Life(seed)
    for _ in range(60):
        life.step()
    assert life.refused


@pytest.mark.parametrize("seed", range(1_000, 1_040))
def test_refusals_and_failed_syncs_leave_forks_whole_or_absent(seed: int) -> None:
    life = Life(seed, forks=3)
    for _ in range(60):
        life.step()
    assert life.refused and life.forked
