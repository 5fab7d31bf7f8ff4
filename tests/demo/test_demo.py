"""The demo, short: it keeps its promises, says so, leaves its cluster running if it is let, and nothing behind."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from random import Random

from typer.testing import CliRunner

from hansard.cli.main import app
from hansard.demo.tenants import TENANTS
from tests.cluster.command import environment

PATIENCE_S = 120
WHOLE_S = 400
"""With Spark, on a machine that does something else, too."""
COMMAND = [sys.executable, "-m", "hansard.demo", "--scene", "0.3"]


def variables(temporary: Path) -> dict[str, str]:
    return {**environment(TMPDIR=str(temporary)), "PYTHONUNBUFFERED": "1"}


def test_it_shows_all_of_it_and_leaves_nothing_behind(tmp_path: Path) -> None:
    words = [*COMMAND, "--once"]
    done = subprocess.run(words, env=variables(tmp_path), capture_output=True, text=True, timeout=WHOLE_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    shown = done.stdout
    assert re.findall(r"^(\d)\. ", shown, re.MULTILINE) == ["1", "2", "3", "4", "5", "6", "7"]
    assert "Who starts from either one has what somebody has" in shown and "/report.html" in shown
    assert "Nothing is lost, nothing doubled, nothing reordered" in shown and "\x1b" not in shown
    acknowledged, found = re.findall(r"^   (?:acknowledged|found) +([\d,]+)", shown, re.MULTILINE)[-2:]
    assert int(found.replace(",", "")) >= int(acknowledged.replace(",", "")) > 0
    assert list(tmp_path.iterdir()) == []


def test_the_cluster_stays_until_ctrl_c(tmp_path: Path) -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [*COMMAND, "--no-pipeline"], env=variables(tmp_path), stdout=pipe, stderr=pipe, text=True
    ) as process:
        try:
            assert process.stdout is not None
            lines = []
            for line in process.stdout:
                lines.append(line)
                if line.startswith("docs/start.md"):
                    break
            addresses = re.search(r"HANSARD_ADDRESSES=(\S+)", "".join(lines))
            assert addresses is not None, lines
            assert CliRunner().invoke(app, ["status", "--at", addresses[1]]).exit_code == 0
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=PATIENCE_S)
            assert (process.returncode, errors) == (0, "hansard: stopping; once more to stop at once\n")
        finally:
            process.kill()
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_in_the_middle_ends_everything(tmp_path: Path) -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [*COMMAND, "--no-pipeline"], env=variables(tmp_path), stdout=pipe, stderr=pipe, text=True
    ) as process:
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "")
        participants = [next(line for line in lines if line.startswith("   a "))]
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130 and participants
    assert list(tmp_path.iterdir()) == []
    assert not [each for each in Path("/proc").iterdir() if each.name.isdigit() and _is_of(each, tmp_path)]


def _is_of(process: Path, directory: Path) -> bool:
    try:
        return os.fsencode(directory) in (process / "cmdline").read_bytes()
    except OSError:
        return False


def test_every_tenants_changes_have_its_tag_and_its_keys() -> None:
    for name, draft in TENANTS.items():
        drafted = [draft(Random(seed)) for seed in range(50)]
        assert all(f"tenant:{name}" in each.tags and each.key.startswith(f"{name}/") for each in drafted)
        assert len({each.key for each in drafted}) > 1
