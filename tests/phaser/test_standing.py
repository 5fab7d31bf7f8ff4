"""What a copy says of itself when its bucket has lost everybody: in which epoch it last counted, by its disk alone."""

import pytest

from hansard.phaser import Phaser, Recovered, Settings
from hansard.phaser.decree import Decree, as_batch, decree_in
from hansard.phaser.effect import Achievement, Cut, Effect, Note, Persist, Put, Report, Reset
from hansard.phaser.event import Appointed, Received, Trimmed
from hansard.phaser.government import Government, NodeId, Shape, first_term
from hansard.phaser.invariants import check_state
from hansard.phaser.ledger import Ledger
from hansard.phaser.lineage import Run
from hansard.phaser.message import Append, Collection, Message, Part, Refuse, Wedge, Wedged
from hansard.phaser.recovered import Expansion, NoteContent, Standing, decode_note, encode, standing
from tests.phaser.joined import Disk, Joined, formed, submit

QUICK = Settings(checkpoint_batches=3, part_bytes=30)
T1, T2 = first_term(1), first_term(2)
PAIR = Government(1, "a", ("a", "b"))


def on_disk(joined: Joined, node: NodeId) -> Standing:
    """As it would be found after a crash now, at the least."""
    return joined.disks[node].synced.standing()


def said_by(joined: Joined, node: NodeId) -> tuple[int, int]:
    found, sure = on_disk(joined, node), joined.phasers[node].standing
    assert found == sure, "a phaser at rest says what its disk says"
    again = Phaser(node, 0, joined.settings, joined.disks[node].recovered())
    assert again.standing == found, "and so does one that starts from it"
    return found.counted, found.expanded


def is_expansion(message: Message, epoch: int = 0) -> bool:
    """Whether it brings the entry by which newcomers count, in this epoch or in any."""
    decree = decree_in(message.batch) if isinstance(message, Append) else None
    return decree is not None and decree.expanded and epoch in (0, decree.government.epoch)


def growing(shape: Shape) -> Government:
    return Government(1, "a", ("a", "b"), ("d",), shape=shape)


# Leaders and members.


def test_leader_and_members_count_in_every_epoch_that_opens(shape: Shape) -> None:
    joined = formed(Government(1, "a", ("a", "b", "c"), shape=shape))
    assert [said_by(joined, node) for node in "abc"] == [(1, 0)] * 3
    joined.appoint(Government(2, "b", ("b", "c"), shape=shape))
    assert [said_by(joined, node) for node in "abc"] == [(1, 0), (2, 0), (2, 0)]


def test_a_leader_counts_with_its_promise() -> None:
    joined = Joined("a")
    joined.stalled = {"a"}
    joined.happen("a", Appointed(PAIR))
    assert on_disk(joined, "a").counted == joined.phasers["a"].standing.counted == 0
    joined.sync("a")
    assert said_by(joined, "a") == (1, 0)


@pytest.mark.parametrize("appointed", [True, False], ids=["appointed before", "wedged at once"])
def test_a_member_counts_on_disk_before_it_answers_the_wedge(appointed: bool) -> None:
    joined = Joined("b")
    joined.stalled = {"b"}
    if appointed:
        joined.happen("b", Appointed(PAIR))
    joined.happen("b", Received("a", Wedge(T1, PAIR, False, 0, 0, ())))
    assert not joined.messages(Wedged) and on_disk(joined, "b").counted == 0
    joined.sync("b")
    assert joined.messages(Wedged) and said_by(joined, "b") == (1, 0)


def test_a_member_that_was_appointed_has_nothing_more_to_write_for_the_wedge() -> None:
    """A change of hands waits for one sync of each member, not for two."""
    joined = Joined("b")
    joined.happen("b", Appointed(PAIR))
    assert said_by(joined, "b") == (1, 0)
    joined.stalled = {"b"}
    joined.happen("b", Received("a", Wedge(T1, PAIR, False, 0, 0, ())))
    assert joined.messages(Wedged) and not joined.disks["b"].under_way


def test_a_member_that_heard_of_the_term_before_its_government_counts_before_it_answers() -> None:
    joined = formed(PAIR)
    joined.stalled = {"b"}
    joined.happen("b", Received("a", Refuse(T1, T2)))
    joined.sync("b")
    assert said_by(joined, "b") == (1, 0), "whether it is a member in that term is not known"
    runs = tuple(joined.phasers["b"].ledger.lineage.runs)
    end = joined.phasers["b"].ledger.end
    wedge = Wedge(T2, Government(2, "a", ("a", "b")), False, 0, end, runs)
    before = len(joined.messages(Wedged))
    joined.happen("b", Received("a", wedge))
    assert len(joined.messages(Wedged)) == before and on_disk(joined, "b").counted == 1
    joined.sync("b")
    assert len(joined.messages(Wedged)) == before + 1 and said_by(joined, "b") == (2, 0)
    joined.happen("b", Received("a", wedge))
    assert not joined.disks["b"].under_way, "once is enough"


def test_all_members_count_on_disk_when_the_opening_is_reported(shape: Shape) -> None:
    """Whatever they learn first: of the appointment, or the Wedge, and in a chain too."""
    for told in ("a", "ab", "ac", "abc"):
        joined = Joined("abc")
        joined.accepting = False
        joined.appoint(Government(1, "a", ("a", "b", "c"), shape=shape), *told)
        assert joined.reports == [("a", Report(Achievement.OPENED, 1))]
        assert [on_disk(joined, node).counted for node in "abc"] == [1, 1, 1]


def test_a_member_that_lacks_its_state_does_not_count() -> None:
    """There is no such member by the rules of appointment; if there were, it would say nothing wrong."""
    joined = Joined(())
    disk = Disk()
    for image in (disk.synced, disk.current):
        image.start, image.note = 5, encode(NoteContent(T1, (Run(T1, 4),)))
    joined.add("b", disk)
    joined.happen("b", Appointed(Government(2, "a", ("a", "b"))))
    joined.happen("b", Received("a", Wedge(T2, Government(2, "a", ("a", "b")), False, 0, 9, (Run(T1, 0),))))
    assert said_by(joined, "b") == (0, 0)


def test_whoever_is_left_out_keeps_what_it_had_and_whoever_comes_anew_has_nothing() -> None:
    joined = formed(PAIR)
    joined.add("d")
    joined.accepting = False
    joined.appoint(Government(2, "a", ("a",), ("d",)))
    assert said_by(joined, "b") == (1, 0)
    assert said_by(joined, "d") == (0, 0)


# Newcomers.


def test_a_newcomer_counts_once_the_expanded_government_is_in_its_log(shape: Shape) -> None:
    joined = Joined("abd")
    joined.lose = lambda sender, to, message: to == "d" and is_expansion(message)
    joined.appoint(growing(shape))
    joined.happen("a", submit(1, 0))
    assert said_by(joined, "d") == (0, 0), "it is told that it counts, and does not have the entry"
    assert joined.phasers["d"].relay is not None
    joined.lose = lambda sender, to, message: False
    joined.stalled = {"d"}
    for _ in range(3):
        joined.tick()
    assert on_disk(joined, "d").expanded == joined.phasers["d"].standing.expanded == 0, "it is not on disk"
    assert Report(Achievement.EXPANDED, 1) not in [report for _, report in joined.reports]
    joined.resume("d")
    assert joined.reports[-1] == ("a", Report(Achievement.EXPANDED, 1))
    assert said_by(joined, "d") == (0, 1)
    joined.appoint(Government(2, "d", ("d", "a"), shape=shape))
    assert [said_by(joined, node) for node in "adb"] == [(2, 0), (2, 0), (1, 0)]


def test_a_newcomer_counts_by_the_decree_of_a_later_reign_too(shape: Shape) -> None:
    """The leader has the decree and restarts before anybody else has it."""
    joined = Joined("abd")
    joined.lose = lambda sender, to, message: is_expansion(message)
    joined.appoint(growing(shape))
    joined.crash("a")
    joined.lose = lambda sender, to, message: False
    joined.restart("a")
    joined.appoint(growing(shape))
    for _ in range(3):
        joined.tick()
    assert joined.reports[-1] == ("a", Report(Achievement.EXPANDED, 1))
    assert [said_by(joined, node) for node in "abd"] == [(1, 0), (1, 0), (0, 1)]


def test_the_claim_is_noted_before_the_entry_and_once() -> None:
    joined = Joined("abd")
    joined.appoint(growing(Shape.STAR))
    joined.happen("a", submit(1, 0))
    writes = [write for effect in joined.effects["d"] if isinstance(effect, Persist) for write in effect.writes]
    claims = [isinstance(write, Note) and decode_note(write.content).expansion is not None for write in writes]
    assert claims.count(True) == 1
    entry = writes[claims.index(True) + 1]
    assert isinstance(entry, Put) and decree_in(entry.batch) == Decree(T1, growing(Shape.STAR), True)
    for node in "ab":
        assert joined.phasers[node].ledger.expansion is None, "who counts anyway need not know"


def test_an_earlier_expansion_in_the_log_is_somebody_elses(shape: Shape) -> None:
    joined = formed(growing(shape))
    joined.add("e")
    joined.lose = lambda sender, to, message: to == "e" and is_expansion(message, 2)
    joined.appoint(Government(2, "a", ("a", "b", "d"), ("e",), shape=shape))
    decree = joined.phasers["e"].ledger.latest_decree
    assert decree is not None and decree.government.epoch == 2, "it has all of epoch 1"
    assert said_by(joined, "e") == (0, 0)


def test_retention_takes_the_entry_and_not_what_follows_from_it() -> None:
    joined = formed(growing(Shape.STAR), QUICK)
    for number in range(9):
        joined.happen("a", submit(number, number))
    start = joined.disks["d"].trim(joined.phasers["d"].droppable)
    expansion = joined.phasers["d"].ledger.expansion
    assert expansion is not None and start > expansion.end
    joined.happen("d", Trimmed(start))
    assert said_by(joined, "d") == (0, 1)


def _forgotten_by_its_leader(shape: Shape) -> Joined:
    """d has the expanded government on disk. Its leader had sent it on before its own disk had it, has crashed, and
    goes on with its old member."""
    joined = Joined("abd")
    joined.lose = lambda sender, to, message: to == "d" or is_expansion(message)
    joined.appoint(growing(shape))
    joined.lose = lambda sender, to, message: False
    while not joined.phasers["a"].leading.expanded:  # type: ignore[union-attr]
        joined.stalled = {"a"}
        joined.tick()
    assert said_by(joined, "d") == (0, 1)
    joined.crash("a")
    joined.stalled.clear()
    joined.lose = lambda sender, to, message: "d" in (sender, to)
    joined.restart("a")
    joined.appoint(growing(shape), "a", "b")
    return joined


def test_an_expansion_that_its_leader_has_forgotten_is_not_enough(shape: Shape) -> None:
    """So it takes the report: the entry on a newcomer's disk alone shows nothing of what was acknowledged after it."""
    joined = _forgotten_by_its_leader(shape)
    assert not joined.phasers["a"].leading.expanded  # type: ignore[union-attr]
    joined.happen("a", submit(1, 0))
    assert 1 in joined.answers, "acknowledged without d"
    found = on_disk(joined, "d")
    assert found.expanded == 1 and found.end < joined.phasers["a"].ledger.committed
    assert Report(Achievement.EXPANDED, 1) not in [report for _, report in joined.reports]
    assert not found.suffices(1, expanded=False)
    assert on_disk(joined, "b").suffices(1, expanded=False)


def test_an_expansion_that_is_unrolled_is_not_claimed_any_more(shape: Shape) -> None:
    joined = _forgotten_by_its_leader(shape)
    joined.stalled = {"d"}
    joined.lose = lambda sender, to, message: is_expansion(message)
    joined.tick()
    joined.tick()
    disk = joined.disks["d"]
    joined.sync("d")
    assert joined.phasers["d"].standing.expanded == 0
    unrolled = [kept for kept in range(len(disk.under_way) + 1) if _crashed(disk, kept).expanded]
    assert not unrolled
    joined.resume("d")
    for _ in range(3):
        joined.tick()
    assert said_by(joined, "d") == (0, 0)
    joined.lose = lambda sender, to, message: False
    for _ in range(3):
        joined.tick()
    assert said_by(joined, "d") == (0, 1)


def _crashed(disk: Disk, kept: int) -> Standing:
    copy = disk.copy()
    copy.crash(kept)
    return standing(copy.recovered())


# Beginning anew.


def _behind(shape: Shape) -> Joined:
    """d counted in epoch 1 and was away since; a's log begins later now."""
    joined = formed(Government(1, "a", ("a", "d"), shape=shape), QUICK)
    joined.happen("a", submit(0, 0))
    assert said_by(joined, "d") == (1, 0)
    joined.crash("d")
    joined.appoint(Government(2, "a", ("a",), shape=shape))
    for number in range(1, 10):
        joined.happen("a", submit(number, number))
    joined.happen("a", Trimmed(joined.disks["a"].trim(joined.phasers["a"].droppable)))
    joined.restart("d")
    return joined


def test_from_the_first_part_on_a_copy_claims_nothing(shape: Shape) -> None:
    joined = _behind(shape)
    joined.lose = lambda sender, to, message: isinstance(message, Part) and message.number > 0
    joined.appoint(Government(3, "a", ("a",), ("d",), shape=shape))
    assert joined.phasers["d"].ledger.collection is not None
    assert said_by(joined, "d") == (0, 0)
    joined.lose = lambda sender, to, message: is_expansion(message)
    for _ in range(3):
        joined.tick()
    assert joined.phasers["d"].ledger.stated and said_by(joined, "d") == (0, 0), "a state is not enough"
    joined.lose = lambda sender, to, message: False
    for _ in range(3):
        joined.tick()
    assert said_by(joined, "d") == (0, 3)


def test_no_crash_leaves_an_empty_log_that_claims_something(shape: Shape) -> None:
    """Not even one that begins at the very beginning, as a new copy's does."""
    joined = _behind(shape)
    joined.stalled = {"d"}
    joined.appoint(Government(3, "a", ("a",), ("d",), shape=shape))
    joined.sync("d")
    disk = joined.disks["d"]
    writes = [write for _, write in disk.under_way]
    assert any(isinstance(write, Reset) for write in writes)
    at_the_beginning = [(t, Reset(0) if isinstance(write, Reset) else write) for t, write in disk.under_way]
    for under_way in (list(disk.under_way), at_the_beginning):
        for kept in range(len(writes) + 1):
            copy = disk.copy()
            copy.under_way.clear()
            copy.under_way.extend(under_way)
            copy.crash(kept)
            found = standing(copy.recovered())
            begun = any(isinstance(write, Reset) for _, write in under_way[:kept])
            assert found.counted == 0 or not begun, f"after {kept} writes"
    assert _crashed(disk, 0).counted == 1, "before that it has all that it had"


def test_a_crash_after_any_write_leaves_a_copy_that_claims_what_it_was_sure_of(shape: Shape) -> None:
    """And a phaser that starts from it says the same, and goes on."""
    joined = formed(growing(shape), QUICK)
    joined.stalled = {"a", "b", "d"}
    for number in range(3):
        joined.happen("a", submit(number, number))
    joined.appoint(Government(2, "b", ("b", "d"), ("a",), shape=shape))
    for _ in range(12):
        for node in "bda":
            _check_every_prefix(joined, node)
            joined.sync(node)
        joined.tick()
    assert [said_by(joined, node) for node in "bda"] == [(2, 0), (2, 0), (1, 2)]


def _check_every_prefix(joined: Joined, node: NodeId) -> None:
    sure = joined.phasers[node].standing
    for kept in range(len(joined.disks[node].under_way) + 1):
        copy = joined.disks[node].copy()
        copy.crash(kept)
        found = standing(copy.recovered())
        assert found.counted >= sure.counted and max(found.counted, found.expanded) >= sure.expanded
        phaser = Phaser(node, 0, QUICK, copy.recovered())
        assert phaser.standing == found
        phaser.turn([], 0, 1)
        check_state(phaser)


def test_what_was_under_way_does_not_count_for_the_log_that_begins_anew() -> None:
    ledger = Ledger(QUICK, [], Recovered())
    ledger.promise(T1, counts=True)
    ledger.flush()
    ledger.collect(Part(T1, Collection(8, 8, T1, 2, 0), 0, b"some"))
    ledger.flush()
    ledger.persisted(1)
    assert ledger.counted_synced == 0
    ledger.persisted(2)
    assert ledger.counted_synced == ledger.counted == 0


def test_a_cut_is_noted_before_it_takes_the_expansion() -> None:
    effects: list[Effect] = []
    ledger = Ledger(QUICK, effects, Recovered())
    ledger.promise(T1, counts=False)
    for offset, expanded in enumerate((False, True)):
        decree = as_batch(Decree(T1, PAIR, expanded))
        ledger.append(decree.stamped(epoch=T1, base_offset=offset, timestamp=1))
    ledger.flush()
    assert ledger.expansion == Expansion(1, 2)
    ledger.promise(T2, counts=False)
    ledger.cut(1)
    ledger.flush()
    assert isinstance(effects[-1], Persist)
    promised, noted, cut = effects[-1].writes
    assert isinstance(promised, Note) and isinstance(noted, Note) and cut == Cut(1)
    assert decode_note(promised.content).expansion == Expansion(1, 2)
    assert decode_note(noted.content).expansion is None
    assert decode_note(noted.content).runs == decode_note(promised.content).runs, "it is still a note of the whole log"
