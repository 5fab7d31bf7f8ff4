"""`hansard dev` as a process: it says where its participants are, goes on without one, and leaves nothing behind."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hansard.cli.local import are_free, free_ports
from tests.cli.conftest import Run
from tests.cluster.command import environment

PATIENCE_S = 60


@contextmanager
def developing(temporary: Path, *words: str | Path) -> Iterator[tuple["subprocess.Popen[str]", Any]]:
    """The process, and what it says once all take part."""
    command = [sys.executable, "-m", "hansard", "dev", "--json", *map(str, words)]
    pipe = subprocess.PIPE
    variables = environment(TMPDIR=str(temporary))
    with subprocess.Popen(command, env=variables, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            yield process, json.loads(line) if line else None
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(PATIENCE_S)


def free_run(count: int) -> str:
    """The first of so many ports in a row that are free."""
    port = next(port for port in free_ports(50) if are_free(range(port, port + count)))
    return str(port)


def ended(process: "subprocess.Popen[str]", number: int) -> tuple[int, str]:
    process.send_signal(number)
    _, errors = process.communicate(timeout=PATIENCE_S)
    return process.returncode, errors


def test_it_says_where_they_are_and_throws_everything_away(tmp_path: Path, run: Run) -> None:
    with developing(tmp_path, "-n", "2", "--buckets", "2") as (process, said):
        assert list(said["participants"]) == ["a", "b"]
        done = run("status", "--json", "--at", ",".join(said["addresses"]))
        assert done.exit_code == 0 and len(json.loads(done.stdout)["participants"]) == 2
        assert ended(process, signal.SIGINT) == (0, "hansard: stopping; once more to stop at once\n")
    assert list(tmp_path.iterdir()) == []
    assert run("status", "--at", ",".join(said["addresses"])).exit_code == 1


def test_data_is_kept_and_gone_on_with(tmp_path: Path, run: Run) -> None:
    port, logs = free_run(1), list[str]()
    for _ in range(2):
        with developing(tmp_path, "-n", "1", "--data", tmp_path / "data", "--port", port) as (process, said):
            assert said["addresses"] == [f"127.0.0.1:{port}"]
            logs.append(json.loads(run("table", "--json", "--at", f"127.0.0.1:{port}").stdout)["log"])
            assert ended(process, signal.SIGTERM)[0] == 0
    assert logs[0] == logs[1] and (tmp_path / "data" / "a.log").exists()


def test_a_participant_that_dies_is_told_and_the_others_go_on(tmp_path: Path, run: Run) -> None:
    words: list[str | Path] = ["-n", "3", "--buckets", "1", "--data", tmp_path / "data", "--port", free_run(3)]
    with developing(tmp_path, *words) as (process, said):
        victim = int((tmp_path / "data" / "c" / "lock").read_text())
        os.kill(victim, signal.SIGKILL)
        assert process.stderr is not None
        assert process.stderr.readline().startswith("hansard: c has ended, the others go on: ")
        assert run("table", "--at", said["addresses"][0]).exit_code == 0


def test_what_cannot_be_is_refused(tmp_path: Path, run: Run) -> None:
    assert "--buckets must be a power of two, not 3" in run("dev", "--buckets", "3").stderr
    assert "--shape must be star or chain" in run("dev", "--shape", "ring").stderr
    with developing(tmp_path, "-n", "1", "--port", free_run(1)) as (_, said):
        port = said["addresses"][0].rpartition(":")[2]
        done = run("dev", "--port", port)
        assert done.exit_code == 1 and "is in use: give another --port" in done.stderr
