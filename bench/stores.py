"""Stores on the real disk, for measuring: in a temporary directory, filled with batches of 256-byte values."""

import random
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from time import perf_counter
from typing import Final

from hansard.batch import Batch, build
from hansard.storage.disk import RealDisk
from hansard.storage.identity import Identity
from hansard.storage.store import Store, open_store

VALUE_BYTES: Final = 256
CHANGES: Final = 1_000
EPOCH: Final = 1


@contextmanager
def directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="hansard-bench-") as path:
        yield Path(path)


def opened(path: Path) -> Store:
    return open_store(RealDisk(path), create=Identity("a bench"))


def template(tags: Callable[[int], list[str]], count: int = CHANGES, seed: int = 1) -> Batch:
    """A batch to be appended again and again under other offsets: building is measured elsewhere."""
    chance = random.Random(seed)
    return build(
        [f"device-{number:06d}" for number in range(count)],
        [chance.randbytes(VALUE_BYTES) for _ in range(count)],
        [tags(number) for number in range(count)],
    )


def fill(store: Store, batch_of: Callable[[int], Batch], batches: int) -> None:
    """Appends, filing beside it as a program does."""
    filer: Thread | None = None
    for number in range(batches):
        end = store.bounds(0)[1]
        store.append([(0, batch_of(number).stamped(epoch=EPOCH, base_offset=end, timestamp=end))])
        if store.filing_due and (filer is None or not filer.is_alive()):
            filer = Thread(target=store.file)
            filer.start()
    if filer is not None:
        filer.join()


def seconds(work: Callable[[], object]) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start
