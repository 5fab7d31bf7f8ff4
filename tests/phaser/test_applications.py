"""Applications on a bucket: what every member has at an offset is a function of the committed log up to there."""

from collections.abc import Sequence
from itertools import pairwise

import pytest

from hansard.application import Application, HistoryGone, Host, Image, NewerImage
from hansard.batch import Batch, build
from hansard.phaser import Phaser, Settings
from hansard.phaser.decree import decree_in
from hansard.phaser.effect import Keep, Persist
from hansard.phaser.event import Question, Read, Submit, Tick, Trimmed
from hansard.phaser.government import Government, NodeId, Shape
from hansard.phaser.invariants import check_state
from hansard.phaser.message import Acknowledge, Commit
from hansard.phaser.outcome import Invalid, Misplaced, ReadFrom, Receipt, Repeated, Stored
from hansard.phaser.recovered import STATE, State, decode_state, encode
from hansard.phaser.streams import NAME, Streams
from hansard.phaser.streams import Image as Table
from sim.counter import Counter
from tests.phaser.joined import FAR, Joined, formed

QUICK = Settings(checkpoint_batches=3, part_bytes=40, tail_bytes_max=500)
RARE = Settings(part_bytes=40)


def counted() -> Sequence[Application]:
    return (Counter(),)


def three(shape: Shape, epoch: int = 1, leader: NodeId = "a") -> Government:
    return Government(epoch, leader, ("a", "b", "c"), shape=shape)


def add(number: int, series: int, *amounts: tuple[bytes, int], connection: int = 7) -> Submit:
    """A submission that adds to counters."""
    keys, values = [key for key, _ in amounts], [b"%d" % amount for _, amount in amounts]
    batch = build(keys, values, connection=connection, first_series=series, previous_series=series - 1)
    return Submit(number, batch, FAR)


def shown(phaser: Phaser) -> Image:
    (host,) = phaser.ledger.derived.hosts
    return host.image()


def expected(log: Sequence[Batch], end: int, bucket: int = 0) -> Image:
    """What the log up to there gives whoever reads it from its beginning."""
    host = Host(Counter(), bucket)
    for batch in log:
        if batch.header.end_offset <= end:
            host.apply(batch)
            decree = decree_in(batch)
            host.rise(decree.buckets if decree is not None else 1)
    return host.image()


def check_all(joined: Joined, log: Sequence[Batch] | None = None) -> None:
    """Everybody's state is what its own log gives, or the one that is given."""
    for node, phaser in joined.phasers.items():
        ends = phaser.ledger.committed
        assert shown(phaser) == expected(log or joined.disks[node].log, ends, joined.bucket), node


# Results.


def test_an_update_returns_its_results_when_everybody_has_it_on_disk(shape: Shape) -> None:
    joined = formed(three(shape), applications=counted)
    joined.stalled = {"c"}
    joined.happen("a", add(1, 0, (b"x", 2), (b"y", 3)), add(2, 0, (b"x", 5), connection=8))
    assert joined.answers == {} and shown(joined.phasers["a"]).entries == ()
    joined.resume("c")
    assert joined.answers == {
        1: Stored(Receipt(1, 1), 0, (b"2", b"3")),
        2: Stored(Receipt(3, 1), 0, (b"7",)),
    }
    check_all(joined)


def test_what_is_repeated_has_no_result_and_is_not_applied_again(shape: Shape) -> None:
    joined = formed(three(shape), applications=counted)
    joined.happen("a", add(1, 0, (b"x", 2), (b"y", 3)))
    joined.happen("a", add(2, 0, (b"x", 2), (b"y", 3)), add(3, 1, (b"y", 3), (b"x", 4)))
    assert joined.answers[2] == Repeated(Receipt(1, 1))
    assert joined.answers[3] == Stored(Receipt(4, 1), 1, (b"6",)), "the first of it was stored before"
    check_all(joined)


def test_without_an_application_there_are_no_results_and_nothing_is_held(shape: Shape) -> None:
    joined = formed(three(shape))
    joined.lose = lambda sender, to, message: isinstance(message, Acknowledge)
    joined.happen("a", add(1, 0, (b"x", 2)))
    assert not joined.phasers["a"].ledger.derived.held
    joined.lose = lambda sender, to, message: False
    joined.tick()
    assert joined.answers == {1: Stored(Receipt(1, 1))}


class Echo(Counter):
    name = "echo"

    def count(self, key: bytes | None, value: bytes | None) -> bytes | None:
        return b"echo"


class Silent(Counter):
    name = "silent"

    def count(self, key: bytes | None, value: bytes | None) -> bytes | None:
        return None


@pytest.mark.parametrize(
    ("makes", "result"), [((Silent, Counter, Echo), b"2"), ((Echo, Counter), b"echo"), ((Silent,), None)]
)
def test_of_several_applications_the_first_that_says_something_is_heard(
    makes: Sequence[type[Counter]], result: bytes | None
) -> None:
    joined = formed(Government(1, "a", ("a",)), applications=lambda: [make() for make in makes])
    joined.happen("a", add(1, 0, (b"x", 2)))
    assert joined.answers == {1: Stored(Receipt(1, 1), 0, (result,))}


# Committed only.


def test_what_is_unrolled_was_never_applied(shape: Shape) -> None:
    """a leads, and c does not get its last entries. They are unrolled by c's government."""
    joined = formed(three(shape), applications=counted)
    joined.happen("a", add(1, 0, (b"x", 2)))
    joined.stalled = {"c"}
    joined.happen("a", add(2, 1, (b"x", 100)), add(3, 0, (b"z", 1), connection=8))
    joined.crash("c")
    joined.stalled.clear()
    joined.restart("c")
    for node in "ab":
        assert shown(joined.phasers[node]) == expected(joined.disks[node].log, 2), "it is on disk, and not committed"
    joined.appoint(three(shape, 2, "c"))
    joined.happen("c", add(4, 1, (b"x", 5)))
    assert joined.answers[4] == Stored(Receipt(3, 1), 0, (b"7",))
    check_all(joined)
    assert shown(joined.phasers["a"]) == shown(joined.phasers["b"]) == shown(joined.phasers["c"])


def test_a_crash_after_any_prefix_of_the_writes_leaves_a_state_of_the_committed_log(shape: Shape) -> None:
    joined = formed(three(shape), QUICK, counted)
    joined.stalled = {"a", "b", "c"}
    tried = 0
    for number in range(12):
        joined.happen("a", add(number, number, (b"k%d" % (number % 3), number)))
        for node in "abc"[: 1 + number % 3]:
            joined.sync(node)
        for node in "abc":
            disk = joined.disks[node]
            for kept in range(len(disk.under_way) + 1):
                copy = disk.copy()
                copy.crash(kept)
                phaser = Phaser(node, 0, QUICK, copy.recovered(["counter"]), applications=counted())
                phaser.turn([Tick()], 0, 1)
                check_state(phaser)
                assert shown(phaser) == expected(copy.log, phaser.ledger.committed)
                tried += 1
    assert tried > 40


def test_a_restarted_government_goes_on_from_what_its_disks_have(shape: Shape) -> None:
    joined = formed(three(shape), QUICK, counted)
    for number in range(8):
        joined.happen("a", add(number, number, (b"x", 1)))
    for node in "abc":
        joined.crash(node)
    for node in "abc":
        joined.restart(node)
        assert shown(joined.phasers[node]).offset >= 4, "it did not have to begin at the beginning"
        joined.appoint(three(shape, 2), node)
    joined.tick()
    joined.happen("a", add(100, 8, (b"x", 1)))
    assert joined.answers[100] == Stored(Receipt(10, 1), 0, (b"9",))
    check_all(joined)


# Snapshots.


def trimmed(shape: Shape, settings: Settings = QUICK) -> tuple[Joined, list[Batch]]:
    """The log of a and b does not go back to its beginning any more; all of it beside."""
    joined = formed(Government(1, "a", ("a", "b"), shape=shape), settings, counted)
    for number in range(10):
        joined.happen("a", add(number, number, (b"k%d" % (number % 4), number)))
    log = list(joined.disks["a"].log)
    for node in "ab":
        joined.happen(node, Trimmed(joined.disks[node].trim(joined.phasers[node].droppable)))
        assert joined.phasers[node].ledger.start > 5
    return joined, log


def test_a_newcomer_gets_the_state_of_the_application_and_of_the_streams(shape: Shape) -> None:
    joined, log = trimmed(shape)
    joined.add("c")
    joined.appoint(Government(2, "a", ("a", "b"), ("c",), shape=shape))
    check_all(joined, log + joined.disks["a"].log[-2:])
    streams = [joined.phasers[node].ledger.streams.image() for node in "abc"]
    assert streams[0] == streams[1] == streams[2] and streams[0].streams
    joined.appoint(Government(3, "c", ("a", "b", "c"), shape=shape))
    joined.happen("c", add(100, 9, (b"k1", 9)), add(101, 10, (b"k1", 1)))
    assert [type(joined.answers[100]), joined.answers[101]] == [Repeated, Stored(Receipt(14, 1), 0, (b"16",))]


def test_a_copy_that_begins_anew_has_nothing_of_what_it_had(shape: Shape) -> None:
    """It was here long ago, in a log that went another way."""
    old = formed(Government(1, "a", ("a", "d"), shape=shape), QUICK, counted)
    old.happen("a", add(1, 0, (b"other", 7)))
    joined, log = trimmed(shape)
    joined.add("d", old.disks["d"])
    assert shown(joined.phasers["d"]).entries == () and joined.phasers["d"].ledger.derived.held
    joined.appoint(Government(2, "a", ("a", "b"), ("d",), shape=shape))
    check_all(joined, log + joined.disks["a"].log[-2:])
    assert (b"other", b"7") not in shown(joined.phasers["d"]).entries


def test_the_state_has_the_streams_in_the_same_form_as_the_applications(shape: Shape) -> None:
    joined = formed(three(shape), QUICK, counted)
    for number in range(6):
        joined.happen("a", add(number, number, (b"x", 1)))
    state = decode_state(joined.disks["b"].current.documents[STATE])
    assert [(image.name, image.version, image.offset, image.level) for image in state.images] == [
        (NAME, 1, state.offset, 1),
        ("counter", 2, state.offset, 1),
    ]
    ((key, _),) = state.images[0].entries
    assert key is None, "both halves of a split need the table of streams"
    streams = Streams(1)
    streams.join(state.images[0].version, state.images[0].entries)
    assert streams.last(7) is not None and state.streams == Table(0, ())


# Attached late.


def history() -> Joined:
    """Written while there was no application."""
    joined = formed(Government(1, "a", ("a",)), QUICK)
    for number in range(7):
        joined.happen("a", add(number, number, (b"x", 1)))
    assert joined.phasers["a"].ledger.saved > 3
    return joined


def test_an_application_that_is_attached_later_sees_the_log_from_its_beginning() -> None:
    joined = history()
    joined.applications = counted
    joined.restart("a")
    assert shown(joined.phasers["a"]) == expected(joined.disks["a"].log, joined.phasers["a"].ledger.committed)
    joined.appoint(Government(2, "a", ("a",)))
    joined.happen("a", add(100, 7, (b"x", 1)))
    assert joined.answers[100] == Stored(Receipt(9, 1), 0, (b"8",))
    check_all(joined)


def test_an_application_is_not_attached_where_the_beginning_of_the_log_is_gone() -> None:
    joined = history()
    start = joined.disks["a"].trim(joined.phasers["a"].droppable)
    joined.applications = counted
    with pytest.raises(HistoryGone, match=f"'counter' has no state in bucket 0.*from offset {start} on"):
        joined.restart("a")


def test_a_second_application_is_attached_to_the_log_of_a_first() -> None:
    joined = formed(Government(1, "a", ("a",)), QUICK, counted)
    for number in range(7):
        joined.happen("a", add(number, number, (b"x", 1)))

    class Second(Counter):
        name = "second"

    joined.applications = lambda: (Counter(), Second())
    joined.restart("a")
    check_state(joined.phasers["a"])
    first, second = joined.phasers["a"].ledger.derived.hosts
    assert first.image().entries == second.image().entries and first.offset == second.offset > 3


def test_a_state_from_before_there_were_applications_can_be_read() -> None:
    """As it was written then: four fields, the table of streams among them."""
    joined = history()
    disk = joined.disks["a"]
    state = decode_state(disk.current.documents[STATE])
    table = Streams(1)
    table.join(1, state.images[0].entries)
    old = State(state.offset, state.timestamp, state.decree, table.image())
    assert encode(old)[0] == 0x95  # a field more than it had: cut off, with its empty list
    disk.current.documents[STATE] = b"\x94" + encode(old)[1:-1]
    joined.restart("a")
    ledger = joined.phasers["a"].ledger
    assert ledger.state_from == state.offset and ledger.streams.last(7) == 6
    assert ledger.derived.decree == state.decree


def test_a_state_of_a_newer_application_is_refused() -> None:
    joined = formed(Government(1, "a", ("a",)), QUICK, counted)
    for number in range(4):
        joined.happen("a", add(number, number, (b"x", 1)))

    class Older(Counter):
        version = 1

    joined.applications = lambda: (Older(),)
    with pytest.raises(NewerImage, match="'counter' was stored by its version 2"):
        joined.restart("a")


# Checkpoints.


def kept_states(joined: Joined, node: NodeId) -> list[int]:
    writes = [write for effect in joined.effects[node] if isinstance(effect, Persist) for write in effect.writes]
    return [decode_state(write.content).offset for write in writes if isinstance(write, Keep) and write.name == STATE]


def test_a_state_is_stored_after_so_many_bytes(shape: Shape) -> None:
    joined = formed(three(shape), Settings(checkpoint_bytes=10_000), counted)
    for number in range(30):
        joined.happen("a", Submit(number, build([b"x"], [b"1" * 1000], connection=7, first_series=number), FAR))
    for node in "abc":
        assert 2 <= len(kept_states(joined, node)) <= 4
        replayed = joined.disks[node].recovered(["counter"]).batches
        assert sum([batch.length for batch in replayed]) < 13_000


def test_what_a_restart_has_replayed_counts_for_the_next_state() -> None:
    """Or else many restarts would let it grow without bounds."""
    joined = formed(Government(1, "a", ("a",)), Settings(checkpoint_batches=10), counted)
    for epoch in range(2, 12):
        joined.happen("a", add(epoch, epoch - 2, (b"x", 1)))
        joined.restart("a")
        joined.appoint(Government(epoch, "a", ("a",)))
    assert len(kept_states(joined, "a")) >= 2


def test_the_larger_the_state_the_rarer_it_is_stored() -> None:
    joined = formed(Government(1, "a", ("a",)), Settings(checkpoint_batches=2), counted)
    for number in range(40):
        keys = [b"%d-%d" % (number, each) + b"x" * 200 for each in range(50)]
        joined.happen("a", Submit(number, build(keys, [b"1"] * 50, connection=7, first_series=50 * number), FAR))
    places = kept_states(joined, "a")
    gaps = [later - earlier for earlier, later in pairwise(places)]
    assert gaps[-1] > 3 * gaps[0]


# Questions.


def ask(number: int, content: bytes, buckets: int = 1, application: str = "counter") -> Read:
    return Read(number, FAR, Question(application, content, buckets))


def test_a_question_is_answered_from_all_that_was_acknowledged(shape: Shape) -> None:
    joined = formed(three(shape), applications=counted)
    joined.happen("a", add(1, 0, (b"x", 2)), add(2, 0, (b"x", 3), connection=8))
    joined.happen("a", ask(1, b"x"), Read(2, FAR))
    assert joined.reads == {1: ReadFrom(3, b"5"), 2: ReadFrom(3)}


def test_a_leader_that_is_cut_off_answers_no_question(shape: Shape) -> None:
    joined = formed(three(shape), applications=counted)
    joined.happen("a", add(1, 0, (b"x", 2)))
    joined.lose = lambda sender, to, message: "a" in (sender, to)
    joined.happen("a", ask(1, b"x"))
    joined.tick()
    assert joined.reads == {}


def test_what_cannot_be_answered_is_said_so(shape: Shape) -> None:
    joined = formed(three(shape), applications=counted)
    joined.happen("a", ask(1, b"nothing"), ask(2, b"", application="other"), ask(3, b"", buckets=2))
    assert joined.reads == {
        1: Invalid("nothing was counted under b'nothing'"),
        2: Invalid("there is no application 'other' here"),
        3: Misplaced(1),
    }


def test_a_member_that_knows_of_no_commit_has_applied_nothing_more(shape: Shape) -> None:
    joined = formed(three(shape), applications=counted)
    joined.lose = lambda sender, to, message: isinstance(message, Commit)
    joined.happen("a", add(1, 0, (b"x", 2)))
    assert 1 in joined.answers
    check_all(joined)
    assert shown(joined.phasers["c"]).entries == ()
