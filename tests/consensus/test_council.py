"""Who should vote, one step at a time."""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.consensus.cluster import NodeId, Peer
from hansard.consensus.council import next_council, size_wanted
from hansard.consensus.roster import Participant

STEPS_MAX = 16
"""From any council of up to six, of whom any may have departed, among up to ten participants in any zones."""


def roster(*names: str) -> dict[NodeId, Participant]:
    """In the order of arrival: `a/west` is in a zone, `a` in none that is known."""
    found = {}
    for name in names:
        node, _, zone = name.partition("/")
        found[node] = Participant(Peer(node, 1), 1, f"{node}:1", zone, 1, 1, 1)
    return found


def peers(names: str, life: int = 1) -> tuple[Peer, ...]:
    return tuple(Peer(name, life) for name in names.split())


def step(voters: str, participants: Mapping[NodeId, Participant], caught_up: str | None = None, me: str = "a") -> str:
    """The council after the next step, as names; empty if there is none."""
    able = peers(caught_up) if caught_up is not None else tuple(one.peer for one in participants.values())
    after = next_council(peers(voters), participants, able, Peer(me, 1))
    return " ".join(voter.node for voter in after) if after is not None else ""


def settle(voters: tuple[Peer, ...], participants: Mapping[NodeId, Participant], me: Peer) -> list[tuple[Peer, ...]]:
    """All councils, one after the other, until there is nothing to do."""
    councils, everybody = [voters], [one.peer for one in participants.values()]
    while (after := next_council(councils[-1], participants, everybody, me)) is not None:
        councils.append(after)
        assert len(councils) <= STEPS_MAX + 1, councils
    return councils


@pytest.mark.parametrize(("participants", "wanted"), [(0, 0), (1, 1), (2, 2), (3, 3), (4, 3), (5, 5), (6, 5), (50, 5)])
def test_three_vote_and_five_where_there_are_five(participants: int, wanted: int) -> None:
    assert size_wanted(participants) == wanted


def test_who_arrives_is_added_when_it_has_caught_up() -> None:
    assert step("a", roster("a", "b"), caught_up="a") == ""
    assert step("a", roster("a", "b"), caught_up="a b") == "a b"


def test_those_who_arrived_first_are_added_first() -> None:
    assert step("a", roster("a", "d", "c", "b")) == "a d"
    assert step("a", roster("a", "d", "c", "b"), caught_up="b c") == "a c"


def test_caught_up_in_a_former_life_is_not_caught_up() -> None:
    assert next_council(peers("a"), roster("a", "b"), [Peer("b", 2)], Peer("a", 1)) is None


def test_who_is_caught_up_and_takes_no_part_is_not_added() -> None:
    assert step("a", roster("a"), caught_up="a b") == ""


def test_as_they_should_be() -> None:
    assert step("a", roster("a")) == ""
    assert step("a b c", roster("a", "b", "c", "d")) == ""
    assert step("a b c d e", roster("a", "b", "c", "d", "e", "f")) == ""


def test_the_departed_are_removed_before_anybody_is_added() -> None:
    """Of a, b and x with x dead both others must agree; with d added three of three."""
    assert step("a b x", roster("a", "b", "d")) == "a b"
    assert step("a b", roster("a", "b", "d")) == "a b d"


def test_a_new_life_does_not_vote_for_the_former_one() -> None:
    participants = roster("a", "b", "c")
    after = next_council((Peer("a", 1), Peer("b", 7), Peer("c", 1)), participants, peers("a b c"), Peer("a", 1))
    assert after == peers("a c")
    assert next_council(after, participants, peers("a b c"), Peer("a", 1)) == peers("a c b")


def test_a_leader_that_has_departed_removes_itself_last() -> None:
    assert step("a x b", roster("b", "c", "d")) == "a b"
    assert step("a b", roster("b", "c", "d")) == "b"


def test_of_the_departed_those_who_still_answer_go_last() -> None:
    """With d and e dead, c is needed for a majority of the five, and of the four after the first of them is removed."""
    assert step("c d a e b", roster("a", "b"), caught_up="a b c") == "c a e b"
    assert step("c a e b", roster("a", "b"), caught_up="a b c") == "c a b"
    assert step("c a b", roster("a", "b"), caught_up="a b c") == "a b"
    assert step("a c x", roster("b"), caught_up="a b c") == "a c"
    assert step("a c", roster("b"), caught_up="a b c") == "a"


def test_the_last_voter_is_not_removed_before_there_is_another() -> None:
    assert step("a x", roster("b")) == "a"
    assert step("a", roster("b"), caught_up="") == ""
    assert step("a", roster("b")) == "a b"
    assert step("a b", roster("b")) == "b"


def test_a_founder_that_has_not_arrived_yet_goes_on_voting() -> None:
    assert step("a", {}) == ""


def test_one_too_many_is_taken_from_the_most_crowded_zone() -> None:
    participants = roster("b/west", "c/west", "a/east", "d/east", "e/north")
    del participants["d"]
    assert step("a b c e", participants) == "a b e"


def test_of_equally_crowded_zones_the_last_that_arrived_goes() -> None:
    assert step("a b c d", roster("a", "c", "d", "b")) == "a c d"
    assert step("d c b a", roster("a/x", "b/y", "c/x", "d/y")) == "c b a"


def test_who_does_not_answer_goes_before_the_last_that_arrived() -> None:
    assert step("a b c d", roster("a", "b", "c", "d"), caught_up="a b d") == "a b d"
    assert step("a b c d", roster("a", "b", "c", "d"), caught_up="b c d") == "a b c"
    assert step("a b c d", roster("a/x", "b/y", "c/z", "d/x"), caught_up="a b d") == "a b c"


def test_the_leader_stays_although_it_arrived_last() -> None:
    assert step("a b c d", roster("b", "c", "d", "a")) == "a b c"
    assert step("a b c d", roster("b/x", "c/y", "d/z", "a/x")) == "a c d"


def test_added_from_the_zone_with_the_fewest_voters() -> None:
    assert step("a b", roster("a/x", "b/y", "c/x", "d/y", "e/z")) == "a b e"
    assert step("a", roster("a/x", "b/x", "c/y")) == "a c"


def test_an_unknown_zone_is_like_no_other() -> None:
    assert step("a b", roster("a", "b", "c/x")) == "a b c"
    assert step("a b", roster("a/x", "b/x", "c/x", "d")) == "a b d"
    assert step("a b c", roster("a", "b", "c", "d/x")) == ""


def test_a_better_spread_is_worth_a_swap_and_the_new_one_comes_first() -> None:
    participants = roster("a/x", "b/x", "c/x", "d/y")
    assert step("a b c", participants, caught_up="a b c") == ""
    assert step("a b c", participants) == "a b c d"
    assert step("a b c d", participants) == "a b d"
    assert step("a b d", participants) == ""


def test_a_swap_that_only_moves_the_crowd_is_not_made() -> None:
    assert step("a b c", roster("a/x", "b/x", "c/y", "d/y")) == ""


def test_two_crowded_zones_are_relieved_one_after_the_other() -> None:
    participants = roster("a/x", "b/x", "c/y", "d/y", "e/z", "f/v", "g/w")
    councils = settle(peers("a b c d e"), participants, Peer("a", 1))
    assert [" ".join(voter.node for voter in council) for council in councils] == [
        "a b c d e",
        "a b c d e f",
        "a b c e f",
        "a b c e f g",
        "a c e f g",
    ]


# From any state.

ZONES = ("", "x", "y", "z")


@st.composite
def states(draw: st.DrawFn) -> tuple[tuple[Peer, ...], dict[NodeId, Participant], Peer]:
    nodes = [f"n{number}" for number in range(draw(st.integers(1, 10)))]
    zones = draw(st.lists(st.sampled_from(ZONES), min_size=len(nodes), max_size=len(nodes)))
    order = draw(st.permutations(nodes))
    participants = {
        node: Participant(Peer(node, 1), 1, f"{node}:1", zone, 1, 1, 1) for node, zone in zip(order, zones, strict=True)
    }
    lives = [Peer(f"n{number}", life) for number in range(11) for life in (1, 2)]
    voters = draw(st.lists(st.sampled_from(lives), min_size=1, max_size=6, unique=True))
    return tuple(voters), participants, draw(st.sampled_from(voters))


def crowds(voters: Iterable[Peer], participants: Mapping[NodeId, Participant]) -> list[int]:
    """How many voters each zone has, the most crowded first."""
    zones = Counter(participants[voter.node].zone or f"of {voter.node}" for voter in voters)
    return sorted(zones.values(), reverse=True)


def best_crowds(wanted: int, participants: Mapping[NodeId, Participant]) -> list[int]:
    """By dealing out the votes: to each zone one, then to each that has more participants one more, and so on."""
    capacities = Counter(one.zone or f"of {one.peer.node}" for one in participants.values())
    dealt = Counter[str]()
    while dealt.total() < wanted:
        zone = min((zone for zone in capacities if dealt[zone] < capacities[zone]), key=lambda zone: dealt[zone])
        dealt[zone] += 1
    return sorted(dealt.values(), reverse=True)


@given(states())
def test_from_any_state_it_ends_with_the_wanted_number_in_the_best_spread(
    state: tuple[tuple[Peer, ...], dict[NodeId, Participant], Peer],
) -> None:
    voters, participants, me = state
    last = settle(voters, participants, me)[-1]
    assert len(last) == size_wanted(len(participants))
    assert all(participants[voter.node].peer == voter for voter in last)
    assert crowds(last, participants) == best_crowds(len(last), participants)


@given(states())
def test_every_step_changes_one_and_leaves_somebody(
    state: tuple[tuple[Peer, ...], dict[NodeId, Participant], Peer],
) -> None:
    councils = settle(*state)
    for before, after in pairwise(councils):
        assert len(set(before) ^ set(after)) == 1
        assert len(after) == len(set(after)) > 0


@given(states())
def test_a_leader_that_takes_part_is_never_removed(
    state: tuple[tuple[Peer, ...], dict[NodeId, Participant], Peer],
) -> None:
    voters, participants, me = state
    if participants.get(me.node) is not None and participants[me.node].peer == me:
        assert all(me in council for council in settle(voters, participants, me))


@given(states())
def test_nobody_is_added_while_a_voter_has_departed_unless_all_have(
    state: tuple[tuple[Peer, ...], dict[NodeId, Participant], Peer],
) -> None:
    voters, participants, me = state
    councils = settle(voters, participants, me)
    here = {one.peer for one in participants.values()}
    for before, after in pairwise(councils):
        assert len(after) < len(before) or set(before) <= here or len(before) == 1


@given(states(), st.data())
def test_who_is_not_caught_up_is_never_added(
    state: tuple[tuple[Peer, ...], dict[NodeId, Participant], Peer], data: st.DataObject
) -> None:
    voters, participants, me = state
    able = data.draw(st.lists(st.sampled_from([one.peer for one in participants.values()]), unique=True))
    for _ in range(STEPS_MAX):
        after = next_council(voters, participants, able, me)
        if after is None:
            return
        assert set(after) - set(voters) <= set(able)
        voters = after
    pytest.fail(f"{voters} goes on for ever")
