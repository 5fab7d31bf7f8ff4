"""No receipt leaves the process before what it stands for is on disk: read from the system calls of a real run."""

import re
import sys
from pathlib import Path

import pytest

from tests.live.child import THREADS
from tests.live.durability import complaints, receipts, reuse_count
from tests.live.trace import traced

ROOT = Path(__file__).parents[2]
SUBMISSIONS = 60
"""Of each thread."""


class Run:
    """A child's life from the making of the directory on, of which the folder above is missing, too."""

    def __init__(self, folder: Path, *module: str) -> None:
        self.directory = folder / "new" / "log"
        command = [sys.executable, "-m", *module, str(self.directory), "traced", str(SUBMISSIONS)]
        self.calls = traced(command, folder / "trace", folder=ROOT)

    def complaints_without(self, ending: str) -> list[str]:
        """As if nothing had been synced whose path ends so."""
        left = [call for call in self.calls if not ("sync" in call.name and call.path.endswith(ending))]
        assert len(left) < len(self.calls)
        return complaints(left, self.directory)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return Run(tmp_path_factory.mktemp("run"), "tests.live.child")


def test_everything_is_on_disk_before_anything_relies_on_it(run: Run) -> None:
    assert complaints(run.calls, run.directory) == []
    # If these fail the code is not wrong, but the trace shows less than it should.
    assert len(list(receipts(run.calls))) == THREADS * SUBMISSIONS
    assert reuse_count(run.calls) >= 2
    assert len({call.path for call in run.calls if call.path.endswith(".segment")}) >= 2
    assert any(call.name == "fdatasync" and call.ended > call.began + 1 for call in run.calls)


def test_process_that_does_not_sync_its_journal_is_caught(tmp_path: Path) -> None:
    run = Run(tmp_path, "tests.live.child_without_sync", ".journal")
    found = complaints(run.calls, run.directory)
    caught = {line.split(": ")[1].split(",")[0] for line in found}
    assert caught >= {f"a receipt for {receipt.name}" for _, receipt in receipts(run.calls)}


@pytest.mark.parametrize(
    ("ending", "complaint"),
    [
        ("0.journal", "a receipt for .*, but bytes of 00.journal"),
        (".journal", "manifest is replaced, but bytes of ...journal"),
        ("/journal", "but the name 00.journal"),
        ("/new/log", "but the name journal"),
        ("/new/log", "but the name manifest"),
        ("/new/log", "but the name identity.json"),
        ("/new/log", "is written over"),
        ("/new", "but the name log"),
        ("/run0", "but the name new"),
        ("/identity.json.new", "identity.json is replaced, but bytes of identity.json.new"),
        ("/manifest.new", "manifest is replaced, but bytes of manifest.new"),
        (".segment", "manifest is replaced, but bytes of 0000000001.segment"),
        ("/buckets/00000", "manifest is replaced, but the name 0000000001.segment"),
        ("/buckets", "manifest is replaced, but the name 00000"),
    ],
)
def test_sync_that_is_struck_out_is_missed(run: Run, ending: str, complaint: str) -> None:
    assert any(re.search(complaint, line) for line in run.complaints_without(ending))
