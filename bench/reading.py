"""Reading two million changes: to Arrow, by tags, and verifying, beside reading the files' bytes and nothing else."""

import os
from pathlib import Path
from statistics import median
from typing import Final

from bench.stores import directory, fill, opened, seconds, template
from bench.table import Row, show
from hansard.batch import to_arrow
from hansard.storage.reading import Query
from hansard.storage.scrub import scrub
from hansard.storage.store import Store

BATCHES: Final = 2_000
ROUNDS: Final = 5
RAW_BYTES: Final = 1 << 20


def tags(number: int) -> list[str]:
    """Two on every change, and one on every hundredth, evenly."""
    return [f"tenant-{number % 10}", f"kind-{number % 3}", *(["spread"] if number % 100 == 0 else [])]


def read_raw(path: Path) -> None:
    for name in sorted((path / "buckets" / "00000").glob("*.segment")):
        descriptor, position = os.open(name, os.O_RDONLY), 0
        while data := os.pread(descriptor, RAW_BYTES, position):
            position += len(data)
        os.close(descriptor)


def read_arrow(store: Store, *wanted: bytes) -> int:
    return sum(to_arrow(batch).num_rows for batch in store.scan(0, Query(tags=frozenset(wanted))))


def measure() -> list[Row]:
    plain = template(tags)
    marked = template(lambda number: [*tags(number), *(["rare"] if number % 50 == 0 else [])])
    with directory() as path:
        store = opened(path)
        fill(store, lambda number: marked if number % 100 == 50 else plain, BATCHES)
        store.file()
        size = sum(segment.length for segment in store.log(0).filed.segments)
        assert read_arrow(store) == BATCHES * 1000
        assert read_arrow(store, b"rare") == BATCHES // 100 * 20
        assert read_arrow(store, b"spread") == BATCHES * 10
        read_raw(path)
        took: dict[str, list[float]] = {}
        for _ in range(ROUNDS):
            took.setdefault("raw", []).append(seconds(lambda: read_raw(path)))
            took.setdefault("scan", []).append(seconds(lambda: read_arrow(store)))
            took.setdefault("rare", []).append(seconds(lambda: read_arrow(store, b"rare")))
            took.setdefault("spread", []).append(seconds(lambda: read_arrow(store, b"spread")))
            took.setdefault("verify", []).append(seconds(lambda: scrub(store)))
        store.close()
    return rows({name: median(times) for name, times in took.items()}, size)


def rows(took: dict[str, float], size: int) -> list[Row]:
    scan = took["raw"] / took["scan"]
    rare, spread = took["scan"] / took["rare"], took["spread"] / took["scan"]
    rate = size / took["verify"] / 1e9
    return [
        Row(
            "a full scan to Arrow, to reading the files raw",
            f"{scan:.2f} ({size / took['scan'] / 1e9:.1f} GB/s)",
            ">= 0.50",
            scan >= 0.5,
        ),
        Row("a tag in 1 % of the batches, to an unfiltered scan", f"{rare:.0f} times faster", ">= 20", rare >= 20),
        Row(
            "a tag on 1 % of the changes, evenly, to an unfiltered scan",
            f"{spread:.2f} times its time",
            "<= 1.50",
            spread <= 1.5,
        ),
        Row("verifying a store", f"{rate:.1f} GB/s", ">= 2.0", rate >= 2),
    ]


if __name__ == "__main__":
    show(measure())
