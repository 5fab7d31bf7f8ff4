from hansard.batch import Flag
from hansard.phaser import Settings
from hansard.phaser.decree import decree_in
from hansard.phaser.effect import Achievement, Report, Send
from hansard.phaser.event import Accepted, Appointed, Paused, Received, Trimmed
from hansard.phaser.government import Government, NodeId, Shape, first_term
from hansard.phaser.leader import Leader, Phase
from hansard.phaser.message import Acknowledge, Append, Part, PartKept, Refuse, Wedge, Wedged
from hansard.phaser.outcome import Receipt, Stored
from tests.phaser.joined import Joined, formed, series_of, submit


def leading(joined: Joined, node: NodeId = "a") -> Leader:
    leader = joined.phasers[node].leading
    assert leader is not None
    return leader


def three(shape: Shape, epoch: int = 1, leader: NodeId = "a") -> Government:
    return Government(epoch, leader, ("a", "b", "c"), shape=shape)


def decrees(joined: Joined, node: NodeId = "a") -> list[tuple[int, bool]]:
    found = [decree_in(content) for content in joined.disks[node].log]
    return [(decree.government.epoch, decree.expanded) for decree in found if decree is not None]


# From the appointment to the opening.


def test_nobody_hears_of_a_term_before_it_is_on_the_leaders_disk(shape: Shape) -> None:
    joined = Joined("abc")
    joined.stalled = {"a"}
    joined.appoint(three(shape), "a")
    assert leading(joined).phase is Phase.PROMISING and not joined.sent
    joined.sync("a")
    assert leading(joined).phase is not Phase.PROMISING and joined.messages(Wedge, "a")


def test_it_reports_once_everybody_matches_and_opens_once_that_is_accepted(shape: Shape) -> None:
    joined = Joined("abc")
    joined.accepting = False
    joined.lose = lambda sender, to, message: sender == "c"
    joined.appoint(three(shape))
    assert leading(joined).phase is Phase.USURPING and not joined.reports
    joined.lose = lambda sender, to, message: False
    joined.tick()
    assert leading(joined).phase is Phase.REPORTING
    assert joined.reports == [("a", Report(Achievement.OPENED, 1))]
    joined.happen("a", Accepted(Achievement.OPENED, 1))
    assert leading(joined).phase is Phase.OPEN


def test_nothing_is_stored_shown_or_answered_before_it_has_opened(shape: Shape) -> None:
    joined = formed(three(shape))
    joined.happen("a", submit(1, 0))
    joined.accepting = False
    joined.restart("b")
    joined.appoint(three(shape, 2, "b"))
    joined.happen("b", submit(2, 1))
    assert joined.phasers["b"].ledger.committed == 0, "not even what it had: it may be deposed by now"
    assert series_of(joined.disks["b"].log) == [0] and 2 not in joined.answers
    joined.happen("b", Accepted(Achievement.OPENED, 2))
    assert isinstance(joined.answers[2], Stored)


def test_a_report_that_was_accepted_for_another_epoch_opens_nothing(shape: Shape) -> None:
    joined = Joined("abc")
    joined.accepting = False
    joined.appoint(three(shape, 2))
    joined.happen("a", Accepted(Achievement.OPENED, 1), Accepted(Achievement.EXPANDED, 2))
    assert leading(joined).phase is Phase.REPORTING


def test_acceptance_that_comes_before_the_members_match_opens_nothing(shape: Shape) -> None:
    """A leader that restarts in its epoch finds its old report in the log."""
    joined = Joined("abc")
    joined.lose = lambda sender, to, message: sender == "c"
    joined.appoint(three(shape))
    joined.happen("a", Accepted(Achievement.OPENED, 1))
    assert leading(joined).phase is Phase.USURPING


def test_what_the_leader_had_in_its_log_is_committed_when_it_opens(shape: Shape) -> None:
    joined = formed(three(shape))
    joined.lose = lambda sender, to, message: to == "a" or (to == "c" and isinstance(message, Append))
    joined.happen("a", submit(1, 0))
    assert series_of(joined.disks["b"].log) == [0] and not joined.answers
    joined.lose = lambda sender, to, message: "a" in (sender, to)
    joined.appoint(Government(2, "b", ("b", "c"), shape=shape), "b", "c")
    assert series_of(joined.disks["c"].log) == [0]
    assert joined.phasers["b"].ledger.committed == joined.phasers["b"].ledger.end


def test_what_only_another_member_had_is_unrolled(shape: Shape) -> None:
    joined = formed(three(shape))
    joined.lose = lambda sender, to, message: to == "a" or (to == "c" and isinstance(message, Append))
    joined.happen("a", submit(1, 0))
    assert series_of(joined.disks["b"].log) == [0]
    joined.lose = lambda sender, to, message: "a" in (sender, to)
    joined.appoint(Government(2, "c", ("b", "c"), shape=shape), "b", "c")
    assert series_of(joined.disks["b"].log) == []
    joined.happen("c", submit(2, 0))
    assert isinstance(joined.answers[2], Stored), "its client submits it again"


def test_a_leader_that_opens_says_so_in_its_log_and_no_reader_sees_it(shape: Shape) -> None:
    joined = formed(three(shape))
    assert decrees(joined) == [(1, False)]
    assert joined.disks["a"].log[0].header.flags & Flag.INTERNAL


def test_a_leader_that_restarts_in_its_epoch_begins_another_term(shape: Shape) -> None:
    joined = formed(three(shape))
    joined.happen("a", submit(1, 0))
    joined.crash("a")
    joined.restart("a")
    joined.appoint(three(shape), "a")
    assert leading(joined).term == first_term(1) + 1
    joined.happen("a", submit(2, 1))
    assert isinstance(joined.answers[2], Stored)
    assert series_of(joined.disks["c"].log) == [0, 1]


def test_a_batch_that_only_the_members_have_after_a_crash_of_the_leader_is_unrolled(shape: Shape) -> None:
    """It was sent before the leader's own disk had it."""
    joined = formed(three(shape))
    joined.stalled = {"a"}
    joined.happen("a", submit(1, 0))
    assert series_of(joined.disks["c"].log) == [0]
    joined.crash("a")
    joined.stalled.clear()
    joined.restart("a")
    joined.appoint(three(shape), "a")
    joined.happen("a", submit(2, 0, 8))
    assert [series_of(joined.disks[node].log) for node in "abc"] == [[], [], []]
    assert [series_of(joined.disks[node].log, 8) for node in "abc"] == [[0], [0], [0]]


def test_a_leader_alone_needs_nobody() -> None:
    joined = formed(Government(1, "a", ("a",)))
    joined.happen("a", submit(1, 0))
    assert joined.answers == {1: Stored(Receipt(1, 1))} and not joined.sent


# Newcomers.


def expanding(shape: Shape) -> Government:
    return Government(2, "a", ("a", "b"), ("c", "d"), shape=shape)


def test_newcomers_are_brought_up_to_date_and_then_counted(shape: Shape) -> None:
    joined = formed(Government(1, "a", ("a", "b"), shape=shape))
    for number in range(5):
        joined.happen("a", submit(number, number))
    joined.add("c")
    joined.add("d")
    joined.appoint(expanding(shape))
    assert decrees(joined) == [(1, False), (2, False), (2, True)]
    assert Report(Achievement.EXPANDED, 2) in [report for _, report in joined.reports]
    for node in "bcd":
        assert series_of(joined.disks[node].log) == [0, 1, 2, 3, 4]
    joined.stalled = {"d"}
    joined.happen("a", submit(10, 5))
    assert 10 not in joined.answers
    joined.resume("d")
    assert 10 in joined.answers


def test_the_bucket_goes_on_while_a_newcomer_is_far_behind(shape: Shape) -> None:
    joined = formed(Government(1, "a", ("a", "b"), shape=shape))
    joined.add("c")
    joined.add("d")
    joined.lose = lambda sender, to, message: to == "d"
    joined.appoint(expanding(shape))
    joined.happen("a", submit(1, 0))
    assert 1 in joined.answers
    assert not leading(joined).expanded, "one of two is not there"


def test_expansion_is_reported_once_everybody_has_it_on_disk(shape: Shape) -> None:
    joined = formed(Government(1, "a", ("a", "b"), shape=shape))
    joined.add("c")
    joined.add("d")
    joined.lose = lambda sender, to, message: isinstance(message, Acknowledge) and "a" not in (sender, to)
    joined.stalled = {"d"}
    joined.appoint(expanding(shape))
    joined.sync("d")
    joined.sync("d")
    assert leading(joined).expanded
    assert [report.achievement for _, report in joined.reports] == [Achievement.OPENED, Achievement.OPENED]
    joined.lose = lambda sender, to, message: False
    joined.resume("d")
    for _ in range(3):
        joined.tick()
    assert joined.reports[-1] == ("a", Report(Achievement.EXPANDED, 2))


def test_an_expanded_government_counts_after_a_restart_of_its_leader(shape: Shape) -> None:
    """It follows from the leader's log: one that forgets it loses acknowledged changes."""
    joined = formed(Government(1, "a", ("a", "b"), ("c",), shape))
    joined.crash("a")
    joined.restart("a")
    joined.crash("c")
    joined.appoint(Government(1, "a", ("a", "b"), ("c",), shape), "a", "b")
    assert leading(joined).expanded and leading(joined).phase is Phase.USURPING
    joined.happen("a", submit(1, 0))
    joined.tick()
    assert not joined.answers
    joined.restart("c")
    for _ in range(3):
        joined.tick()
    assert 1 in joined.answers


def test_an_expansion_that_only_the_log_knows_of_is_reported_again_after_a_restart(shape: Shape) -> None:
    joined = formed(Government(1, "a", ("a", "b"), ("c",), shape))
    joined.crash("a")
    joined.restart("a")
    joined.reports.clear()
    joined.appoint(Government(1, "a", ("a", "b"), ("c",), shape), "a")
    assert [report.achievement for _, report in joined.reports] == [Achievement.OPENED, Achievement.EXPANDED]


def test_an_expansion_of_an_earlier_government_does_not_count_in_the_next(shape: Shape) -> None:
    joined = formed(Government(1, "a", ("a", "b"), ("c",), shape))
    joined.crash("c")
    joined.appoint(Government(2, "a", ("a", "b"), ("d",), shape))
    assert not leading(joined).expanded
    joined.happen("a", submit(1, 0))
    assert 1 in joined.answers


def test_a_newcomer_whose_log_is_of_no_use_gets_the_state_in_parts(shape: Shape) -> None:
    settings = Settings(part_bytes=30, checkpoint_batches=2)
    joined = formed(Government(1, "a", ("a", "b"), shape=shape), settings)
    for number in range(8):
        joined.happen("a", submit(number, number))
    joined.happen("a", Trimmed(joined.disks["a"].trim(joined.phasers["a"].droppable)))
    joined.add("c")
    joined.appoint(Government(2, "a", ("a", "b"), ("c",), shape=shape))
    assert len(joined.messages(Part, "a", "c")) == len(joined.messages(PartKept, "c", "a")) > 2
    assert leading(joined).expanded
    assert joined.phasers["c"].ledger.streams.image() == joined.phasers["a"].ledger.streams.image()
    joined.appoint(Government(3, "c", ("a", "b", "c"), shape=shape))
    joined.happen("c", submit(20, 3), submit(21, 8))
    assert isinstance(joined.answers[21], Stored) and not isinstance(joined.answers[20], Stored)


def collecting(shape: Shape) -> Joined:
    """A newcomer has the first parts of a snapshot, and gets no more for now."""
    joined = formed(Government(1, "a", ("a", "b"), shape=shape), Settings(part_bytes=30, checkpoint_batches=2))
    for number in range(8):
        joined.happen("a", submit(number, number))
    joined.happen("a", Trimmed(joined.disks["a"].trim(joined.phasers["a"].droppable)))
    joined.add("c")
    joined.lose = lambda sender, to, message: isinstance(message, Part) and message.number > 1
    joined.appoint(Government(2, "a", ("a", "b"), ("c",), shape=shape))
    assert joined.phasers["a"].ledger.snapshot is not None
    return joined


def test_a_snapshot_is_kept_until_the_newcomers_count_and_no_longer(shape: Shape) -> None:
    joined = collecting(shape)
    joined.lose = lambda sender, to, message: False
    joined.stalled = {"b"}
    joined.tick()
    assert leading(joined).expanded and joined.phasers["a"].ledger.snapshot is not None
    joined.resume("b")
    assert joined.reports[-1] == ("a", Report(Achievement.EXPANDED, 2))
    assert joined.phasers["a"].ledger.snapshot is None


def test_a_deposed_leader_keeps_no_snapshot(shape: Shape) -> None:
    appointed, refused = collecting(shape), collecting(shape)
    appointed.appoint(Government(3, "b", ("a", "b"), ("c",), shape=shape))
    refused.happen("a", Received("b", Refuse(first_term(2), first_term(3))))
    for joined in (appointed, refused):
        assert joined.phasers["a"].leading is None and joined.phasers["a"].ledger.snapshot is None


def test_contracted_governments_do_not_wait_for_those_who_left(shape: Shape) -> None:
    joined = formed(three(shape))
    joined.crash("c")
    joined.happen("a", submit(1, 0))
    assert not joined.answers
    joined.appoint(Government(2, "a", ("a", "b"), shape=shape))
    assert joined.answers == {1: Stored(Receipt(1, 1))}


# Deposed.


def test_stale_leader_cannot_commit_after_usurp(shape: Shape) -> None:
    joined = formed(three(shape))
    joined.lose = lambda sender, to, message: "a" in (sender, to)
    joined.appoint(Government(2, "b", ("b", "c"), shape=shape), "b", "c")
    joined.lose = lambda sender, to, message: False
    committed = joined.phasers["a"].ledger.committed
    joined.happen("a", submit(1, 0))
    for _ in range(3):
        joined.tick()
    assert joined.phasers["a"].leading is None
    assert joined.phasers["a"].ledger.committed == committed
    assert 1 not in joined.answers or not isinstance(joined.answers[1], Stored)


def test_a_leader_appointed_again_keeps_what_its_clients_wait_for(shape: Shape) -> None:
    joined = formed(three(shape))
    joined.lose = lambda sender, to, message: to == "c"
    joined.happen("a", submit(1, 0))
    joined.happen("a", Paused(True), submit(2, 1))
    joined.appoint(three(shape, 2), "a", "b")
    assert not joined.answers
    joined.lose = lambda sender, to, message: False
    joined.tick()
    joined.happen("a", Paused(False))
    assert joined.answers[1] == Stored(Receipt(1, 1))
    assert isinstance(joined.answers[2], Stored)


def test_never_opened_if_a_newer_one_is_appointed(shape: Shape) -> None:
    joined = Joined("abc")
    joined.accepting = False
    joined.appoint(three(shape))
    effects = joined.happen("a", Appointed(three(shape, 2, "b")), Accepted(Achievement.OPENED, 1))
    assert joined.phasers["a"].leading is None
    assert not [effect for effect in effects if isinstance(effect, Send) and isinstance(effect.message, Append)]
    assert not joined.disks["a"].log


def test_a_member_with_more_than_the_leader_is_cut_before_it_is_counted(shape: Shape) -> None:
    joined = formed(Government(1, "a", ("a", "b"), shape=shape))
    joined.stalled = {"a"}
    joined.happen("a", *[submit(number, 0, 10 + number) for number in range(3)])
    joined.happen("a", submit(5, 0, 20))
    joined.crash("a", 1)
    joined.stalled.clear()
    joined.restart("a")
    joined.appoint(Government(2, "a", ("a", "b"), shape=shape))
    assert [content.to_bytes() for content in joined.disks["a"].log] == [
        content.to_bytes() for content in joined.disks["b"].log
    ]
    end = joined.messages(Wedged, "b", "a")[-1].end
    assert end is not None and end < 5
