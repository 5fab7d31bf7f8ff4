"""Whole batches for another member: the very bytes that are stored, a bounded number at a time."""

import pytest

from hansard.storage.errors import Corrupt, Trimmed
from hansard.storage.retention import Retention
from sim.disk import SimDisk
from tests.storage.stores import batch_at, fill, new_store


@pytest.mark.parametrize("filed", [True, False])
@pytest.mark.parametrize("bytes_max", [0, 1, 500, 2_000, 1 << 20])
def test_all_batches_come_as_they_were_stored_internal_ones_too(filed: bool, bytes_max: int) -> None:
    store = new_store()
    stored = [batch_at(base, 3) for base in range(0, 60, 3)]
    stored[7] = stored[7].marked_internal()
    stored[19] = stored[19].marked_internal()
    for batch in stored[:12]:
        store.append([(0, batch)])
    if filed:
        store.file()
    for batch in stored[12:]:
        store.append([(0, batch)])
    found, at = [], 0
    while batches := store.batches(0, at, bytes_max):
        assert len(batches) == 1 or sum(batch.length for batch in batches) <= bytes_max
        found += batches
        at = batches[-1].header.end_offset
    assert [batch.to_bytes() for batch in found] == [batch.to_bytes() for batch in stored]


def test_an_offset_inside_a_batch_gives_all_of_it_and_one_between_batches_the_next() -> None:
    store = new_store()
    store.append([(0, batch_at(0, 5)), (0, batch_at(9, 2))])
    assert [batch.header.base_offset for batch in store.batches(0, 3, 1 << 20)] == [0, 9]
    assert [batch.header.base_offset for batch in store.batches(0, 7, 1 << 20)] == [9]
    assert store.batches(0, 11, 1 << 20) == [] and store.batches(4, 0, 1 << 20) == []


def test_what_is_no_longer_retained_is_said_so() -> None:
    store = new_store()
    fill(store, 0, 300)
    store.retain({0: Retention(change_count=50)}, now=0)
    with pytest.raises(Trimmed):
        store.batches(0, 0, 1 << 20)
    start, end = store.bounds(0)
    assert store.batches(0, start, 1 << 20)[-1].header.end_offset == end


def test_batches_end_before_damage_and_do_not_begin_with_it() -> None:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 9)
    entry = store.log(0).tail[1]
    disk.flip(entry.file.path, entry.position + entry.length - 5, 1)
    assert [batch.header.base_offset for batch in store.batches(0, 0, 1 << 20)] == [0]
    with pytest.raises(Corrupt):
        store.batches(0, 3, 1 << 20)
    assert [batch.header.base_offset for batch in store.batches(0, 6, 1 << 20)] == [6]
