"""Appending 64 KiB batches: beside a bare loop of write and fdatasync on the same disk, turn by turn.

Ours includes everything that a program pays: the journal, and filing into segments in the background.
"""

import os
from pathlib import Path
from statistics import median
from threading import Thread
from typing import Final

from bench.stores import EPOCH, directory, fill, opened, seconds, template
from bench.table import Row, show
from hansard.batch import Batch
from hansard.storage.store import Store

ROUNDS: Final = 9
WRITES: Final = 200
CHANGES: Final = 226
"""Of 256 bytes with key, tags and all: a batch of 64 KiB."""
WARM_UP: Final = 2_500
"""Batches first, so that the journal's files are in their second use, as they mostly are."""


def raw(path: Path, chunk: bytes, writes: int) -> float:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def work() -> None:
        for _ in range(writes):
            os.write(descriptor, chunk)
            os.fdatasync(descriptor)

    took = seconds(work)
    os.close(descriptor)
    path.unlink()
    return took


def ours(store: Store, batch: Batch, group: int, groups: int) -> float:
    filers: list[Thread] = []

    def work() -> None:
        for _ in range(groups):
            end = store.bounds(0)[1]
            store.append(
                [
                    (0, batch.stamped(epoch=EPOCH, base_offset=end + place * len(batch), timestamp=end))
                    for place in range(group)
                ]
            )
            if store.filing_due and not (filers and filers[-1].is_alive()):
                filers.append(Thread(target=store.file))
                filers[-1].start()

    took = seconds(work)
    for filer in filers:
        filer.join()
    return took


def measure() -> list[Row]:
    batch = template(lambda number: [f"tenant-{number % 10}"], CHANGES)
    chunk = batch.to_bytes()
    rows = []
    with directory() as path:
        store = opened(path / "store")
        fill(store, lambda _: batch, WARM_UP)
        for group, name in ((1, "one at a time"), (4, "four waiting for each sync")):
            writes = WRITES // group
            ratios = []
            rates = []
            for _ in range(ROUNDS):
                bare = raw(path / "raw", chunk * group, writes)
                taken = ours(store, batch, group, writes)
                ratios.append(bare / taken)
                rates.append(writes * group * len(chunk) / taken / 1e6)
            rows.append(
                Row(
                    f"appending {len(chunk) >> 10} KiB batches, {name}, to write + fdatasync of the same sizes",
                    f"{median(ratios):.2f} ({median(rates):.0f} MB/s)",
                    ">= 0.70",
                    median(ratios) >= 0.7,
                )
            )
        store.close()
    return rows


if __name__ == "__main__":
    show(measure())
