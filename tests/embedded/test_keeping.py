"""Opening, closing, retaining, holding, and looking at a log."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import hansard
from hansard.embedded import open_on
from hansard.storage import identity
from hansard.storage.settings import StoreSettings
from hansard.storage.store import open_store
from sim.disk import SimDisk
from tests.embedded.conftest import NOON, Clock

SMALL = StoreSettings(segment_bytes=200)


@pytest.fixture
def segmented(disk: SimDisk, clock: Clock) -> Iterator[hansard.Log]:
    """Ten changes a second apart, each in a segment of its own."""
    with open_on(disk, clock_ns=clock, settings=SMALL) as log:
        for number in range(10):
            log.append(f"k{number}", bytes(200))
        log.retain()
        yield log


def test_everything_is_there_after_reopening(tmp_path: Path) -> None:
    with hansard.open(tmp_path / "log") as log:
        log.append("k", "v", tags=["t"])
        before, log_id = list(log.read()), log.id
    with hansard.open(tmp_path / "log", create=False) as log:
        assert list(log.read()) == before and log.id == log_id


def test_directory_is_made_with_its_parents(tmp_path: Path) -> None:
    with hansard.open(str(tmp_path / "a" / "b")) as log:
        assert log.append("k", "v").offset == 0


def test_missing_log_is_not_made_unless_asked_for(tmp_path: Path) -> None:
    with pytest.raises(hansard.NoStore, match=r"there is no log in .*leave out create=False"):
        hansard.open(tmp_path / "none", create=False)
    with pytest.raises(hansard.NoStore, match="is the path right"):
        hansard.open(tmp_path, read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_directory_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(hansard.NoStore, match=r"not empty \(thesis.txt\)"):
        hansard.open(tmp_path)
    with pytest.raises(hansard.NoStore, match="is a file; a log is a directory"):
        hansard.open(tmp_path / "thesis.txt")


def test_second_open_in_this_process_is_told_so(log: hansard.Log) -> None:
    for read_only in (False, True):
        with pytest.raises(hansard.LogInUse, match="open in this process already"):
            hansard.open(log.path, read_only=read_only)


def test_others_are_told_who_holds_it() -> None:
    held = hansard.LogInUse("here", 7)
    assert str(held) == "here is in use by process 7; only one at a time may write to it"
    assert str(hansard.LogInUse("here", 7, read_only=True)).endswith("it can be read when that has closed it")
    assert isinstance(held, hansard.DirectoryLocked) and held.holder == 7


def test_readers_share_and_keep_writers_out(tmp_path: Path) -> None:
    with hansard.open(tmp_path) as log:
        log.append("k", "v")
    with hansard.open(tmp_path, read_only=True) as one, hansard.open(tmp_path, read_only=True) as other:
        assert list(one.read()) == list(other.read())
        with pytest.raises(hansard.ReadOnly):
            one.append("k", "v")
        with pytest.raises(hansard.LogInUse, match="a process that reads it"):
            hansard.open(tmp_path)


def test_read_only_changes_nothing(tmp_path: Path) -> None:
    with hansard.open(tmp_path) as log:
        log.append("k", "v")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    with hansard.open(tmp_path, read_only=True) as log:
        assert len(list(log.read())) == 1
        assert log.verify().damage == []
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_participants_directory_is_not_written_to(disk: SimDisk) -> None:
    open_store(disk, create=identity.Identity("log", "cluster-7", "node-1")).close()
    with pytest.raises(hansard.StorageError, match="cluster_id is cluster-7"):
        open_on(disk)
    with open_on(disk, read_only=True) as log:
        assert list(log.read()) == []


def test_closing_twice_is_harmless_and_later_calls_say_so(log: hansard.Log) -> None:
    reading = log.read()
    log.append("k", "v")
    with_one = log.read()
    log.close()
    log.close()
    assert "(closed)" in repr(log)
    assert list(reading) == []
    for call in (lambda: log.append("k", "v"), log.read, log.bookmark, log.info, log.verify, lambda: next(with_one)):
        with pytest.raises(hansard.LogClosed, match=r"is closed; hansard.open\(\) opens it again"):
            call()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fork_may_not_append(log: hansard.Log) -> None:
    child = os.fork()
    if child == 0:
        try:
            log.append("k", "v")
        except hansard.OtherProcess:
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert log.append("k", "v").offset == 0


def test_retain_by_changes_bytes_and_age(segmented: hansard.Log, clock: Clock) -> None:
    segmented.retain(max_changes=8)
    assert segmented.info().start == 2
    segmented.retain(max_bytes=4 * segmented.info().byte_count // 8)
    assert segmented.info().start == 6
    clock.now_us = NOON + 10_000_000
    segmented.retain(max_age=timedelta(seconds=2, milliseconds=500))
    assert [change.offset for change in segmented.read()] == [8, 9]
    segmented.retain(max_changes=0)
    assert list(segmented.read()) == []
    assert segmented.append("k", "v").offset == 10


def test_hold_keeps_what_a_reader_still_wants(segmented: hansard.Log, clock: Clock) -> None:
    clock.now_us = NOON
    segmented.hold("reader", 4, expires=timedelta(hours=1))
    segmented.hold("other", segmented.bookmark(), expires=datetime(2024, 6, 1, tzinfo=UTC))
    segmented.retain(max_changes=0)
    assert segmented.info().start == 4
    assert [(hold.name, hold.offset, hold.expires.isoformat()) for hold in segmented.info().holds] == [
        ("reader", 4, "2024-05-31T13:00:01+00:00"),
        ("other", 10, "2024-06-01T00:00:00+00:00"),
    ]
    segmented.hold("reader", 6, expires=timedelta(hours=1))
    segmented.retain(max_changes=0)
    assert segmented.info().start == 6
    segmented.release("reader")
    segmented.release("reader")
    segmented.retain(max_changes=0)
    assert segmented.info().start == 10


def test_hold_expires(segmented: hansard.Log, clock: Clock) -> None:
    clock.now_us = NOON
    segmented.hold("reader", 4, expires=timedelta(minutes=1))
    clock.now_us = NOON + 120_000_000
    segmented.retain(max_changes=0)
    assert segmented.info().start == 10 and segmented.info().holds == []


def test_what_is_gone_cannot_be_held(segmented: hansard.Log) -> None:
    segmented.retain(max_changes=5)
    with pytest.raises(hansard.Trimmed):
        segmented.hold("late", 2, expires=timedelta(minutes=1))


def test_info_of_an_empty_log(log: hansard.Log) -> None:
    info = log.info()
    assert (info.start, info.end, info.first_time, info.last_time, info.byte_count) == (0, 0, None, None, 0)
    assert (info.path, info.log_id, info.holds, info.full, info.damage) == (log.path, log.id, [], None, [])


def test_info_counts_what_is_stored(segmented: hansard.Log) -> None:
    segmented.append("unfiled", "v")
    info = segmented.info()
    assert (info.start, info.end, info.segments) == (0, 11, 10)
    assert 0 < info.unfiled_bytes < info.byte_count
    assert info.first_time == datetime(2024, 5, 31, 12, 0, 1, tzinfo=UTC)
    assert info.last_time is not None and info.last_time > info.first_time


def test_verify_looks_at_everything(segmented: hansard.Log) -> None:
    segmented.append("unfiled", "v")
    seen: list[tuple[int, int]] = []
    report = segmented.verify(deep=True, progress=lambda done, total: seen.append((done, total)))
    assert (report.changes, report.batches, report.segments, report.damage) == (11, 11, 10, [])
    assert seen[-1] == (report.byte_count, report.byte_count) and len(seen) == 11


def test_names_of_the_package_are_all_there() -> None:
    for name in hansard.__all__:
        assert getattr(hansard, name) is not None
    assert "open" in dir(hansard)
    with pytest.raises(AttributeError, match="no attribute 'close'"):
        _ = hansard.close  # type: ignore[attr-defined]
