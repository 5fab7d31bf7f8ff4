"""Ctrl-C at the worst moments: nobody else is held up, and the log goes on at the right offset."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Thread
from types import FrameType

import pytest

import hansard
from hansard.embedded import HeldInterrupts, open_on
from sim.disk import SimDisk
from tests.embedded.conftest import Clock
from tests.embedded.test_threads import PATIENCE_S, GatedDisk, eventually


def interrupt() -> None:
    """As a terminal does it; Python runs the handler in the main thread, soon."""
    os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture(autouse=True)
def handler_stays() -> Iterator[None]:
    """Whatever happens, the handler is afterwards what it was before."""
    before = signal.getsignal(signal.SIGINT)
    yield
    assert signal.getsignal(signal.SIGINT) is before


class InterruptedDisk(SimDisk):
    """Interrupts the process just after a sync, before anybody in it knows that the bytes are on disk."""

    is_armed = False

    def next_sync_fails(self) -> bool:
        if self.is_armed:
            self.is_armed = False
            interrupt()
        return super().next_sync_fails()


def test_interrupt_while_committing_comes_when_the_change_is_stored() -> None:
    disk = InterruptedDisk()
    with open_on(disk, clock_ns=Clock()) as log:
        log.append("before", "v")
        disk.is_armed = True
        with pytest.raises(KeyboardInterrupt):
            log.append("interrupted", "v")
        assert log.append("after", "v").offset == 2
        assert [change.key for change in log.read()] == [b"before", b"interrupted", b"after"]
    with open_on(disk.restarted(disk.operation_count)) as again:
        assert [change.offset for change in again.read()] == [0, 1, 2]


def test_interrupt_while_waiting_takes_the_change_back() -> None:
    disk = GatedDisk()
    with open_on(disk, clock_ns=Clock()) as log, ThreadPoolExecutor(2) as threads:
        disk.is_gated = True
        first = threads.submit(log.append, "first", "v")
        assert disk.reached.wait(PATIENCE_S)

        def disturb() -> None:
            eventually(lambda: len(log._committer._queue) == 2)
            interrupt()

        Thread(target=disturb).start()
        other = threads.submit(log.append, "other", "v")
        with pytest.raises(KeyboardInterrupt):
            log.append("taken back", "v")
        disk.go_on.set()
        assert (first.result(PATIENCE_S).offset, other.result(PATIENCE_S).offset) == (0, 1)
        assert log.append("after", "v").offset == 2
        assert [change.key for change in log.read()] == [b"first", b"other", b"after"]


def test_interrupt_of_the_one_whose_turn_it_is_makes_it_the_next_ones() -> None:
    """The main thread is told that it is its turn, and is interrupted before it can act on it."""
    with open_on(GatedDisk(), clock_ns=Clock()) as log:
        committer = log._committer
        committer._committing = True  # as if somebody were
        with ThreadPoolExecutor(1) as threads:
            others = []

            def disturb() -> None:
                eventually(lambda: len(committer._queue) == 1)
                others.append(threads.submit(log.append, "other", "v"))
                eventually(lambda: len(committer._queue) == 2)
                with committer._lock:
                    committer._committing = False
                interrupt()

            disturbing = Thread(target=disturb)
            disturbing.start()
            with pytest.raises(KeyboardInterrupt):
                log.append("interrupted", "v")
            disturbing.join(PATIENCE_S)
            assert others[0].result(PATIENCE_S).offset == 0


class UnheldFailure(BaseException):
    """What a program's own signal handler might raise."""


class CutShort(Clock):
    is_armed = True

    def __call__(self) -> int:
        if self.is_armed:
            self.is_armed = False
            raise UnheldFailure
        return super().__call__()


def test_commit_that_is_cut_short_otherwise_stops_the_log_but_nobody_waits() -> None:
    with open_on(SimDisk(), clock_ns=CutShort()) as log:
        with pytest.raises(UnheldFailure):
            log.append("k", "v")
        for _ in range(2):
            with pytest.raises(hansard.Unsettled, match="open it again and look"):
                log.append("k", "v")
        assert list(log.read()) == []


def test_holds_within_each_other_let_the_interrupt_through_at_the_very_end() -> None:
    steps = []

    def work() -> None:
        with HeldInterrupts():
            with HeldInterrupts():
                interrupt()
                steps.append("inner")
            steps.append("outer")
        steps.append("never")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert steps == ["inner", "outer"]


def test_hold_lets_the_interrupt_through_where_it_is_exposed() -> None:
    with pytest.raises(KeyboardInterrupt), HeldInterrupts() as hold:
        hold.exposed(interrupt)


def test_hold_keeps_a_programs_own_handler() -> None:
    seen: list[int] = []

    def handler(number: int, frame: FrameType | None) -> None:
        seen.append(number)

    before = signal.signal(signal.SIGINT, handler)
    try:
        with HeldInterrupts():
            interrupt()
            assert seen == []
        assert seen == [signal.SIGINT] and signal.getsignal(signal.SIGINT) is handler
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with HeldInterrupts():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_hold_in_another_thread_does_nothing() -> None:
    before = signal.getsignal(signal.SIGINT)
    with ThreadPoolExecutor(1) as threads:

        def held() -> bool:
            with HeldInterrupts():
                return signal.getsignal(signal.SIGINT) is before

        assert threads.submit(held).result(PATIENCE_S)
