"""Following: what is there, then what comes, until there is no more to come."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from threading import Thread

import pytest

import hansard
from hansard import Change

PATIENCE_S = 20


class Follower:
    """A thread that follows and hands over what it gets."""

    def __init__(self, changes: Iterator[Change]) -> None:
        self._got: SimpleQueue[int | None] = SimpleQueue()
        self._thread = Thread(target=self._run, args=(changes,))
        self._thread.start()

    def _run(self, changes: Iterator[Change]) -> None:
        for change in changes:
            self._got.put(change.offset)
        self._got.put(None)

    def next(self) -> int | None:
        return self._got.get(timeout=PATIENCE_S)


def test_existing_changes_then_new_ones_then_the_end(log: hansard.Log) -> None:
    log.append_many([("a", "1"), ("b", "2")])
    follower = Follower(log.follow())
    assert [follower.next(), follower.next()] == [0, 1]
    log.append("c", "3")
    assert follower.next() == 2
    log.append_many([("d", "4"), ("e", "5")])
    assert [follower.next(), follower.next()] == [3, 4]
    log.close()
    assert follower.next() is None


def test_only_new_ones_with_a_tag(log: hansard.Log) -> None:
    log.append("old", "1", tags=["x"])
    follower = Follower(log.follow(log.bookmark(), tags=["x"]))
    log.append("other", "2", tags=["y"])
    log.append("new", "3", tags=["x"])
    assert follower.next() == 2
    log.close()
    assert follower.next() is None


def test_timeout_ends_it(log: hansard.Log) -> None:
    log.append_many([("a", "1"), ("b", "2")])
    assert [change.key for change in log.follow(timeout=0)] == [b"a", b"b"]
    assert list(log.follow(log.bookmark(), timeout=0.02)) == []


def test_changes_without_the_tag_do_not_prolong_the_wait(log: hansard.Log, clock: Callable[[], int]) -> None:
    with ThreadPoolExecutor(1) as others:
        followed = log.follow(tags=["x"], timeout=0.05)
        writing = others.submit(lambda: [log.append("other", "v") for _ in range(20)])
        assert list(followed) == []
        writing.result(PATIENCE_S)


def test_several_followers_see_the_same(log: hansard.Log) -> None:
    followers = [Follower(log.follow(log.bookmark())) for _ in range(4)]
    receipts = [log.append("k", "v").offset for _ in range(20)]
    assert [[follower.next() for _ in receipts] for follower in followers] == [receipts] * 4
    log.close()
    assert [follower.next() for follower in followers] == [None] * 4


def test_log_opened_for_reading_does_not_grow(tmp_path: Path) -> None:
    with hansard.open(tmp_path / "log") as log:
        log.append("k", "v")
    with hansard.open(tmp_path / "log", read_only=True) as log:
        assert len(list(log.follow())) == 1


def test_closed_log_cannot_be_followed(log: hansard.Log) -> None:
    log.close()
    with pytest.raises(hansard.LogClosed):
        log.follow()
