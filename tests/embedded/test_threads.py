"""Many threads at once: every receipt is unique, each thread's order is kept, and readers see only prefixes."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Barrier, Event
from time import monotonic

import pytest

import hansard
from hansard.embedded import commit, open_on
from sim.disk import SimDisk
from tests.embedded.conftest import Clock

THREADS = 8
APPENDS = 60
PATIENCE_S = 20


class GatedDisk(SimDisk):
    """A disk whose next sync waits: the one who commits is held up until the others have queued."""

    def __init__(self) -> None:
        super().__init__()
        self.reached, self.go_on = Event(), Event()
        self.is_gated = False

    def next_sync_fails(self) -> bool:
        if self.is_gated:
            self.is_gated = False
            self.reached.set()
            assert self.go_on.wait(PATIENCE_S)
        return super().next_sync_fails()


def test_receipts_are_unique_and_threads_keep_their_order(log: hansard.Log) -> None:
    start, writing = Barrier(THREADS + 1), Event()
    prefixes: list[int] = []

    def write(thread: int) -> list[int]:
        start.wait(PATIENCE_S)
        offsets = []
        for number in range(APPENDS):
            if number % 10 == 9:
                receipts = log.append_many([(f"t{thread}", f"{number}", ["many"])] * 3)
                assert [receipt.offset - receipts[0].offset for receipt in receipts] == [0, 1, 2]
                offsets += [receipt.offset for receipt in receipts]
            else:
                offsets.append(log.append(f"t{thread}", f"{number}").offset)
        return offsets

    def read() -> None:
        start.wait(PATIENCE_S)
        while not writing.is_set():
            seen = [change.offset for change in log.read()]
            assert seen == list(range(len(seen)))
            prefixes.append(len(seen))

    with ThreadPoolExecutor(THREADS + 1) as threads:
        reader = threads.submit(read)
        writers = [threads.submit(write, thread) for thread in range(THREADS)]
        offsets = [writer.result(PATIENCE_S) for writer in writers]
        writing.set()
        reader.result(PATIENCE_S)
    given = [offset for own in offsets for offset in own]
    assert sorted(given) == list(range(len(given)))
    assert prefixes == sorted(prefixes) and prefixes[-1] > prefixes[0]
    everything = list(log.read())
    for thread, own in enumerate(offsets):
        assert own == sorted(own)
        assert [change.offset for change in everything if change.key == b"t%d" % thread] == own
        numbers = [int(change.value or b"") for change in everything if change.key == b"t%d" % thread]
        assert numbers == sorted(numbers)
    times = [change.timestamp for change in everything]
    assert times == sorted(times)


def eventually(happens: Callable[[], bool]) -> None:
    deadline = monotonic() + PATIENCE_S
    while not happens():
        assert monotonic() < deadline


def queued(
    disk: GatedDisk, log: hansard.Log, threads: ThreadPoolExecutor, value: bytes = b"v"
) -> tuple[Future[hansard.Receipt], list[Future[hansard.Receipt]]]:
    """One append that is held up on the disk, and seven that have come meanwhile."""
    disk.is_gated = True
    first = threads.submit(log.append, "first", "v")
    assert disk.reached.wait(PATIENCE_S)
    others = [threads.submit(log.append, f"other{number}", value) for number in range(THREADS - 1)]
    eventually(lambda: len(log._committer._queue) == len(others))
    return first, others


def test_those_who_come_meanwhile_share_one_sync() -> None:
    disk = GatedDisk()
    with open_on(disk, clock_ns=Clock()) as log, ThreadPoolExecutor(THREADS) as threads:
        first, others = queued(disk, log, threads)
        before = disk.sync_count
        disk.go_on.set()
        assert first.result(PATIENCE_S).offset == 0
        assert sorted(other.result(PATIENCE_S).offset for other in others) == list(range(1, THREADS))
        assert disk.sync_count == before + 2, "the first one's, and one for all the others"
        assert log.verify().batches == 2


def test_group_is_no_larger_than_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commit, "GROUP_BYTES_MAX", 2_000)
    disk = GatedDisk()
    with open_on(disk, clock_ns=Clock()) as log, ThreadPoolExecutor(THREADS) as threads:
        first, others = queued(disk, log, threads, value=bytes(700))
        disk.go_on.set()
        assert len({future.result(PATIENCE_S).offset for future in (first, *others)}) == THREADS
        assert log.verify().batches == 5, "the first one's, and of the others two by two"


def test_failing_group_fails_all_of_it_and_only_it() -> None:
    disk = GatedDisk()
    with open_on(disk, clock_ns=Clock()) as log, ThreadPoolExecutor(THREADS) as threads:
        first, others = queued(disk, log, threads, value=bytes(400_000))
        disk.capacity = sum(map(len, disk.files().values()))
        disk.go_on.set()
        first.result(PATIENCE_S)
        errors = [other.exception(PATIENCE_S) for other in others]
        assert all(isinstance(error, hansard.DiskFull) for error in errors)
        assert len({id(error) for error in errors}) == len(others), "each caller has an error of its own"
        disk.capacity = None
        assert log.append("after", "v").offset == 1
        assert [change.key for change in log.read()] == [b"first", b"after"]


def test_closing_waits_for_those_inside() -> None:
    disk = GatedDisk()
    log = open_on(disk, clock_ns=Clock())
    with ThreadPoolExecutor(THREADS + 1) as threads:
        first, others = queued(disk, log, threads)
        closing = threads.submit(log.close)
        eventually(lambda: log._door.is_shut)
        with pytest.raises(hansard.LogClosed):
            log.append("late", "v")
        assert not closing.done()
        disk.go_on.set()
        assert all(future.result(PATIENCE_S) for future in (first, *others))
        closing.result(PATIENCE_S)
    with open_on(disk.restarted(disk.operation_count)) as again:
        assert len(list(again.read())) == THREADS
