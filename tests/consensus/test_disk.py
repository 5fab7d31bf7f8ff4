"""The atomic log on a store: what is written is found again, or a prefix of it after a crash, and it takes little."""

from random import Random

import pytest
from msgspec.structs import replace

from hansard.consensus.content import Begin, Council, Depart, Entry, Proposal, Upgrade
from hansard.consensus.disk import entry_of, recovered, translated
from hansard.consensus.effect import Cut, Discard, Keep, Note, Put, Reset, Trim
from hansard.consensus.errors import Damaged
from hansard.consensus.home import SETTINGS
from hansard.consensus.recovered import STATE, NoteContent, Recovered, State, encode
from hansard.consensus.settings import Settings
from hansard.storage import write as stored
from hansard.storage.record import RECORD_BYTES
from hansard.storage.store import open_store
from sim.disk import SimDisk
from tests.consensus.atomic import BUCKET, CLUSTER, IDENTITY, A, Life, arrival, open_tiny, proposal, write

LIVES = 6
ENTRIES = (
    Entry(0, Council((A,))),
    Entry(1, Begin()),
    Entry(1, replace(arrival(A), zone="zone", inventory=b"\x00\xff")),
    Entry(4, Proposal(A, 2, 1, b"content")),
    Entry(4, Upgrade(2)),
    Entry(7, Depart(A)),
)


def state_at(end: int) -> Keep:
    return Keep(STATE, encode(State(end)))


def test_an_empty_store_is_an_empty_disk() -> None:
    assert recovered(open_tiny(SimDisk(), create=True), BUCKET) == Recovered(entries=())


@pytest.mark.parametrize("filed", [False, True])
def test_what_is_written_is_found(filed: bool) -> None:
    disk = SimDisk()
    store = open_tiny(disk, create=True)
    note = encode(NoteContent(CLUSTER, 11, 3, 7, A))
    write(
        store,
        Put(0, ENTRIES[:4]),
        Note(note),
        Put(4, ENTRIES[4:]),
        Keep("part-1", b"p"),
        state_at(2),
        Discard("part-1"),
    )
    if filed:
        store.file()
    store.close()
    assert recovered(open_tiny(disk), BUCKET) == Recovered(
        note=note, documents={STATE: encode(State(2))}, start=0, entries=ENTRIES
    )


def test_an_entry_is_a_batch_at_its_index_in_its_term() -> None:
    writes = translated(5, Put(10, ENTRIES))
    assert [write.bucket for write in writes] == [5] * len(ENTRIES)
    batches = [write.batch for write in writes if isinstance(write, stored.Append)]
    assert [batch.header.base_offset for batch in batches] == list(range(10, 16))
    assert [batch.header.epoch for batch in batches] == [entry.term for entry in ENTRIES]
    assert tuple(map(entry_of, batches)) == ENTRIES


def test_entries_that_were_put_together_take_one_sync() -> None:
    disk = SimDisk()
    store = open_tiny(disk, create=True)
    before = disk.sync_count
    write(store, Note(b""), Put(0, ENTRIES))
    assert disk.sync_count == before + 1


@pytest.mark.parametrize("filed", [False, True])
@pytest.mark.parametrize("end", range(len(ENTRIES) + 1))
def test_a_cut_may_part_entries_that_were_put_together(end: int, filed: bool) -> None:
    disk = SimDisk()
    store = open_tiny(disk, create=True)
    write(store, Put(0, ENTRIES))
    if filed:
        store.file()
    write(store, Cut(end))
    other = (Entry(7, Begin()), Entry(8, proposal(1)))
    for entries in (ENTRIES[:end], ENTRIES[:end] + other):
        assert recovered(store, BUCKET).entries == entries
        store.close()
        store = open_tiny(disk)
        assert recovered(store, BUCKET).entries == entries
        if len(entries) == end:
            write(store, Put(end, other))


def test_after_a_reset_the_log_begins_anywhere_and_in_any_term() -> None:
    disk = SimDisk()
    store = open_tiny(disk, create=True)
    write(store, Put(0, ENTRIES), state_at(40), Reset(40), Put(40, (Entry(3, Begin()),)))
    store.close()
    found = recovered(open_tiny(disk), BUCKET)
    assert (found.start, found.entries) == (40, (Entry(3, Begin()),))


# Crashes.


@pytest.mark.parametrize("seed", range(LIVES))
def test_a_crash_anywhere_leaves_a_prefix_of_what_was_written(seed: int) -> None:
    life = Life(seed)
    made = life.disk.operation_count
    life.live(60)
    for at in range(made, life.disk.operation_count + 1):
        random = Random(f"{seed} {at}")
        left = life.disk.restarted(at) if random.random() < 0.2 else life.disk.crashed(at, random)
        found = recovered(open_tiny(left), BUCKET)
        possible = life.possible(at)
        assert any(held.is_in(found) for held in possible), f"life {seed}, crash after operation {at}"
        again = recovered(open_tiny(left.crashed(left.operation_count, random)), BUCKET)
        assert again == found, f"life {seed}, a second crash after operation {at}"


def test_the_lives_were_eventful() -> None:
    """Otherwise the crashes above proved nothing."""
    counts: dict[str, int] = {}
    for seed in range(LIVES):
        life = Life(seed)
        life.live(60)
        counts = {name: counts.get(name, 0) + count for name, count in life.counts.items()}
    assert all(count >= LIVES / 2 for count in counts.values()), counts


# How much it takes.


def test_a_long_life_takes_little_of_the_disk() -> None:
    """Compacted as a core does it, with the files that a participant has."""
    disk, settings = SimDisk(), Settings()
    store = open_store(disk, create=IDENTITY, settings=SETTINGS)
    end, kept, most, state = 0, 0, 0, bytes(100_000)
    for number in range(400):
        entries = (Entry(1, proposal(number, 900)),) * 64
        write(store, Put(end, entries))
        end += len(entries)
        if end - kept >= settings.compact_entries:
            kept = end
            write(store, Keep(STATE, encode(State(end, 1, image=state))), Trim(end - settings.keep_entries))
        if number % 8 == 0:
            most = max(most, sum(map(len, disk.files().values())))
    assert end * 1_000 > 25_000_000 and most < 14_000_000
    found = recovered(store, BUCKET)
    assert found.start <= kept - settings.keep_entries and len(found.entries) < 10_000
    assert found.start + len(found.entries) == end


# What is damaged is not taken for what was there.


def test_a_damaged_entry_is_not_passed_over() -> None:
    disk = SimDisk()
    store = open_tiny(disk, create=True)
    write(store, Put(0, ENTRIES[:3]))
    entry = store.log(BUCKET).tail[1]
    write(store, Put(3, ENTRIES[3:]))
    store.close()
    disk.flip(entry.file.path, entry.position + 100, 1)
    store = open_tiny(disk)
    with pytest.raises(Damaged, match="--rejoin"):
        recovered(store, BUCKET)
    store.give_up(store.damage)
    with pytest.raises(Damaged, match="entry 1 is missing"):
        recovered(store, BUCKET)


def test_a_damaged_note_is_not_passed_over() -> None:
    disk = SimDisk()
    store = open_tiny(disk, create=True)
    write(store, Note(encode(NoteContent(term=1))))
    file, place = store.journal.current.path, store.journal.current.end
    write(store, Note(encode(NoteContent(term=2))), Put(0, ENTRIES))
    store.close()
    disk.flip(file, place + RECORD_BYTES + 2, 1)
    with pytest.raises(Damaged):
        recovered(open_tiny(disk), BUCKET)


def test_a_log_whose_beginning_nothing_covers_is_refused() -> None:
    disk = SimDisk()
    store = open_tiny(disk, create=True)
    write(store, state_at(40), Reset(40), Put(40, ENTRIES))
    store.close()
    disk.remove(f"buckets/{BUCKET:05d}/{STATE}.document")
    with pytest.raises(Damaged, match="begins at entry 40"):
        recovered(open_tiny(disk), BUCKET)


def test_a_damaged_state_is_refused() -> None:
    disk = SimDisk()
    store = open_tiny(disk, create=True)
    write(store, state_at(40))
    store.close()
    disk.flip(f"buckets/{BUCKET:05d}/{STATE}.document", 40, 1)
    with pytest.raises(Damaged):
        recovered(open_tiny(disk), BUCKET)
