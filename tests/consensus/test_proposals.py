"""What is proposed is in the log once, in its proposer's order, whoever leads and whatever is lost or said twice."""

from random import Random

import pytest

from hansard.consensus.content import Proposal, Proposed
from hansard.consensus.effect import Settled
from hansard.consensus.event import Received, Transfer
from hansard.consensus.message import Appended, Offer
from hansard.consensus.settings import Settings
from tests.consensus.joined import SECOND, Joined, Sent, formed
from tests.consensus.single import B, C, Single

PATIENT = Settings(lease_us=3_600_000_000)


def contents(joined: Joined, node: str, of: str = "") -> list[bytes]:
    return [fact.content for _, fact in joined.facts(node) if isinstance(fact, Proposed) and of in ("", fact.node)]


def numbered(count: int, node: str) -> list[bytes]:
    return [b"%d of %s" % (number, node.encode()) for number in range(count)]


def test_anybody_proposes() -> None:
    joined = formed(7)
    ids = [joined.propose(node, content) for node in joined.members for content in numbered(10, node)]
    joined.settle(*ids, seconds=1)
    for node in joined.members:
        assert contents(joined, joined.leader, of=node) == numbered(10, node)


def test_more_than_fit_into_one_message() -> None:
    joined = formed(3)
    proposer = next(node for node in "abc" if node != joined.leader)
    ids = [joined.propose(proposer, content) for content in numbered(700, proposer)]
    assert joined.settle(*ids) < SECOND
    assert contents(joined, proposer) == numbered(700, proposer)


def test_settled_is_said_in_the_order_of_proposing() -> None:
    joined = formed(3)
    ids = [joined.propose("b", content) for content in numbered(50, "b")]
    joined.settle(*ids)
    assert [settled.id for settled in joined.told("b", Settled)] == ids


@pytest.mark.parametrize("seed", range(10))
def test_through_changes_of_leader(seed: int) -> None:
    """Handed over, cut off, or crashed and restarted, again and again, while everybody proposes."""
    random = Random(seed)
    joined = formed(5, PATIENT, seed=seed)
    ids: dict[str, list[int]] = {node: [] for node in "abcde"}
    for round in range(12):
        for node in "abcde":
            if joined.members[node].core is not None:
                ids[node] += [joined.propose(node, b"%d.%d of %s" % (round, n, node.encode())) for n in range(3)]
        joined.run(random.random() * 0.01)
        leader = joined.leader
        if leader:
            match random.randrange(3):
                case 0:
                    joined.happen(leader, Transfer())
                    joined.run(random.random() * 0.1)
                case 1:
                    joined.cut(leader)
                    joined.run(0.2 + random.random())
                    joined.heal(leader)
                case _:
                    joined.pause(leader)
                    joined.run(0.2 + random.random())
                    joined.resume(leader)
    joined.rejoin()
    joined.settle(*[id for node in "abcde" for id in ids[node]])
    joined.until(lambda: joined.settling)
    for node in "abcde":
        wanted = [b"%d.%d of %s" % (round, n, node.encode()) for round in range(12) for n in range(3)]
        assert contents(joined, "a", of=node) == wanted
    assert len(joined.leaders) > 3


@pytest.mark.parametrize("seed", range(6))
def test_through_departures_and_new_lives(seed: int) -> None:
    random = Random(seed)
    joined = formed(5, Settings(compact_entries=30, keep_entries=5), seed=seed)
    ids: dict[str, list[int]] = {node: [] for node in "abcde"}
    for round in range(8):
        for node in "abcde":
            ids[node] += [joined.propose(node, b"%d.%d of %s" % (round, n, node.encode())) for n in range(2)]
        away = random.choice("abcde")
        joined.run(random.random() * 0.002)
        joined.cut(away)
        joined.run(random.choice([0.3, 1.5]) + random.random())
        joined.heal(away)
        joined.run(random.random())
    joined.settle(*[id for node in "abcde" for id in ids[node]])
    joined.until(lambda: joined.settling)
    assert max(one.incarnation for one in joined.core("a").roster.participants.values()) > 1
    for node in "abcde":
        wanted = [b"%d.%d of %s" % (round, n, node.encode()) for round in range(8) for n in range(2)]
        assert contents(joined, "a", of=node) == wanted


def test_offers_that_come_twice_or_late_count_once() -> None:
    joined = formed(4)
    joined.settle(*[joined.propose(node, content) for node in "abcd" for content in numbered(5, node)])
    offers = [sent for sent in joined.sent if isinstance(sent.envelope.message, Offer)]
    assert offers
    for _ in range(2):
        for sent in offers:
            for node in "abcd":
                if node != sent.sender:
                    joined.happen(node, Received(sent.envelope))
        joined.run(0.5)
        joined.happen(joined.leader, Transfer())
        joined.run(0.5)
    joined.settle(*[joined.propose(node, b"last of " + node.encode()) for node in "abcd"])
    joined.until(lambda: joined.settling)
    for node in "abcd":
        assert contents(joined, "a", of=node) == [*numbered(5, node), b"last of " + node.encode()]


def test_an_offer_of_a_process_that_has_ended_comes_too_late() -> None:
    """The process looks at what is there when it has arrived, and proposes anew what is not: nothing appears later."""
    joined = formed(3, PATIENT)
    proposer = next(node for node in "abc" if node != joined.leader)
    held: list[Sent] = []

    def hold(sent: Sent) -> bool:
        """Whatever it offers is on its way for long."""
        if sent.sender == proposer and isinstance(sent.envelope.message, Offer):
            held.append(sent)
            return True
        return False

    joined.lose = hold
    joined.propose(proposer, b"first try")
    joined.run(0.5)
    joined.crash(proposer)
    joined.lose = lambda sent: False
    joined.restart(proposer)
    joined.until(lambda: joined.core(proposer).arrived)
    assert contents(joined, proposer) == []
    for sent in held:
        joined._deliver(sent)
    joined.settle(joined.propose(proposer, b"second try"))
    for sent in held:
        joined._deliver(sent)
    joined.run(1)
    assert contents(joined, proposer) == contents(joined, joined.leader) == [b"second try"]


def test_an_offer_goes_out_at_once_and_again_when_nothing_comes_of_it() -> None:
    joined = formed(3)
    proposer = next(node for node in "abc" if node != joined.leader)
    joined.lose = lambda sent: isinstance(sent.envelope.message, Offer)
    begin_us = joined.now_us
    id = joined.propose(proposer, b"x")
    assert len(joined.messages(Offer, sender=proposer, since_us=begin_us)) == 1
    joined.run(1)
    assert 4 <= len(joined.messages(Offer, sender=proposer, since_us=begin_us)) <= 6
    joined.lose = lambda sent: False
    joined.settle(id, seconds=0.3)


def test_proposals_under_way_are_not_offered_again_and_again() -> None:
    joined = formed(3, delay_us=5_000)
    proposer = next(node for node in "abc" if node != joined.leader)
    begin_us = joined.now_us
    for content in numbered(20, proposer):
        joined.propose(proposer, content)
        joined.run(0.001)
    joined.until(lambda: len(contents(joined, proposer)) == 20)
    offered = [content for offer in joined.messages(Offer, since_us=begin_us) for content in offer.contents]
    assert len(offered) == 20


def test_a_leader_puts_what_it_proposes_itself_into_its_log_at_once() -> None:
    joined = formed(3)
    end = joined.core(joined.leader).log.end
    joined.propose(joined.leader, b"x")
    assert joined.core(joined.leader).log.end == end + 1


def test_a_leader_takes_the_next_number_only() -> None:
    single = Single()
    single.lead()
    single.acknowledge(B, C)
    end = single.core.log.end
    for numbers in ([2], [1, 1], [1, 3], [2, 4], [3, 5, 4]):
        single.hear(B, Offer(tuple([Proposal(B, 1, number, b"%d" % number) for number in numbers]), passed=False))
    single.hear(B, Offer((Proposal(B, 2, 1, b"of another process"),), passed=False))
    added = [entry.content for entry in single.core.log.entries[end - single.core.log.start :]]
    assert [content.number for content in added if isinstance(content, Proposal)] == [1, 2, 3, 4]
    single.hear(B, Appended(single.core.term, 0, end, end, single.core.term, missing=False))


def test_where_nobody_leads_proposals_wait() -> None:
    joined = formed(3, PATIENT)
    joined.crash("b", "c")
    id = joined.propose("a", b"x")
    joined.run(3)
    assert id not in joined.settled
    joined.restart("b")
    joined.settle(id, seconds=2)
