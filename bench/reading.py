"""Reading two million changes: to Arrow, by tags, and verifying, beside reading the files' bytes and nothing else."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import hansard
from bench.stores import directory, fill, opened, seconds, template
from bench.table import NO_TARGET, Row, show
from hansard.batch import Batch, to_arrow
from hansard.storage.reading import Query
from hansard.storage.scrub import scrub
from hansard.storage.store import Store

CHANGES: Final = 2_000_000
ROUNDS: Final = 9
"""Turn by turn, and the best of each: what the code can do, not what else the machine had to do."""
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


def stream_arrow(store: Store, *wanted: bytes) -> int:
    return sum(to_arrow(batch).num_rows for batch in store.scan(0, Query(tags=frozenset(wanted))))


def measure() -> list[Row]:
    return [*scanning(10_000), *scanning(1_000), *filtering()]


def best_of(works: dict[str, Callable[[], object]]) -> dict[str, float]:
    took: dict[str, float] = {}
    for _ in range(ROUNDS):
        for name, work in works.items():
            took[name] = min(took.get(name, 1e9), seconds(work))
    return took


def filled(path: Path, batch_of: Callable[[int], Batch], batches: int) -> Store:
    store = opened(path)
    fill(store, batch_of, batches)
    store.file()
    return store


def scanning(changes: int) -> list[Row]:
    """Everything, to Arrow. The target is for batches of 10,000 changes; small ones pay for their headers."""
    batch = template(tags, changes)
    with directory() as path:
        store = filled(path, lambda _: batch, CHANGES // changes)
        size = sum(segment.length for segment in store.log(0).filed.segments)
        store.close()
        with hansard.open(path) as log:
            took = best_of(
                {
                    "keep raw": lambda: keep_raw(path),
                    "keep arrow": lambda: log.scan_arrow().read_all(),
                    "stream raw": lambda: stream_raw(path),
                    "stream arrow": lambda: sum(found.num_rows for found in log.scan_arrow()),
                }
            )
            assert len(log.scan_arrow().read_all()) == CHANGES
    kept, streamed = took["keep raw"] / took["keep arrow"], took["stream raw"] / took["stream arrow"]
    rate = size / took["stream arrow"] / 1e9
    promised = changes == 10_000
    return [
        Row(
            f"a full scan to an Arrow table, to reading the files into memory; batches of {changes:,}",
            f"{kept:.2f}",
            ">= 0.50" if promised else NO_TARGET,
            kept >= 0.5 or not promised,
        ),
        Row(
            f"a full scan batch by batch, to reading through one buffer in the cache; batches of {changes:,}",
            f"{streamed:.2f} ({rate:.1f} GB/s)",
            NO_TARGET,
            ok=True,
        ),
    ]


def filtering() -> list[Row]:
    """By tags, in batches of 1,000, beside an unfiltered scan of the same; and verifying them."""
    plain = template(tags)
    marked = template(lambda number: [*tags(number), *(["rare"] if number % 50 == 0 else [])])
    batches = CHANGES // 1_000
    with directory() as path:
        store = filled(path, lambda number: marked if number % 100 == 50 else plain, batches)
        assert stream_arrow(store, b"rare") == batches // 100 * 20
        assert stream_arrow(store, b"spread") == batches * 10
        took = best_of(
            {
                "all": lambda: stream_arrow(store),
                "rare": lambda: stream_arrow(store, b"rare"),
                "spread": lambda: stream_arrow(store, b"spread"),
                "verify": lambda: scrub(store),
            }
        )
        size = sum(segment.length for segment in store.log(0).filed.segments)
        store.close()
    rare, spread = took["all"] / took["rare"], took["spread"] / took["all"]
    rate = size / took["verify"] / 1e9
    return [
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
