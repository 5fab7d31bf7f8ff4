from crc32c import crc32c

from hansard.batch import Batch
from hansard.phaser import Phaser, Settings
from hansard.phaser.effect import Discard
from hansard.phaser.event import Appointed, Connected, Received
from hansard.phaser.government import Government, NodeId, Shape, Term, first_term
from hansard.phaser.lineage import Run
from hansard.phaser.message import (
    Acknowledge,
    Append,
    Collection,
    Commit,
    Estranged,
    Message,
    Part,
    PartKept,
    Refuse,
    Wedge,
    Wedged,
)
from hansard.phaser.recovered import STATE, State, encode
from hansard.phaser.streams import Image
from tests.phaser.joined import Joined, batch, formed, series_of, submit

T1, T2, T3 = first_term(1), first_term(2), first_term(3)
PAIR = Government(1, "a", ("a", "b"))


def entry(term: int, offset: int, series: int) -> Batch:
    return batch(series).stamped(epoch=term, base_offset=offset, timestamp=1)


def following(*entries: Batch, node: NodeId = "b", settings: Settings | None = None) -> Joined:
    """A member alone with a leader that the test speaks for."""
    joined = Joined(node, settings)
    joined.happen(node, Received("a", Wedge(T1, PAIR, False, 0, 0, ())))
    for content in entries:
        header = content.header
        previous = T1 if header.base_offset else 0
        joined.happen(node, Received("a", Append(T1, previous, header.base_offset, content, 0)))
    return joined


def said(joined: Joined, *messages: Message, node: NodeId = "b") -> list[Message]:
    """What it says to these, at once or once its disk has got on."""
    before = len(joined.sent)
    joined.happen(node, *[Received("a", message) for message in messages])
    return [message for _, _, message in joined.sent[before:]]


def collection(content: bytes, offset: int, total: int, start: int | None = None, term: Term = T1) -> Collection:
    return Collection(offset, offset if start is None else start, term, total, crc32c(content))


# Batches.


def test_nothing_is_acknowledged_before_it_is_on_disk() -> None:
    joined = following()
    joined.stalled = {"b"}
    assert said(joined, Append(T1, 0, 0, entry(T1, 0, 0), 0)) == []
    joined.sync("b")
    assert joined.messages(Acknowledge)[-1].through == 1


def test_nothing_is_said_in_a_term_before_the_promise_is_on_disk() -> None:
    joined = Joined("b")
    joined.stalled = {"b"}
    assert said(joined, Wedge(T1, PAIR, False, 0, 0, ()), Append(T1, 0, 0, entry(T1, 0, 0), 0)) == []
    joined.sync("b")
    assert joined.messages(Wedged)[0].through == 1


def test_a_batch_that_comes_twice_is_stored_once_and_acknowledged_again() -> None:
    joined = following(entry(T1, 0, 0))
    answer = said(joined, Append(T1, 0, 0, entry(T1, 0, 0), 0))
    assert series_of(joined.disks["b"].log) == [0]
    assert [message.through for message in answer if isinstance(message, Acknowledge)] == [1]


def test_only_the_next_batch_is_taken() -> None:
    joined = following(entry(T1, 0, 0))
    answer = said(joined, Append(T1, T1, 2, entry(T1, 2, 2), 0))
    assert answer == [Acknowledge(T1, 1, 1, 0, True)]
    assert said(joined, Append(T1, T1, 3, entry(T1, 3, 3), 0)) == [], "it has said so"
    assert series_of(joined.disks["b"].log) == [0]


def test_a_batch_that_follows_another_entry_than_the_last_is_not_taken() -> None:
    joined = following(entry(T1, 0, 0))
    said(joined, Append(T1, T1 + 5, 1, entry(T1, 1, 1), 0))
    assert series_of(joined.disks["b"].log) == [0]


def test_the_commit_point_may_be_ahead_of_the_log() -> None:
    joined = following(entry(T1, 0, 0))
    said(joined, Commit(T1, 5))
    assert joined.phasers["b"].ledger.committed == 1
    said(joined, Append(T1, T1, 1, entry(T1, 1, 1), 5))
    assert joined.phasers["b"].ledger.committed == 2


def test_an_earlier_term_is_refused_with_the_newer_one() -> None:
    joined = following()
    said(joined, Wedge(T2, Government(2, "a", ("a", "b")), False, 0, 0, ()))
    assert said(joined, Append(T1, 0, 0, entry(T1, 0, 0), 0)) == [Refuse(T1, T2)]
    assert said(joined, Wedge(T1, PAIR, False, 0, 0, ())) == [Refuse(T1, T2)]
    assert not joined.disks["b"].log


def test_a_term_that_it_has_not_been_wedged_for_is_not_taken() -> None:
    joined = following()
    assert said(joined, Append(T2, 0, 0, entry(T2, 0, 0), 0)) == [Estranged(T2)]
    assert not joined.disks["b"].log


# Matching the leader's log.


def test_what_the_leader_never_had_is_unrolled() -> None:
    joined = following(entry(T1, 0, 0), entry(T1, 1, 1), entry(T1, 2, 2))
    answer = said(joined, Wedge(T2, Government(2, "a", ("a", "b")), False, 0, 1, (Run(T1, 0),)))
    assert answer == [Wedged(T2, 1, 1, True, None, 0)]
    assert series_of(joined.disks["b"].log) == [0]
    assert joined.phasers["b"].ledger.streams.last(7) == 0


def test_the_same_wedge_again_unrolls_nothing_that_the_term_has_written() -> None:
    joined = following(entry(T1, 0, 0), entry(T1, 1, 1))
    answer = said(joined, Wedge(T1, PAIR, False, 0, 0, ()))
    assert answer == [Wedged(T1, 2, 2, True, None, 0)]
    joined.restart("b")
    assert said(joined, Wedge(T1, PAIR, False, 0, 0, ())) == [Wedged(T1, 2, 2, True, None, 0)]


def test_a_log_with_nothing_in_common_is_of_no_use_and_is_not_acknowledged() -> None:
    joined = following(entry(T1, 0, 0))
    answer = said(joined, Wedge(T2, Government(2, "a", ("a", "b")), False, 50, 90, (Run(T1, 0),)))
    assert answer == [Wedged(T2, None, -1, True, None, 0)]
    assert said(joined, Append(T2, T1, 50, entry(T2, 50, 50), 50)) == []
    assert said(joined, Commit(T2, 60)) == []
    assert series_of(joined.disks["b"].log) == [0], "it is thrown away when there is something better"


# Snapshots.


def returned_after_a_long_time() -> Joined:
    """d has a log up to 1 and its state there; the leader's log begins at 100 by now."""
    joined = following(entry(T1, 0, 0), node="d", settings=Settings(checkpoint_batches=1))
    said(joined, Commit(T1, 1), node="d")
    assert STATE in joined.disks["d"].current.documents
    said(joined, Wedge(T2, Government(2, "a", ("a",), ("d",)), False, 100, 200, (Run(T1, 0),)), node="d")
    return joined


STATE_AT_100 = encode(State(100, 1, None, Image(9, ())))


def test_a_copy_that_begins_anew_has_the_leaders_state_and_its_log_from_there() -> None:
    joined = returned_after_a_long_time()
    whole = collection(STATE_AT_100, 100, 2)
    assert said(joined, Part(T2, whole, 0, STATE_AT_100[:4]), node="d") == [PartKept(T2, whole, 1)]
    answer = said(joined, Part(T2, whole, 1, STATE_AT_100[4:]), node="d")
    assert PartKept(T2, whole, 2) in answer
    ledger = joined.phasers["d"].ledger
    assert (ledger.start, ledger.end, ledger.committed, ledger.streams.forgotten) == (100, 100, 100, 9)
    said(joined, Append(T2, T1, 100, entry(T2, 100, 100), 101), node="d")
    assert ledger.committed == 101
    assert list(joined.disks["d"].current.documents) == [STATE]


def test_a_part_that_comes_twice_is_acknowledged_twice() -> None:
    joined = returned_after_a_long_time()
    whole = collection(STATE_AT_100, 100, 2)
    parts = [Part(T2, whole, 0, STATE_AT_100[:4]), Part(T2, whole, 1, STATE_AT_100[4:])]
    for kept, part in enumerate(parts, start=1):
        for _ in range(2):
            assert PartKept(T2, whole, kept) in said(joined, part, node="d")


def test_a_snapshot_does_not_throw_away_a_log_that_is_of_use() -> None:
    joined = following(entry(T1, 0, 0), entry(T1, 1, 1))
    answer = said(joined, Part(T1, collection(STATE_AT_100, 1, 1), 0, STATE_AT_100))
    assert answer == [Estranged(T1)], "whoever sends it has a wrong idea of this copy"
    assert series_of(joined.disks["b"].log) == [0, 1]


def test_a_part_of_a_snapshot_that_was_given_up_is_not_taken_for_another() -> None:
    joined = returned_after_a_long_time()
    other = encode(State(100, 1, None, Image(5, ())))
    whole = collection(STATE_AT_100, 100, 2)
    said(joined, Part(T2, whole, 0, STATE_AT_100[:4]), node="d")
    said(joined, Part(T2, collection(other, 100, 2), 1, other[4:]), node="d")
    assert joined.phasers["d"].ledger.parts == [STATE_AT_100[:4]]
    assert not joined.phasers["d"].ledger.stated


def test_a_snapshot_whose_checksum_is_wrong_is_not_installed() -> None:
    joined = returned_after_a_long_time()
    wrong = Collection(100, 100, T1, 1, crc32c(STATE_AT_100) ^ 1)
    said(joined, Part(T2, wrong, 0, STATE_AT_100), node="d")
    assert not joined.phasers["d"].ledger.stated


def test_collecting_goes_on_after_a_restart_where_it_was() -> None:
    joined = returned_after_a_long_time()
    whole = collection(STATE_AT_100, 100, 3)
    said(joined, Part(T2, whole, 0, STATE_AT_100[:3]), node="d")
    said(joined, Part(T2, whole, 1, STATE_AT_100[3:6]), node="d")
    joined.restart("d")
    wedge = Wedge(T2, Government(2, "a", ("a",), ("d",)), False, 100, 200, (Run(T1, 0),))
    (answer,) = said(joined, wedge, node="d")
    assert isinstance(answer, Wedged)
    assert (answer.stated, answer.collection, answer.parts) == (False, whole, 2)
    said(joined, Part(T2, whole, 2, STATE_AT_100[6:]), node="d")
    assert joined.phasers["d"].ledger.stated


def test_half_begun_anew_is_without_a_state() -> None:
    """It must not be taken for a copy that has all there is before 100: its table of streams lacks nearly all of it."""
    joined = returned_after_a_long_time()
    joined.stalled = {"d"}
    said(joined, Part(T2, collection(STATE_AT_100, 100, 2), 0, STATE_AT_100[:4]), node="d")
    disk = joined.disks["d"]
    assert len(disk.under_way) > 3
    for kept in range(len(disk.under_way) + 1):
        crashed = disk.copy()
        crashed.crash(kept)
        again = Phaser("d", 0, joined.settings, crashed.recovered())
        assert not again.ledger.stated or again.ledger.start == 0, f"after {kept} writes"


def test_parts_of_one_snapshot_are_never_taken_for_those_of_another() -> None:
    """A crash while the parts of a completed snapshot are being discarded leaves some of them on disk."""
    joined = returned_after_a_long_time()
    disk = joined.disks["d"]
    old = encode(State(300, 1, None, Image(0, ())))
    whole = collection(old, 300, 3)
    said(joined, Part(T2, whole, 0, old[:4]), Part(T2, whole, 1, old[4:5]), node="d")
    joined.stalled = {"d"}
    said(joined, Part(T2, whole, 2, old[5:]), node="d")
    kinds = [type(write) for _, write in disk.under_way]
    joined.crash("d", kinds.index(Discard))
    joined.stalled.clear()
    assert joined.restart("d").ledger.stated
    wedge = Wedge(T3, Government(3, "a", ("a",), ("d",)), False, 500, 600, (Run(T2, 299),))
    said(joined, wedge, node="d")
    newer = encode(State(500, 1, None, Image(9, ())))
    said(joined, Part(T3, collection(newer, 500, 3, 500, T2), 0, newer[:4]), node="d")
    again = joined.restart("d")
    assert not again.ledger.stated
    assert again.ledger.parts == [newer[:4]]
    assert len(disk.current.documents) == 1


def test_a_newcomer_holds_a_bounded_part_of_the_log_in_memory() -> None:
    """Also until its log reaches the state that it got, before which nothing is committed there."""
    settings = Settings(tail_bytes_max=10_000)
    joined = Joined("d", settings)
    said(joined, Wedge(T1, Government(1, "a", ("a",), ("d",)), False, 100, 5000, (Run(T1, 0),)), node="d")
    state = encode(State(5000, 1, None, Image(0, ())))
    said(joined, Part(T1, collection(state, 5000, 1, 100), 0, state), node="d")
    for number in range(100, 400):
        said(joined, Append(T1, T1, number, entry(T1, number, number), 5000), node="d")
    ledger = joined.phasers["d"].ledger
    assert (ledger.synced, ledger.committed) == (400, 100)
    assert ledger.tail_bytes < 2 * settings.tail_bytes_max


# Being found again.


def test_a_member_that_restarts_in_a_quiet_bucket_learns_what_is_committed(shape: Shape) -> None:
    government = Government(1, "a", ("a", "b", "c"), shape=shape)
    joined = formed(government)
    joined.happen("a", submit(1, 0))
    for _ in range(3):
        joined.tick()
    for node in "bc":
        joined.crash(node)
        joined.restart(node)
        joined.happen(node, Appointed(government), Connected("a"))
        for _ in range(3):
            joined.tick()
        assert joined.phasers[node].ledger.committed == 2


def test_a_member_that_restarts_without_a_word_from_the_edict_is_found_by_the_next_batch(shape: Shape) -> None:
    joined = formed(Government(1, "a", ("a", "b", "c"), shape=shape))
    for node in "bc":
        joined.crash(node)
        joined.restart(node)
    joined.happen("a", submit(1, 0))
    for _ in range(4):
        joined.tick()
    assert 1 in joined.answers
    assert {joined.phasers[node].ledger.committed for node in "abc"} == {2}


def test_acknowledgements_go_to_whoever_feeds_me_now() -> None:
    """An expanded chain: c feeds d. d restarts, and a Wedge that the leader sent before the expansion comes late."""
    joined = formed(Government(1, "a", ("a", "c"), ("d",), Shape.CHAIN))
    late = joined.messages(Wedge, "a", "d")[0]
    leading = joined.phasers["a"].leading
    assert leading is not None and leading.expanded
    joined.crash("d")
    joined.restart("d")
    joined.happen("d", Received("a", late))
    joined.happen("a", submit(1, 0))
    for _ in range(10):
        joined.tick()
    assert list(joined.answers) == [1]


def test_in_a_chain_a_member_acknowledges_what_everybody_after_it_has_too() -> None:
    joined = formed(Government(1, "a", ("a", "b", "c"), shape=Shape.CHAIN))
    joined.stalled = {"c"}
    joined.happen("a", submit(1, 0))
    assert joined.phasers["b"].ledger.synced == 2
    assert joined.messages(Acknowledge, "b", "a")[-1].through == 1
    joined.resume("c")
    assert joined.messages(Acknowledge, "b", "a")[-1].through == 2


def test_a_refusal_from_further_down_the_chain_is_passed_up() -> None:
    joined = formed(Government(1, "a", ("a", "b", "c"), shape=Shape.CHAIN))
    joined.appoint(Government(2, "c", ("c",), shape=Shape.CHAIN), "c")
    joined.happen("a", submit(1, 0))
    assert joined.messages(Refuse, "b", "a")
    assert joined.phasers["a"].leading is None


def test_a_copy_that_begins_anew_further_back_acknowledges_what_it_gets() -> None:
    """A crash after Reset(115) and before the note leaves an empty log that begins at 115 and has no state. The next
    leader's log goes back to 82, so the copy begins anew there."""
    joined = returned_after_a_long_time()
    state = encode(State(150, 1, None, Image(0, ())))
    joined.stalled = {"d"}
    said(joined, Part(T2, collection(state, 150, 2, 115), 0, state[:3]), node="d")
    kinds = [type(write).__name__ for _, write in joined.disks["d"].under_way]
    joined.crash("d", kinds.index("Reset") + 1)
    joined.stalled.clear()
    joined.restart("d")
    said(joined, Wedge(T3, Government(3, "b", ("b",), ("d",)), False, 82, 200, (Run(T1, 0),)), node="d")
    other = encode(State(160, 1, None, Image(0, ())))
    said(joined, Part(T3, collection(other, 160, 1, 82), 0, other), node="d")
    answer = said(joined, Append(T3, T1, 82, entry(T1, 82, 82), 0), node="d")
    assert [message.through for message in answer if isinstance(message, Acknowledge)][-1] == 83


def test_a_snapshot_that_another_leader_goes_on_with_begins_where_that_leaders_log_does() -> None:
    """d has the first part of a snapshot, and its log was reset to 50 for it. The next leader's state is the same, in a
    quiet bucket, but its log begins at 80: that is another snapshot, or d would wait for what is dropped there."""
    state = encode(State(100, 1, None, Image(9, ())))
    joined = Joined("d")
    said(joined, Wedge(T1, Government(1, "a", ("a",), ("d",)), False, 50, 100, (Run(T1, 0),)), node="d")
    said(joined, Part(T1, collection(state, 100, 2, 50), 0, state[:4]), node="d")
    said(joined, Wedge(T2, Government(2, "b", ("b",), ("d",)), False, 80, 100, (Run(T1, 0),)), node="d")
    for number, content in enumerate((state[:4], state[4:])):
        said(joined, Part(T2, collection(state, 100, 2, 80), number, content), node="d")
    assert joined.phasers["d"].ledger.start == 80
