"""Bookmarks name their log, and say so when they meet another."""

from pathlib import Path

import pytest

import hansard
from hansard import Bookmark
from hansard.storage.settings import StoreSettings
from sim.disk import SimDisk
from tests.embedded.conftest import Clock


def test_bookmark_of_another_log_is_refused_by_name(log: hansard.Log, tmp_path: Path) -> None:
    with hansard.open(tmp_path / "other") as other:
        other.append("k", "v")
        theirs = other.bookmark()
    with pytest.raises(hansard.WrongLog, match=f"of the log {theirs.log_id}, and this is {log.id}"):
        log.read(since=theirs)
    with pytest.raises(hansard.WrongLog):
        log.page(until=str(theirs))
    with pytest.raises(hansard.WrongLog):
        log.follow(theirs)


def test_bookmark_past_the_end_means_an_older_copy(log: hansard.Log) -> None:
    log.append("k", "v")
    with pytest.raises(hansard.AheadOfLog, match="points to offset 2, and the log ends at 1"):
        log.read(since=Bookmark(log.id, {0: 2}))


def test_bookmark_older_than_what_is_retained_says_what_is(disk: SimDisk, clock: Clock) -> None:
    settings = StoreSettings(segment_bytes=200)
    with hansard.embedded.open_on(disk, clock_ns=clock, settings=settings) as log:
        old = log.bookmark()
        for number in range(10):
            log.append("k", bytes(100) + b"%d" % number)
        log.retain(max_changes=3)
        start = log.info().start
        assert 0 < start < 10
        with pytest.raises(hansard.Trimmed, match=f"the log begins at {start}") as caught:
            log.read(since=old)
        assert caught.value.start == start
        with pytest.raises(hansard.Trimmed):
            log.read(since=old, order="desc")
        assert [change.offset for change in log.read()] == list(range(start, 10))
        assert next(log.read(since="2024-05-31T12:00:00Z")).offset == start
