"""The journal's records prove their place: what a crash or an earlier use left behind is never read as the journal."""

from random import Random

import pytest

from hansard.storage.journal import HEADER_BYTES
from hansard.storage.record import RECORD_BYTES, Gap, Kind, Record, Scan, Window, pack, scan
from hansard.storage.settings import StoreSettings
from hansard.storage.store import open_store
from sim.disk import SimDisk
from sim.history import IDENTITY
from tests.storage.stores import batch_at, new_store, offsets, reopen

NUMBER = 7
BASES = (11, 14, 17, 21)
"""Offsets at which a batch of three changes has the same size each."""


def journal_of(*lengths_synced: int) -> bytes:
    """A file's bytes with one batch of three changes per record, each saying how far the file was synced."""
    data, crc = b"", 0
    for place, synced in enumerate(lengths_synced):
        batch = batch_at(BASES[place], 3)
        record = Record(Kind.BATCH, 0, BASES[place], BASES[place] + 3, len(data), batch.length, 0, batch)
        head, crc = pack(record, NUMBER, synced, crc)
        data += head + batch.to_bytes()
    return data


SIZE = RECORD_BYTES + batch_at(BASES[0], 3).length


def scanned(data: bytes, number: int = NUMBER, start: int = 0, known_end: int | None = None) -> Scan:
    window = Window(lambda position, length: data[position : position + length], len(data))
    return scan(window, number, start, known_end)


def bases(data: bytes, known_end: int | None = None) -> list[object]:
    found = scanned(data, known_end=known_end)
    return [item.before if isinstance(item, Record) else item for item in found.items]


def broken(data: bytes, position: int) -> bytes:
    return data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :]


def test_records_follow_each_other_to_the_end() -> None:
    data = journal_of(0, 0, 0)
    assert bases(data) == [11, 14, 17]
    assert bases(data + bytes(500)) == [11, 14, 17]
    assert scanned(data + bytes(500)).end == len(data)


def test_a_torn_record_ends_the_journal_and_takes_what_is_behind_it_along() -> None:
    data = journal_of(0, 0, 0, 0)
    for position in (SIZE + 10, SIZE + RECORD_BYTES + 10, SIZE + RECORD_BYTES + 200):
        assert bases(broken(data, position)) == [11]
        assert scanned(broken(data, position)).end == SIZE


def test_a_bad_record_that_a_later_one_vouches_for_is_damage() -> None:
    data = journal_of(0, 0, 2 * SIZE, 0)
    assert bases(broken(data, SIZE + 10)) == [11, Gap(SIZE, SIZE), 17, 21]
    found = scanned(broken(data, SIZE + RECORD_BYTES + 200))
    assert [bool(item.problem) for item in found.items if isinstance(item, Record)] == [False, True, False, False]


def test_a_bad_record_before_the_known_end_of_a_file_is_damage() -> None:
    data = journal_of(0, 0, 0)
    assert bases(broken(data, 2 * SIZE + 10), known_end=len(data)) == [11, 14, Gap(2 * SIZE, SIZE)]


def test_a_record_of_another_file_or_place_is_none() -> None:
    data = journal_of(0, 0)
    assert scanned(data, NUMBER + 1).items == []
    assert scanned(bytes(8) + data, start=8).items == []


def test_a_record_that_a_crash_left_behind_a_lost_one_does_not_come_back_when_that_one_is_replaced() -> None:
    """Two records of one group; the first is lost and the second survives. The next append fills the first's place
    exactly, so that the second follows it again, whole and of the right file: only the chain tells."""
    disk = SimDisk()
    store = new_store(disk)
    store.append([(0, batch_at(11, 3)), (0, batch_at(14, 3))])
    store.close()
    file = disk.open("journal/00.journal")
    second = file.read(HEADER_BYTES + SIZE, SIZE)
    file.write(HEADER_BYTES, [bytes(SIZE)])  # as if it had never reached the disk
    file.write(HEADER_BYTES + 2 * SIZE, [bytes(RECORD_BYTES)])  # nor the mark that vouches for both
    store = reopen(disk)
    assert offsets(store) == []
    store.append([(0, batch_at(11, 3, time=9))])
    store.close()
    file.write(HEADER_BYTES + SIZE, [second])  # the mark of the new one had not reached the disk either
    assert offsets(reopen(disk)) == [11, 12, 13]


def test_damage_is_seen_though_its_voucher_lies_in_another_window() -> None:
    disk = SimDisk()
    store = open_store(disk, create=IDENTITY, settings=StoreSettings())
    store.append([(0, batch_at(0, size=900_000)), (0, batch_at(1, size=500_000))])
    store.close()
    disk.flip("journal/00.journal", HEADER_BYTES + 1, 1)
    assert open_store(disk, settings=StoreSettings()).damage


@pytest.mark.parametrize("draw", range(60))
def test_what_a_crash_left_behind_a_torn_record_does_not_follow_the_same_record_again(draw: int) -> None:
    disk = SimDisk()
    store = new_store(disk)
    store.append([(0, batch_at(0))])
    store.file()
    before = disk.operation_count
    first, second = batch_at(1, size=1_500), batch_at(2)
    store.append([(0, first), (0, second)])
    for at in range(before, disk.operation_count + 1):
        left = disk.crashed(at, Random(draw))
        store = reopen(left)
        if store.bounds(0)[1] == 1:
            store.append([(0, first)])
            assert reopen(left.crashed(left.operation_count, Random(draw))).bounds(0)[1] == 2
