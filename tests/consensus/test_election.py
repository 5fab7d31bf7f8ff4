"""Who leads: elected by a majority that has promised it on disk, and never at the expense of one that is heard."""

import pytest

from hansard.consensus.cluster import Peer
from hansard.consensus.content import Council, Entry
from hansard.consensus.effect import Led
from hansard.consensus.event import Tick, Transfer
from hansard.consensus.message import Append, Ask, PreAsk, PreVote, Vote
from hansard.consensus.recovered import decode_note
from hansard.consensus.role import Role
from hansard.consensus.settings import Settings
from tests.consensus.joined import Joined, formed
from tests.consensus.single import FIRST, A, B, C, Single, of_terms, only

END = len(FIRST)
ELECTION_US = Settings().election_us


# Asking first.


def test_nobody_would_vote_while_it_hears_a_leader() -> None:
    single = Single()
    single.hear(B, single.append(term=1))
    single.wait(ELECTION_US - 20_000)
    (answer,) = only(PreVote, single.hear(C, PreAsk(2, END, 1)), to="c")
    assert answer == PreVote(1, granted=False)
    single.wait(20_000)
    (answer,) = only(PreVote, single.hear(C, PreAsk(2, END, 1)), to="c")
    assert answer == PreVote(2, granted=True)


def test_saying_that_one_would_vote_promises_nothing() -> None:
    single = Single()
    note = single.disk.note
    for sender in (B, C):
        assert only(PreVote, single.hear(sender, PreAsk(7, END, 1))) == [PreVote(7, granted=True)]
    assert (single.core.term, single.core.vote, single.disk.note) == (1, None, note)


@pytest.mark.parametrize(
    ("end", "last_term", "good"),
    [(END + 2, 2, True), (END + 1, 2, False), (END + 3, 2, True), (END, 3, True), (END + 9, 1, False)],
)
def test_nobody_is_elected_whose_log_is_worse(end: int, last_term: int, good: bool) -> None:
    single = Single(of_terms(2, 2), term=2)
    assert only(PreVote, single.hear(B, PreAsk(3, end, last_term))) == [PreVote(3 if good else 2, good)]
    assert only(Vote, single.hear(B, Ask(3, end, last_term, abdicated=False))) == [Vote(3, good)]


def test_the_term_is_not_raised_before_a_majority_would_vote() -> None:
    single = Single()
    said = single.wait(5 * ELECTION_US)
    assert len(only(PreAsk, said, to="b")) >= 2
    assert not only(Ask, said)
    assert (single.core.term, single.core.role) == (1, Role.CANDIDATE)
    assert only(Ask, single.hear(B, PreVote(2, granted=True))) == [Ask(2, END, 1, False)] * 2


def test_who_is_told_of_a_later_term_asks_in_the_one_after_that() -> None:
    single = Single()
    single.wait(2 * ELECTION_US)
    single.hear(B, PreVote(6, granted=False))
    assert (single.core.term, single.core.role) == (6, Role.FOLLOWER)
    assert {asked.term for asked in only(PreAsk, single.wait(2 * ELECTION_US))} == {7}


def test_one_that_has_slept_gives_its_leader_time() -> None:
    """What was said meanwhile may still be to be read."""
    single = Single()
    single.hear(B, single.append(term=1))
    single.now_us += 60 * ELECTION_US
    assert only(PreAsk, single.happen(Tick())) == []
    assert only(PreAsk, single.wait(ELECTION_US // 2)) == []
    assert only(PreAsk, single.wait(2 * ELECTION_US))


# Voting.


def test_a_vote_is_on_disk_before_it_is_said() -> None:
    single = Single(syncing=False)
    assert only(Vote, single.hear(B, Ask(2, END, 1, abdicated=False))) == []
    assert only(Vote, single.wait(100_000)) == []
    assert only(Vote, single.sync(), to="b") == [Vote(2, granted=True)]
    assert decode_note(single.disk.note).vote == B


def test_one_vote_is_given_in_each_term() -> None:
    single = Single()
    assert only(Vote, single.hear(B, Ask(2, END, 1, abdicated=False))) == [Vote(2, granted=True)]
    assert only(Vote, single.hear(C, Ask(2, END + 5, 1, abdicated=False))) == [Vote(2, granted=False)]
    assert only(Vote, single.hear(B, Ask(2, END, 1, abdicated=False))) == [Vote(2, granted=True)]
    assert only(Vote, single.hear(C, Ask(3, END, 1, abdicated=False))) == [Vote(3, granted=True)]


def test_a_vote_is_remembered_over_a_crash() -> None:
    single = Single()
    single.hear(B, Ask(2, END, 1, abdicated=False))
    single.start()
    assert only(Vote, single.hear(C, Ask(2, END, 1, abdicated=False))) == [Vote(2, granted=False)]
    assert only(Vote, single.hear(B, Ask(2, END, 1, abdicated=False))) == [Vote(2, granted=True)]


def test_a_vote_that_a_crash_has_lost_was_not_said() -> None:
    single = Single(syncing=False)
    assert only(Vote, single.hear(B, Ask(2, END, 1, abdicated=False))) == []
    single.start()
    single.syncing = True
    assert only(Vote, single.hear(C, Ask(2, END, 1, abdicated=False))) == [Vote(2, granted=True)]


def test_a_candidate_has_voted_for_itself_and_its_own_vote_counts_when_it_is_on_disk() -> None:
    single = Single(syncing=False)
    single.wait(2 * ELECTION_US)
    assert only(Ask, single.hear(B, PreVote(2, granted=True))) == []
    single.hear(B, Vote(2, granted=True))
    assert not single.leads()
    assert only(Ask, single.sync(), to="c") == [Ask(2, END, 1, False)]
    assert single.leads()
    assert only(Vote, single.hear(C, Ask(2, END, 1, abdicated=False))) in ([], [Vote(2, granted=False)])


def test_votes_for_another_term_or_of_the_other_kind_do_not_count() -> None:
    single = Single()
    single.wait(2 * ELECTION_US)
    single.hear(B, Vote(2, granted=True))
    single.hear(B, PreVote(3, granted=True))
    assert single.core.term == 1
    single.hear(B, PreVote(2, granted=True))
    for late in (PreVote(2, granted=True), Vote(1, granted=True)):
        single.hear(B, late)
        single.hear(C, late)
    assert not single.leads()
    single.hear(C, Vote(2, granted=True))
    assert single.leads()


def test_the_vote_of_a_stranger_does_not_count() -> None:
    single = Single()
    single.wait(2 * ELECTION_US)
    for stranger in (Peer("d", 1), Peer("b", 2)):
        single.hear(stranger, PreVote(2, granted=True))
        single.hear(stranger, Vote(2, granted=True))
    assert (single.core.role, single.core.term) == (Role.CANDIDATE, 1)


def test_who_hears_a_leader_takes_no_part_in_deposing_it() -> None:
    single = Single()
    single.hear(B, single.append(term=1))
    assert only(Vote, single.hear(C, Ask(9, END, 1, abdicated=False))) == []
    assert single.core.term == 1


def test_unless_the_leader_itself_wants_it() -> None:
    single = Single()
    single.hear(B, single.append(term=1))
    assert only(Vote, single.hear(C, Ask(2, END, 1, abdicated=True))) == [Vote(2, granted=True)]


def test_a_leader_of_an_earlier_term_is_told_so() -> None:
    single = Single(term=4)
    (answer,) = [message for _, message in single.hear(B, Append(3, END, 1, (), 0, 0))]
    assert getattr(answer, "term", 0) == 4
    assert single.core.leader == ""


# Several of them.


def test_one_alone_leads_at_once() -> None:
    joined = Joined()
    joined.add("a")
    assert joined.until(lambda: joined.leader) <= 20_000
    joined.run(0.1)
    joined.crash("a")
    joined.restart("a")
    assert joined.until(lambda: joined.leader) <= 20_000


@pytest.mark.parametrize("seed", range(20))
def test_a_leader_that_dies_has_a_successor_soon(seed: int) -> None:
    """An election is tried after at most twice the time for one; it may fail once if two try at the same time."""
    joined = formed(3 if seed % 2 else 5, seed=seed)
    joined.crash(joined.leader)
    assert joined.until(lambda: joined.leader) < 3 * ELECTION_US


@pytest.mark.parametrize("seed", range(10))
def test_all_come_back_after_everything_was_down(seed: int) -> None:
    joined = formed(3, seed=seed)
    joined.crash("a", "b", "c")
    joined.run(10)
    for node in "abc":
        joined.restart(node)
    assert joined.until(lambda: joined.leader) < 3 * ELECTION_US


def test_two_of_three_go_on_and_one_does_not() -> None:
    joined = formed(3)
    joined.crash("b", "c")
    joined.run(5)
    assert joined.leader == ""
    joined.restart("c")
    joined.until(lambda: joined.leader, 2)


def test_of_two_both_are_needed() -> None:
    joined = formed(2)
    joined.crash("a")
    joined.run(5)
    assert joined.leader == ""
    joined.restart("a")
    joined.until(lambda: joined.leader, 2)


def test_one_that_comes_back_does_not_depose_the_leader() -> None:
    joined = formed(3, Settings(lease_us=60_000_000))
    leader, term = joined.leader, joined.core(joined.leader).term
    away = next(node for node in "abc" if node != leader)
    joined.cut(away)
    joined.run(10)
    assert joined.core(away).term == term
    joined.heal(away)
    joined.run(2)
    assert (joined.leader, joined.core(leader).term) == (leader, term)
    assert joined.core(away).leader == leader


def test_one_that_hears_everybody_but_the_leader_does_not_depose_it() -> None:
    joined = formed(3, Settings(lease_us=60_000_000))
    leader, term = joined.leader, joined.core(joined.leader).term
    deaf = next(node for node in "abc" if node != leader)
    joined.part([deaf], [leader])
    joined.run(10)
    assert (joined.leader, joined.core(leader).term) == (leader, term)


def test_a_leader_that_is_cut_off_steps_down() -> None:
    joined = formed(3)
    leader = joined.leader
    joined.cut(leader)
    took_us = joined.until(lambda: joined.core(leader).role is not Role.LEADER)
    assert took_us <= ELECTION_US + 2 * Settings().heartbeat_us
    assert joined.told(leader, Led)[-1] == Led("", joined.core(leader).term)


def test_everybody_is_told_who_leads() -> None:
    joined = formed(3)
    for node in "abc":
        assert joined.told(node, Led)[-1] == Led(joined.leader, joined.core(node).term)


def test_who_does_not_vote_never_asks_to_be_elected() -> None:
    joined = formed(4)
    voters = {voter.node for voter in joined.core("a").voters}
    (learner,) = set("abcd") - voters
    joined.crash(*voters)
    joined.run(5)
    assert not joined.messages(PreAsk, sender=learner)
    assert not joined.messages(Ask, sender=learner)


def test_one_that_restarts_with_its_own_removal_in_its_log_may_be_elected_until_that_is_committed() -> None:
    single = Single([Entry(1, Council((A, B))), Entry(1, Council((B,)))])
    assert single.core.committed == 0  # it has no state: so much is known after a restart
    term = single.lead()
    single.acknowledge(B)
    assert single.core.committed == END + 3
    assert not single.leads()
    assert not only(PreAsk, single.wait(5 * ELECTION_US))
    assert single.core.term == term


# Handing over.


def test_leadership_is_handed_over_without_waiting_for_an_election() -> None:
    joined = formed(3)
    leader = joined.leader
    heir = next(node for node in "abc" if node != leader)
    joined.happen(leader, Transfer(heir))
    assert joined.until(lambda: joined.leader == heir) < 20_000
    joined.run(1)
    assert joined.leader == heir
    assert all(core.leader == heir for core in joined.up)


def test_whoever_has_come_furthest_is_handed_it_if_nobody_is_named() -> None:
    joined = formed(3, Settings(lease_us=60_000_000))
    leader = joined.leader
    ahead, behind = [node for node in "abc" if node != leader]
    joined.part([leader], [behind])
    joined.settle(joined.propose(leader, b"x"))
    joined.happen(leader, Transfer())
    joined.until(lambda: joined.leader == ahead, 1)


def test_nothing_is_lost_while_it_is_handed_over() -> None:
    joined = formed(3)
    ids = []
    for number in range(6):
        leader = joined.leader
        ids += [joined.propose(node, b"%d of " % number + node.encode()) for node in "abc"]
        joined.happen(leader, Transfer())
        ids += [joined.propose(node, b"%d again of " % number + node.encode()) for node in "abc"]
        joined.run(0.05)
        assert joined.leader not in ("", leader)
    joined.settle(*ids)


def test_one_that_cannot_be_reached_gets_nothing_and_the_leader_goes_on() -> None:
    joined = formed(3, Settings(lease_us=60_000_000))
    leader = joined.leader
    heir = next(node for node in "abc" if node != leader)
    joined.cut(heir)
    joined.happen(leader, Transfer(heir))
    joined.run(1)
    assert joined.leader == leader
    joined.settle(joined.propose(leader, b"x"))


def test_only_a_leader_hands_over() -> None:
    joined = formed(3)
    leader, term = joined.leader, joined.core(joined.leader).term
    follower = next(node for node in "abc" if node != leader)
    joined.happen(follower, Transfer(follower))
    joined.run(1)
    assert (joined.leader, joined.core(leader).term) == (leader, term)
