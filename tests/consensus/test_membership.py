"""Who takes part and who votes: kept by whoever leads, one step at a time."""

from itertools import pairwise

import pytest

from hansard.consensus.cluster import NO_CLUSTER, ClusterId, Peer
from hansard.consensus.content import Arrived, Council, Depart, Departed, Entry, Proposal, Why
from hansard.consensus.council import size_wanted
from hansard.consensus.effect import Departing, Left, Refused, Send, Strange
from hansard.consensus.event import Leave, Propose, Raise
from hansard.consensus.message import Append, Appended, Ask, Directions, Message, Offer
from hansard.consensus.role import Role
from hansard.consensus.settings import Settings
from tests.consensus.joined import Joined, formed
from tests.consensus.single import FIRST, A, B, C, D, Single, arrive, only

END = len(FIRST)


def councils(joined: Joined) -> list[set[Peer]]:
    """One after the other, as committed."""
    entries = [joined.entries[index] for index in sorted(joined.entries)]
    return [set(entry.content.voters) for entry in entries if isinstance(entry.content, Council)]


def voting(joined: Joined) -> set[str]:
    """By what everybody knows who is up."""
    known = {frozenset(core.voters) for core in joined.up}
    assert len(known) == 1, known
    return {voter.node for voter in next(iter(known))}


def settled(joined: Joined) -> bool:
    """Everybody is there, knows the same, and as many vote as should, all of them there."""
    up = {core.peer for core in joined.up}
    return joined.settling and all(
        set(core.voters) <= up and len(core.voters) == size_wanted(len(up)) for core in joined.up
    )


def carries_council(message: Message) -> bool:
    return isinstance(message, Append) and any(isinstance(entry.content, Council) for entry in message.entries)


def leave(joined: Joined, node: str) -> None:
    """And stop when it is told that it may."""
    joined.happen(node, Leave(node))
    joined.until(lambda: joined.told(node, Left), 3)
    joined.crash(node)


def departed(joined: Joined, node: str, at: str) -> bool:
    return any(isinstance(fact, Departed) and fact.node == node for _, fact in joined.facts(at))


# Coming.


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6, 7])
def test_so_many_vote_as_should(size: int) -> None:
    joined = formed(size)
    assert len(voting(joined)) == size_wanted(size)


def test_eight_at_once_come_in_and_one_voter_at_a_time() -> None:
    joined = formed(1)
    for number in range(8):
        joined.add(f"n{number}")
    joined.until(lambda: settled(joined), 3)
    assert len(voting(joined)) == 5
    assert all(len(before ^ after) == 1 for before, after in pairwise(councils(joined)))
    assert [fact.incarnation for _, fact in joined.facts("n7") if isinstance(fact, Arrived)] == [1] * 9


def test_fifty_are_a_cluster() -> None:
    joined = Joined()
    for number in range(50):
        joined.add(f"n{number}")
    joined.until(lambda: settled(joined))
    assert len(voting(joined)) == 5
    assert joined.settle(joined.propose("n49", b"x")) < 10_000


def test_voters_are_spread_over_zones() -> None:
    joined = Joined()
    for node, zone in zip("abcdef", ["x", "x", "x", "y", "y", "z"], strict=True):
        joined.add(node, zone=zone)
        joined.run(1)
    joined.until(lambda: settled(joined))
    joined.run(2)
    zones = [joined.core("a").roster.participants[node].zone for node in voting(joined)]
    assert sorted(zones) == ["x", "x", "y", "y", "z"]
    joined = Joined()
    for node, zone in zip("abcd", ["x", "x", "x", "y"], strict=True):
        joined.add(node, zone=zone)
        joined.run(1)
    joined.until(lambda: "d" in voting(joined))
    joined.until(lambda: settled(joined))


def test_one_joins_through_one_that_does_not_lead() -> None:
    joined = formed(3)
    follower = next(node for node in "abc" if node != joined.leader)
    joined.add("d", through=follower)
    joined.until(lambda: settled(joined), 2)


def test_a_joiner_whose_first_contact_is_dead_asks_the_next() -> None:
    joined = formed(3)
    joined.crash("b")
    joined.add("d")
    joined.until(lambda: joined.core("d").arrived, 3)


def test_joining_takes_no_longer_than_a_few_questions() -> None:
    joined = formed(3)
    joined.add("d")
    assert joined.until(lambda: joined.core("d").arrived) < 2 * Settings().resend_us


def test_one_that_knew_nobody_joins_when_it_is_told_whom_to_ask() -> None:
    joined = formed(3)
    joined.add("d", through="a")
    joined.core("d").seek(())
    joined.run(1)
    assert not joined.core("d").arrived
    joined.core("d").seek(["d:1", "b:1"])
    joined.until(lambda: joined.core("d").arrived, 2)
    assert not any(sent.sender == sent.to for sent in joined.sent), "it does not ask itself"


def test_another_of_the_same_name_is_refused_and_told_why() -> None:
    joined = formed(3, Settings(lease_us=60_000_000))
    joined.wipe("c")
    joined.restart("c")
    joined.until(lambda: joined.told("c", Refused))
    joined.run(3)
    (refused,) = joined.told("c", Refused)
    assert "another c is there" in refused.reason


def test_the_vote_of_a_former_life_is_not_given_by_the_next() -> None:
    """Its disk, and with it what it has promised, is lost. Until the former life has departed and been removed the new
    one does not count."""
    joined = formed(3)
    leader = joined.leader
    lost, other = [node for node in "abc" if node != leader]
    old = joined.core(lost).peer
    joined.wipe(lost)
    joined.restart(lost)
    joined.crash(other)
    joined.run(0.4)
    assert joined.leader == "" or old in joined.core(leader).voters
    id = joined.propose(leader, b"x")
    joined.run(3)
    assert id not in joined.settled
    joined.restart(other)
    joined.until(lambda: settled(joined))
    joined.settle(id)
    assert old not in joined.core(leader).voters


# Going.


def test_a_voter_that_dies_is_replaced() -> None:
    joined = formed(4)
    (learner,) = set("abcd") - voting(joined)
    dead = next(node for node in voting(joined) if node != joined.leader)
    joined.crash(dead)
    joined.until(lambda: learner in {voter.node for voter in joined.core(joined.leader or learner).voters}, 2)
    joined.until(lambda: settled(joined), 2)
    assert voting(joined) == set("abcd") - {dead}


def test_one_after_another_dies_and_the_last_two_go_on_together() -> None:
    joined = formed(5)
    for _ in range(3):
        joined.crash(next(core.me for core in joined.up if core.me != joined.leader))
        joined.until(lambda: settled(joined), 5)
    assert len(voting(joined)) == 2
    joined.settle(joined.propose(joined.leader, b"x"))
    assert all(len(before ^ after) == 1 for before, after in pairwise(councils(joined)))


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_a_leader_that_leaves_removes_itself_and_steps_down(size: int) -> None:
    joined = formed(size)
    leader = joined.leader
    joined.happen(leader, Leave(leader))
    assert joined.until(lambda: joined.leader not in ("", leader)) < Settings().election_us, "it hands over"
    joined.until(lambda: joined.told(leader, Departing), 2)
    assert joined.core(leader).role is not Role.LEADER
    joined.crash(leader)
    joined.until(lambda: settled(joined), 3)
    assert leader not in voting(joined)
    joined.settle(joined.propose(joined.leader, b"x"))


@pytest.mark.parametrize("size", [2, 3, 5])
def test_a_leader_that_leaves_leads_until_its_removal_is_committed(size: int) -> None:
    joined = formed(size)
    leader = joined.leader
    joined.lose = lambda sent: carries_council(sent.envelope.message)
    joined.happen(leader, Leave(leader))
    joined.run(0.2)
    assert leader not in {voter.node for voter in joined.core(leader).voters}
    assert joined.leader == leader
    joined.lose = lambda sent: False
    joined.until(lambda: joined.leader not in ("", leader), 2)
    joined.until(lambda: joined.told(leader, Left), 2)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_one_that_leaves_and_stops_when_it_may_leaves_the_others_able(size: int) -> None:
    joined = formed(size)
    nodes = [node for node in joined.members if node != joined.leader]
    for node in nodes:
        leave(joined, node)
        joined.until(lambda: settled(joined), 3)
    assert voting(joined) == {joined.leader}
    assert not joined.told(joined.leader, Departing)


def test_everybody_knows_why_somebody_departed() -> None:
    joined = formed(5)
    joined.crash("e")
    joined.until(lambda: departed(joined, "e", "a"))
    joined.happen("d", Leave("d"))
    joined.happen("a", Leave("c"))
    joined.until(lambda: all(departed(joined, node, at) for node in "cd" for at in "ab"))
    for at in "ab":
        roster = joined.core(at).roster
        assert [roster.why_departed(node, 1) for node in "cde"] == [Why.GIVEN_UP, Why.LEFT, Why.SILENT]
        assert roster.why_departed("a", 1) is None and roster.why_departed("e", 2) is None


def test_the_last_one_cannot_leave() -> None:
    joined = formed(1)
    joined.happen("a", Leave("a"))
    joined.run(2)
    assert voting(joined) == {"a"}
    joined.settle(joined.propose("a", b"still here"))


def test_all_but_one_leave_at_once() -> None:
    joined = formed(5)
    for node in "bcde":
        joined.happen(node, Leave(node))
    joined.until(lambda: all(departed(joined, node, "a") for node in "bcde"))
    joined.until(lambda: joined.leader == "a" and len(joined.core("a").voters) == 1)
    joined.settle(joined.propose("a", b"x"))


def test_a_wish_that_has_come_true_is_not_offered_any_more() -> None:
    joined = formed(4)
    joined.crash("d")
    joined.until(lambda: departed(joined, "d", "a"))
    joined.happen("b", Leave("d"), Raise(1), Leave("nobody"))
    joined.happen("c", Raise(7))
    joined.run(1)
    before = len(joined.messages(Offer))
    joined.run(5)
    assert len(joined.messages(Offer)) == before


# One at a time, and not too early.


def test_no_voter_comes_or_goes_before_the_leader_has_committed_in_its_term() -> None:
    """Ongaro's correction of 2015: otherwise two councils that have no voter in common may both decide."""
    single = Single([Entry(1, arrive(D)), Entry(1, Depart(C))])
    single.hear(B, single.append(term=1, committed=END + 2))
    term = single.lead()
    single.hear(D, Appended(term, 0, END + 2, END + 2, 1, missing=False))
    single.hear(B, Appended(term, 0, END + 2, END + 2, 1, missing=False))  # all but what is of this term
    single.wait(100_000)
    assert single.core.committed == END + 2
    assert [set(voters) for _, voters in single.core.log.councils] == [{A, B, C}]
    single.acknowledge(B)
    single.wait(20_000)
    assert [set(voters) for _, voters in single.core.log.councils] == [{A, B, C}, {A, B}]
    single.hear(D, Appended(term, 0, single.core.log.end, single.core.log.end, term, missing=False))
    single.wait(100_000)
    assert len(single.core.log.councils) == 2, "one at a time"
    single.acknowledge(B)
    single.wait(20_000)
    assert len(single.core.log.councils) == 2, "who was not heard for a while is asked first"
    single.hear(D, Appended(term, 0, single.core.log.end, single.core.log.end, term, missing=False))
    single.wait(20_000)
    assert [set(voters) for _, voters in single.core.log.councils][2:] == [{A, B, D}]


def test_a_council_counts_as_soon_as_it_is_in_the_log_and_no_longer() -> None:
    single = Single()
    single.hear(B, single.append(Entry(2, Council((A, B, C, D))), term=2))
    assert set(single.core.voters) == {A, B, C, D}
    single.hear(C, single.append(Entry(3, Council((A, B))), term=3, start=END))
    assert set(single.core.voters) == {A, B}
    single.hear(B, single.append(Entry(4, FIRST[1].content), term=4, start=END))
    assert set(single.core.voters) == {A, B, C}


def test_one_that_was_removed_and_does_not_know_it_disturbs_nobody() -> None:
    joined = formed(4, Settings(lease_us=1_000_000))
    gone = next(node for node in voting(joined) if node != joined.leader)
    joined.cut(gone)
    joined.until(lambda: departed(joined, gone, joined.leader), 5)
    joined.run(1)
    leader, term = joined.leader, joined.core(joined.leader).term
    joined.heal(gone)
    joined.until(lambda: settled(joined), 5)
    assert (joined.leader, joined.core(leader).term) == (leader, term)


# Whose messages.


def test_nothing_comes_of_what_another_cluster_says_and_somebody_is_told() -> None:
    single = Single()
    before = (single.core.term, single.core.log.end, single.core.leader)
    other = ClusterId("other")
    assert single.hear(B, Append(9, END, 1, (), 0, 0), Ask(9, END, 1, abdicated=True), cluster=other) == []
    assert single.effects[-1] == Strange("b", "b:1", other)
    assert (single.core.term, single.core.log.end, single.core.leader) == before


def test_what_was_meant_for_a_former_life_is_not_for_this_one() -> None:
    joined = formed(3, Settings(lease_us=1_000_000))
    late = [sent for sent in joined.sent if sent.to == "c"]
    joined.wipe("c")
    joined.restart("c")
    joined.until(lambda: settled(joined), 10)
    log_end, term = joined.core("c").log.end, joined.core("c").term
    for sent in late:
        joined._deliver(sent)
    assert (joined.core("c").log.end, joined.core("c").term) == (log_end, term)


def test_a_stranger_may_say_that_it_is_there_and_nothing_else() -> None:
    single = Single()
    term = single.lead()
    single.hear(B, Appended(term, 0, END + 1, END + 1, term, missing=False))
    end = single.core.log.end
    wanted = (Depart(B), Proposal(B, 1, 1, b"x"), arrive(C, session=9), Council((D,)))
    single.hear(D, Offer(wanted, passed=False), cluster=NO_CLUSTER)
    assert single.core.log.end == end
    single.hear(D, Offer((arrive(D),), passed=False), cluster=NO_CLUSTER)
    assert single.core.log.end == end + 1


def test_who_does_not_lead_says_who_does_and_passes_the_offer_on() -> None:
    single = Single()
    single.hear(B, single.append(term=1, committed=END))
    offer = Offer((Proposal(C, 1, 1, b"x"),), passed=False)
    said = single.hear(C, offer)
    assert only(Offer, said, to="b") == [Offer(offer.contents, passed=True)]
    (directions,) = only(Directions, said, to="c")
    assert directions.leader == "b"
    assert set(directions.contacts) == {("a", "a:1"), ("b", "b:1"), ("c", "c:1")}


def test_who_arrives_is_sent_to_the_leader_which_has_to_hear_it_itself() -> None:
    single = Single()
    single.hear(B, single.append(term=1, committed=END))
    said = single.hear(D, Offer((arrive(D),), passed=False), cluster=NO_CLUSTER)
    assert not only(Offer, said, to="b")
    (directions,) = only(Directions, said, to="d")
    assert directions.leader == "b" and ("b", "b:1") in directions.contacts


def test_a_leader_that_others_know_elsewhere_is_asked_there_as_well() -> None:
    single = Single()
    single.hear(B, single.append(term=1, committed=END))
    single.wait(2 * Settings().election_us)  # it has moved, and is not heard any more
    single.hear(C, Directions("b", (("b", "b:2"),)))
    before = len(single.effects)
    single.wait(Settings().resend_us)
    sends = [effect for effect in single.effects[before:] if isinstance(effect, Send)]
    asked = [send.address for send in sends if isinstance(send.envelope.message, Offer)]
    assert {"b:1", "b:2"} <= set(asked)


def test_proposing_before_one_is_there_is_no_error() -> None:
    joined = formed(1)
    joined.add("b")
    joined.happen("b", Propose(77, b"x"))
    joined.until(lambda: 77 in joined.settled)
