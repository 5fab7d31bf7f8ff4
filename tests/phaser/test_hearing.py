"""Whose word is awaited: nothing follows before all of them are heard, and something does then."""

from itertools import permutations

import pytest

from hansard.phaser.event import Read, Received, Submit
from hansard.phaser.government import Government, Shape
from hansard.phaser.hearing import awaited
from hansard.phaser.message import Acknowledge, Append
from hansard.phaser.outcome import Stored
from tests.phaser.joined import FAR, Joined, batch, formed, submit

STAR = Government(1, "a", ("a", "b", "c"))
CHAIN = Government(1, "a", ("a", "b", "c"), shape=Shape.CHAIN)


def with_one_under_way(government: Government) -> Joined:
    """A submission that is everywhere, and on nobody's disk."""
    joined = formed(government)
    joined.stalled |= set("abc")
    joined.happen("a", submit(1, 0))
    assert not joined.answers
    return joined


@pytest.mark.parametrize("order", [*permutations("abc")], ids="".join)
def test_a_leader_of_two_members_waits_for_three_words(order: tuple[str, ...]) -> None:
    joined = with_one_under_way(STAR)
    for heard, node in enumerate(order):
        assert not joined.answers
        assert awaited(joined.phasers["a"]) == 3 - heard
        joined.resume(node)
    assert isinstance(joined.answers[1], Stored)


def test_a_leader_of_a_chain_waits_for_its_disk_and_for_who_is_next() -> None:
    joined = with_one_under_way(CHAIN)
    assert awaited(joined.phasers["a"]) == awaited(joined.phasers["b"]) == 2
    joined.resume("b")
    assert awaited(joined.phasers["b"]) == 1, "it has its own, and waits for the tail"
    assert awaited(joined.phasers["a"]) == 2, "of which it has heard nothing"
    joined.resume("c")
    assert awaited(joined.phasers["a"]) == 1
    joined.resume("a")
    assert isinstance(joined.answers[1], Stored)


def test_a_member_that_passes_nothing_on_waits_for_nobody_else(shape: Shape) -> None:
    joined = with_one_under_way(Government(1, "a", ("a", "b"), shape=shape))
    assert awaited(joined.phasers["b"]) <= 1


def test_who_is_ahead_of_others_is_not_awaited() -> None:
    """What ends with one of them moves with its word alone."""
    joined = with_one_under_way(STAR)
    joined.resume("a")
    joined.resume("b")
    joined.happen("a", submit(2, 1))
    assert awaited(joined.phasers["a"]) == 1
    joined.resume("c")
    assert all(isinstance(joined.answers[number], Stored) for number in (1, 2))


def test_words_count_at_once_while_somebody_has_to_be_sent_more() -> None:
    joined = formed(STAR)
    joined.lose = lambda sender, to, message: to == "c" and isinstance(message, Append)
    joined.stalled |= set("ab")
    joined.happen("a", submit(1, 0))
    leader = joined.phasers["a"]
    assert leader.leading is not None and leader.leading.relay is not None
    leader.leading.relay.feeds["c"].restart(0)
    assert awaited(leader) == 0


def test_words_count_at_once_while_somebody_is_acclimated_or_asks_who_leads() -> None:
    joined = formed(Government(1, "a", ("a", "b"), newcomers=("c",)))
    assert awaited(joined.phasers["a"]) == 0
    joined = with_one_under_way(STAR)
    joined.lose = lambda *_: True
    joined.happen("a", Read(7, FAR))
    assert awaited(joined.phasers["a"]) == 0


def test_words_count_at_once_before_a_government_is_open() -> None:
    joined = Joined("abc")
    joined.stalled |= set("abc")
    joined.appoint(STAR)
    assert [awaited(joined.phasers[node]) for node in "abc"] == [0, 0, 0]
    joined.resume("a")
    assert [awaited(joined.phasers[node]) for node in "bc"] == [0, 0], "the promise to follow is to be on disk"


def test_words_count_at_once_while_submissions_wait_to_be_taken() -> None:
    joined = with_one_under_way(STAR)
    leader = joined.phasers["a"]
    leader.desk.paused = True
    joined.happen("a", Submit(2, batch(1), FAR))
    assert leader.desk.backlog.queue and awaited(leader) == 0


def test_an_acknowledgement_that_says_nothing_new_is_as_good_as_none() -> None:
    joined = with_one_under_way(STAR)
    term = joined.phasers["a"].term
    through = joined.phasers["b"].ledger.synced
    said = Acknowledge(term, through, through, through, missing=False)
    joined.inbox["a"] = []
    assert awaited(joined.phasers["a"]) == 3
    assert not joined.happen("a", Received("b", said)) and awaited(joined.phasers["a"]) == 3
