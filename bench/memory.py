"""Memory while writing and scanning 4 GiB, in a process of its own: it must not grow with the log."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from bench.stores import directory, fill, opened, template
from bench.table import Row, show
from hansard.batch import to_arrow
from hansard.storage.reading import Query

BATCHES: Final = 14_500
"""Of 300 KB: 4 GiB."""
BOUND_MIB: Final = 128


def most_memory_mib() -> int:
    """Of this process since it began. (What getrusage says also counts the process that started it.)"""
    (kib,) = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(kib) >> 10


def child(path: Path) -> None:
    """Writes and scans, and prints the most memory that the process had, in MiB, after a tenth and at the end."""
    batch = template(lambda number: [f"tenant-{number % 10}"])
    store = opened(path)
    for part in (BATCHES // 10, BATCHES - BATCHES // 10):
        fill(store, lambda _: batch, part)
        count = sum(to_arrow(read).num_rows for read in store.scan(0, Query()))
        assert count == store.bounds(0)[1]
        sys.stdout.write(f"{most_memory_mib()}\n")
    store.close()


def measure() -> list[Row]:
    with directory() as path:
        run = subprocess.run(
            [sys.executable, "-m", "bench.memory", str(path)], check=True, capture_output=True, text=True
        )
    early, late = (int(line) for line in run.stdout.split())
    return [
        Row(
            "memory while writing and scanning 4 GiB, at the most",
            f"{late} MiB ({early} MiB after the first tenth)",
            f"<= {BOUND_MIB} MiB",
            late <= BOUND_MIB,
        )
    ]


if __name__ == "__main__":
    if len(sys.argv) > 1:
        child(Path(sys.argv[1]))
    else:
        show(measure())
