"""A node's disk: parts that are written in one order and synced together."""

from random import Random

import pytest

from hansard.batch import build
from hansard.consensus.content import Begin, Entry
from hansard.consensus.effect import Put as LogPut
from hansard.participant.effect import ATOMIC, Drop, Fork, Load, Persist
from hansard.participant.event import Loaded, Persisted
from hansard.phaser.effect import Note, Put
from hansard.phaser.recovered import NoteContent, encode
from sim.cluster.disk import Disk


def put(offset: int) -> Put:
    return Put(build([b"k"], [b"v"]).stamped(epoch=1, base_offset=offset, timestamp=1))


def written() -> Disk:
    """In turn to a bucket and to the atomic log."""
    disk = Disk(lazy=False)
    for number in range(10):
        disk.carry_out(Persist(3, 1, number, (put(number),)))
        disk.carry_out(Persist(ATOMIC, 0, number, (LogPut(number, (Entry(1, Begin()),)),)))
    return disk


def test_what_is_synced_is_said_in_order() -> None:
    disk = written()
    assert disk.sync(3) == [Persisted(3, 1, 0), Persisted(ATOMIC, 0, 0), Persisted(3, 1, 1)]
    assert len(disk.part(3).synced_batches()) == 2 and disk.atomic.synced.end == 1
    assert len(disk.part(3).fetch(0, 1 << 20)) == 10


@pytest.mark.parametrize("seed", range(20))
def test_a_crash_leaves_a_prefix_over_all_parts(seed: int) -> None:
    disk = written()
    disk.sync(6)
    lost = disk.crash(Random(seed))
    there = len(disk.part(3).synced_batches()), disk.atomic.synced.end
    assert sum(there) == 20 - lost >= 6
    assert there[0] - there[1] in (0, 1)
    assert disk.sync(100) == []


def test_crashes_differ() -> None:
    losses = set()
    for seed in range(20):
        losses.add(written().crash(Random(seed)))
    assert len(losses) > 5


def test_a_drop_is_a_write_like_others() -> None:
    disk = written()
    disk.carry_out(Drop(3))
    assert not disk.part(3).synced.empty or disk.part(3).pending
    assert disk.part(3).current.empty
    disk.sync(20)
    assert len(disk.part(3).synced_batches()) == 10 and 3 in disk.shelf()
    disk.sync(21)
    assert disk.part(3).synced.empty and disk.dropped == 1 and 3 not in disk.shelf()


def test_a_drop_that_is_not_synced_may_be_lost_or_not() -> None:
    kept = set()
    for seed in range(40):
        disk = written()
        disk.sync(20)
        disk.carry_out(Drop(3))
        disk.crash(Random(seed))
        kept.add(disk.part(3).synced.empty)
        assert disk.part(3).current.empty is disk.part(3).synced.empty
    assert kept == {True, False}


def test_what_is_loaded_is_all_that_was_written_and_nothing_of_what_was_dropped() -> None:
    disk = written()
    disk.carry_out(Load(3, 1))
    disk.carry_out(Drop(3))
    disk.carry_out(Load(3, 2))
    disk.carry_out(Persist(3, 2, 1, (Note(b"again"),)))
    assert disk.sync(20)[-1] == Persisted(ATOMIC, 0, 9)
    (first,) = disk.sync(21)
    assert isinstance(first, Loaded) and (first.generation, first.recovered.end) == (1, 10)
    (second,) = disk.sync(23)
    assert isinstance(second, Loaded) and (second.generation, second.recovered.end) == (2, 0)
    disk.sync(24)
    assert disk.part(3).synced.note == b"again" and not disk.part(3).synced.empty


# Forks.


def forked() -> Disk:
    """A copy of a bucket is made between two writes to it, and both go on."""
    disk = Disk(lazy=False)
    disk.carry_out(Persist(1, 1, 1, (put(0), Note(b"whole"))))
    disk.carry_out(Fork(1, 3))
    disk.carry_out(Persist(1, 1, 2, (put(1),)))
    disk.carry_out(Persist(3, 2, 1, (Note(b"half"), put(1))))
    return disk


def test_a_fork_is_all_that_was_written_before_it_and_nothing_of_what_comes_after() -> None:
    disk = forked()
    assert disk.forking and len(disk.part(3).fetch(0, 1 << 20)) == 2
    disk.sync(2)
    assert disk.part(3).synced.batches == disk.part(1).synced.batches and disk.part(3).synced.note == b"whole"
    disk.sync(4)
    assert not any(operation.whole for operation in disk.pending)
    assert disk.part(1).synced.note == b"whole" and disk.part(3).synced.note == b"half"
    assert [len(disk.part(number).synced_batches()) for number in (1, 3)] == [2, 2]
    assert disk.part(1).synced.batches[1] is not disk.part(3).synced.batches[1]


def test_a_fork_is_there_or_not_after_a_crash_and_never_without_what_came_before() -> None:
    seen = set()
    for seed in range(60):
        disk = forked()
        disk.crash(Random(seed))
        whole, half = disk.part(1).synced, disk.part(3).synced
        seen.add((len(whole.batches), whole.note, len(half.batches), half.note))
        assert disk.part(3).current.batches == half.batches
    assert seen == {
        (0, b"", 0, b""),
        (1, b"", 0, b""),
        (1, b"whole", 0, b""),
        (1, b"whole", 1, b"whole"),
        (2, b"whole", 1, b"whole"),
        (2, b"whole", 1, b"half"),
        (2, b"whole", 2, b"half"),
    }


def test_a_bucket_that_is_there_is_not_forked_over() -> None:
    disk = forked()
    with pytest.raises(AssertionError, match="there already"):
        disk.carry_out(Fork(1, 3))


def test_a_copy_on_the_shelf_is_of_the_level_that_it_has_noted_or_must_have() -> None:
    disk = Disk(lazy=False)
    disk.carry_out(Persist(1, 1, 1, (Note(encode(NoteContent(counted=4, buckets=2))), put(0))))
    disk.carry_out(Fork(1, 3))
    disk.sync(2)
    assert {number: (one.level, one.counted) for number, one in disk.shelf().items()} == {1: (2, 4), 3: (4, 4)}


def test_a_copy_that_was_not_split_stands_for_the_halves() -> None:
    disk = Disk(lazy=False)
    disk.carry_out(Persist(1, 1, 1, (Note(encode(NoteContent(counted=4, buckets=2))), put(0))))
    disk.sync(1)
    assert disk.evidence(1) is disk.evidence(3) is disk.evidence(7) is disk.part(1)
    assert disk.evidence(2).synced.empty and disk.evidence(6).synced.empty
    disk.carry_out(Persist(1, 1, 2, (Note(encode(NoteContent(counted=5, buckets=4))),)))
    disk.sync(2)
    assert disk.evidence(3).synced.empty and disk.evidence(5) is disk.part(1)
