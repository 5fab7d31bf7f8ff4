"""What is damaged in the source is damaged in the fork; a fork that is damaged is never taken for something else."""

from random import Random

import pytest

from hansard.storage.errors import Corrupt, FormatMismatch, NoStore
from hansard.storage.reading import Query
from hansard.storage.record import RECORD_BYTES
from hansard.storage.scrub import scrub
from hansard.storage.store import Store
from hansard.storage.write import Append, Cut, Drop, Fork, Keep, Note, Reset
from sim.disk import SimDisk
from sim.refusing import RefusingDisk
from tests.storage.stores import again, batch_at, fill, new_store, offsets, reopen, segment_files


def at_the_end(store: Store) -> tuple[str, int]:
    """Where the next record will be."""
    return store.journal.current.path, store.journal.current.end


def doubted() -> tuple[SimDisk, Store]:
    """Bucket 0 ends in doubt at 9, and bucket 1 is a fork of it."""
    disk = SimDisk()
    store = new_store(disk)
    store.write([Note(0, b"a note")])
    fill(store, 0, 9)
    path, place = at_the_end(store)
    fill(store, 9, 12)
    store.close()
    disk.flip(path, place + 20, 1)
    store = reopen(disk)
    assert store.log(0).doubt is not None
    store.write([Fork(1, 0)])
    return disk, store


def test_the_end_of_a_fork_is_in_doubt_where_that_of_the_source_is() -> None:
    disk, store = doubted()
    for _ in range(2):
        for bucket in (0, 1):
            assert store.bounds(bucket) == (0, 9) and offsets(store, Query(end=9), bucket=bucket) == list(range(9))
            with pytest.raises(Corrupt, match="may have been"):
                store.append([(bucket, batch_at(12))])
            with pytest.raises(Corrupt, match="note"):
                store.note(bucket)
            assert bucket in {found.bucket for found in scrub(store).damage}
        with pytest.raises(Corrupt):
            store.file()
        store = again(disk, store)


@pytest.mark.parametrize("one", [0, 1], ids=["source", "fork"])
def test_a_doubt_is_settled_for_each_by_itself(one: int) -> None:
    disk, store = doubted()
    store.write([Cut(one, 6), Note(one, b"as agreed"), Append(one, batch_at(6, 6))])
    for _ in range(2):
        assert offsets(store, bucket=one) == list(range(12)) and store.note(one) == b"as agreed"
        with pytest.raises(Corrupt, match="may have been"):
            store.append([(1 - one, batch_at(12))])
        store = again(disk, store)
    store.write([Drop(1 - one)])
    store.file()
    store = again(disk, store)
    assert store.buckets() == [one] and offsets(store, bucket=one) == list(range(12))


def test_a_doubt_is_given_up_for_both() -> None:
    disk, store = doubted()
    store.give_up(scrub(store).damage)
    for _ in range(2):
        assert [store.note(bucket) for bucket in (0, 1)] == [b"a note", b"a note"]
        assert all(offsets(store, bucket=bucket) == list(range(9)) for bucket in (0, 1)) and not scrub(store).damage
        store = again(disk, store)


@pytest.mark.parametrize("in_head", [True, False])
def test_a_note_that_is_lost_is_lost_to_the_fork_too(in_head: bool) -> None:
    disk = SimDisk()
    store = new_store(disk)
    store.write([Note(0, b"an old promise")])
    path, place = at_the_end(store)
    store.write([Note(0, b"a new promise")])
    fill(store, 0, 3)
    store.close()
    disk.flip(path, place + (20 if in_head else RECORD_BYTES + 4), 1)
    store = reopen(disk)
    store.write([Fork(1, 0)])
    for _ in range(2):
        for bucket in (0, 1):
            with pytest.raises(Corrupt, match="note"):
                store.note(bucket)
            with pytest.raises(Corrupt, match="note"):
                store.append([(bucket, batch_at(3))])
        store = again(disk, store)
    store.write([Note(1, b"another"), Append(1, batch_at(3))])
    store = again(disk, store)
    assert store.note(1) == b"another" and offsets(store, bucket=1) == [0, 1, 2, 3]
    with pytest.raises(Corrupt):
        store.note(0)


@pytest.mark.parametrize("in_head", [True, False])
def test_a_note_that_is_damaged_after_the_fork_is_still_in_the_fork(in_head: bool) -> None:
    """The record of the fork holds it."""
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 3)
    path, place = at_the_end(store)
    store.write([Note(0, b"a promise"), Fork(1, 0)])
    store.close()
    disk.flip(path, place + (20 if in_head else RECORD_BYTES + 4), 1)
    store = reopen(disk)
    with pytest.raises(Corrupt, match="note"):
        store.note(0)
    assert store.note(1) == b"a promise" and offsets(store, bucket=1) == [0, 1, 2]
    store.append([(1, batch_at(3))])


@pytest.mark.parametrize("in_head", [True, False])
def test_a_batch_of_the_journal_that_is_damaged_is_damaged_in_both_and_repaired_in_both(in_head: bool) -> None:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 3)
    path, place = at_the_end(store)
    store.write([Append(0, batch_at(3, 3)), Fork(1, 0), Append(1, batch_at(6)), Append(0, batch_at(6, 2))])
    store.close()
    disk.flip(path, place + (20 if in_head else 200), 1)
    store = reopen(disk)
    for bucket in (0, 1):
        with pytest.raises(Corrupt) as caught:
            store.read(bucket, Query(first=3))
        assert (caught.value.bucket, caught.value.first, caught.value.end) == (bucket, 3, 6)
        assert offsets(store, Query(first=6), bucket=bucket) == ([6, 7] if bucket == 0 else [6])
    found = [damage for damage in scrub(store).damage if damage.bucket is not None]
    assert [damage.bucket for damage in found] == [0, 1]
    if in_head:
        store.give_up(found)
        assert offsets(store) == [0, 1, 2, 6, 7] and offsets(store, bucket=1) == [0, 1, 2, 6]
    else:
        store.repair(found[1], [batch_at(3, 3)])
        assert offsets(store) == list(range(8)) and offsets(store, bucket=1) == list(range(7))
    store = again(disk, store)
    assert not scrub(store).damage


def shared(count: int = 90) -> tuple[SimDisk, Store]:
    """Two buckets that share segments, both filed."""
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, count)
    store.file()
    store.write([Fork(1, 0), Keep(1, "snapshot", b"x")])
    store.file()
    return disk, store


def test_a_shared_segment_that_is_damaged_is_repaired_through_either() -> None:
    disk, store = shared()
    disk.flip(segment_files(disk)[0], 1_000, 4)
    found = scrub(store).damage
    assert [damage.bucket for damage in found] == [0, 1] and found[0].first is not None
    store.repair(found[1], [batch_at(found[0].first, 3)])
    assert not scrub(store, deep=True).damage
    assert offsets(store) == offsets(store, bucket=1) == list(range(90))


def test_a_shared_segment_is_given_up_by_one_or_by_both() -> None:
    disk, store = shared()
    disk.flip(segment_files(disk)[0], 1_000, 4)
    found = scrub(store).damage
    assert found[0].first is not None and found[0].end is not None
    left = [offset for offset in range(90) if not found[0].first <= offset < found[0].end]
    store.give_up(found[1:])
    assert offsets(store, bucket=1) == left
    assert [damage.bucket for damage in scrub(store).damage] == [0]
    store.give_up(scrub(store).damage)
    store = again(disk, store)
    assert offsets(store) == offsets(store, bucket=1) == left and not scrub(store).damage


def test_a_segment_that_is_missing_is_missing_in_the_fork() -> None:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 90)
    store.file()
    disk.remove(segment_files(disk)[0])
    store.write([Fork(1, 0)])
    store = again(disk, store)
    for bucket in (0, 1):
        with pytest.raises(Corrupt, match="missing"):
            store.read(bucket, Query())


def damaged_fork(*, in_head: bool, goes_on: bool) -> tuple[SimDisk, Store]:
    """The record that made bucket 1 a fork of bucket 0 is damaged; bucket 1 went on, or did not."""
    disk = SimDisk()
    store = new_store(disk)
    store.write([Note(0, b"a note"), Keep(0, "snapshot", b"x")])
    fill(store, 0, 60)
    store.file()
    fill(store, 60, 90)
    path, place = at_the_end(store)
    store.write([Fork(1, 0)])
    if goes_on:
        store.append([(1, batch_at(90, 3))])
    store.append([(2, batch_at(0))])
    store.close()
    disk.flip(path, place + (20 if in_head else RECORD_BYTES + 9), 1)
    return disk, reopen(disk)


@pytest.mark.parametrize("goes_on", [True, False])
@pytest.mark.parametrize("in_head", [True, False])
def test_a_fork_whose_record_is_damaged_is_never_taken_for_an_empty_bucket(in_head: bool, goes_on: bool) -> None:
    disk, store = damaged_fork(in_head=in_head, goes_on=goes_on)
    for _ in range(2):
        assert store.damage and scrub(store).damage
        assert [path for path in segment_files(disk) if "/00001/" in path], "who knows what it is good for"
        if in_head and not goes_on:  # nobody knows that there was one, but that something was is known
            assert store.bounds(1) == (0, 0) and 1 not in store.logs
        else:
            assert store.bounds(1) == (0, 93 if goes_on else 90)
            with pytest.raises(Corrupt) as caught:
                store.read(1, Query())
            assert (caught.value.bucket, caught.value.first, caught.value.end) == (1, 0, 90)
            with pytest.raises(Corrupt, match="note" if in_head else "fork"):
                store.append([(1, batch_at(93))])
            assert offsets(store, Query(first=90), bucket=1) == ([90, 91, 92] if goes_on else [])
        store = again(disk, store)
    store.write([Drop(1), Append(1, batch_at(0, 2))])
    if in_head:  # of bucket 0 there is no record since
        store.write([Cut(0, 90), Note(0, b"a note")])
    store.file()
    store = again(disk, store)
    assert not scrub(store).damage and not store.damage
    assert offsets(store, bucket=1) == [0, 1] and offsets(store) == list(range(90))


def test_a_fork_whose_record_is_damaged_can_be_given_up() -> None:
    disk, store = damaged_fork(in_head=False, goes_on=True)
    store.give_up(scrub(store).damage)
    for _ in range(2):
        assert store.bounds(1) == (0, 93) and offsets(store, bucket=1) == [90, 91, 92] and store.note(1) == b""
        assert offsets(store) == list(range(90)) and not scrub(store).damage
        store = again(disk, store)


@pytest.mark.parametrize("again_to", [None, 63, 93], ids=["a cut", "a cut and less", "a cut and more"])
def test_a_cut_of_the_source_that_damage_hides_does_not_bring_anything_back_in_the_fork(again_to: int | None) -> None:
    disk = RefusingDisk()
    store = new_store(disk)
    fill(store, 0, 90)
    store.file()
    path, place = at_the_end(store)
    disk.refuse = lambda path, position, _: 0 if path.startswith("journal/") and position == 0 else None
    store.write([Cut(0, 60)])  # which is not filed, because that takes another file of the journal
    disk.refuse = None
    assert at_the_end(store) == (path, place + 2 * RECORD_BYTES), "with its mark"
    if again_to is not None:
        store.append([(0, batch_at(60, again_to - 60, time=5_000, size=10))])
    _, end = at_the_end(store)
    store.write([Fork(1, 0)])
    store.append([(1, batch_at(200, time=6_000))])
    store.close()
    for position in range(place, end, 40):
        disk.flip(path, position, 1)
    store = reopen(disk)
    assert store.damage
    seen = list[tuple[int, int]]()
    with pytest.raises(Corrupt) if again_to is not None else pytest.raises(StopIteration):
        scan = store.scan(1, Query(end=200))
        while True:
            seen += [(change.offset, change.timestamp) for change in next(scan).changes()]
    assert [offset for offset, _ in seen] == list(range(60)), "and nothing of what was cut"
    assert offsets(store, Query(first=200), bucket=1) == [200]


@pytest.mark.parametrize("seed", range(200))
def test_a_flipped_bit_anywhere_is_named_or_harmless_in_both(seed: int) -> None:
    disk = SimDisk()
    store = new_store(disk)
    store.write([Note(0, b"a note"), Keep(0, "snapshot", b"x" * 99)])
    fill(store, 0, 60)
    store.file()
    fill(store, 60, 75)
    store.write([Fork(1, 0), Append(1, batch_at(75, 3)), Cut(0, 66), Append(0, batch_at(66, 3)), Fork(2, 1)])
    store.write([Reset(0, 5), Note(0, b"later"), Append(2, batch_at(78))])
    store.close()
    random = Random(seed)
    path = random.choice([path for path, content in sorted(disk.files().items()) if content and path != "ballast"])
    used = len(disk.files()[path].rstrip(bytes(1)))
    disk.flip(path, random.randrange(used or 1), 1 << random.randrange(8))
    try:
        store = reopen(disk)
    except (Corrupt, NoStore, FormatMismatch):
        return
    for bucket, end, note in ((0, 5, b"later"), (1, 78, b"a note"), (2, 79, b"a note")):
        seen: list[int] = []
        try:
            assert store.note(bucket) == note or store.damage
            for batch in store.scan(bucket, Query()):
                seen += [change.offset for change in batch.changes()]
        except Corrupt:
            assert bucket in {found.bucket for found in scrub(store).damage}
        else:
            assert store.bounds(bucket)[1] == end or store.damage
        assert seen == list(range(len(seen))) or not bucket
        try:
            assert store.document(bucket, "snapshot") in ((b"x" * 99,) if bucket in store.logs else (None, b"x" * 99))
        except Corrupt:
            assert path.endswith(".document")
