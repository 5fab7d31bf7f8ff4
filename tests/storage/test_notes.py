"""A bucket's note: the last one wins, it is on disk with the batches beside it, and none is ever lost in silence."""

from collections.abc import Callable
from random import Random

import msgspec
import pytest

from hansard.storage import manifest as manifests
from hansard.storage.errors import Corrupt, FormatMismatch, NoStore
from hansard.storage.manifest import Manifest
from hansard.storage.reading import Query
from hansard.storage.record import RECORD_BYTES
from hansard.storage.retention import Retention
from hansard.storage.scrub import scrub
from hansard.storage.store import Store
from hansard.storage.write import NOTE_BYTES_MAX, Append, Cut, Keep, Note, Reset
from sim.disk import SimDisk
from sim.platter import Sync, Write
from tests.storage.stores import batch_at, fill, new_store, offsets, reopen


def test_the_last_note_wins_and_survives_filing_retention_cuts_and_resets() -> None:
    disk = SimDisk()
    store = new_store(disk)
    assert store.note(3) == b""
    store.write([Note(3, b"first"), Note(3, b"second")])
    fill(store, 0, 90, bucket=3)
    steps: list[Callable[[Store], None]] = [
        lambda store: store.file(),
        lambda store: store.retain({3: Retention(change_count=10)}, now=0),
        lambda store: store.truncate_after(3, 86),
        lambda store: store.write([Reset(3, 7)]),
        lambda store: store.file(),
    ]
    for step in steps:
        step(store)
        assert store.note(3) == b"second"
        store.close()
        store = reopen(disk)
        assert store.note(3) == b"second"
    store.write([Note(3, b"")])
    store.close()
    assert reopen(disk).note(3) == b""


@pytest.mark.parametrize("filed", [True, False])
def test_a_bucket_with_a_note_and_no_batches_exists(filed: bool) -> None:
    disk = SimDisk()
    store = new_store(disk)
    store.write([Note(5, b"a promise")])
    if filed:
        store.file()
    store.close()
    store = reopen(disk)
    assert store.buckets() == [5] and store.bounds(5) == (0, 0) and store.note(5) == b"a promise"


def test_a_note_has_a_limit() -> None:
    store = new_store()
    store.write([Note(0, bytes(NOTE_BYTES_MAX))])
    with pytest.raises(ValueError, match="the most"):
        Note(0, bytes(NOTE_BYTES_MAX + 1))


def test_a_manifest_from_before_there_were_notes_is_read() -> None:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 30)
    store.file()
    rows = msgspec.msgpack.decode(msgspec.msgpack.encode(store.manifest))
    rows[2] = [entry[:6] for entry in rows[2]]
    older = msgspec.msgpack.decode(msgspec.msgpack.encode(rows), type=Manifest)
    assert older == store.manifest
    store.close()
    manifests.save(disk, older)
    assert offsets(reopen(disk)) == list(range(30))


def test_a_run_of_batches_and_notes_of_several_buckets_is_one_write_and_one_sync() -> None:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 3)
    before = disk.operation_count
    store.write([Append(0, batch_at(3)), Note(0, b"x"), Append(1, batch_at(0)), Note(2, b"y"), Append(0, batch_at(4))])
    done = disk.log[before:]
    assert [type(operation) for operation in done] == [Write, Sync, Write], "the last one is the mark"
    assert offsets(store) == [0, 1, 2, 3, 4] and store.note(0) == b"x" and store.buckets() == [0, 1, 2]


@pytest.mark.parametrize("draw", range(30))
def test_a_torn_note_leaves_the_one_before(draw: int) -> None:
    disk = SimDisk()
    store = new_store(disk)
    store.write([Note(0, b"before")])
    start = disk.operation_count
    store.write([Append(0, batch_at(0)), Note(0, b"after" * 300)])
    for at in range(start, disk.operation_count + 1):
        left = reopen(disk.crashed(at, Random(draw)))
        assert not left.damage
        assert left.note(0) in (b"before", b"after" * 300)
        assert left.note(0) == b"before" or left.bounds(0) == (0, 1), "not without the batch that came first"


def damaged(*, in_head: bool) -> tuple[SimDisk, Store]:
    """A store with three notes of bucket 0, of which the second is damaged or lost, and a batch of bucket 1 behind."""
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 3)
    store.write([Note(0, b"the first note")])
    place = store.journal.current.end
    store.write([Note(0, b"the second note")])
    fill(store, 0, 3, bucket=1)
    store.close()
    disk.flip(store.journal.current.path, place + (20 if in_head else RECORD_BYTES + 4), 1)
    return disk, reopen(disk)


@pytest.mark.parametrize("in_head", [True, False])
def test_a_bucket_whose_note_is_damaged_takes_nothing_until_it_has_another(in_head: bool) -> None:
    disk, store = damaged(in_head=in_head)
    for _ in range(2):
        assert store.damage and scrub(store).damage
        with pytest.raises(Corrupt, match="note"):
            store.note(0)
        with pytest.raises(Corrupt):
            store.append([(0, batch_at(3))])
        with pytest.raises(Corrupt):
            store.file()
        assert offsets(store, bucket=1) == [0, 1, 2]
        store.close()
        store = reopen(disk)
    store.write([Cut(0, 3), Note(0, b"the third note"), Append(0, batch_at(3))])
    for _ in range(2):
        assert store.note(0) == b"the third note" and offsets(store) == [0, 1, 2, 3]
        assert not [found for found in scrub(store).damage if found.bucket == 0]
        store.close()
        store = reopen(disk)
    store.append([(1, batch_at(3))])
    if in_head:  # what the damaged record was is not known; bucket 1 has shown that it was none of its own
        assert store.note(1) == b""
    store.file()
    store.close()
    store = reopen(disk)
    assert not store.damage and store.note(0) == b"the third note"


def lived() -> tuple[SimDisk, dict[int, bytes]]:
    """A closed store that is partly filed, and the notes of its buckets."""
    disk = SimDisk()
    store = new_store(disk)
    notes = {}
    for turn in range(30):
        if turn == 12:
            store.file()
        bucket = turn % 4
        notes[bucket] = f"note {turn} of {bucket}".encode()
        batch = batch_at(store.bounds(bucket)[1], 2)
        store.write([Note(bucket, notes[bucket]), Append(bucket, batch)] if turn % 3 else [Note(bucket, notes[bucket])])
    store.write([Keep(2, "snapshot", b"kept" * 40)])
    store.close()
    return disk, notes


@pytest.mark.parametrize("seed", range(150))
def test_a_flipped_bit_anywhere_never_brings_an_old_note_back(seed: int) -> None:
    disk, notes = lived()
    random = Random(seed)
    path = random.choice([path for path, content in sorted(disk.files().items()) if content])
    used = len(disk.files()[path].rstrip(bytes(1)))
    disk.flip(path, random.randrange(used or 1), 1 << random.randrange(8))
    try:
        store = reopen(disk)
    except (Corrupt, NoStore, FormatMismatch):
        return
    for bucket, note in notes.items():
        try:
            assert store.note(bucket) == note
        except Corrupt:
            assert store.damage and scrub(store).damage
    if path.endswith(".document"):
        with pytest.raises(Corrupt):
            store.document(2, "snapshot")
    else:
        assert store.document(2, "snapshot") == b"kept" * 40


def test_damage_to_another_record_puts_no_note_in_doubt() -> None:
    disk = SimDisk()
    store = new_store(disk)
    store.write([Note(0, b"kept"), Append(0, batch_at(0, 3))])
    place = store.journal.current.end
    fill(store, 3, 9)
    store.close()
    disk.flip(store.journal.current.path, place + 20, 1)
    store = reopen(disk)
    assert store.damage and store.note(0) == b"kept"
    store.append([(0, batch_at(9))])


def test_a_note_that_was_lost_before_a_later_batch_is_missed() -> None:
    disk = SimDisk()
    store = new_store(disk)
    store.write([Note(0, b"an old promise"), Append(0, batch_at(0, 3))])
    place = store.journal.current.end
    store.write([Note(0, b"a new promise")])
    fill(store, 3, 9)
    store.close()
    disk.flip(store.journal.current.path, place + 20, 1)
    store = reopen(disk)
    assert offsets(store) == list(range(9))
    with pytest.raises(Corrupt, match="note"):
        store.note(0)
    with pytest.raises(Corrupt, match="note"):
        store.append([(0, batch_at(9))])
    store.write([Note(0, b"a third"), Append(0, batch_at(9))])
    assert store.note(0) == b"a third"


@pytest.mark.parametrize("in_head", [True, False])
def test_a_cut_does_not_make_up_for_a_note(in_head: bool) -> None:
    disk, store = damaged(in_head=in_head)
    store.write([Cut(0, 0)])
    store.close()
    store = reopen(disk)
    assert store.bounds(0) == (0, 0)
    with pytest.raises(Corrupt, match="note"):
        store.note(0)


@pytest.mark.parametrize("in_head", [True, False])
def test_of_a_note_that_is_given_up_the_one_before_is_left(in_head: bool) -> None:
    disk, store = damaged(in_head=in_head)
    store.give_up(scrub(store).damage)
    fill(store, 3, 6)
    store.close()
    store = reopen(disk)
    assert not store.damage and not scrub(store).damage
    assert store.note(0) == b"the first note" and offsets(store) == list(range(6))


@pytest.mark.parametrize("length", range(1, 9))
def test_a_batch_is_read_by_its_tags_whatever_the_note_before_it_takes(length: int) -> None:
    store = new_store()
    for base in range(0, 12, 2):
        store.write([Append(0, batch_at(base, 2)), Note(0, b"x" * length)])
    assert offsets(store, Query(tags=frozenset([b"even"]))) == list(range(0, 12, 2))
