"""The interpreter of the atomic log's scenarios: its disk, its commands, and the promises that it checks unasked."""

import pytest

from hansard.consensus.cluster import Peer
from hansard.consensus.content import Begin, Entry, Proposal, Proposed
from hansard.consensus.effect import AnswerRead, Applied, Cut, Keep, Note, Persist, Put, Reset, Restored, Send, Trim
from hansard.consensus.message import Append, Appended, Ask, Envelope, Message, Vote
from sim.atomic.scenario.commands import perform
from sim.atomic.scenario.drive import Copy, Drive
from sim.atomic.scenario.expectation import check
from sim.atomic.scenario.language import ATOMIC
from sim.atomic.scenario.stage import Stage
from sim.scenario.chances import Chances
from sim.scenario.transcript import ScenarioFailed, renewed
from sim.scenario.words import BadCommand

BEGIN = Entry(1, Begin())


@pytest.fixture
def stage() -> Stage:
    """Two participants, a leading term 1, and something in the log."""
    stage = ATOMIC.begin("", {}, Chances())
    for line in ("assemble a b", "propose a x", "settle"):
        perform(stage, line)
    return stage


def test_a_crash_keeps_what_was_synced_and_a_prefix_of_the_rest() -> None:
    drive = Drive()
    drive.write(Persist(1, (Note(b"one"), Put(0, (BEGIN, BEGIN)))))
    drive.sync()
    drive.write(Persist(2, (Cut(1), Put(1, (BEGIN, BEGIN, BEGIN)), Keep("state", b"s"))))
    assert drive.end == 4 and len(drive.unsynced_writes()) == 5
    drive.crash(3)
    assert (drive.end, drive.synced.end, drive.synced.documents) == (3, 3, {})


def test_a_log_is_trimmed_and_begins_anew() -> None:
    copy = Copy()
    for write in (Put(0, (BEGIN, BEGIN, BEGIN)), Trim(2)):
        copy.take(write)
    assert (copy.start, copy.end) == (2, 3)
    copy.take(Reset(7))
    assert (copy.start, copy.end) == (7, 7)
    with pytest.raises(AssertionError, match="hole"):
        copy.take(Put(8, (BEGIN,)))


def say(stage: Stage, name: str, to: str, message: Message) -> None:
    core = stage.actor(name).core
    envelope = Envelope(core.cluster, core.peer, core.address, 0, message)
    stage.kept_promises.sent(stage.actor(name), Send(to, stage.actor(to).address, envelope))


@pytest.mark.parametrize(
    ("message", "broken"),
    [
        (Vote(2, True), "votes for a in term 2, and that is not on disk"),
        (Ask(2, 6, 1, False), "before its own is on disk"),
        (Append(2, 6, 1, (), 0, 0), "leads term 2 before that is on disk"),
        (Appended(2, 0, 6, 6, 1, False), "follows term 2 before that is on disk"),
        (Appended(1, 0, 9, 9, 1, False), "says that it has 9, and it has 6 on disk"),
    ],
)
def test_what_is_promised_is_on_disk(stage: Stage, message: Message, broken: str) -> None:
    with pytest.raises(AssertionError, match=broken):
        say(stage, "b", "a", message)


def test_what_is_applied_has_no_gaps_and_is_on_the_disks_of_a_majority(stage: Stage) -> None:
    promises, b = stage.kept_promises, stage.actor("b")
    with pytest.raises(AssertionError, match="b applies 9 after 5"):
        promises.applied(stage, b, Applied(9, BEGIN, None))
    with pytest.raises(AssertionError, match="b commits 6, which is on disk at  only"):
        promises.applied(stage, b, Applied(6, BEGIN, None))
    promises.restored(b, Restored(8))
    with pytest.raises(AssertionError, match="b goes back to 7"):
        promises.restored(b, Restored(7))


def test_what_is_applied_is_the_same_everywhere_and_counts_once(stage: Stage) -> None:
    promises, b = stage.kept_promises, stage.actor("b")
    promises.next_index["b"] = 1
    with pytest.raises(AssertionError, match=r"b applies 1 as .*, and it was"):
        promises.applied(stage, b, Applied(1, Entry(7, Begin()), None))
    x = proposal(b.core.peer)
    promises.committed[b.core.cluster] |= {6: (x, 1), 7: (x, 1)}
    promises.next_index["b"] = 6
    promises.applied(stage, b, Applied(6, x, Proposed("b", 1, b"x")))
    with pytest.raises(AssertionError, match="counts at 6 and at 7"):
        promises.applied(stage, b, Applied(7, x, Proposed("b", 1, b"x")))


def proposal(proposer: Peer) -> Entry:
    return Entry(1, Proposal(proposer, 1, 1, b"x"))


def test_one_leader_for_each_term_that_has_everything(stage: Stage) -> None:
    promises, a = stage.kept_promises, stage.actor("a")
    promises.turned(a)
    promises.committed[a.core.cluster][99] = (BEGIN, 1)
    with pytest.raises(AssertionError, match="a leads term 1 without 99 begin"):
        promises.turned(a)
    promises.leaders[a.core.cluster, 1] = Peer("b", 1)
    with pytest.raises(AssertionError, match="lead term 1"):
        promises.turned(a)


def test_a_read_misses_nothing_that_was_committed_before(stage: Stage) -> None:
    promises, a = stage.kept_promises, stage.actor("a")
    promises.reads(a, 1)
    with pytest.raises(AssertionError, match="answered with 5, and 6 was committed"):
        promises.read(a, AnswerRead(1, 5))


def test_what_is_settled_is_in_the_log(stage: Stage) -> None:
    stage.proposed[2] = "y"
    with pytest.raises(AssertionError, match="says that y is in the log"):
        stage.kept_promises.settled(stage, stage.actor("a"), 2)


@pytest.mark.parametrize(
    "line",
    [
        "leader a term 1",
        "committed x on a b",
        "order x on a b",
        "voters a b",
        "participants a b",
        "settled 1",
        "no read 1",
        "logs alike a b",
        "b: follows a, term 1, not cut, applied x x1, holds x, committed 6, knows a as 1, knows a at a:1, life 1",
    ],
)
def test_what_is_expected_and_is_so(stage: Stage, line: str) -> None:
    check(stage, line)


@pytest.mark.parametrize(
    "line",
    [
        "leader b",
        "leader a term 2",
        "no leader",
        "committed y on a",
        "not committed x on b",
        "order x x on a",
        "voters a",
        "participants a",
        "departed b",
        "not settled 1",
        "settled 2",
        "read 1: 5",
        "b: leads",
        "b: not follows a",
    ],
)
def test_what_is_expected_and_is_not_so(stage: Stage, line: str) -> None:
    with pytest.raises(AssertionError):
        check(stage, line)


@pytest.mark.parametrize("line", ["elect a", "let 1 a>b", "crash a keeping 9", "run", "wipe a", "recover a from b"])
def test_what_cannot_be_done_is_refused(stage: Stage, line: str) -> None:
    stage.links.held[("a", "b")] = []
    with pytest.raises(BadCommand):
        perform(stage, line)


def test_what_is_said_all_the_time_is_told_once(stage: Stage) -> None:
    perform(stage, "run 1s")
    told = len(stage.lines)
    perform(stage, "run 5s")
    assert len(stage.lines) == told


def test_a_scenario_that_fails_says_where() -> None:
    with pytest.raises(ScenarioFailed, match=r"line 3: expect leader b\n  it is a"):
        renewed("# Nobody else is there.\nassemble a\nexpect leader b\n", ATOMIC)
