"""What follows from each entry, whatever has come before it and however often it comes."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from hansard.consensus.cluster import Peer
from hansard.consensus.content import (
    Arrive,
    Arrived,
    Begin,
    Content,
    Council,
    Depart,
    Departed,
    Fact,
    Moved,
    Proposal,
    Proposed,
    Upgrade,
    Upgraded,
)
from hansard.consensus.recovered import State, decode_state, encode
from hansard.consensus.roster import Roster

A1, A2, A3, B1 = Peer("a", 11), Peer("a", 12), Peer("a", 13), Peer("b", 21)


def arrive(
    peer: Peer,
    address: str = "here",
    zone: str = "",
    rules_max: int = 1,
    inventory: bytes = b"",
    *,
    session: int = 1,
    origin: int = 0,
    after: int | None = None,
) -> Arrive:
    """The lives of a node end in their order here, so each knows which one was before."""
    before = peer.life % 10 - 1 if after is None else after
    return Arrive(peer, address, session, origin or peer.life, before, zone, rules_max, inventory)


def facts(roster: Roster, *contents: Content) -> list[Fact | None]:
    return [roster.apply(content) for content in contents]


def after(*contents: Content) -> Roster:
    roster = Roster()
    facts(roster, *contents)
    return roster


# Arriving.


def test_nobody_is_there_at_first() -> None:
    roster = Roster()
    assert not roster.participants
    assert roster.rules == 1
    assert not roster.here(A1) and not roster.gone(A1)


def test_an_arrival_is_a_fact_with_all_that_it_brings() -> None:
    roster = Roster()
    assert roster.apply(arrive(A1, "host:1", "west", inventory=b"things")) == Arrived(
        "a", 1, "host:1", "west", b"things"
    )
    assert roster.here(A1) and not roster.gone(A1)
    known = roster.participants["a"]
    assert (known.peer, known.incarnation, known.address, known.zone, known.rules_max) == (A1, 1, "host:1", "west", 1)


def test_arriving_again_in_the_same_process_changes_nothing() -> None:
    roster = after(arrive(A1))
    image = roster.image()
    assert facts(roster, arrive(A1), arrive(A1, "elsewhere", "west", 2, b"more")) == [None, None]
    assert roster.image() == image


def test_participants_are_in_the_order_of_their_arrival() -> None:
    roster = after(arrive(Peer("c", 1)), arrive(Peer("a", 1)), arrive(Peer("b", 1)))
    assert list(roster.participants) == ["c", "a", "b"]
    facts(roster, arrive(Peer("c", 1), "elsewhere", session=2), Depart(Peer("a", 1)), arrive(Peer("a", 2)))
    assert list(roster.participants) == ["c", "b", "a"]


def test_another_process_elsewhere_is_a_move() -> None:
    roster = after(arrive(A1, "old", "west"))
    assert roster.apply(arrive(A1, "new", "west", session=2)) == Moved("a", 1, "new", "west")
    assert roster.apply(arrive(A1, "new", "east", session=4)) == Moved("a", 1, "new", "east")
    assert roster.apply(arrive(A1, "new", "east", session=5)) is None
    assert (roster.participants["a"].address, roster.participants["a"].zone) == ("new", "east")


def test_what_an_earlier_process_said_comes_too_late() -> None:
    roster = after(arrive(A1, "old"), arrive(A1, "new", session=3))
    image = roster.image()
    assert facts(roster, arrive(A1, "old"), arrive(A1, "between", session=2)) == [None, None]
    assert roster.image() == image


def test_another_process_ends_the_proposals_of_the_one_before() -> None:
    roster = after(arrive(A1), Proposal(A1, 1, 1, b"x"), arrive(A1, session=2))
    assert roster.apply(Proposal(A1, 1, 2, b"late")) is None
    assert roster.apply(Proposal(A1, 2, 1, b"y")) == Proposed("a", 1, b"y")


def test_knowing_newer_rules_is_remembered_without_a_fact() -> None:
    roster = after(arrive(A1))
    assert roster.apply(arrive(A1, rules_max=2, session=2)) is None
    assert roster.participants["a"].rules_max == 2


def test_another_life_of_the_same_name_waits_until_the_first_has_departed() -> None:
    roster = after(arrive(A1))
    assert "another a is there, as incarnation 1" in roster.refusal(arrive(A2))
    assert roster.apply(arrive(A2, "elsewhere")) is None
    assert roster.here(A1) and not roster.here(A2) and not roster.gone(A2)
    assert roster.participants["a"].address == "here"
    roster.apply(Depart(A1))
    assert not roster.refusal(arrive(A2))
    assert roster.apply(arrive(A2)) == Arrived("a", 2, "here", "", b"")


def test_who_does_not_know_the_rules_is_refused_and_told_why() -> None:
    roster = after(arrive(A1, rules_max=3), Upgrade(3))
    assert roster.refusal(arrive(B1, rules_max=2)) == "the cluster follows rules 3, and b knows them up to 2"
    assert roster.apply(arrive(B1, rules_max=2)) is None
    assert not roster.here(B1)
    assert roster.apply(arrive(B1, rules_max=3)) == Arrived("b", 1, "here", "", b"")


def test_who_is_there_is_not_refused() -> None:
    assert after(arrive(A1)).refusal(arrive(A1, "elsewhere")) == ""


# Departing.


def test_a_departure_is_a_fact_once() -> None:
    roster = after(arrive(A1))
    assert facts(roster, Depart(A1), Depart(A1)) == [Departed("a", 1), None]
    assert not roster.here(A1) and roster.gone(A1)
    assert not roster.participants


def test_the_departure_of_another_life_is_nothing() -> None:
    roster = after(arrive(A1))
    assert facts(roster, Depart(A2), Depart(B1)) == [None, None]
    assert roster.here(A1)


def test_each_life_is_the_next_incarnation() -> None:
    roster = Roster()
    lived: list[Content] = [arrive(A1), Depart(A1), arrive(A2), Depart(A2), arrive(A3)]
    assert [fact.incarnation for fact in facts(roster, *lived) if isinstance(fact, Arrived | Departed)] == [
        1,
        1,
        2,
        2,
        3,
    ]


def test_an_arrival_that_was_under_way_when_its_life_ended_is_nothing() -> None:
    roster = after(arrive(A1), Depart(A1))
    assert facts(roster, arrive(A1), arrive(A1, session=2)) == [None, None]
    assert not roster.here(A1) and roster.gone(A1)


def test_an_arrival_that_comes_later_still_is_nothing_either() -> None:
    """Others have come and gone since. If it were let in, what it has proposed would count once more."""
    roster = after(arrive(A1), Proposal(A1, 1, 1, b"x"), Depart(A1), arrive(A2), Depart(A2))
    assert facts(roster, arrive(A1), Proposal(A1, 1, 1, b"x"), arrive(A2)) == [None, None, None]
    assert not roster.participants


def test_who_does_not_know_how_often_it_was_there_has_to_ask() -> None:
    roster = after(arrive(A1), Depart(A1))
    assert roster.last_incarnation("a") == 1
    assert roster.last_incarnation("b") == 0
    assert facts(roster, arrive(A3, after=0), arrive(A3, after=2)) == [None, None]
    assert roster.apply(arrive(A3, after=1)) == Arrived("a", 2, "here", "", b"")


def test_a_life_that_was_never_there_is_not_gone() -> None:
    roster = after(arrive(A1), Depart(A1))
    assert not roster.gone(A2)
    roster.apply(arrive(A2))
    assert roster.gone(A1) and not roster.gone(A2) and not roster.gone(A3)


# Proposals.


def test_only_who_is_there_can_propose() -> None:
    roster = Roster()
    assert roster.apply(Proposal(A1, 1, 1, b"x")) is None
    facts(roster, arrive(A1))
    assert roster.apply(Proposal(A2, 1, 1, b"x")) is None
    assert roster.apply(Proposal(A1, 1, 1, b"x")) == Proposed("a", 1, b"x")


def test_a_proposal_counts_once_and_in_order() -> None:
    roster = after(arrive(A1, session=4))
    numbers = [1, 1, 3, 2, 1, 2, 3, 5, 4, 5]
    came = facts(roster, *[Proposal(A1, 4, number, b"%d" % number) for number in numbers])
    assert [fact.content for fact in came if isinstance(fact, Proposed)] == [b"1", b"2", b"3", b"4", b"5"]


def test_the_proposals_of_a_process_count_once_it_has_arrived() -> None:
    roster = after(arrive(A1), Proposal(A1, 1, 1, b"x"))
    assert roster.apply(Proposal(A1, 3, 1, b"too early")) is None
    assert roster.apply(Proposal(A1, 1, 2, b"not ended yet")) == Proposed("a", 1, b"not ended yet")
    facts(roster, arrive(A1, session=3))
    assert facts(roster, Proposal(A1, 1, 3, b"late"), Proposal(A1, 2, 1, b"never arrived")) == [None, None]
    assert roster.apply(Proposal(A1, 3, 2, b"not the first")) is None
    assert roster.apply(Proposal(A1, 3, 1, b"y")) == Proposed("a", 1, b"y")


def test_a_proposal_of_a_departed_life_comes_too_late() -> None:
    roster = after(arrive(A1), Proposal(A1, 1, 1, b"x"), Depart(A1))
    assert roster.apply(Proposal(A1, 1, 2, b"y")) is None
    facts(roster, arrive(A2))
    assert roster.apply(Proposal(A1, 1, 2, b"y")) is None
    assert roster.apply(Proposal(A2, 1, 1, b"z")) == Proposed("a", 2, b"z")


def test_the_numbers_of_one_are_nothing_to_another() -> None:
    roster = after(arrive(A1), arrive(B1), Proposal(A1, 1, 1, b"x"))
    assert roster.apply(Proposal(B1, 1, 1, b"y")) == Proposed("b", 1, b"y")


# What counted last, for a process that goes on in another life, or was not told entry by entry.


def test_what_counted_last_of_a_process_is_known() -> None:
    roster = after(
        arrive(A1, session=4), Proposal(A1, 4, 1, b"x"), Proposal(A1, 4, 2, b"y"), Proposal(A1, 4, 4, b"early")
    )
    assert roster.counted("a", 4, A1.life) == 2
    assert roster.counted("a", 5, A1.life) == roster.counted("a", 4, A2.life) == roster.counted("b", 4, A1.life) == 0
    roster.apply(Depart(A1))
    assert roster.counted("a", 4, A1.life) == 2


def test_a_process_goes_on_with_its_numbers_in_its_next_lives() -> None:
    roster = after(arrive(A1, session=4), Proposal(A1, 4, 1, b"x"), Depart(A1))
    facts(roster, arrive(A2, session=4, origin=A1.life), Depart(A2), arrive(A3, session=4, origin=A1.life))
    assert roster.counted("a", 4, A1.life) == 1
    assert roster.apply(Proposal(A3, 4, 1, b"x")) is None
    assert roster.apply(Proposal(A3, 4, 2, b"y")) == Proposed("a", 3, b"y")


def test_another_process_begins_at_one_whether_its_disk_is_lost_or_not() -> None:
    for process in (arrive(A2, session=1), arrive(A2, session=2, origin=A1.life)):
        roster = after(arrive(A1, session=1), Proposal(A1, 1, 1, b"x"), Depart(A1), process)
        assert roster.counted("a", 1, A1.life) == 0
        assert roster.apply(Proposal(A2, process.session, 1, b"y")) == Proposed("a", 2, b"y")


def test_a_life_does_not_come_twice() -> None:
    roster = after(arrive(A1), Depart(A1))
    assert roster.apply(arrive(A1, session=2, after=1)) is None


def test_comings_and_goings_are_counted() -> None:
    roster = Roster()
    facts(roster, arrive(A1), arrive(A1), arrive(A1, "there", session=2), Proposal(A1, 2, 1, b"x"), Depart(A2))
    assert roster.changes == 1
    facts(roster, Depart(A1), arrive(A2))
    assert roster.changes == 3


# Rules.


def test_rules_are_raised_when_everybody_knows_them() -> None:
    roster = after(arrive(A1, rules_max=2), arrive(B1, rules_max=1))
    assert roster.apply(Upgrade(2)) is None
    assert roster.rules == 1
    roster.apply(arrive(B1, rules_max=3, session=2))
    assert facts(roster, Upgrade(3), Upgrade(2), Upgrade(2)) == [None, Upgraded(2), None]
    assert roster.rules == 2


def test_rules_are_raised_when_the_one_that_does_not_know_them_has_departed() -> None:
    roster = after(arrive(A1, rules_max=2), arrive(B1, rules_max=1), Depart(B1))
    assert roster.apply(Upgrade(2)) == Upgraded(2)


def test_rules_never_fall() -> None:
    roster = after(arrive(A1, rules_max=5), Upgrade(4))
    assert facts(roster, Upgrade(3), Upgrade(4)) == [None, None]
    assert roster.rules == 4


def test_where_nobody_is_there_nobody_knows_any_rules() -> None:
    assert Roster().apply(Upgrade(2)) is None


def test_who_knows_fewer_rules_than_are_followed_does_not_count_as_knowing_less() -> None:
    """It has started with an older version, and cannot go on: what is known of it stays as it was."""
    roster = after(arrive(A1, "here", rules_max=2), Upgrade(2))
    assert roster.apply(arrive(A1, "elsewhere", rules_max=1, session=2)) is None
    assert roster.participants["a"].rules_max == 2


# The rest.


def test_what_leaders_and_voters_are_is_no_fact() -> None:
    roster = after(arrive(A1))
    image = roster.image()
    assert facts(roster, Begin(), Council((A1,)), Council((A1, B1))) == [None, None, None]
    assert roster.image() == image


PEERS = st.builds(Peer, st.sampled_from("abc"), st.integers(1, 3))
CONTENTS: st.SearchStrategy[Content] = st.one_of(
    st.builds(
        Arrive,
        PEERS,
        st.sampled_from(["here", "there"]),
        session=st.integers(1, 3),
        origin=st.integers(1, 2),
        after=st.integers(0, 2),
        zone=st.sampled_from(["", "x"]),
        rules_max=st.integers(1, 3),
    ),
    st.builds(Depart, PEERS),
    st.builds(Upgrade, st.integers(1, 3)),
    st.builds(Proposal, PEERS, st.integers(1, 2), st.integers(1, 3), st.just(b"x")),
)


@given(st.lists(CONTENTS, max_size=30), st.lists(CONTENTS, max_size=10))
def test_from_its_image_it_goes_on_as_if_nothing_had_happened(past: list[Content], future: list[Content]) -> None:
    roster = after(*past)
    stored = encode(State(end=len(past), term=7, voters=(A1, B1), roster=roster.image(), image=b"machine"))
    state = decode_state(stored)
    assert (state.end, state.term, state.voters, state.image) == (len(past), 7, (A1, B1), b"machine")
    other = Roster(state.roster)
    assert list(other.participants.items()) == list(roster.participants.items())
    assert facts(other, *future) == facts(roster, *future)
    assert other.image() == roster.image()
    assert encode(State(roster=other.image())) == encode(State(roster=roster.image()))


def test_an_empty_disk_has_the_state_before_everything() -> None:
    assert decode_state(b"") == State()
    assert Roster(State().roster).image() == Roster().image()
    assert msgspec.msgpack.decode(encode(State()), type=State) == State()


@given(st.lists(CONTENTS, max_size=40), st.data())
def test_entries_that_are_there_twice_count_once(contents: list[Content], data: st.DataObject) -> None:
    """A leader that does not know whether something is in the log already may add it once more, right after."""
    doubled = [content for content in contents for _ in range(data.draw(st.integers(1, 2)))]
    once, twice = Roster(), Roster()
    assert [f for f in facts(once, *contents) if f] == [f for f in facts(twice, *doubled) if f]
    assert once.image() == twice.image()


@given(st.lists(CONTENTS, max_size=60))
def test_incarnations_of_a_node_follow_each_other_without_gaps(contents: list[Content]) -> None:
    roster = Roster()
    seen: dict[str, list[int]] = {}
    for fact in facts(roster, *contents):
        if isinstance(fact, Arrived):
            seen.setdefault(fact.node, []).append(fact.incarnation)
    assert all(numbers == list(range(1, len(numbers) + 1)) for numbers in seen.values())
