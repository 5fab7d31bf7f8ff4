import pytest

from hansard.phaser import Settings, lineage
from hansard.phaser.effect import Achievement, Fetch, Send
from hansard.phaser.event import Accepted, Appointed, Connected, Fetched, Received, Trimmed
from hansard.phaser.feed import Feed
from hansard.phaser.government import Government, NodeId, Shape, first_term
from hansard.phaser.lineage import Run
from hansard.phaser.message import Acknowledge, Append, Commit, Message, Part, Wedge, Wedged
from hansard.phaser.outcome import Stored
from tests.phaser.joined import Joined, batch, formed, series_of, submit

T1, T2 = first_term(1), first_term(2)
LENGTH = batch(0).length


def feed_to(joined: Joined, node: NodeId, sender: NodeId = "a") -> Feed:
    relay = joined.phasers[sender].relay
    assert relay is not None
    return relay.feeds[node]


def three(shape: Shape) -> Government:
    return Government(1, "a", ("a", "b", "c"), shape=shape)


# Feeds.


def test_a_feed_counts_only_acknowledgements_that_grow() -> None:
    feed = Feed("b", 0, 500_000)
    for number in range(3):
        feed.sent(number + 1, 100)
    assert feed.acknowledged(2, 5) and feed.progress_us == 5
    assert (feed.flight_bytes, list(feed.flight)) == (100, [(3, 100)])
    assert not feed.acknowledged(1, 6)
    assert feed.progress_us == 5 and feed.through == 2


def test_a_feed_that_starts_again_counts_on_nothing_that_was_under_way() -> None:
    feed = Feed("b", 0, 500_000)
    feed.sent(1, 100)
    feed.fetching = True
    feed.restart(0)
    assert (feed.next, feed.flight_bytes, feed.fetching) == (0, 0, False)


def test_what_the_other_has_and_not_yet_on_disk_stays_in_flight_when_a_feed_starts_again() -> None:
    feed = Feed("b", 0, 500_000)
    for number in range(4):
        feed.sent(number + 1, 100)
    feed.acknowledged(1, 0)
    feed.restart(3)
    assert (feed.next, feed.flight_bytes, list(feed.flight)) == (3, 200, [(2, 100), (3, 100)])


# Flow.


def test_bytes_in_flight_to_a_member_are_bounded(shape: Shape) -> None:
    joined = formed(three(shape), Settings(flight_bytes_max=5 * LENGTH, merge_bytes=1))
    joined.stalled = {"c"}
    for number in range(20):
        joined.happen("a", submit(number, number))
    for sender in joined.phasers:
        relay = joined.phasers[sender].relay
        for feed in relay.feeds.values() if relay is not None else ():
            assert feed.flight_bytes <= 6 * LENGTH
    joined.resume("c")
    assert series_of(joined.disks["c"].log) == list(range(20))


def test_batches_go_out_before_the_own_disk_has_them(shape: Shape) -> None:
    joined = formed(three(shape))
    joined.stalled = {"a", "b"}
    joined.happen("a", submit(1, 0))
    assert series_of(joined.disks["c"].log) == [0], "in a chain, too"
    assert not joined.answers


def test_the_commit_point_goes_by_itself_where_nothing_else_is_sent(shape: Shape) -> None:
    joined = formed(three(shape))
    joined.happen("a", submit(1, 0))
    assert {joined.phasers[node].ledger.committed for node in "abc"} == {2}


def test_a_lost_batch_is_sent_again_after_a_while(shape: Shape) -> None:
    joined = formed(three(shape))
    joined.lose = lambda sender, to, message: isinstance(message, Append)
    joined.happen("a", submit(1, 0))
    joined.lose = lambda sender, to, message: False
    joined.tick()
    assert isinstance(joined.answers[1], Stored)


def test_a_lost_acknowledgement_is_given_again(shape: Shape) -> None:
    joined = formed(three(shape))
    joined.lose = lambda sender, to, message: isinstance(message, Acknowledge)
    joined.happen("a", submit(1, 0))
    joined.lose = lambda sender, to, message: False
    for _ in range(3):
        joined.tick()
    assert isinstance(joined.answers[1], Stored)


def test_a_way_that_is_there_again_needs_no_waiting(shape: Shape) -> None:
    joined = formed(three(shape))
    joined.lose = lambda sender, to, message: True
    joined.happen("a", submit(1, 0))
    joined.lose = lambda sender, to, message: False
    for node in "abc":
        joined.happen(node, *[Connected(other) for other in "abc" if other != node])
    assert isinstance(joined.answers[1], Stored)


def test_a_gap_is_complained_of_once_and_filled() -> None:
    joined = formed(Government(1, "a", ("a", "b")))
    joined.lose = lambda sender, to, message: isinstance(message, Append) and message.previous_end == 1
    joined.happen("a", submit(1, 0))
    joined.lose = lambda sender, to, message: isinstance(message, Acknowledge)
    for number in range(2, 6):
        joined.happen("a", submit(number, number - 1))
    complaints = [message for message in joined.messages(Acknowledge, "b") if message.missing]
    assert [message.end for message in complaints] == [1]
    joined.lose = lambda sender, to, message: False
    joined.tick()
    assert sorted(joined.answers) == [1, 2, 3, 4, 5]


def test_doubled_messages_change_nothing(shape: Shape) -> None:
    joined = formed(three(shape))
    again: list[tuple[NodeId, NodeId, Message]] = []

    def doubled(sender: NodeId, to: NodeId, message: Message) -> bool:
        again.append((sender, to, message))
        return False

    joined.lose = doubled
    for number in range(4):
        joined.happen("a", submit(number, number))
    joined.lose = lambda sender, to, message: False
    for sender, to, message in again:
        joined.happen(to, Received(sender, message))
    assert series_of(joined.disks["b"].log) == series_of(joined.disks["c"].log) == [0, 1, 2, 3]


# Those who are behind.


def behind(shape: Shape, batches: int = 12) -> Joined:
    """c has been away while the others went on, and a has little of it in memory."""
    joined = formed(three(shape), Settings(tail_bytes_max=2 * LENGTH, fetch_bytes=3 * LENGTH, checkpoint_batches=4))
    joined.crash("c")
    joined.appoint(Government(2, "a", ("a", "b"), shape=shape))
    for number in range(batches):
        joined.happen("a", submit(number, number))
    joined.restart("c")
    return joined


def test_what_is_not_in_memory_is_read_from_disk(shape: Shape) -> None:
    joined = behind(shape)
    joined.appoint(Government(3, "a", ("a", "b"), ("c",), shape=shape))
    asked = [effect for effect in joined.effects["a"] if isinstance(effect, Fetch)]
    assert len(asked) >= 3 and not joined.messages(Part, "a")
    assert series_of(joined.disks["c"].log) == list(range(12))


def test_one_read_at_a_time_for_each_who_is_behind(shape: Shape) -> None:
    joined = behind(shape)
    joined.slow = {"a"}
    joined.appoint(Government(3, "a", ("a", "b"), ("c",), shape=shape))
    for number in range(20, 25):
        joined.happen("a", submit(number, number - 8))
    assert len([effect for effect in joined.effects["a"] if isinstance(effect, Fetch)]) == 1


def test_what_retention_drops_while_it_is_wanted_makes_the_other_begin_anew(shape: Shape) -> None:
    joined = behind(shape)
    joined.slow = {"a"}
    joined.appoint(Government(3, "a", ("a", "b"), ("c",), shape=shape))
    (fetch,) = [effect for effect in joined.effects["a"] if isinstance(effect, Fetch)]
    start = joined.disks["a"].trim(8)
    assert start > fetch.offset
    joined.slow.clear()
    joined.happen("a", Trimmed(start), Fetched(fetch.to, fetch.term, fetch.offset, start, []))
    assert joined.messages(Part, "a", "c")
    assert series_of(joined.disks["c"].log)[-1] == 11
    assert joined.phasers["c"].ledger.streams.image() == joined.phasers["a"].ledger.streams.image()


def test_what_was_fetched_under_an_earlier_term_is_not_passed_on_under_a_later_one() -> None:
    """b, in the middle of a chain, has asked its disk for what c lacks, under term 1. Term 2 unrolls b's second entry;
    b asks again for the same offset, and the first answer comes late. c must not get the deposed entry."""
    joined = Joined("b", Settings(checkpoint_batches=1))
    one, two = [Government(epoch, "a", ("a", "b", "c"), shape=Shape.CHAIN) for epoch in (1, 2)]
    kept = batch(0).stamped(epoch=T1, base_offset=0, timestamp=1)
    deposed = batch(1).stamped(epoch=T1, base_offset=1, timestamp=1)
    wedge = Wedge(T1, one, False, 0, 0, ())
    joined.happen("b", Received("a", wedge))
    joined.happen("b", Received("a", Append(T1, 0, 0, kept, 0)), Received("a", Append(T1, T1, 1, deposed, 0)))
    joined.restart("b")  # nothing is in memory now, so c has to be served from disk
    joined.slow = {"b"}
    joined.happen("b", Received("a", wedge))
    joined.happen("b", Received("c", Wedged(T1, 0, 0, True, None, 0)))
    (asked,) = [effect for effect in joined.effects["b"] if isinstance(effect, Fetch)]
    late = Fetched(asked.to, asked.term, asked.offset, 0, list(joined.disks["b"].log))

    joined.happen("b", Received("a", Wedge(T2, two, False, 0, 1, (Run(T1, 0),))))
    assert joined.phasers["b"].ledger.end == 1
    joined.happen("b", Received("c", Wedged(T2, 0, 0, True, None, 0)))
    asked_again = [effect for effect in joined.effects["b"] if isinstance(effect, Fetch)][1:]
    assert [(effect.to, effect.offset) for effect in asked_again] == [("c", 0)]
    sent = [effect.message for effect in joined.happen("b", late) if isinstance(effect, Send)]
    assert not [message for message in sent if isinstance(message, Append)]


# What comes late.


def newcomer_in_step(shape: Shape) -> Joined:
    """d began from a snapshot, and counts."""
    joined = formed(Government(1, "a", ("a",)), Settings(checkpoint_batches=2))
    for number in range(6):
        joined.happen("a", submit(number, number))
    joined.happen("a", Trimmed(joined.disks["a"].trim(joined.phasers["a"].droppable)))
    joined.add("d")
    joined.appoint(Government(2, "a", ("a",), ("d",), shape=shape))
    leading = joined.phasers["a"].leading
    assert leading is not None and leading.expanded
    return joined


def test_a_wedged_that_comes_late_does_not_stop_the_feed(shape: Shape) -> None:
    """It says that the newcomer has no state, which has long ceased to be true."""
    joined = newcomer_in_step(shape)
    first = joined.messages(Wedged, "d")[0]
    assert first.end is None
    joined.happen("a", submit(10, 6))
    joined.happen("a", Received("d", first))
    joined.happen("a", submit(11, 7))
    for _ in range(10):
        joined.tick()
    assert [type(joined.answers[number]) for number in (10, 11)] == [Stored, Stored]


def test_old_acknowledgements_are_not_counted_again(shape: Shape) -> None:
    joined = formed(three(shape))
    sender: NodeId = "b"
    joined.happen("a", submit(1, 0))
    through = feed_to(joined, sender).through
    for message in joined.messages(Acknowledge, sender, "a"):
        joined.happen("a", Received(sender, message))
    assert feed_to(joined, sender).through == through


def test_what_a_deposed_term_acknowledged_counts_for_nothing_in_the_next() -> None:
    joined = Joined("a")
    joined.happen("a", Appointed(Government(2, "a", ("a", "b"))))
    joined.happen("a", Received("b", Wedged(T2, 0, 0, True, None, 0)))
    effects = joined.happen("a", submit(1, 0), Received("b", Acknowledge(T1, 5, 5, 5, False)))
    assert feed_to(joined, "b").through == 0
    assert not [effect for effect in effects if isinstance(effect, Send) and isinstance(effect.message, Commit)]
    assert not joined.answers


def test_what_comes_in_one_turn_goes_out_as_one_message() -> None:
    joined = formed(Government(1, "a", ("a", "b")))
    effects = joined.happen("a", *[submit(number, 0, 10 + number) for number in range(5)])
    sent = [effect.message for effect in effects if isinstance(effect, Send)]
    assert [type(message) for message in sent] == [Append]


def test_a_complaint_that_comes_late_sends_nothing_again_that_was_acknowledged() -> None:
    """Only an acknowledgement that is news takes anything out of flight: what was sent again after it was acknowledged
    would stay there, and with little room the feed would stand still."""
    joined = formed(Government(1, "a", ("a", "b")), Settings(merge_bytes=1))
    for number in range(4):
        joined.happen("a", submit(number, number))
    relay = joined.phasers["a"].relay
    assert relay is not None
    joined.lose = lambda sender, to, message: True
    joined.happen("a", Received("b", Acknowledge(first_term(1), 1, 1, 1, True)))
    feed = relay.feeds["b"]
    assert (feed.flight_bytes, feed.next) == (0, 5)


def test_a_newcomer_gets_on_under_the_next_leader_whose_log_begins_later() -> None:
    """Or else it would be sent the log and the snapshot again at every tick, for as long as c's disk is stalled."""
    joined = formed(Government(1, "a", ("a", "b", "c")), Settings(checkpoint_batches=2, part_bytes=60))
    for number in range(10):
        joined.happen("a", submit(number, number))
    for node, start in (("a", 4), ("b", 8)):
        joined.happen(node, Trimmed(joined.disks[node].trim(start)))
    joined.add("d")
    joined.lose = lambda sender, to, message: "d" in (sender, to)
    joined.appoint(Government(2, "a", ("a", "b", "c"), ("d",)))
    joined.lose = lambda sender, to, message: isinstance(message, Part) and message.number > 0
    joined.tick()
    assert len(joined.phasers["d"].ledger.parts) == 1
    joined.lose = lambda sender, to, message: False
    joined.accepting = False
    joined.appoint(Government(3, "b", ("b", "c"), ("d",)), "b", "c", "d")
    joined.stalled = {"c"}
    joined.happen("b", Accepted(Achievement.OPENED, 3))
    for _ in range(5):
        joined.tick()
    assert joined.phasers["d"].ledger.end == joined.phasers["b"].ledger.end


def test_a_newcomer_gets_a_log_of_more_terms_than_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lineage, "RUNS_MAX", 3)
    joined = formed(Government(1, "a", ("a",)))
    for epoch in range(2, 9):
        joined.happen("a", submit(epoch, epoch))
        joined.appoint(Government(epoch, "a", ("a",)))
    assert len(joined.phasers["a"].ledger.lineage.runs) == 3
    joined.add("d")
    joined.appoint(Government(9, "a", ("a",), ("d",)))
    for _ in range(3):
        joined.tick()
    assert joined.phasers["d"].ledger.end == joined.phasers["a"].ledger.end
    assert joined.phasers["d"].ledger.committed == joined.phasers["a"].ledger.committed


def test_what_has_come_after_all_is_not_sent_again_and_not_waited_for() -> None:
    """A restart that crosses acknowledgements: what is below them is not in flight."""
    feed = Feed("b", 0, 500_000)
    feed.introduced = True
    for end in (10, 20, 30):
        feed.sent(end, 100)
    feed.restart(0)
    feed.fetching = True
    assert feed.acknowledged(30, 1)
    assert (feed.next, feed.fetching, feed.flight_bytes) == (30, False, 0)
