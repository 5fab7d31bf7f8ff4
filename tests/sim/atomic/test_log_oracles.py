"""What watches over the log: each oracle accepts a good history, and objects to the one that it exists for."""

import pytest

from hansard.consensus.content import (
    Entry,
    Fact,
    Proposal,
    Proposed,
    Upgraded,
)
from hansard.consensus.effect import AnswerRead, Applied, Restored
from sim.atomic.oracles import Violation
from sim.atomic.oracles.durable import Durable
from sim.atomic.oracles.kept import Kept
from sim.atomic.oracles.leader import OneLeader
from sim.atomic.oracles.linear import Linearizable
from sim.atomic.oracles.once import Once
from sim.atomic.oracles.own_term import OwnTerm
from sim.atomic.oracles.sequence import OneSequence

from .stand_ins import A, B, C, StandIn, StandInWorld, council, entry


@pytest.fixture
def world() -> StandInWorld:
    return StandInWorld()


def proposal(number: int) -> Entry:
    return Entry(1, Proposal(A, 1, number, b"a:%d:" % number))


def proposed(number: int, node: str = "a") -> Proposed:
    return Proposed(node, 1, b"a:%d:" % number)


def apply(sequence: OneSequence, one: StandIn, index: int, entry: Entry, fact: Fact | None = None) -> None:
    """As a participant does: the machine first."""
    if fact is not None:
        one.machine.apply(index, fact)
    sequence.applied(one.cast, Applied(index, entry, fact))
    sequence.look(one.cast)


@pytest.fixture
def sequence(world: StandInWorld) -> OneSequence:
    """Of which a has applied two entries."""
    sequence = world.sequence
    for one in world.participants:
        sequence.started(one.cast)
    apply(sequence, world.a, 0, proposal(1), proposed(1))
    apply(sequence, world.a, 1, entry())
    return sequence


# One sequence.


def test_others_may_apply_the_same_and_more(world: StandInWorld, sequence: OneSequence) -> None:
    apply(sequence, world.b, 0, proposal(1), proposed(1))
    apply(sequence, world.b, 1, entry())
    apply(sequence, world.b, 2, proposal(2), proposed(2))
    apply(sequence, world.a, 2, proposal(2), proposed(2))
    assert sequence.end == 3 and sequence.ends == {"a": 3, "b": 3, "c": 0}
    with pytest.raises(Violation, match="c has applied 0 of 3"):
        sequence.finish(world.cast)


@pytest.mark.parametrize("other", [proposal(2), entry(term=2)])
def test_another_entry_at_an_index_is_a_violation(world: StandInWorld, sequence: OneSequence, other: Entry) -> None:
    apply(sequence, world.b, 0, proposal(1), proposed(1))
    with pytest.raises(Violation, match=r"all apply one sequence: b applies .* at 1, where another has applied"):
        apply(sequence, world.b, 1, other)


def test_another_fact_of_the_same_entry_is_a_violation(world: StandInWorld, sequence: OneSequence) -> None:
    with pytest.raises(Violation, match="b finds None at 0, where another has found"):
        apply(sequence, world.b, 0, proposal(1))


def test_a_hole_and_a_repetition_are_violations(world: StandInWorld, sequence: OneSequence) -> None:
    with pytest.raises(Violation, match="b applies 1 after 0 entries"):
        apply(sequence, world.b, 1, entry())
    with pytest.raises(Violation, match="a applies 1 after 2 entries"):
        apply(sequence, world.a, 1, entry())


def test_a_state_from_elsewhere_must_be_the_state_at_its_index(world: StandInWorld, sequence: OneSequence) -> None:
    world.b.machine.restore(world.a.machine.image())
    sequence.restored(world.b.cast, 2)
    sequence.look(world.b.cast)
    sequence.restored(world.c.cast, 2)
    with pytest.raises(Violation, match="c's machine is in another state at 2"):
        sequence.look(world.c.cast)


@pytest.mark.parametrize("end", [1, 2, 5])
def test_a_state_of_what_nobody_has_applied_or_of_the_past_is_a_violation(
    world: StandInWorld, sequence: OneSequence, end: int
) -> None:
    with pytest.raises(Violation, match=f"a has a state at {end}"):
        sequence.restored(world.a.cast, end)


def test_a_machine_that_was_told_something_else_is_a_violation(world: StandInWorld, sequence: OneSequence) -> None:
    world.a.machine.apply(1, Upgraded(2))
    with pytest.raises(Violation, match="a's machine is in another state at 2"):
        sequence.look(world.a.cast)


# Leaders.


def test_a_term_has_one_leader_in_one_process(world: StandInWorld) -> None:
    oracle = OneLeader(world.sequence)
    oracle.elected(world.a.cast)
    oracle.elected(world.a.cast)
    world.b.core.term = 2
    oracle.elected(world.b.cast)
    with pytest.raises(Violation, match="one leader for each term"):
        oracle.elected(world.c.cast)
    world.a.process += 1
    with pytest.raises(Violation, match="lead in term 1"):
        oracle.elected(world.a.cast)


def test_who_leads_has_all_that_is_committed(world: StandInWorld, sequence: OneSequence) -> None:
    oracle = OneLeader(sequence)
    world.a.append(proposal(1), entry(), proposal(2))
    oracle.elected(world.a.cast)
    world.b.core.term = 2
    world.b.append(proposal(1))
    with pytest.raises(Violation, match="b leads with a log up to 1, 2 are committed"):
        oracle.elected(world.b.cast)
    world.c.core.term = 3
    world.c.append(proposal(1), entry(term=3))
    with pytest.raises(Violation, match=r"c leads with .* at 1, .* is committed"):
        oracle.elected(world.c.cast)


def test_committing_by_an_entry_of_an_older_term_is_a_violation(world: StandInWorld) -> None:
    world.a.append(entry(term=1), entry(term=2), entry(term=3))
    world.a.core.term, world.a.core.committed = 3, 3
    OwnTerm().advanced(world.a.cast)
    world.a.core.committed = 2
    with pytest.raises(Violation, match="a commits an entry of 2, and leads in 3"):
        OwnTerm().advanced(world.a.cast)


# Disks.


def test_a_state_may_take_the_place_of_a_log_that_is_of_no_use(world: StandInWorld, sequence: OneSequence) -> None:
    kept = Kept(sequence)
    world.b.store(proposal(1))
    kept.did(world.b.cast, Restored(2))
    world.c.store(proposal(1), entry(term=0), entry(term=0))
    kept.did(world.c.cast, Restored(2))


@pytest.mark.parametrize("more", [[], [proposal(2)]])
def test_a_state_in_place_of_a_log_that_has_all_of_it_is_a_violation(
    world: StandInWorld, sequence: OneSequence, more: list[Entry]
) -> None:
    world.b.store(proposal(1), entry(), *more)
    with pytest.raises(Violation, match="a log is not replaced by a state that it goes on from"):
        Kept(sequence).did(world.b.cast, Restored(2))


def commit(world: StandInWorld, *stored: StandIn) -> None:
    """a commits two entries, which these have on disk."""
    entries = [council(A, B, C), entry()]
    world.a.append(*entries, stored=False)
    world.a.core.committed = 2
    for one in stored:
        one.store(*entries)
    Durable(world.sequence).advanced(world.a.cast)


def test_what_a_majority_has_on_disk_may_be_committed(world: StandInWorld) -> None:
    commit(world, world.a, world.c)


def test_what_was_on_a_disk_that_is_lost_now_may_be_committed(world: StandInWorld) -> None:
    world.c.wiped()
    commit(world, world.a)


def test_committing_what_too_few_have_on_disk_is_a_violation(world: StandInWorld) -> None:
    with pytest.raises(Violation, match="committed is on the disks of a majority"):
        commit(world, world.b)


def test_committing_where_others_have_something_else_is_a_violation(world: StandInWorld) -> None:
    world.b.store(council(A, B, C), entry(term=0))
    world.c.store(council(A, B, C))
    with pytest.raises(Violation, match="which is on too few disks"):
        commit(world, world.a)


def test_those_who_voted_before_the_turn_are_enough(world: StandInWorld) -> None:
    world.a.seen.voters = (A,)
    commit(world, world.a)


def test_in_the_end_all_disks_have_everything(world: StandInWorld, sequence: OneSequence) -> None:
    world.b.consensus = world.c.consensus = None
    world.a.store(proposal(1))
    with pytest.raises(Violation, match="a's disk has 1 of 2"):
        Durable(sequence).finish(world.cast)
    world.a.store(entry(term=0))
    with pytest.raises(Violation, match="a's disk has something else"):
        Durable(sequence).finish(world.cast)


# Proposals.


def test_proposals_are_applied_once_in_order_and_settled_then(world: StandInWorld) -> None:
    once = Once()
    for number in (1, 2, 3):
        once.proposed(world.a.cast, b"a:%d:" % number)
    once.committed(0, proposal(1), proposed(1))
    once.settled(world.a.cast, b"a:1:")
    once.committed(5, proposal(3), proposed(3))  # the second was lost with its process
    once.committed(6, proposal(1), None)
    once.finish(world.cast)
    with pytest.raises(Violation, match=r"a:1:.* is settled twice"):
        once.settled(world.a.cast, b"a:1:")
    with pytest.raises(Violation, match=r"a:2:.* is settled, and nobody has applied it"):
        once.settled(world.a.cast, b"a:2:")
    with pytest.raises(Violation, match=r"applied once, in order: .*a:2:.* at 7 comes after 3"):
        once.committed(7, proposal(2), proposed(2))
    world.waiting = [b"a:2:"]
    with pytest.raises(Violation, match="1 proposals are never settled"):
        once.finish(world.cast)


def test_applying_something_twice_is_a_violation(world: StandInWorld) -> None:
    once = Once()
    once.proposed(world.a.cast, b"a:1:")
    once.committed(0, proposal(1), proposed(1))
    with pytest.raises(Violation, match="is applied at 0 and again at 1"):
        once.committed(1, proposal(1), proposed(1))


def test_applying_what_nobody_has_proposed_is_a_violation(world: StandInWorld) -> None:
    once = Once()
    once.proposed(world.a.cast, b"a:1:")
    with pytest.raises(Violation, match="is b's, who never proposed it"):
        once.committed(0, proposal(1), proposed(1, "b"))


# Reads.


def test_a_read_sees_what_was_applied_before_it_was_asked(world: StandInWorld, sequence: OneSequence) -> None:
    linear = Linearizable(sequence)
    linear.read_asked(1)
    linear.read_asked(2)
    apply(sequence, world.a, 2, entry())
    linear.read_answered(world.a.cast, AnswerRead(1, 2))
    with pytest.raises(Violation, match="linearizable reads: a read at 1 was asked for after 2 were applied"):
        linear.read_answered(world.a.cast, AnswerRead(2, 1))


def test_a_read_of_what_is_not_here_yet_is_a_violation(world: StandInWorld, sequence: OneSequence) -> None:
    linear = Linearizable(sequence)
    linear.read_asked(1)
    with pytest.raises(Violation, match="b has applied less"):
        linear.read_answered(world.b.cast, AnswerRead(1, 2))
