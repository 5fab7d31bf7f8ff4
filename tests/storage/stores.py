"""Small stores for tests: tiny files on a simulated disk, filled with changes that are easy to name."""

from collections.abc import Iterable, Iterator

from hansard.batch import Batch, build
from hansard.storage.reading import Query
from hansard.storage.store import Store, open_store
from hansard.storage.write import Keep, Note
from sim.disk import SimDisk
from sim.history import IDENTITY, SETTINGS


def new_store(disk: SimDisk | None = None) -> Store:
    return open_store(disk or SimDisk(), create=IDENTITY, settings=SETTINGS)


def reopen(disk: SimDisk, *, read_only: bool = False) -> Store:
    return open_store(disk, read_only=read_only, settings=SETTINGS)


def batch_at(base: int, count: int = 1, *, time: int | None = None, epoch: int = 1, size: int = 100) -> Batch:
    """Changes whose value is their own offset, padded; even ones are tagged so, and each tenth "ten"."""
    offsets = range(base, base + count)
    return build(
        [f"key {offset}" for offset in offsets],
        [f"{offset}".ljust(size) for offset in offsets],
        [tags_of(offset) for offset in offsets],
    ).stamped(epoch=epoch, base_offset=base, timestamp=10 * base if time is None else time)


def tags_of(offset: int) -> list[str]:
    return ["even" if offset % 2 == 0 else "odd"] + (["ten"] if offset % 10 == 0 else [])


def fill(store: Store, first: int, end: int, *, bucket: int = 0, by: int = 3) -> None:
    for base in range(first, end, by):
        store.append([(bucket, batch_at(base, min(by, end - base)))])


def offsets(store: Store, query: Query | None = None, *, bucket: int = 0) -> list[int]:
    """What a scan gives, each change checked to be the one that was written at its offset."""
    return list(_checked(store.scan(bucket, query or Query())))


def _checked(batches: Iterable[Batch]) -> Iterator[int]:
    for batch in batches:
        for change in batch.changes():
            assert change.value is not None
            assert int(change.value) == change.offset
            assert change.tags == tuple(tags_of(change.offset))
            yield change.offset


def segment_files(disk: SimDisk, ending: str = ".segment") -> list[str]:
    return [path for path in disk.files() if path.endswith(ending)]


def forkable(disk: SimDisk, filed: str = "some") -> Store:
    """Bucket 0 with a note, two documents and offsets 0 to 119, of which all, some or none are in segments."""
    store = new_store(disk)
    store.write([Note(0, b"an old note"), Keep(0, "snapshot", b"state"), Keep(0, "votes", b"")])
    fill(store, 0, 90)
    if filed != "none":
        store.file()
    fill(store, 90, 120)
    store.write([Note(0, b"a note")])
    if filed == "all":
        store.file()
    return store


def again(disk: SimDisk, store: Store) -> Store:
    """The same store, closed and opened."""
    store.close()
    return reopen(disk)
