"""Being inside the log at the wrong moment: in a fork, in a signal handler, at an end that is in doubt."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import hansard
from hansard.embedded import open_on
from hansard.embedded.errors import CloseFromInside
from hansard.storage.errors import Corrupt, StorageError
from hansard.storage.record import RECORD_BYTES
from sim.disk import SimDisk

CLOSES_IN_A_HANDLER = """
import os, signal, sys
import hansard

log = hansard.open(sys.argv[1])

def close(*_):
    log.close()

signal.signal(signal.SIGUSR1, close)
log.append("a", "b")
log.verify(progress=lambda done, total: os.kill(os.getpid(), signal.SIGUSR1))
"""


def test_a_fork_is_told_that_the_log_is_not_its_own(tmp_path: Path) -> None:
    with hansard.open(tmp_path / "log") as log:
        log.append("a", "b")
        child = os.fork()
        if child == 0:
            try:
                list(log.read())
            except hansard.OtherProcess:
                os._exit(0)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_closing_from_a_signal_handler_inside_the_log_fails_instead_of_waiting_for_itself(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CLOSES_IN_A_HANDLER, str(tmp_path / "log")],
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert CloseFromInside.__name__ in done.stderr, done.stderr


def test_closing_from_a_callback_fails_instead_of_waiting_for_itself(tmp_path: Path) -> None:
    with hansard.open(tmp_path / "log") as log:
        log.append("a", "b")
        with pytest.raises(CloseFromInside):
            log.verify(progress=lambda _done, _total: log.close())
        log.append("a", "c")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_end_that_is_in_doubt_is_never_passed_off_as_the_end() -> None:
    disk = SimDisk()
    with open_on(disk) as log:
        for number in range(3):
            log.append("k", str(number))
    journal = "journal/00.journal"
    place = disk.files()[journal].rfind(b"HNSB")
    disk.flip(journal, place - RECORD_BYTES + 20, 1)
    with open_on(disk) as log:
        changes = log.read()
        assert [next(changes).value, next(changes).value] == [b"0", b"1"]
        with pytest.raises(Corrupt):
            next(changes)
        with pytest.raises(Corrupt):
            log.scan_arrow().read_all()
        with pytest.raises(Corrupt):
            list(log.read(order="desc"))
        with pytest.raises(Corrupt):
            log.page(limit=10)
        assert not log.page(limit=2).at_end
        assert len(log.give_up_damaged()) > 0
        log.append("k", "again")
        assert [change.value for change in log.read()] == [b"0", b"1", b"again"]


def test_an_open_that_fails_leaves_no_file_open(tmp_path: Path) -> None:
    with hansard.open(tmp_path / "log") as log:
        log.append("a", "b")
    with (tmp_path / "log/journal/00.journal").open("r+b") as file:
        file.seek(9)
        file.write(b"\xff")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        with pytest.raises(StorageError):
            hansard.open(tmp_path / "log")
    assert len(list(Path("/proc/self/fd").iterdir())) == before
