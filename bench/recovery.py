"""Opening a directory of 1 GiB whose journal is as full as it gets, beside reading that journal and nothing else."""

import os
from pathlib import Path
from statistics import median
from typing import Final

from bench.stores import EPOCH, directory, fill, opened, seconds, template
from bench.table import Row, show

FILED: Final = 3_500
"""Batches of 300 KB: 1 GiB."""
ROUNDS: Final = 7


def journal_bytes(path: Path, *, cold: bool) -> list[tuple[Path, int]]:
    """The journal's files, and how much is in them; out of the operating system's memory if `cold`."""
    files = []
    for name in sorted((path / "journal").iterdir()):
        if cold:
            descriptor = os.open(name, os.O_RDONLY)
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)
        files.append((name, name.stat().st_size))
    return files


def read_raw(files: list[tuple[Path, int]]) -> int:
    """The journal's bytes, all of them in memory at the end."""
    return sum(len(content) for content in [name.read_bytes() for name, _ in files])


def measure() -> list[Row]:
    batch = template(lambda number: [f"tenant-{number % 10}"])
    rows = []
    with directory() as path:
        store = opened(path)
        fill(store, lambda _: batch, FILED)
        store.file()
        while store.journal.unfiled_bytes < store.settings.unfiled_bytes_max - 2 * batch.length:
            end = store.bounds(0)[1]
            store.append([(0, batch.stamped(epoch=EPOCH, base_offset=end, timestamp=end))])
        unfiled, live = store.journal.unfiled_bytes, {file.path for file in store.journal.files}
        store.close()
        for cold in (False, True):
            ratios, took = [], []
            for _ in range(ROUNDS):
                files = [
                    (name, size) for name, size in journal_bytes(path, cold=cold) if f"journal/{name.name}" in live
                ]
                raw = seconds(lambda files=files: read_raw(files))  # type: ignore[misc]
                journal_bytes(path, cold=cold)
                opening = seconds(lambda: opened(path).close())
                ratios.append(opening / raw)
                took.append(opening)
            rows.append(
                Row(
                    f"opening 1 GiB with {unfiled >> 20} MiB unfiled ({'cold' if cold else 'cached'}), "
                    "to reading the journal",
                    f"{median(ratios):.2f} times ({median(took) * 1e3:.0f} ms)",
                    "<= 3.00",
                    median(ratios) <= 3,
                )
            )
    return rows


if __name__ == "__main__":
    show(measure())
