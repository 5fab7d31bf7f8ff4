"""What a run of the atomic log has seen is counted by what happened, and by nothing that only looks like it."""

import pytest

from hansard.consensus.cluster import ClusterId, Peer
from hansard.consensus.content import (
    Arrive,
    Arrived,
    Depart,
    Departed,
    Entry,
    Fact,
    Moved,
    Proposal,
    Proposed,
    Upgraded,
)
from hansard.consensus.effect import Cut, Departing, Effect, Note, Outdated, Persist, Refused, Restored, Send
from hansard.consensus.message import Abdicate, Ask, Collection, Envelope, Gone, Message, Offer, PartKept, PreVote, Vote
from sim.atomic.coverage import REQUIRED, TELLING, Coverage

from .stand_ins import A, B, C, StandIn, StandInWorld, council, entry

COLLECTION = Collection(end=10, term=1, total=5, crc=7)


class Watch:
    """Coverage, and what it is told."""

    def __init__(self) -> None:
        self.world = StandInWorld()
        self.coverage = Coverage("a")

    def says(self, message: Message, one: StandIn | None = None, to: str = "b") -> None:
        assert type(message) in TELLING
        one = one or self.world.a
        self.coverage.said(one.cast, Send(to, to, Envelope(ClusterId("x"), one.peer, one.name, 7, message)))

    def commits(self, entry: Entry, fact: Fact | None = None, *wished: str) -> None:
        self.coverage.committed(entry, fact, set(wished))

    @property
    def counted(self) -> set[str]:
        return {what for what, number in self.coverage.counts.items() if number}


@pytest.fixture
def watch() -> Watch:
    return Watch()


# What is said.


@pytest.mark.parametrize(
    ("message", "what"),
    [
        (PreVote(3, granted=False), "pre-vote refused"),
        (Vote(3, granted=False), "vote refused"),
        (Gone(7, 1), "told to be gone"),
        (Offer((), passed=True), "offer passed on"),
    ],
    ids=str,
)
def test_words_are_counted_by_what_they_say(watch: Watch, message: Message, what: str) -> None:
    for other in (PreVote(3, granted=True), Vote(3, granted=True), Offer((), passed=False)):
        watch.says(other)
    assert watch.counted == set()
    watch.says(message)
    assert watch.counted == {what}


def test_a_vote_was_split_if_several_asked_and_nobody_led(watch: Watch) -> None:
    for term, candidates in ((2, "ab"), (3, "a"), (4, "ab")):
        for name in candidates:
            watch.says(Ask(term, 1, 1, abdicated=False), watch.world.by_name[name])
    watch.coverage.elected(watch.world.a.cast, 4)
    watch.coverage.finish()
    assert watch.coverage.counts["split vote"] == 1


def test_a_transfer_counts_when_the_heir_leads_in_the_next_term(watch: Watch) -> None:
    watch.says(Abdicate(3), to="b")
    watch.coverage.elected(watch.world.c.cast, 4)
    watch.coverage.elected(watch.world.b.cast, 5)
    assert watch.coverage.counts["transferred"] == 0
    watch.coverage.elected(watch.world.b.cast, 4)
    assert watch.coverage.counts["transferred"] == 1


# States.


def test_a_transfer_that_another_process_or_leader_goes_on_with_was_resumed(watch: Watch) -> None:
    b = watch.world.b
    watch.says(PartKept(1, 0, COLLECTION, 1), b)
    watch.says(PartKept(1, 0, COLLECTION, 2), b)
    assert "snapshot resumed" not in watch.counted
    b.process += 1
    watch.says(PartKept(1, 0, COLLECTION, 2), b)
    assert "snapshot resumed" not in watch.counted
    watch.says(PartKept(2, 0, COLLECTION, 3), b)
    assert watch.coverage.counts["snapshot resumed"] == 1
    assert "b" in watch.coverage.collecting
    watch.says(PartKept(2, 0, COLLECTION, 5), b)
    assert not watch.coverage.collecting


def test_another_state_from_its_beginning_was_not_resumed(watch: Watch) -> None:
    b = watch.world.b
    watch.says(PartKept(1, 0, COLLECTION, 2), b)
    b.process += 1
    watch.says(PartKept(1, 0, Collection(end=20, term=1, total=5, crc=8), 3), b)
    watch.says(PartKept(2, 0, Collection(end=20, term=1, total=5, crc=8), 1), b)
    assert "snapshot resumed" not in watch.counted


# What is done.


@pytest.mark.parametrize(
    ("effect", "what"),
    [
        (Persist(1, (Note(b""), Cut(3))), "entries cut"),
        (Restored(3), "snapshot installed"),
        (Departing(7), "life given up"),
        (Outdated(2), "outdated"),
        (Refused("no"), "arrival refused"),
    ],
    ids=str,
)
def test_effects_are_counted_by_what_they_do(watch: Watch, effect: Effect, what: str) -> None:
    watch.coverage.did(Persist(1, (Note(b""),)))
    assert watch.counted == set()
    watch.coverage.did(effect)
    assert watch.counted == {what}


# What is in the log.


def test_facts_are_counted_by_what_they_say(watch: Watch) -> None:
    arrive, proposal = Arrive(B, "b", 1, 7), Proposal(B, 1, 1, b"")
    watch.commits(entry(arrive), Arrived("b", 1, "b", "", b""))
    watch.commits(entry(arrive), Arrived("b", 2, "b", "", b""))
    watch.commits(entry(arrive), Moved("b", 2, "c", ""))
    watch.commits(entry(Depart(B)), Departed("b", 2))
    watch.commits(entry(Depart(A)), Departed("a", 1), "a")
    watch.commits(entry(proposal), Proposed("b", 2, b""))
    watch.commits(entry(proposal))
    watch.commits(entry(arrive))
    watch.commits(entry(), Upgraded(2))
    one_each = {
        "arrived",
        "arrived again",
        "moved",
        "departed by lease",
        "departed by wish",
        "founder gone",
        "proposed",
    }
    assert watch.counted == one_each | {"proposal repeated", "rules raised"}
    assert all(watch.coverage.counts[what] == 1 for what in watch.counted)


def test_the_departure_of_whoever_led_last_is_counted(watch: Watch) -> None:
    watch.coverage.elected(watch.world.b.cast, 3)
    watch.coverage.elected(watch.world.c.cast, 4)
    watch.commits(entry(Depart(B)), Departed("b", 1))
    assert "departed leader" not in watch.counted
    watch.commits(entry(Depart(C)), Departed("c", 1))
    assert "departed leader" in watch.counted


def test_changes_of_the_council_are_counted_from_the_second_on(watch: Watch) -> None:
    watch.coverage.elected(watch.world.a.cast, 1)
    watch.commits(council(A))
    assert watch.counted == {"election"}
    watch.commits(council(A, B))
    watch.commits(council(A, B, C))
    watch.commits(council(A, B))
    assert (watch.coverage.counts["voter added"], watch.coverage.counts["voter removed"]) == (2, 1)
    assert "leader removed itself" not in watch.counted
    watch.commits(council(B))
    assert watch.coverage.counts["leader removed itself"] == 1


# Crashes.


def test_a_majority_is_lost_once_and_regained_with_a_leader(watch: Watch) -> None:
    watch.coverage.crashed(0, set())
    assert watch.counted == {"crash"}
    watch.commits(council(A, B, C))
    watch.coverage.crashed(1, {A, B})
    assert "majority lost" not in watch.counted and "writes lost" in watch.counted
    watch.coverage.crashed(0, {A, Peer("b", 99)})
    watch.coverage.crashed(0, set())
    assert watch.coverage.counts["majority lost"] == 1 and "majority regained" not in watch.counted
    watch.coverage.elected(watch.world.a.cast, 5)
    watch.coverage.elected(watch.world.a.cast, 6)
    assert watch.coverage.counts["majority regained"] == 1


def test_nothing_is_required_twice() -> None:
    assert len(set(REQUIRED)) == len(REQUIRED)
