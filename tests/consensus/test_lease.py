"""Liveness: who is not heard for longer than its lease departs, soon, and nobody else does."""

import pytest

from hansard.consensus.content import Arrived, Departed
from hansard.consensus.effect import Departing
from hansard.consensus.message import Appended
from hansard.consensus.role import Role
from hansard.consensus.settings import Settings
from tests.consensus.joined import SECOND, Joined, formed

LEASE_US = Settings().lease_us


def departures(joined: Joined, at: str) -> list[tuple[str, int]]:
    """In their order, as the log says at one of them."""
    return [(fact.node, fact.incarnation) for _, fact in joined.facts(at) if isinstance(fact, Departed)]


def follower(joined: Joined) -> str:
    return next(core.me for core in joined.up if core.me != joined.leader)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("size", [3, 4, 5])
def test_a_death_is_in_the_log_in_less_than_a_second(size: int, seed: int) -> None:
    joined = formed(size, seed=seed)
    dead = follower(joined)
    joined.run(0.0123 * seed)
    joined.crash(dead)
    took_us = joined.until(lambda: (dead, 1) in departures(joined, joined.leader))
    assert LEASE_US - Settings().heartbeat_us * 3 <= took_us < SECOND * 0.75


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("size", [3, 4, 5])
def test_so_is_the_death_of_the_leader(size: int, seed: int) -> None:
    """Its lease runs while its successor is elected. An election that fails costs another one."""
    joined = formed(size, seed=seed)
    dead = joined.leader
    joined.run(0.0123 * seed)
    joined.crash(dead)
    took_us = joined.until(lambda: joined.leader and (dead, 1) in departures(joined, joined.leader))
    assert took_us < SECOND


def test_a_successor_counts_the_lease_from_when_its_predecessor_was_last_heard() -> None:
    joined = formed(3, Settings(lease_us=5 * SECOND))
    dead = joined.leader
    joined.crash(dead)
    died_us = joined.now_us
    joined.until(lambda: joined.leader)
    assert joined.now_us - died_us > 0.2 * SECOND
    joined.until(lambda: (dead, 1) in departures(joined, joined.leader))
    assert joined.now_us - died_us <= 5.1 * SECOND


def test_a_successor_gives_everybody_else_time() -> None:
    """It has heard nobody while it did not lead; that is nobody's fault."""
    joined = formed(5, Settings(lease_us=2 * SECOND))
    for _ in range(5):
        leader = joined.leader
        joined.pause(leader)
        joined.run(1)
        joined.resume(leader)
        joined.run(0.5)
    joined.run(3)
    assert departures(joined, "a") == []


def test_several_die_at_once() -> None:
    joined = formed(5)
    leader = joined.leader
    dead = [node for node in "abcde" if node != leader][:2]
    joined.crash(*dead)
    joined.until(lambda: sorted(departures(joined, leader)) == [(node, 1) for node in dead], 1)


@pytest.mark.parametrize("seconds", [0.1, 0.25, 0.7, 1, 5, 60])
def test_a_leader_that_was_paused_does_not_depart_everybody_when_it_wakes_up(seconds: float) -> None:
    joined = formed(5)
    sleeper = joined.leader
    joined.pause(sleeper)
    joined.run(seconds)
    joined.resume(sleeper)
    joined.until(lambda: joined.settling)
    joined.run(2)
    assert departures(joined, "a") == ([(sleeper, 1)] if seconds > 0.6 else [])


def test_when_all_were_paused_nobody_departs() -> None:
    """As when the machine that they are all on was suspended. Not even another leader is needed."""
    joined = formed(3)
    leader, term = joined.leader, joined.core(joined.leader).term
    for node in "abc":
        joined.pause(node)
    joined.run(100)
    for node in "abc":
        joined.resume(node)
    joined.run(5)
    assert departures(joined, "a") == []
    assert (joined.leader, joined.core(leader).term) == (leader, term)


def test_when_all_were_down_nobody_departs() -> None:
    joined = formed(3)
    joined.crash("a", "b", "c")
    joined.run(100)
    for node in "abc":
        joined.restart(node)
    joined.run(5)
    assert joined.settling
    assert departures(joined, "a") == []


def test_a_short_pause_costs_nothing_and_a_long_one_a_life() -> None:
    joined = formed(4)
    node = follower(joined)
    joined.pause(node)
    joined.run(0.4)
    joined.resume(node)
    joined.run(2)
    assert departures(joined, node) == []
    life = joined.core(node).peer.life
    joined.pause(node)
    joined.run(1.5)
    joined.resume(node)
    joined.until(lambda: joined.told(node, Departing))
    assert joined.told(node, Departing) == [Departing(life)]
    joined.until(lambda: joined.settling)
    arrivals = [fact.incarnation for _, fact in joined.facts(node) if isinstance(fact, Arrived) and fact.node == node]
    assert arrivals == [1, 2]
    assert joined.core(node).peer.life != life


def test_a_slow_network_is_no_reason_to_depart() -> None:
    joined = formed(4)
    joined.delay_us = 110_000
    joined.run(10)
    assert departures(joined, "a") == []
    joined.settle(joined.propose("d", b"x"))


def test_losses_here_and_there_are_no_reason_to_depart() -> None:
    joined = formed(4)
    answers = iter(range(10**6))
    joined.lose = lambda sent: isinstance(sent.envelope.message, Appended) and next(answers) % 3 == 0
    joined.run(20)
    assert departures(joined, "a") == []


def test_a_leader_without_a_majority_departs_nobody() -> None:
    joined = formed(3)
    leader = joined.leader
    joined.cut(leader)
    joined.run(5)
    assert departures(joined, leader) == []
    assert joined.core(leader).role is not Role.LEADER


def test_a_departure_that_was_proposed_and_not_committed_may_come_to_nothing() -> None:
    """A long lease is over in the moment that the leader has lost its majority: what it has proposed goes with it."""
    joined = formed(5, Settings(lease_us=SECOND))
    leader = joined.leader
    others = [node for node in "abcde" if node != leader]
    joined.part([leader, others[0]], others[1:])
    joined.run(5)
    joined.rejoin()
    joined.until(lambda: joined.settling, 10)
    joined.run(3)
    assert {node for node, _ in departures(joined, leader)} == {leader, others[0]}


@pytest.mark.parametrize("size", [4, 6, 7])
def test_whoever_does_not_vote_departs_in_the_same_time(size: int) -> None:
    joined = formed(size)
    voters = {voter.node for voter in joined.core("a").voters}
    learner = next(node for node in joined.members if node not in voters)
    joined.crash(learner)
    took_us = joined.until(lambda: (learner, 1) in departures(joined, joined.leader))
    assert LEASE_US * 0.7 <= took_us <= SECOND * 0.75


def test_departing_is_told_to_a_leader_that_was_deposed_while_it_slept() -> None:
    joined = formed(3)
    sleeper = joined.leader
    joined.pause(sleeper)
    joined.until(lambda: (sleeper, 1) in departures(joined, joined.leader), 2)
    joined.resume(sleeper)
    assert joined.until(lambda: joined.told(sleeper, Departing)) < SECOND
    joined.until(lambda: joined.settling and len(joined.core("a").voters) == 3)
