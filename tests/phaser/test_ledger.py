import pytest

from hansard.batch import Batch
from hansard.phaser import Recovered, Settings
from hansard.phaser.decree import Decree, as_batch
from hansard.phaser.effect import Committed, Cut, Effect, Keep, Note, Persist, Put
from hansard.phaser.government import Government, first_term
from hansard.phaser.ledger import Ledger
from hansard.phaser.recovered import STATE, decode_note
from tests.phaser.joined import batch

T1, T2 = first_term(1), first_term(2)


def new(settings: Settings | None = None) -> tuple[Ledger, list[Effect]]:
    effects: list[Effect] = []
    return Ledger(settings or Settings(), effects, Recovered()), effects


def entry(offset: int, series: int, term: int = T1, timestamp: int = 1) -> Batch:
    return batch(series).stamped(epoch=term, base_offset=offset, timestamp=timestamp)


def decree(offset: int, term: int, memory_us: int = 1000) -> Batch:
    content = as_batch(Decree(term, Government(term >> 20, "a", ("a",), memory_us=memory_us), False))
    return content.stamped(epoch=term, base_offset=offset, timestamp=1)


def persist(ledger: Ledger) -> None:
    ledger.flush()
    ledger.persisted(ledger.ticket)


def commit(ledger: Ledger, end: int) -> None:
    ledger.commit_known = end
    ledger.commit()
    ledger.settle()


def test_writes_of_a_turn_leave_together_and_in_order() -> None:
    ledger, effects = new()
    ledger.promise(T1, counts=True)
    ledger.append(entry(0, 0))
    ledger.append(entry(1, 1))
    ledger.flush()
    (effect,) = effects
    assert isinstance(effect, Persist)
    assert [type(write) for write in effect.writes] == [Note, Note, Put, Put]


def test_the_note_says_that_a_run_begins_before_its_first_entry_is_written() -> None:
    ledger, effects = new()
    ledger.append(entry(0, 0))
    ledger.flush()
    (effect,) = effects
    assert isinstance(effect, Persist)
    note, put = effect.writes
    assert isinstance(note, Note) and isinstance(put, Put)
    assert [run.term for run in decode_note(note.content).runs] == [T1]


def test_what_is_on_disk_follows_the_tickets() -> None:
    ledger, _ = new()
    for number in range(3):
        ledger.append(entry(number, number))
        ledger.flush()
    ledger.persisted(1)
    assert ledger.synced == 1
    ledger.persisted(3)
    assert ledger.synced == 3


def test_a_promise_counts_once_it_is_on_disk() -> None:
    ledger, _ = new()
    ledger.promise(T1, counts=True)
    ledger.flush()
    assert (ledger.promised, ledger.promised_synced) == (T1, 0)
    ledger.persisted(1)
    assert ledger.promised_synced == T1


def test_only_what_is_on_this_disk_is_committed_here() -> None:
    ledger, effects = new()
    ledger.append(entry(0, 0))
    persist(ledger)
    ledger.append(entry(1, 1))
    ledger.flush()
    commit(ledger, 2)
    assert ledger.committed == 1
    ledger.persisted(2)
    ledger.commit()
    assert [effect.end for effect in effects if isinstance(effect, Committed)] == [1, 2]


def test_a_cut_unrolls_streams_and_decrees_with_their_entries() -> None:
    ledger, _ = new()
    ledger.append(decree(0, T1))
    ledger.append(entry(1, 0))
    ledger.append(entry(2, 1))
    ledger.append(decree(3, T2))
    ledger.append(entry(4, 2, T2))
    assert ledger.latest_decree is not None and ledger.latest_decree.term == T2
    ledger.cut(2)
    assert ledger.streams.last(7) == 0
    assert ledger.latest_decree.term == T1
    assert (ledger.end, ledger.lineage.last_term, list(ledger.tail)) == (2, T1, [0, 1])


def test_a_ticket_under_way_does_not_bring_back_what_was_cut_meanwhile() -> None:
    ledger, _ = new()
    for number in range(3):
        ledger.append(entry(number, number))
    ledger.flush()
    ledger.cut(1)
    ledger.append(entry(1, 1, T2))
    ledger.flush()
    ledger.persisted(1)
    assert ledger.synced == 1, "the disk may have three entries, but not of this log"
    ledger.persisted(2)
    assert ledger.synced == 2


def test_a_cut_within_one_turn_leaves_the_disk_with_the_same_log() -> None:
    ledger, effects = new()
    ledger.append(entry(0, 0))
    ledger.append(entry(1, 1))
    ledger.cut(1)
    ledger.flush()
    (effect,) = effects
    assert isinstance(effect, Persist)
    assert [type(write) for write in effect.writes] == [Note, Put, Put, Cut]


def test_what_is_committed_is_never_unrolled() -> None:
    ledger, _ = new()
    ledger.append(entry(0, 0))
    persist(ledger)
    commit(ledger, 1)
    with pytest.raises(AssertionError, match="never unrolled"):
        ledger.cut(0)


def test_a_decree_changes_how_long_is_remembered_only_for_what_comes_after_it() -> None:
    """Every copy forgets the same, in however many steps it commits."""
    images = []
    for steps in ((4,), (1, 2, 3, 4), (2, 4)):
        ledger, _ = new()
        ledger.append(entry(0, 0))
        ledger.append(batch(0, 8).stamped(epoch=T1, base_offset=1, timestamp=500))
        ledger.append(decree(2, T1, memory_us=100))
        ledger.append(batch(0, 9).stamped(epoch=T1, base_offset=3, timestamp=590))
        persist(ledger)
        for step in steps:
            commit(ledger, step)
        images.append(ledger.streams.image())
    assert images[0] == images[1] == images[2]
    assert images[0].forgotten == 7
    assert [connection for connection, _ in images[0].streams] == [8, 9]


def test_the_state_is_stored_after_so_many_batches_and_not_before_they_are_committed() -> None:
    ledger, effects = new(Settings(checkpoint_batches=2))
    for number in range(2):
        ledger.append(entry(number, number))
        persist(ledger)
    commit(ledger, 2)
    ledger.flush()
    kept = [write for e in effects if isinstance(e, Persist) for write in e.writes if isinstance(write, Keep)]
    assert [write.name for write in kept] == [STATE]
    assert ledger.saved_synced == 0, "not on disk yet"
    ledger.persisted(ledger.ticket)
    assert ledger.saved_synced == 2


def test_memory_keeps_what_somebody_needs_up_to_a_bound() -> None:
    length = entry(0, 0).length
    ledger, _ = new(Settings(tail_bytes_max=3 * length))
    for number in range(5):
        ledger.append(entry(number, number))
    persist(ledger)
    ledger.forget(0)
    assert len(ledger.tail) == 5, "none of it is committed"
    commit(ledger, 5)
    ledger.forget(0)
    assert list(ledger.tail) == [2, 3, 4]
    ledger.forget(4)
    assert list(ledger.tail) == [4]
    assert ledger.tail_bytes == length


def test_times_never_go_back_in_a_log() -> None:
    ledger, _ = new()
    ledger.append(entry(0, 0, timestamp=9))
    ledger.cut(0)
    assert ledger.timestamp == 9


def test_what_nobody_needs_is_dropped_from_memory_to_the_last_batch() -> None:
    ledger, _ = new()
    for number in range(500):
        ledger.append(entry(number, number))
    persist(ledger)
    commit(ledger, 499)
    ledger.forget(500)
    assert list(ledger.tail) == [499], "the last one is not committed"
    commit(ledger, 500)
    ledger.forget(500)
    assert not ledger.tail and ledger.tail_bytes == 0
