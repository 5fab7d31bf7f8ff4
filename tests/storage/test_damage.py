"""Damaged bytes are named and never served, wherever they are; and a good copy of them repairs the log."""

from random import Random

import pytest

from hansard.batch import Batch
from hansard.storage.errors import Corrupt, FormatMismatch, NoStore
from hansard.storage.reading import Query
from hansard.storage.repair import DoesNotFit
from hansard.storage.scrub import scrub
from hansard.storage.store import Store
from hansard.storage.write import Cut, Note
from sim.disk import SimDisk
from tests.storage.stores import batch_at, fill, new_store, offsets, reopen, segment_files

COUNT = 240


def closed_store() -> tuple[SimDisk, int]:
    """Half of it filed, half in the journal; and the number of operations so far."""
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, COUNT // 2)
    store.file()
    fill(store, COUNT // 2, COUNT)
    store.close()
    return disk, disk.operation_count


def read_until_damage(store: Store, query: Query) -> tuple[list[int], Corrupt | None]:
    seen: list[int] = []
    for _ in range(COUNT):
        try:
            page = store.read(0, query)
        except Corrupt as error:
            return seen, error
        seen += [change.offset for change in page.changes() if change.value == f"{change.offset}".ljust(100).encode()]
        if page.at_end:
            return seen, None
        query = query._replace(first=page.end)
    raise AssertionError("the read makes no progress")


@pytest.mark.parametrize("seed", range(300))
def test_a_flipped_bit_anywhere_is_reported_or_harmless_but_never_served(seed: int) -> None:
    original, operations = closed_store()
    random = Random(seed)
    disk = original.restarted(operations)
    path = random.choice(sorted(disk.files()))
    size = len(disk.files()[path])
    if not size:
        return
    disk.flip(path, random.randrange(size), 1 << random.randrange(8))
    try:
        store = reopen(disk)
    except (Corrupt, NoStore, FormatMismatch):
        return
    seen, error = read_until_damage(store, Query())
    everything = list(range(COUNT))
    if error is None:
        assert seen == everything
    else:
        assert error.bucket == 0 and error.first is not None
        assert seen == everything[: error.first]
        assert scrub(store).damage, "a scrub sees it too"
        if error.end is not None:
            rest, second = read_until_damage(store, Query(first=error.end))
            assert second is None and rest == everything[error.end :]


def test_damage_in_a_segment_hides_only_the_damaged_batch() -> None:
    disk, _ = closed_store()
    path = segment_files(disk)[0]
    disk.flip(path, 1_000, 4)
    store = reopen(disk)
    seen, error = read_until_damage(store, Query())
    assert error is not None and error.path == path and error.end is not None and error.first is not None
    assert error.end - error.first == 3
    report = scrub(store)
    assert [(found.first, found.end) for found in report.damage] == [(error.first, error.end)]
    rest, second = read_until_damage(store, Query(first=error.end))
    assert second is None
    assert seen + rest == [offset for offset in range(COUNT) if not error.first <= offset < error.end]


@pytest.mark.parametrize("where", ["segment", "journal"])
def test_a_copy_repairs_it(where: str) -> None:
    disk, _ = closed_store()
    if where == "segment":
        disk.flip(segment_files(disk)[0], 1_000, 4)
    else:
        live = next(path for path in disk.files() if b"237 " in disk.files()[path] and path.startswith("journal"))
        disk.flip(live, disk.files()[live].rfind(b"237 "), 4)
    store = reopen(disk)
    _, error = read_until_damage(store, Query())
    assert error is not None and error.first is not None
    copy = [batch_at(error.first, 3)]
    with pytest.raises(DoesNotFit):
        store.repair(error, [batch_at(error.first, 2)])
    with pytest.raises(DoesNotFit):
        store.repair(error, [batch_at(error.first + 3, 3)])
    store.repair(error, copy)
    assert offsets(store) == list(range(COUNT))
    assert not scrub(store, deep=True).damage
    store.file()
    store.close()
    assert offsets(reopen(disk)) == list(range(COUNT))


def test_another_batch_of_the_same_size_is_no_repair() -> None:
    disk, _ = closed_store()
    disk.flip(segment_files(disk)[0], 1_000, 4)
    store = reopen(disk)
    _, error = read_until_damage(store, Query())
    assert error is not None and error.first is not None
    impostor: Batch = batch_at(error.first, 3, time=7)
    with pytest.raises(Corrupt, match="not what was stored"):
        store.repair(error, [impostor])


def test_a_damaged_last_record_is_not_mistaken_for_a_torn_one() -> None:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 30)
    store.close()
    path = next(path for path in disk.files() if b"29 " in disk.files()[path])
    disk.flip(path, disk.files()[path].rfind(b"29 "), 1)
    store = reopen(disk)
    assert store.damage
    seen, error = read_until_damage(store, Query())
    assert seen == list(range(27)) and error is not None and error.first == 27


def test_damage_that_hides_the_end_of_a_bucket_stops_it_until_it_is_settled() -> None:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 30)
    store.close()
    path = next(path for path in disk.files() if b"29 " in disk.files()[path])
    last_record = disk.files()[path].rfind(b"HNSR", 0, disk.files()[path].rfind(b"29 "))
    disk.flip(path, last_record + 45, 1)
    store = reopen(disk)
    with pytest.raises(Corrupt, match="may have been"):
        fill(store, 27, 30)
    seen, error = read_until_damage(store, Query())
    assert seen == list(range(27)) and error is not None and error.end is None
    store.write([Cut(0, 24), Note(0, b"")])
    fill(store, 24, 30)
    assert offsets(store) == list(range(30))


def test_a_missing_segment_file_is_damage() -> None:
    disk, _ = closed_store()
    path = segment_files(disk)[0]
    disk.remove(path)
    store = reopen(disk)
    with pytest.raises(Corrupt, match="missing"):
        store.read(0, Query())
    assert [found.path for found in scrub(store).damage] == [path]


def test_a_missing_journal_file_is_damage() -> None:
    disk, _ = closed_store()
    for path in [path for path in disk.files() if path.startswith("journal/")]:
        disk.remove(path)
    with pytest.raises(Corrupt, match="journal"):
        reopen(disk)


def test_filing_does_not_carry_damage_into_segments() -> None:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 60)
    path = next(path for path in disk.files() if b"50 " in disk.files()[path])
    disk.flip(path, disk.files()[path].rfind(b"50 "), 1)
    with pytest.raises(Corrupt):
        store.file()
    assert offsets(store, Query(end=48)) == list(range(48))


def test_a_damaged_index_is_made_anew() -> None:
    disk, _ = closed_store()
    for path in segment_files(disk, ".index"):
        disk.flip(path, len(disk.files()[path]) // 2, 8)
    store = reopen(disk)
    assert offsets(store, Query(tags=frozenset([b"ten"]))) == list(range(0, COUNT, 10))
    assert not scrub(store).damage


@pytest.mark.parametrize("where", ["segment", "journal", "both", "missing"])
def test_what_is_given_up_is_gone_and_the_log_goes_on(where: str) -> None:
    disk, _ = closed_store()
    if where == "missing":
        disk.remove(segment_files(disk)[0])
    if where in ("segment", "both"):
        disk.flip(segment_files(disk)[0], 1_000, 4)
        disk.flip(segment_files(disk)[1], 20, 4)
    if where in ("journal", "both"):
        live = next(path for path in disk.files() if b"237 " in disk.files()[path] and path.startswith("journal"))
        disk.flip(live, disk.files()[live].rfind(b"237 "), 4)
    store = reopen(disk)
    damage = scrub(store).damage
    lost = {offset for found in damage for offset in range(found.first or 0, found.end or 0)}
    assert lost
    store.give_up(damage)
    left = [offset for offset in range(COUNT) if offset not in lost]
    for again in (store, None):
        if again is None:
            store.close()
            store = reopen(disk)
        assert offsets(store) == left and not scrub(store, deep=True).damage
        assert [change.offset for batch in store.scan(0, Query(descending=True)) for change in batch.changes()]
        assert store.bounds(0) == (0, COUNT), "no offset is used again"
        assert offsets(store, Query(tags=frozenset([b"ten"]))) == [offset for offset in left if offset % 10 == 0]
    fill(store, COUNT, COUNT + 9)
    assert offsets(store) == [*left, *range(COUNT, COUNT + 9)]


def test_a_bucket_whose_end_is_in_doubt_goes_on_once_that_is_given_up() -> None:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 30)
    store.close()
    path = next(path for path in disk.files() if b"29 " in disk.files()[path])
    last_record = disk.files()[path].rfind(b"HNSR", 0, disk.files()[path].rfind(b"29 "))
    disk.flip(path, last_record + 45, 1)
    store = reopen(disk)
    store.give_up(scrub(store).damage)
    fill(store, 27, 33)
    store.close()
    assert offsets(reopen(disk)) == list(range(33))
