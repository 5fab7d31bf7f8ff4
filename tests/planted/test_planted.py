"""Each patch in this folder plants one bug. On a copy of the code that has it, the test that the patch names must fail.

A test that has never failed proves nothing; these are the failures, kept. A patch that no longer applies is one too:
make it anew for the code as it is.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PATCHES = sorted(Path(__file__).parent.glob("*.patch"))
FAILED = 1
"""What pytest exits with when tests have failed, as opposed to not having run."""


def test_there_are_bugs_to_plant() -> None:
    assert len(PATCHES) >= 3


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.stem)
def test_a_planted_bug_is_found(patch: Path, tmp_path: Path) -> None:
    finder = re.search(r"^Found by: (\S+)$", patch.read_text(), re.MULTILINE)
    assert finder, f"{patch.name} does not say which test finds it"
    for name in ("src", "sim", "tests"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "planted"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    applied = subprocess.run(
        ["git", "apply", "--whitespace=nowarn", str(patch)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert applied.returncode == 0, f"{patch.name} no longer applies: {applied.stderr}"
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", finder[1]],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path / "src"), "PYTHONDONTWRITEBYTECODE": "1", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == FAILED, f"{finder[1]} did not find {patch.stem}:\n{run.stdout[-2000:]}{run.stderr[-2000:]}"
