"""What watches over participants: each oracle accepts a good history, and objects to the one that it exists for."""

import pytest
from msgspec.structs import replace

from hansard.consensus.cluster import ClusterId, Peer
from hansard.consensus.content import (
    Arrive,
    Arrived,
    Begin,
    Depart,
    Departed,
    Entry,
    Moved,
)
from hansard.consensus.effect import Departing, Effect, Led, Send, Strange
from hansard.consensus.message import Abdicate, Ask, Directions, Envelope, PreVote, Vote
from hansard.consensus.recovered import NoteContent
from sim.atomic.oracles import Violation
from sim.atomic.oracles.bounded import Bounded
from sim.atomic.oracles.council import OneAtATime
from sim.atomic.oracles.lease import NotForNothing
from sim.atomic.oracles.lives import Lives
from sim.atomic.oracles.strangers import Strangers
from sim.atomic.oracles.votes import Votes
from sim.atomic.oracles.wanted import Wanted

from .stand_ins import A, B, C, StandIn, StandInWorld, council, entry


@pytest.fixture
def world() -> StandInWorld:
    return StandInWorld()


# Votes.


def vote(votes: Votes, voter: StandIn, candidate: Peer, term: int, *, noted: bool = True) -> None:
    if noted:
        voter.note(NoteContent(life=voter.peer.life, term=term, vote=candidate))
    said = Vote(term, granted=True)
    envelope = Envelope(ClusterId("x"), voter.peer, voter.name, candidate.life, said)
    votes.voted(voter.cast, Send(candidate.node, candidate.node, envelope), said)


def test_one_vote_in_each_term_however_often_it_is_said(world: StandInWorld) -> None:
    votes = Votes()
    vote(votes, world.b, A, 3)
    vote(votes, world.b, A, 3)
    vote(votes, world.b, C, 4)
    with pytest.raises(Violation, match=r"one vote in each term: .* in term 3"):
        vote(votes, world.b, C, 3)


def test_a_vote_that_is_not_on_disk_is_a_violation(world: StandInWorld) -> None:
    world.b.note(NoteContent(life=world.b.peer.life, term=2))
    with pytest.raises(Violation, match="its disk has None in 2"):
        vote(Votes(), world.b, A, 3, noted=False)


def test_another_life_of_a_node_has_its_own_vote(world: StandInWorld) -> None:
    votes = Votes()
    vote(votes, world.b, A, 3)
    world.b.core.peer = Peer("b", 99)
    vote(votes, world.b, C, 3)


def test_who_leads_has_the_votes_of_a_majority_of_its_council(world: StandInWorld) -> None:
    votes = Votes()
    world.a.append(council(A, B, C))
    world.a.core.term = 3
    with pytest.raises(Violation, match="leads in 3 with the votes of"):
        votes.elected(world.a.cast)
    vote(votes, world.c, A, 3)
    votes.elected(world.a.cast)


def test_who_voted_for_another_may_not_lead_by_its_own_vote(world: StandInWorld) -> None:
    votes = Votes()
    vote(votes, world.a, B, 3)
    vote(votes, world.c, A, 3)
    world.a.append(council(A, B, C))
    world.a.core.term = 3
    with pytest.raises(Violation, match="votes for"):
        votes.elected(world.a.cast)


def test_forgetting_a_vote_that_was_given_is_a_violation(world: StandInWorld) -> None:
    votes = Votes()
    vote(votes, world.b, A, 3)
    world.b.core.term = 3
    with pytest.raises(Violation, match=r"has voted for .* in 3, and knows of None"):
        votes.started(world.b.cast)
    world.b.core.vote = A
    votes.started(world.b.cast)
    world.b.core.term, world.b.core.vote = 4, None
    votes.started(world.b.cast)


def say(wanted: Wanted, one: StandIn, to: Peer, message: PreVote | Ask) -> None:
    wanted.said(one.cast, Send(to.node, to.node, Envelope(ClusterId("x"), one.peer, one.name, to.life, message)))


def test_who_asks_in_earnest_has_heard_that_a_majority_would_vote_for_it(world: StandInWorld) -> None:
    wanted = Wanted()
    world.a.append(council(A, B, C))
    say(wanted, world.c, A, PreVote(5, granted=True))
    say(wanted, world.a, B, Ask(5, 1, 1, abdicated=False))
    say(wanted, world.a, B, Ask(6, 1, 1, abdicated=True))
    say(wanted, world.b, A, PreVote(7, granted=False))
    with pytest.raises(Violation, match="nobody asks in earnest who would not be elected"):
        say(wanted, world.a, B, Ask(7, 1, 1, abdicated=False))


def test_what_was_said_to_another_life_is_no_promise_to_this_one(world: StandInWorld) -> None:
    wanted = Wanted()
    world.a.append(council(A, B, C))
    say(wanted, world.c, Peer("a", 99), PreVote(5, granted=True))
    with pytest.raises(Violation, match="nobody asks in earnest who would not be elected"):
        say(wanted, world.a, B, Ask(5, 1, 1, abdicated=False))


# Councils.


def test_voters_change_one_at_a_time_after_the_leader_has_committed(world: StandInWorld) -> None:
    oracle, log = OneAtATime(), world.a.core.log
    world.a.append(council(A, term=0), entry())
    world.a.core.committed = 2
    world.a.append(council(A, B))
    oracle.appended(world.a.cast, 2)
    world.a.core.committed = 3
    world.a.append(council(A, B, C))
    oracle.appended(world.a.cast, 3)
    for index, each in enumerate(log.entries):
        oracle.committed(index, each, None)
    assert oracle.voters == (A, B, C)


def test_a_change_before_an_own_commit_is_a_violation(world: StandInWorld) -> None:
    world.a.append(council(A, term=0), entry())
    world.a.core.committed = 1
    world.a.append(council(A, B))
    with pytest.raises(Violation, match="before it has committed anything in 1"):
        OneAtATime().appended(world.a.cast, 2)


def test_a_change_before_the_last_one_is_committed_is_a_violation(world: StandInWorld) -> None:
    world.a.append(council(A, term=0), entry(), council(A, B), council(A, B, C))
    world.a.core.committed = 2
    with pytest.raises(Violation, match="not committed yet"):
        OneAtATime().appended(world.a.cast, 3)


@pytest.mark.parametrize("after", [council(A, B, C), council(B), council(A, A, B), council()])
def test_a_step_of_more_than_one_is_a_violation(world: StandInWorld, after: Entry) -> None:
    oracle = OneAtATime()
    oracle.committed(0, council(A), None)
    with pytest.raises(Violation, match="voters change one at a time"):
        oracle.committed(1, after, None)


# Lives.


def arrives(lives: Lives, peer: Peer, incarnation: int) -> None:
    arrive = Arrive(peer, "there", 1, peer.life)
    lives.committed(0, entry(arrive), Arrived(peer.node, incarnation, "there", "", b""))


def departs(lives: Lives, peer: Peer, incarnation: int) -> None:
    lives.committed(0, entry(Depart(peer)), Departed(peer.node, incarnation))


def test_lives_come_one_after_another(world: StandInWorld) -> None:
    lives, second = Lives(), Peer("a", 99)
    arrives(lives, A, 1)
    lives.committed(1, entry(Arrive(A, "here", 2, 7)), Moved("a", 1, "here", ""))
    departs(lives, A, 1)
    lives.did(world.a.cast, Departing(A.life))
    arrives(lives, second, 2)
    with pytest.raises(Violation, match="are there by the log"):
        lives.finish(world.cast)
    world.b.consensus = world.c.consensus = None
    world.a.core.peer = second
    lives.finish(world.cast)


@pytest.mark.parametrize(("peer", "incarnation"), [(A, 2), (Peer("a", 99), 1), (Peer("a", 99), 3)])
def test_a_life_that_comes_again_or_out_of_turn_is_a_violation(peer: Peer, incarnation: int) -> None:
    lives = Lives()
    arrives(lives, A, 1)
    departs(lives, A, 1)
    with pytest.raises(Violation, match="one life after another"):
        arrives(lives, peer, incarnation)


def test_two_lives_of_a_node_at_once_are_a_violation() -> None:
    lives = Lives()
    arrives(lives, A, 1)
    with pytest.raises(Violation, match="one life after another"):
        arrives(lives, Peer("a", 99), 2)


def test_a_departure_of_who_is_not_there_is_a_violation() -> None:
    lives = Lives()
    arrives(lives, A, 1)
    with pytest.raises(Violation, match="is not there"):
        departs(lives, Peer("a", 99), 1)


def test_giving_up_a_life_that_has_not_departed_is_a_violation(world: StandInWorld) -> None:
    lives = Lives()
    arrives(lives, A, 1)
    with pytest.raises(Violation, match="gives up its life 7"):
        lives.did(world.a.cast, Departing(A.life))


# Strangers.


STRAY = Envelope(ClusterId("another"), B, "elsewhere", 7, Ask(9, 9, 9, abdicated=True))
STRANGE = Strange("b", "elsewhere", ClusterId("another"))


def send(to: str, message: Abdicate | Directions) -> Send:
    return Send("b", to, Envelope(ClusterId("x"), A, "a", 7, message))


def test_a_stranger_is_named_and_at_most_told_off(world: StandInWorld) -> None:
    strangers, usual = Strangers(), send("b", Abdicate(3))
    strangers.refused(world.a.cast, STRAY, [STRANGE], [])
    strangers.refused(world.a.cast, STRAY, [STRANGE, send("elsewhere", Directions("", ()))], [])
    strangers.refused(world.a.cast, STRAY, [STRANGE, usual], [usual])
    strangers.unmoved(world.a.cast, STRAY, (1, 2), (1, 2))


def test_obeying_a_stranger_is_a_violation(world: StandInWorld) -> None:
    strangers = Strangers()
    obeying: list[list[Effect]] = [[], [STRANGE, send("b", Abdicate(3))], [STRANGE, Led("b", 9)]]
    for effects in obeying:
        with pytest.raises(Violation, match="strangers are refused"):
            strangers.refused(world.a.cast, STRAY, effects, [])
    with pytest.raises(Violation, match="and is 2 now"):
        strangers.unmoved(world.a.cast, STRAY, 1, 2)


def test_taking_one_of_us_for_a_stranger_is_a_violation(world: StandInWorld) -> None:
    with pytest.raises(Violation, match="strangers are refused: a takes"):
        Strangers().did(world.a.cast, Strange("b", "b", ClusterId("x")))


# Leases.


def declare(world: StandInWorld, peer: Peer = B) -> None:
    """After ten seconds, a proposes a departure, and it is committed."""
    oracle, depart = NotForNothing(), entry(Depart(peer))
    world.clock.run_until(10_000_000)
    world.a.append(depart)
    oracle.appended(world.a.cast, 0)
    oracle.committed(0, depart, Departed(peer.node, 1))


def test_the_departure_of_one_that_was_never_in_trouble_is_a_violation(world: StandInWorld) -> None:
    with pytest.raises(Violation, match=r"nobody departs for nothing: a proposes .* untroubled for 10.000 s"):
        declare(world)


def test_a_departure_that_is_not_committed_does_no_harm(world: StandInWorld) -> None:
    oracle = NotForNothing()
    world.clock.run_until(10_000_000)
    world.a.append(entry(Depart(B)))
    oracle.appended(world.a.cast, 0)
    oracle.committed(0, entry(Depart(B), term=2), Departed("b", 1))


def test_who_was_in_trouble_may_be_declared_departed(world: StandInWorld) -> None:
    world.b.troubled_until_us = 9_900_000
    declare(world)


@pytest.mark.parametrize("how", ["down", "another life", "leaving", "given up", "losses"])
def test_there_are_good_reasons_for_a_departure(world: StandInWorld, how: str) -> None:
    match how:
        case "down":
            world.b.consensus = None
        case "another life":
            world.b.core.peer = Peer("b", 99)
        case "leaving":
            world.b.leaving = True
        case "given up":
            world.given_up.add(B)
        case _:
            world.plan = replace(world.plan, loss=0.1)
    declare(world)


# Bounds.


def test_a_log_that_is_not_compacted_is_a_violation(world: StandInWorld) -> None:
    oracle, settings = Bounded(thorough=False), world.plan.settings
    bound = settings.compact_entries + settings.keep_entries
    world.a.append(*[Entry(1, Begin())] * (bound + 1))
    world.a.core.committed = bound
    oracle.after_turn(world.a.cast)
    world.a.core.committed = bound + 1
    with pytest.raises(Violation, match="bounded memory, and the invariants: a has"):
        oracle.after_turn(world.a.cast)
