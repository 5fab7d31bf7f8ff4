"""The leader's log becomes everybody's, and what a majority has on disk is committed: at once, and not before."""

from random import Random

import pytest

from hansard.consensus.cluster import Peer
from hansard.consensus.content import Begin, Entry, Proposed
from hansard.consensus.council import size_wanted
from hansard.consensus.effect import Applied
from hansard.consensus.message import Append, Appended, Message
from hansard.consensus.settings import Settings
from tests.consensus.joined import SECOND, Joined, formed
from tests.consensus.single import FIRST, B, C, Single, of_terms, only

END = len(FIRST)
PATIENT = Settings(lease_us=3_600_000_000)


def followers(joined: Joined) -> list[str]:
    return [node for node in joined.members if node != joined.leader]


def contents(joined: Joined, node: str) -> list[bytes]:
    return [fact.content for _, fact in joined.facts(node) if isinstance(fact, Proposed)]


# What it takes.

DELAY_US, SYNC_US = 5_000, 3_000


@pytest.mark.parametrize("size", [3, 5])
def test_a_commit_takes_one_round_and_one_sync(size: int) -> None:
    """There and back, and the other's disk meanwhile; ours works at the same time. No heartbeat is waited for."""
    joined = formed(size, delay_us=DELAY_US, sync_us=SYNC_US)
    for _ in range(20):
        assert joined.settle(joined.propose(joined.leader, b"x")) == 2 * DELAY_US + SYNC_US
        joined.run(0.0137)


def test_a_proposal_from_elsewhere_takes_the_way_to_the_leader_and_back_besides() -> None:
    joined = formed(4, delay_us=DELAY_US, sync_us=SYNC_US)
    for node in followers(joined):
        assert joined.settle(joined.propose(node, b"x")) == 4 * DELAY_US + SYNC_US
        joined.run(0.0137)


def test_alone_it_takes_a_sync() -> None:
    joined = formed(1, delay_us=DELAY_US, sync_us=SYNC_US)
    assert joined.settle(joined.propose("a", b"x")) == SYNC_US


def test_the_slower_ones_are_not_waited_for() -> None:
    joined = formed(5, PATIENT, delay_us=DELAY_US, sync_us=SYNC_US)
    joined.crash(*followers(joined)[:2])
    assert joined.settle(joined.propose(joined.leader, b"x")) == 2 * DELAY_US + SYNC_US


def test_a_leaders_own_disk_is_not_needed_if_a_majority_of_others_has_it() -> None:
    joined = formed(3)
    joined.stalled.add(joined.leader)
    joined.settle(joined.propose(joined.leader, b"x"))
    assert contents(joined, followers(joined)[0]) in ([b"x"], [])


def test_many_at_once_take_few_messages() -> None:
    joined = formed(3)
    begin_us = joined.now_us
    joined.settle(*[joined.propose(joined.leader, b"%d" % number) for number in range(1000)])
    joined.run(0.1)
    appends = [append for append in joined.messages(Append, since_us=begin_us) if append.entries]
    assert sum(len(append.entries) for append in appends) == 2 * 1000
    assert contents(joined, "a") == contents(joined, "c") == [b"%d" % number for number in range(1000)]
    assert joined.now_us - begin_us < SECOND


@pytest.mark.parametrize(("size", "messages"), [(1, 0), (2, 34), (3, 67), (5, 134), (50, 734)])
def test_when_nothing_happens_little_is_said(size: int, messages: int) -> None:
    """In a second, at most: each voter is greeted every heartbeat (60 ms), each of the others twice in the time for an
    election (300 ms), and each answers. So with five voters and n others it is 134 + 13.4 n."""
    joined = Joined()
    for number in range(size):
        joined.add(f"n{number}")
    joined.until(lambda: joined.settling and len(joined.core("n0").voters) == size_wanted(size))
    joined.run(1)
    joined.sent.clear()
    joined.run(3)
    assert 3 * messages * 0.95 <= len(joined.sent) <= 3 * messages
    assert {type(sent.envelope.message) for sent in joined.sent} <= {Append, Appended}


# On disk before it is said.


def test_what_is_not_on_disk_is_not_acknowledged() -> None:
    single = Single(syncing=False)
    said = single.hear(B, single.append(*of_terms(2, 2), term=2))
    assert all(answer.through <= END for answer in only(Appended, said))
    assert all(answer.through <= END for answer in only(Appended, single.wait(50_000)))
    (*_, answer) = only(Appended, single.sync())
    assert (answer.term, answer.through) == (2, END + 2)


def test_a_term_is_on_disk_before_anything_is_said_in_it() -> None:
    single = Single(syncing=False)
    assert single.hear(B, single.append(term=5)) == []
    assert [answer.term for answer in only(Appended, single.sync())] == [5]


def test_what_is_acknowledged_is_there_after_a_crash() -> None:
    single = Single()
    single.hear(B, single.append(*of_terms(2, 2, 2), term=2))
    single.start()
    assert single.core.log.end == END + 3
    assert single.core.term == 2


# Matching.


def test_what_does_not_follow_is_not_taken() -> None:
    single = Single()
    (answer,) = only(Appended, single.hear(B, Append(2, END + 3, 2, of_terms(2), 0, 0)))
    assert answer.missing and answer.end <= END
    assert single.core.log.end == END
    (answer,) = only(Appended, single.hear(B, Append(2, END, 2, of_terms(2), 0, 0)))
    assert answer.missing
    assert single.core.log.end == END


def test_what_differs_is_replaced_and_what_does_not_is_kept() -> None:
    single = Single(of_terms(2, 2, 2), term=2)
    single.hear(B, single.append(*of_terms(2, 3), term=3, start=END))
    assert [entry.term for entry in single.core.log.entries[END:]] == [2, 3]
    single.hear(B, single.append(*of_terms(2), term=3, start=END))  # comes late
    assert [entry.term for entry in single.core.log.entries[END:]] == [2, 3]
    single.start()
    assert [entry.term for entry in single.core.log.entries[END:]] == [2, 3]


def test_what_is_behind_the_leaders_last_word_is_not_committed() -> None:
    """The leader has committed more than it has compared with us: what we have there may be something else."""
    single = Single(of_terms(2, 2, 2), term=2)
    single.hear(B, single.append(term=3, start=END, committed=END + 3))
    assert single.core.committed == END
    single.hear(B, single.append(*of_terms(2, 2), term=3, start=END, committed=END + 3))
    assert single.core.committed == END + 2


def test_a_leader_goes_back_to_where_the_logs_agree() -> None:
    """Whole terms at a time: the number of questions does not grow with the number of entries."""
    joined = formed(3, PATIENT)
    for turn in range(4):  # a few terms with entries that only their leader has
        lonely = joined.leader
        joined.cut(lonely)
        ids = [joined.propose(lonely, b"%d in %d" % (number, turn)) for number in range(100)]
        joined.run(1)
        assert joined.leader != lonely
        joined.settle(joined.propose(joined.leader, b"meanwhile in %d" % turn))
        before = len(joined.messages(Appended))
        joined.rejoin()
        joined.until(lambda: joined.settling, 5)
        complaints = [answer for answer in joined.messages(Appended)[before:] if answer.missing]
        assert len(complaints) <= 6
        joined.settle(*ids)
    assert len({tuple(core.log.entries[: core.committed]) for core in joined.up}) == 1
    assert len(contents(joined, "a")) == len(set(contents(joined, "a"))) == 404


# Commit.


def test_entries_of_an_earlier_term_are_not_committed_by_counting() -> None:
    """Figure 8 of the Raft paper: a majority has the entry of term 2, and it may still be overwritten by one of term 3,
    until an entry of the leader's own term is on a majority as well."""
    single = Single(of_terms(2), term=3)
    term = single.lead()
    single.hear(B, Appended(term, 0, END + 1, END + 1, 2, missing=False))
    single.hear(C, Appended(term, 0, END + 1, END + 1, 2, missing=False))
    assert single.core.committed == 0
    single.hear(B, Appended(term, 0, END + 2, END + 2, term, missing=False))
    assert single.core.committed == END + 2


def test_an_entry_that_a_majority_had_is_overwritten_if_its_leader_never_committed_it() -> None:
    """The same, seen from the one that is overwritten."""
    single = Single(of_terms(2), term=2)
    single.hear(C, single.append(Entry(3, Begin()), term=3, start=END))
    assert [entry.term for entry in single.core.log.entries[END:]] == [3]


def test_answers_of_another_term_or_another_life_do_not_count() -> None:
    single = Single()
    term = single.lead()
    old = Peer("b", 7)
    single.hear(B, Appended(term - 1, 0, END + 1, END + 1, term, missing=False))
    single.hear(old, Appended(term, 0, END + 1, END + 1, term, missing=False))
    assert single.core.committed == 0
    single.hear(B, Appended(term, 0, END + 1, END + 1, term, missing=False))
    assert single.core.committed == END + 1


def test_a_leader_does_not_commit_before_its_own_first_entry() -> None:
    single = Single(syncing=False)
    single.syncing = True
    term = single.lead()
    assert single.core.log.entries[-1] == Entry(term, Begin())
    assert single.core.committed == 0


def test_every_entry_is_applied_once_and_in_order() -> None:
    joined = formed(3)
    joined.settle(*[joined.propose(node, b"x") for node in "abc" for _ in range(20)])
    for node in "abc":
        indexes = [effect.index for effect in joined.told(node, Applied)]
        assert indexes == list(range(len(indexes)))


# Loss.


def test_what_is_lost_is_sent_again() -> None:
    joined = formed(3, PATIENT)
    random = Random(1)
    joined.lose = lambda sent: random.random() < 0.3
    ids = [joined.propose(node, b"%d of %s" % (number, node.encode())) for number in range(30) for node in "abc"]
    joined.settle(*ids, seconds=60)
    joined.lose = lambda sent: False
    joined.run(2)
    assert contents(joined, "a") == contents(joined, "b") == contents(joined, "c")
    assert len(contents(joined, "a")) == 90


def test_one_that_does_not_answer_is_not_flooded() -> None:
    joined = formed(3, Settings(lease_us=3_600_000_000, append_entries_max=4, flight_max=8))
    silent = followers(joined)[0]
    joined.lose = lambda sent: sent.sender == silent
    begin_us = joined.now_us
    for _ in range(100):
        joined.settle(*[joined.propose(joined.leader, b"x") for _ in range(4)])
    sent: list[Message] = [append for append in joined.messages(Append, to=silent, since_us=begin_us) if append.entries]
    assert len(sent) <= 8 + 8 * (joined.now_us - begin_us) // Settings().resend_us
    joined.lose = lambda sent: False
    joined.until(lambda: joined.settling)
    assert len(contents(joined, silent)) == 400


def test_messages_that_come_twice_or_late_change_nothing() -> None:
    joined = formed(3)
    joined.settle(*[joined.propose(node, b"x" + node.encode()) for node in "abc"])
    everything = list(joined.sent)
    facts = joined.facts("a").copy()
    for sent in everything:
        joined._deliver(sent)
    joined.run(1)
    assert joined.facts("a") == facts
    joined.settle(*[joined.propose(node, b"y" + node.encode()) for node in "abc"])
