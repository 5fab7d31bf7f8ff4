"""The demo, small: it keeps its promise, says so, and leaves nothing behind."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import hansard
from hansard import demo

PATIENCE_S = 60


def demo_command(changes: int) -> list[str]:
    return [sys.executable, "-m", "hansard.demo", "--changes", str(changes)]


def test_nothing_acknowledged_is_lost_and_the_directory_goes(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        demo_command(20_000), env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"1\d,000 changes acknowledged", done.stdout)
    assert "Nothing that was acknowledged is lost." in done.stdout
    assert "docs/start.md" in done.stdout and "\x1b" not in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_cleans_up(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        demo_command(100_000_000), env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("1. ")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130 and errors == ""
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_at_the_birth_of_the_child_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    born: list[subprocess.Popen[str]] = []

    def interrupted(command: list[str], **options: Any) -> subprocess.Popen[str]:
        born.append(popen(command, **options))
        signal.raise_signal(signal.SIGINT)
        return born[0]

    popen = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", interrupted)
    with pytest.raises(KeyboardInterrupt), demo.child([sys.executable, "-c", f"import time; time.sleep({PATIENCE_S})"]):
        pytest.fail("nothing was interrupted")
    assert born[0].returncode == -signal.SIGKILL


@pytest.mark.parametrize("missing", ["first", "value"])
def test_loss_would_be_noticed(tmp_path: Path, missing: str) -> None:
    """The demo's own check, on a log that lacks what it is told was acknowledged."""
    keys, values, tags = demo.columns(0)
    with hansard.open(tmp_path / "devices") as log:
        log.append_columns(keys, values if missing == "first" else [b"other", *values[1:]], tags)
        promised = [demo.Acknowledged(0, demo.BATCH_CHANGES, demo.checksum(keys, values), 0)]
        if missing == "first":
            promised.append(demo.Acknowledged(demo.BATCH_CHANGES, demo.BATCH_CHANGES, 0, 0))
        assert not demo.Demo(Console(quiet=True), str(tmp_path)).compare(log, promised)


def test_what_is_there_is_enough(tmp_path: Path) -> None:
    keys, values, tags = demo.columns(0)
    with hansard.open(tmp_path / "devices") as log:
        log.append_columns(keys, values, tags)
        promised = [demo.Acknowledged(0, demo.BATCH_CHANGES, demo.checksum(keys, values), 0)]
        assert demo.Demo(Console(quiet=True), str(tmp_path)).compare(log, promised)
