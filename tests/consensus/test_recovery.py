"""From the survivors' copies to a new cluster: which copy, what follows from it, and what nobody can know."""

import pytest

from hansard.consensus.cluster import ClusterId, NodeId, Peer
from hansard.consensus.content import Arrived, Begin, Council, Depart, Entry, Proposal, Proposed
from hansard.consensus.disk import recovered
from hansard.consensus.door import Verdict, judged
from hansard.consensus.errors import MajorityThere, NothingToRecover, SameNode, SeveralClusters
from hansard.consensus.facts import Facts
from hansard.consensus.message import Envelope, Gone
from hansard.consensus.recovered import STATE, NoteContent, Recovered, State, decode_note, decode_state, encode
from hansard.consensus.recovery import Copy, Plan, final_state, find, plan, unknowns
from hansard.consensus.roster import Participant, Roster
from sim.disk import SimDisk
from tests.consensus.atomic import arrival, open_tiny, write

A, B, C, D = Peer("a", 1), Peer("b", 2), Peer("c", 3), Peer("d", 4)
CLUSTER = ClusterId("7f3a")
FOUNDER = Peer("a", 99)
BEGINNING = (
    Entry(0, Council((A,))),
    Entry(1, Begin()),
    Entry(1, arrival(A)),
    Entry(1, arrival(B)),
    Entry(1, Council((A, B))),
    Entry(1, arrival(C)),
    Entry(1, Council((A, B, C))),
    Entry(2, Begin()),
)


def copy(
    peer: Peer,
    entries: tuple[Entry, ...] = BEGINNING,
    *,
    cluster: ClusterId = CLUSTER,
    term: int = 2,
    state: State | None = None,
    start: int = 0,
) -> Copy:
    note = encode(NoteContent(cluster, peer.life, 1, term))
    documents = {STATE: encode(state)} if state is not None else {}
    there = Recovered(note=note, documents=documents, start=start, entries=entries)
    return Copy(f"disk of {peer.node}", peer.node, there)


def planned(*copies: Copy, force: bool = False) -> Plan:
    return plan(copies, FOUNDER, Facts(), force=force)


def proposal(number: int, proposer: Peer = A) -> Proposal:
    return Proposal(proposer, 1, number, f"number {number}".encode())


# Which copy.


@pytest.mark.parametrize(
    ("ends", "chosen"),
    [
        ({"a": (2, 0), "d": (2, 1)}, "d"),
        ({"a": (2, 3), "d": (3, 1)}, "d"),
        ({"a": (3, 1), "d": (2, 3)}, "a"),
        ({"d": (2, 1), "a": (2, 1)}, "d"),
        ({"a": (2, 1), "d": (2, 1)}, "a"),
    ],
)
def test_the_copy_that_would_win_an_election_is_taken_whole(
    ends: dict[NodeId, tuple[int, int]], chosen: NodeId
) -> None:
    copies = [
        copy(A if node == "a" else D, (*BEGINNING, *[Entry(term, proposal(n + 1)) for n in range(count)]), term=9)
        for node, (term, count) in ends.items()
    ]
    made = planned(*copies)
    assert made.chosen.peer.node == chosen
    assert (made.state.term, made.state.end - len(BEGINNING)) == ends[chosen]


def test_a_promised_term_makes_no_copy_better() -> None:
    """It may have asked for votes for a long time without ever getting an entry."""
    assert planned(copy(A, term=50), copy(D, (*BEGINNING, Entry(2, proposal(1))))).chosen.peer == D


def test_what_a_copy_has_is_told() -> None:
    found = find(copy(B, (*BEGINNING, Entry(4, Council((A, B, C, D)))), term=7), Facts())
    assert (found.peer, found.cluster, found.term, found.last_term, found.end) == (B, CLUSTER, 7, 4, 9)
    assert (found.covered, found.voters) == (0, (A, B, C, D))


def test_a_state_that_the_log_does_not_go_on_from_counts_alone() -> None:
    """A crash came after the state from elsewhere was kept, and before the old log was thrown away."""
    roster = Roster().image()
    state = State(40, 5, (A, B, C), roster)
    found = find(copy(B, state=state), Facts())
    assert (found.end, found.last_term, found.covered) == (40, 5, 40)
    assert planned(copy(A, (*BEGINNING, Entry(4, Begin()))), copy(B, state=state), force=True).chosen.peer == B


# What follows from it.


def test_nothing_is_cut_off_and_everything_is_applied() -> None:
    last = (Entry(3, proposal(1)), Entry(3, proposal(2)), Entry(3, proposal(2)), Entry(3, Depart(C)))
    machine = Facts()
    made = plan([copy(A, BEGINNING + last)], FOUNDER, machine)
    told = [fact.content for _, fact in machine.told if isinstance(fact, Proposed)]
    assert told == [b"number 1", b"number 2"], "what is twice in the log counts once"
    assert [fact.node for _, fact in machine.told if isinstance(fact, Arrived)] == ["a", "b", "c"]
    assert list(Roster(made.state.roster).participants) == ["a", "b"]
    restored = Facts()
    restored.restore(made.state.image)
    assert restored.told == machine.told


def test_the_state_that_was_kept_is_gone_on_from() -> None:
    """As if all of the log were there."""
    last = tuple(Entry(3, proposal(number)) for number in range(1, 9))
    everything = final_state(copy(A, BEGINNING + last).recovered, Facts())
    for end in range(1, 16):
        kept = final_state(copy(A, (BEGINNING + last)[:end]).recovered, Facts())
        for start in range(end + 1):
            later = copy(A, (BEGINNING + last)[start:], state=kept, start=start)
            assert final_state(later.recovered, Facts()) == everything, (end, start)


def test_the_new_cluster_is_the_next_incarnation_with_one_voter_in_a_new_life() -> None:
    made = planned(copy(A, cluster=ClusterId("7f3a", 4)))
    assert made.cluster == ClusterId("7f3a", 5, FOUNDER.life)
    disk = SimDisk()
    store = open_tiny(disk, create=True)
    write(store, *made.writes())
    there = recovered(store, 0)
    note = decode_note(there.note)
    assert (note.cluster, note.life, note.vote) == (ClusterId("7f3a", 5, 99), 99, None)
    state = decode_state(there.documents[STATE])
    assert state.voters == (FOUNDER,) and (state.end, state.term) == (8, 2)
    found = find(Copy("new", "a", there), Facts())
    assert (found.end, found.voters, found.term) == (8, (FOUNDER,), 2)


def test_participants_stay_in_the_roster_until_they_are_missed() -> None:
    roster = Roster(planned(copy(A)).state.roster)
    assert [participant.peer for participant in roster.participants.values()] == [A, B, C]
    assert not roster.gone(FOUNDER) and not roster.here(FOUNDER)
    assert isinstance(roster.participants["a"], Participant)


# What is refused.


def test_where_a_majority_is_there_nothing_is_lost() -> None:
    with pytest.raises(MajorityThere, match=r"2 of 3 voters are here \(a, c\).*start them"):
        planned(copy(A), copy(C))
    assert planned(copy(A), copy(C), force=True).missing == (B,)
    assert planned(copy(A)).missing == (B, C)


def test_half_of_the_voters_is_no_majority() -> None:
    four = (*BEGINNING, Entry(2, Council((A, B, C, D))))
    made = planned(copy(A, four), copy(C, four))
    assert (made.present, made.missing) == ((A, C), (B, D))


def test_the_only_voter_is_a_majority() -> None:
    with pytest.raises(MajorityThere):
        planned(copy(A, BEGINNING[:3]))


def test_who_votes_is_said_by_the_copy_that_has_come_furthest() -> None:
    """A copy that is behind may know of a council in which those who are here would be a majority."""
    behind, ahead = BEGINNING[:5], (*BEGINNING, Entry(2, Council((A, C, D))), Entry(2, Council((C, D))))
    made = planned(copy(A, behind), copy(B, behind), copy(C, ahead))
    assert (made.present, made.missing) == ((C,), (D,))


def test_another_life_of_a_voter_is_not_that_voter() -> None:
    made = planned(copy(A), copy(Peer("b", 22)))
    assert (made.present, made.missing) == ((A,), (B, C))


def test_who_never_voted_helps_with_its_copy_and_counts_for_nothing() -> None:
    made = planned(copy(D, (*BEGINNING, Entry(2, proposal(1)))), copy(A))
    assert made.chosen.peer == D and made.present == (A,) and made.missing == (B, C)


@pytest.mark.parametrize("other", [ClusterId("ffff"), ClusterId("7f3a", 2)])
def test_copies_of_different_clusters_are_not_mixed(other: ClusterId) -> None:
    with pytest.raises(SeveralClusters, match="leave it out"):
        planned(copy(A), copy(B, cluster=other))


def test_two_recoveries_of_one_cluster_make_two_clusters() -> None:
    first, second = [plan([copy(A)], Peer("a", life), Facts()).cluster for life in (98, 99)]
    assert first != second and first.incarnation == second.incarnation
    envelope = Envelope(second, Peer("b", 5), "b:1", 0, Gone(7, 1))
    assert judged(envelope, first, Peer("a", 7)) is Verdict.STRANGE


def test_of_two_incarnations_the_former_one_is_to_be_left_out() -> None:
    for copies in ((copy(A), copy(B, cluster=ClusterId("7f3a", 2))), (copy(B, cluster=ClusterId("7f3a", 2)), copy(A))):
        with pytest.raises(SeveralClusters, match="disk of a is of cluster 7f3a, incarnation 1, and not") as caught:
            planned(*copies)
        assert "--rejoin" in str(caught.value)


def test_two_copies_of_one_participant_are_refused() -> None:
    """One of them is older, and it may have forgotten what the other has promised."""
    with pytest.raises(SameNode, match="both a's"):
        planned(copy(A), copy(A))


def test_empty_copies_are_nothing_to_go_on_from() -> None:
    empty = [Copy("here", "a", Recovered()), Copy("there", "b", Recovered())]
    with pytest.raises(NothingToRecover):
        planned(*empty)
    with pytest.raises(NothingToRecover):
        planned(copy(A, ()))
    assert planned(empty[1], copy(A)).chosen.peer == A, "one that has never joined is no obstacle"


# What cannot be known.


def test_what_only_the_lost_ones_had_is_said() -> None:
    kept = final_state(copy(A, BEGINNING[:6]).recovered, Facts())
    said = " ".join(unknowns(planned(copy(A, state=kept))))
    assert "entries from 8 on that only b, c had" in said
    assert "entries 6 to 7 were ever committed" in said
    assert "Do not start them again" in said


def test_where_all_is_covered_by_a_state_its_entries_are_in_no_doubt() -> None:
    kept = final_state(copy(A).recovered, Facts())
    assert "ever committed" not in " ".join(unknowns(planned(copy(A, state=kept))))
