"""Each patch in this folder plants one bug. On a copy of the code that has it, what the patch names must fail.

A test that has never failed proves nothing; these are the failures, kept. A patch that no longer applies is one too:
make it anew for the code as it is.

    Found by: tests/storage/test_x.py::test_y     that test fails
    Found by seeds: 60                            plain `make sim` fails within so many seeds
    In the world: atomic                          of this world, if it is not the bucket's
    Seen at seed: 16                              it is looked for there first, because that is quicker
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PATCHES = sorted(Path(__file__).parent.glob("*.patch"))
BY_TESTS = [patch for patch in PATCHES if "\nFound by: " in patch.read_text()]
BY_SEEDS = [patch for patch in PATCHES if "\nFound by seeds: " in patch.read_text()]
FAILED = 1
"""What pytest and sim.seeds exit with when something has failed, as opposed to not having run."""


def test_every_bug_says_what_finds_it() -> None:
    assert sorted([*BY_TESTS, *BY_SEEDS]) == PATCHES
    assert len(BY_TESTS) >= 20 and len(BY_SEEDS) >= 10


@pytest.mark.parametrize("patch", BY_TESTS, ids=lambda patch: patch.stem)
def test_a_planted_bug_is_found(patch: Path, tmp_path: Path) -> None:
    (finder,) = re.findall(r"^Found by: (\S+)$", patch.read_text(), re.MULTILINE)
    options = ("-x", "-q", "-p", "no:cacheprovider", "-p", "hansard.testing.plugin")
    run = _run(_planted(patch, tmp_path), "pytest", *options, finder)
    assert run.returncode == FAILED, f"{finder} did not find {patch.stem}:\n{run.stdout[-2000:]}{run.stderr[-2000:]}"


@pytest.mark.parametrize("patch", BY_SEEDS, ids=lambda patch: patch.stem)
def test_a_planted_bug_breaks_a_promise_in_the_simulator(patch: Path, tmp_path: Path) -> None:
    (seeds,) = re.findall(r"^Found by seeds: (\d+)$", patch.read_text(), re.MULTILINE)
    (seen,) = re.findall(r"^Seen at seed: (\d+)$", patch.read_text(), re.MULTILINE)
    assert int(seen) < int(seeds)
    world = re.findall(r"^In the world: (\w+)$", patch.read_text(), re.MULTILINE) or ["bucket"]
    folder = _planted(patch, tmp_path)
    run = _run(folder, "sim.seeds", "--world", world[0], "--seed", seen)
    if run.returncode == 0:
        run = _run(folder, "sim.seeds", "--world", world[0], "--seeds", seeds, "--failures", "1", "--processes", "1")
    found = run.returncode == FAILED and re.search(r"^seed \d+", run.stdout, re.MULTILINE)
    assert found, f"{seeds} seeds did not find {patch.stem}:\n{run.stdout[-2000:]}{run.stderr[-2000:]}"


def _planted(patch: Path, folder: Path) -> Path:
    """A copy of the code with the bug; what is compiled already is copied too, but for the files that the bug is in."""
    changed = re.findall(r"^\+\+\+ b/.*/(\w+)\.py$", patch.read_text(), re.MULTILINE)
    left_out = shutil.ignore_patterns("planted", *[f"{name}.*.pyc" for name in changed])
    for name in ("src", "sim", "tests", "bench"):
        shutil.copytree(ROOT / name, folder / name, ignore=left_out)
    shutil.copy(ROOT / "pyproject.toml", folder)
    applied = subprocess.run(
        ["git", "apply", "--whitespace=nowarn", str(patch)], cwd=folder, capture_output=True, text=True, check=False
    )
    assert applied.returncode == 0, f"{patch.name} no longer applies: {applied.stderr}"
    return folder


def _run(folder: Path, module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=folder,
        env={
            "PYTHONPATH": f"{folder / 'src'}:{folder}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # the others take longer to load than most of these tests to run
            "PATH": os.defpath,
        },
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
