"""A disk that fills up, fails and crashes: what was acknowledged is there, and the rest is told apart from it."""

from random import Random

import pytest

import hansard
from hansard.embedded import open_on
from hansard.storage.settings import StoreSettings
from sim.disk import SimDisk
from tests.embedded.conftest import Clock
from tests.embedded.test_threads import eventually

SMALL = StoreSettings(journal_file_bytes=1 << 20, unfiled_bytes_max=8_000, segment_bytes=4_000, block_bytes=500)


def keys(log: hansard.Log) -> list[bytes | None]:
    return [change.key for change in log.read()]


def test_full_disk_refuses_and_recovers(disk: SimDisk, simulated: hansard.Log) -> None:
    simulated.append("before", "v")
    disk.capacity = sum(map(len, disk.files().values()))
    for _ in range(2):
        with pytest.raises(hansard.DiskFull, match="no room for"):
            simulated.append("too much", bytes(2 << 20))
    assert simulated.info().full is not None
    assert keys(simulated) == [b"before"]
    disk.capacity = None
    assert simulated.append("after", bytes(2 << 20)).offset == 1
    assert simulated.info().full is None
    assert keys(simulated) == [b"before", b"after"]


def test_failed_sync_is_the_end(disk: SimDisk, simulated: hansard.Log) -> None:
    simulated.append("before", "v")
    disk.fail_sync = disk.sync_count + 1
    with pytest.raises(hansard.SyncFailed):
        simulated.append("in doubt", "v")
    for _ in range(2):
        with pytest.raises(hansard.StoreFailed, match="restart the process"):
            simulated.append("after", "v")
    assert keys(simulated) == [b"before"]
    simulated.close()
    with pytest.raises(hansard.LogInUse):
        open_on(disk)
    with open_on(disk.restarted(disk.operation_count)) as again:
        assert keys(again)[:1] == [b"before"]


def test_acknowledged_changes_survive_a_crash_at_any_point(clock: Clock) -> None:
    disk = SimDisk()
    acknowledged: list[tuple[int, int]] = []
    with open_on(disk, clock_ns=clock, settings=SMALL) as log:
        log_id = log.id
        for number in range(40):
            log.append_many([(f"k{number}", bytes(number * 7), ["t"])] * (1 + number % 3))
            acknowledged.append((disk.operation_count, log.info().end))
            if number % 9 == 8:
                log.retain()
                acknowledged.append((disk.operation_count, log.info().end))
        everything = list(log.read())
    random = Random(7)
    for at in range(acknowledged[0][0], disk.operation_count, 3):
        promised = max(end for operations, end in acknowledged if operations <= at)
        with open_on(disk.crashed(at, random), clock_ns=clock, settings=SMALL) as again:
            found = list(again.read())
            assert again.id == log_id
            assert len(found) >= promised and found == everything[: len(found)]
            assert again.append("after", "v").offset == len(found)


def test_background_filing_keeps_up(disk: SimDisk, clock: Clock) -> None:
    with open_on(disk, clock_ns=clock, settings=SMALL) as log:
        for _ in range(60):
            log.append("k", bytes(300))
            eventually(lambda: not log._store.filing_due)
        info = log.info()
        assert info.segments > 2 and info.unfiled_bytes < SMALL.unfiled_bytes_max
        assert len(keys(log)) == 60


def test_filing_that_fails_stops_appends_and_says_why(disk: SimDisk, clock: Clock) -> None:
    with open_on(disk, clock_ns=clock, settings=SMALL) as log:
        while not 2 * log._store.journal.unfiled_bytes + 1_000 > SMALL.unfiled_bytes_max:
            log.append("k", bytes(100))
        disk.flip("journal/00.journal", 300, 1)
        log.append("k", bytes(1_000))
        filer = log._filer
        assert filer is not None
        eventually(lambda: not filer._thread.is_alive())
        for _ in range(2):
            with pytest.raises(hansard.Corrupt, match=r"journal/00\.journal is damaged"):
                log.append("k", "v")
        with pytest.raises(hansard.Corrupt):
            list(log.read())


def test_damage_is_reached_after_everything_before_it(disk: SimDisk, simulated: hansard.Log) -> None:
    for number in range(5):
        simulated.append(f"k{number}", bytes(40_000))
    simulated.retain()
    (path,) = [path for path in disk.files() if path.endswith(".segment")]
    disk.flip(path, 100_000, 4)
    read = simulated.read()
    assert [next(read).offset, next(read).offset] == [0, 1]
    with pytest.raises(hansard.Corrupt, match="offsets 2 to 2"):
        next(read)
    assert [change.offset for change in simulated.read(since=3)] == [3, 4]
    report = simulated.verify()
    assert [(found.first, found.end) for found in report.damage] == [(2, 3)]
