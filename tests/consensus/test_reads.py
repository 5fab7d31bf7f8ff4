"""A read sees everything that was committed before it was asked, or is not answered."""

import pytest

from hansard.consensus.content import Proposed
from hansard.consensus.effect import AnswerRead
from hansard.consensus.event import Read, Transfer
from hansard.consensus.message import Append, Appended, ReadAsk, ReadAt
from hansard.consensus.role import Role
from hansard.consensus.settings import Settings
from tests.consensus.joined import Joined, formed
from tests.consensus.single import FIRST, B, C, Single, only

END = len(FIRST)
PATIENT = Settings(lease_us=3_600_000_000)
DELAY_US, SYNC_US = 5_000, 3_000


def contents(joined: Joined, node: str) -> list[bytes]:
    return [fact.content for _, fact in joined.facts(node) if isinstance(fact, Proposed)]


def answered(single: Single) -> list[int]:
    return [effect.id for effect in single.effects if isinstance(effect, AnswerRead)]


def test_a_read_takes_one_round_and_no_sync() -> None:
    joined = formed(3, delay_us=DELAY_US, sync_us=SYNC_US)
    id = joined.read(joined.leader)
    assert joined.until(lambda: id in joined.reads) == 2 * DELAY_US


def test_elsewhere_it_takes_the_way_to_the_leader_and_back_besides() -> None:
    joined = formed(4, delay_us=DELAY_US, sync_us=SYNC_US)
    for node in [node for node in "abcd" if node != joined.leader]:
        id = joined.read(node)
        assert joined.until(lambda id=id: id in joined.reads) == 4 * DELAY_US  # type: ignore[misc]


def test_alone_it_is_answered_at_once() -> None:
    joined = formed(1)
    assert joined.read("a") in joined.reads


def test_a_read_writes_nothing() -> None:
    joined = formed(3)
    end = joined.core("a").log.end
    ids = [joined.read(node) for node in "abc"]
    joined.until(lambda: all(id in joined.reads for id in ids))
    assert joined.core("a").log.end == end


@pytest.mark.parametrize("reader", ["a", "b", "c", "d"])
def test_what_is_settled_anywhere_is_seen_everywhere(reader: str) -> None:
    joined = formed(4)
    for number, proposer in enumerate("abcd"):
        joined.settle(joined.propose(proposer, b"%d" % number))
        id = joined.read(reader)
        joined.until(lambda: id in joined.reads)  # noqa: B023
        assert contents(joined, reader)[-1] == b"%d" % number
        assert joined.reads[id] > joined.facts(reader)[-1][0]


def test_a_leader_that_was_deposed_and_does_not_know_it_answers_nothing() -> None:
    joined = formed(3, PATIENT)
    old = joined.leader
    joined.cut(old)
    early = joined.read(old)
    joined.until(lambda: joined.leader not in ("", old))
    joined.settle(joined.propose(joined.leader, b"news"))
    late = joined.read(old)
    joined.run(3)
    assert early not in joined.reads and late not in joined.reads
    joined.heal(old)
    joined.until(lambda: early in joined.reads and late in joined.reads)
    assert contents(joined, old) == [b"news"]


def test_a_leader_that_slept_while_it_was_deposed_answers_nothing_when_it_wakes_up() -> None:
    joined = formed(3, PATIENT)
    old = joined.leader
    joined.pause(old)
    joined.until(lambda: joined.leader not in ("", old))
    joined.settle(joined.propose(joined.leader, b"news"))
    joined.resume(old)
    id = joined.read(old)
    joined.until(lambda: id in joined.reads)
    assert contents(joined, old) == [b"news"]


def test_a_round_that_was_under_way_does_not_count_for_a_later_read() -> None:
    single = Single()
    term = single.lead()
    single.acknowledge(B, C)
    end = single.core.log.end
    single.happen(Read(1))
    (append, *_) = only(Append, single.happen(Read(2)), to="b")
    assert answered(single) == []
    single.hear(B, Appended(term, append.round - 1, end, end, term, missing=False))
    assert answered(single) == [1]
    single.hear(B, Appended(term, append.round, end, end, term, missing=False))
    assert answered(single) == [1, 2]


def test_rounds_of_another_term_do_not_count() -> None:
    single = Single()
    term = single.lead()
    single.acknowledge(B, C)
    end = single.core.log.end
    (append, *_) = only(Append, single.happen(Read(1)), to="b")
    single.hear(B, Appended(term - 1, append.round, end, end, term, missing=False))
    assert answered(single) == []


def test_a_new_leader_answers_when_it_has_committed_in_its_own_term() -> None:
    """Before, it does not know what its predecessors have committed."""
    single = Single()
    term = single.lead()
    (append, *_) = only(Append, single.happen(Read(1)), to="b")
    single.hear(B, Appended(term, append.round, END, END, 1, missing=False))
    single.hear(C, Appended(term, append.round, END, END, 1, missing=False))
    assert answered(single) == []
    assert single.core.committed == 0
    single.hear(B, Appended(term, append.round, END + 1, END + 1, term, missing=False))
    assert answered(single) == [1]
    assert single.core.committed >= END + 1


def test_an_answer_waits_until_the_machine_has_come_so_far() -> None:
    single = Single()
    single.hear(B, single.append(term=1, committed=END))
    (asked,) = only(ReadAsk, single.happen(Read(1)), to="b")
    single.hear(B, ReadAt(asked.number, END + 1))
    single.wait(50_000)
    assert answered(single) == []
    single.hear(B, single.append(*FIRST[1:2], term=1, committed=END + 1))
    assert answered(single) == [1]
    single.hear(B, ReadAt(asked.number, END + 1))
    assert answered(single) == [1]


def test_a_question_that_is_lost_is_asked_again() -> None:
    joined = formed(3)
    reader = next(node for node in "abc" if node != joined.leader)
    joined.lose = lambda sent: isinstance(sent.envelope.message, ReadAsk | ReadAt)
    id = joined.read(reader)
    joined.run(1)
    assert id not in joined.reads
    assert len(joined.messages(ReadAsk, sender=reader)) <= 6
    joined.lose = lambda sent: False
    joined.until(lambda: id in joined.reads, 0.3)


@pytest.mark.parametrize("seed", range(5))
def test_reads_outlast_changes_of_leader(seed: int) -> None:
    joined = formed(5, PATIENT, seed=seed)
    ids = []
    for number in range(10):
        ids += [joined.read(node) for node in "abcde"]
        if number % 2:
            joined.happen(joined.leader, Transfer())
            joined.run(0.0007)
        else:
            leader = joined.leader
            joined.pause(leader)
            joined.run(1)
            joined.resume(leader)
        joined.until(lambda: joined.leader)
    joined.until(lambda: all(id in joined.reads for id in ids), 5)


def test_many_reads_share_a_round() -> None:
    joined = formed(3)
    joined.run(0.0013)
    begin_us = joined.now_us
    joined.happen(joined.leader, *[Read(1000 + number) for number in range(100)])
    joined.until(lambda: all(1000 + number in joined.reads for number in range(100)))
    assert len(joined.messages(Append, since_us=begin_us)) <= 4


def test_two_that_need_each_other_answer_nothing_apart() -> None:
    joined = formed(2, PATIENT)
    leader = joined.leader
    joined.part(["a"], ["b"])
    ids = [joined.read(node) for node in "ab"]
    joined.run(3)
    assert not joined.reads
    assert joined.core(leader).role is not Role.LEADER
    joined.rejoin()
    joined.until(lambda: all(id in joined.reads for id in ids))
