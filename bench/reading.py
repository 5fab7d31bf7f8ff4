"""Reading two million changes: to Arrow, by tags, and verifying, beside reading the files' bytes and nothing else."""

import os
import subprocess
import sys
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


def tags(number: int) -> list[str]:
    """Two on every change, and one on every hundredth, evenly."""
    return [f"tenant-{number % 10}", f"kind-{number % 3}", *(["spread"] if number % 100 == 0 else [])]


def segments(path: Path) -> list[Path]:
    return sorted((path / "buckets" / "00000").glob("*.segment"))


def read_files(path: Path) -> int:
    """Every file as a whole, as a program would."""
    return sum(len(name.read_bytes()) for name in segments(path))


def read_pieces(path: Path, size: int) -> None:
    """In pieces that are let go of at once; small ones never leave the processor's cache."""
    for name in segments(path):
        descriptor, position = os.open(name, os.O_RDONLY), 0
        while data := os.pread(descriptor, size, position):
            position += len(data)
        os.close(descriptor)


def scan_all(path: Path) -> None:
    with hansard.open(path, read_only=True) as log:
        assert sum(found.num_rows for found in log.scan_arrow()) == CHANGES


WAYS: dict[str, Callable[[Path], object]] = {
    "scan": scan_all,
    "files": read_files,
    "4 MiB": lambda path: read_pieces(path, 4 << 20),
    "1 MiB": lambda path: read_pieces(path, 1 << 20),
}


def in_its_own_process(way: str, path: Path) -> float:
    """The best of some runs in a fresh process: what one leaves to the allocator would help or hinder another."""
    command = [sys.executable, "-m", "bench.reading", way, str(path)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


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
    """Everything, to Arrow, beside reading the same files and doing nothing with them."""
    batch = template(tags, changes)
    with directory() as path:
        store = filled(path, lambda _: batch, CHANGES // changes)
        size = sum(segment.length for segment in store.log(0).filed.segments)
        store.close()
        took = {way: min(in_its_own_process(way, path) for _ in range(3)) for way in WAYS}
    rate = size / took["scan"] / 1e9
    ratio = took["files"] / took["scan"]
    figure, of = f"{ratio:.2f} ({rate:.1f} GB/s)", f"batches of {changes:,}"
    rows = [Row(f"a full scan to Arrow, to reading the files; {of}", figure, ">= 0.50", ratio >= 0.5)]
    for way in ("4 MiB", "1 MiB"):
        claim = f"the same, to reading through a buffer of {way}; {of}"
        rows.append(Row(claim, f"{took[way] / took['scan']:.2f}", NO_TARGET, ok=True))
    return rows


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
    if len(sys.argv) > 1:
        work = WAYS[sys.argv[1]]
        sys.stdout.write(f"{min(seconds(lambda: work(Path(sys.argv[2]))) for _ in range(5))}\n")
    else:
        show(measure())
