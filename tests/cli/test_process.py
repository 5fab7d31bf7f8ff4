"""The command as a process of its own: pipes, terminals, signals, and how fast it starts."""

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

import hansard
from tests.cli.conftest import json_lines

COMMAND = [sys.executable, "-m", "hansard"]
PATIENCE_S = 30


@contextmanager
def started(*words: str | Path) -> Iterator["subprocess.Popen[str]"]:
    command = [*COMMAND, *map(str, words)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def say(stream: IO[str] | None, text: str) -> None:
    assert stream is not None
    stream.write(text)
    stream.flush()


def hear(stream: IO[str] | None) -> str:
    assert stream is not None
    return stream.readline()


def test_help_loads_nothing_heavy() -> None:
    code = "import sys, hansard.cli.main; print([name for name in ('numpy', 'pyarrow', 'rich') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_typed_line_is_acknowledged_at_once_and_ctrl_c_loses_nothing(tmp_path: Path) -> None:
    with started("log", "append", tmp_path / "log", "--json") as process:
        for number in range(3):
            say(process.stdin, f'{{"key": "k{number}"}}\n')
            assert json_lines(hear(process.stdout))[0]["offset"] == number
        say(process.stdin, '{"key": "half a li')
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130 and rest == ""
    assert errors == "hansard: interrupted (3 changes are stored)\n"
    with hansard.open(tmp_path / "log") as log:
        assert [change.key for change in log.read()] == [b"k0", b"k1", b"k2"]


def test_locked_directory_names_its_holder(tmp_path: Path) -> None:
    with hansard.open(tmp_path / "log"), started("log", "read", tmp_path / "log") as process:
        printed, errors = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, printed) == (1, "")
    holder = f"process {os.getpid()}; it can be read when that has closed it"
    assert errors == f"hansard: {tmp_path / 'log'} is in use by {holder}\n"


def test_closed_pipe_is_silent(tmp_path: Path) -> None:
    with hansard.open(tmp_path / "log") as log:
        log.append_many([(f"k{number}", bytes(100)) for number in range(5_000)])
    with started("log", "read", tmp_path / "log") as process:
        assert hear(process.stdout).split()[0] == "0"
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(PATIENCE_S) == 141


def on_terminal(*words: str | Path, stdin: str = "") -> str:
    """What a terminal of 60 columns gets to see."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": "60", "TERM": "xterm"}
    command = [*COMMAND, *map(str, words)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    process.communicate(stdin.encode(), timeout=PATIENCE_S)
    seen = b""
    while True:
        try:
            piece = os.read(ours, 1 << 16)
        except OSError:  # how Linux says that the other end is closed
            break
        if not piece:
            break
        seen += piece
    os.close(ours)
    assert process.returncode == 0, seen
    return seen.decode()


@pytest.fixture
def log_of_one(tmp_path: Path) -> Path:
    with hansard.open(tmp_path / "log") as log:
        log.append("key", "long " * 50)
    return tmp_path / "log"


def test_values_are_cut_to_the_terminal(log_of_one: Path) -> None:
    (line,) = on_terminal("log", "read", log_of_one).splitlines()
    assert len(line) == 60 and line.endswith("long…")


def test_progress_is_shown_on_a_terminal(log_of_one: Path) -> None:
    assert "verifying" in on_terminal("log", "verify", log_of_one)
    seen = on_terminal("log", "append", log_of_one, stdin='{"key": "k"}\n' * 3)
    assert "stored at offsets 1 to 3" in seen and "appending" in seen
