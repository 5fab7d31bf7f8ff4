"""Reading two million changes: to Arrow, by tags, and verifying, beside reading the files' bytes and nothing else."""

import os
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Final

import pyarrow as pa

from bench.stores import directory, fill, opened, seconds, template
from bench.table import Row, show
from hansard.batch import SCHEMA, to_arrow
from hansard.storage.reading import Query
from hansard.storage.scrub import scrub
from hansard.storage.store import Store

BATCHES: Final = 2_000
ROUNDS: Final = 5
RAW_BYTES: Final = 1 << 20


def tags(number: int) -> list[str]:
    """Two on every change, and one on every hundredth, evenly."""
    return [f"tenant-{number % 10}", f"kind-{number % 3}", *(["spread"] if number % 100 == 0 else [])]


def segments(path: Path) -> list[Path]:
    return sorted((path / "buckets" / "00000").glob("*.segment"))


def keep_raw(path: Path) -> int:
    """The files' bytes, all of them in memory at the end."""
    return sum(len(content) for content in [name.read_bytes() for name in segments(path)])


def stream_raw(path: Path) -> None:
    """The files' bytes through one small buffer that never leaves the processor's cache."""
    for name in segments(path):
        descriptor, position = os.open(name, os.O_RDONLY), 0
        while data := os.pread(descriptor, RAW_BYTES, position):
            position += len(data)
        os.close(descriptor)


def keep_arrow(store: Store) -> int:
    return len(pa.Table.from_batches([to_arrow(batch) for batch in store.scan(0, Query())], SCHEMA))


def stream_arrow(store: Store, *wanted: bytes) -> int:
    return sum(to_arrow(batch).num_rows for batch in store.scan(0, Query(tags=frozenset(wanted))))


def measure() -> list[Row]:
    plain = template(tags)
    marked = template(lambda number: [*tags(number), *(["rare"] if number % 50 == 0 else [])])
    with directory() as path:
        store = opened(path)
        fill(store, lambda number: marked if number % 100 == 50 else plain, BATCHES)
        store.file()
        size = sum(segment.length for segment in store.log(0).filed.segments)
        assert stream_arrow(store) == BATCHES * 1000
        assert stream_arrow(store, b"rare") == BATCHES // 100 * 20
        assert stream_arrow(store, b"spread") == BATCHES * 10
        works: dict[str, Callable[[], object]] = {
            "keep raw": lambda: keep_raw(path),
            "keep arrow": lambda: keep_arrow(store),
            "stream raw": lambda: stream_raw(path),
            "stream arrow": lambda: stream_arrow(store),
            "rare": lambda: stream_arrow(store, b"rare"),
            "spread": lambda: stream_arrow(store, b"spread"),
            "verify": lambda: scrub(store),
        }
        took = {name: [seconds(work) for _ in range(ROUNDS)] for name, work in works.items()}
        store.close()
    return rows({name: median(times) for name, times in took.items()}, size)


def rows(took: dict[str, float], size: int) -> list[Row]:
    kept, streamed = took["keep raw"] / took["keep arrow"], took["stream raw"] / took["stream arrow"]
    rare, spread = took["stream arrow"] / took["rare"], took["spread"] / took["stream arrow"]
    rate, arrow_rate = size / took["verify"] / 1e9, size / took["stream arrow"] / 1e9
    return [
        Row("a full scan to an Arrow table, to reading the files into memory", f"{kept:.2f}", ">= 0.50", kept >= 0.5),
        Row(
            "a full scan, batch by batch, to reading the files through one 1 MiB buffer",
            f"{streamed:.2f} ({arrow_rate:.1f} GB/s)",
            "none",
            ok=True,
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
