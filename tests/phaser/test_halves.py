"""Applications when their bucket is split: both halves go on from the whole, each with its own keys."""

import pytest

from hansard.application.testing import key_of
from hansard.batch import build
from hansard.phaser import Settings
from hansard.phaser.event import Appointed, Doubled, Submit
from hansard.phaser.government import Government, NodeId, Shape
from hansard.phaser.message import Append, Commit
from hansard.phaser.outcome import Invalid, Misplaced, ReadFrom, Receipt, Stored
from tests.phaser.joined import FAR, Joined, formed
from tests.phaser.test_applications import QUICK, RARE, add, ask, check_all, counted, shown, three

MINE, OTHERS = key_of(0, 2), key_of(1, 2)


def split(joined: Joined, parent: Government, child: Government) -> Joined:
    """By one fact, which everybody learns of at the same time; the other half, on copies of the same disks."""
    other = Joined((), joined.settings, 1, buckets=2, applications=joined.applications)
    for node, disk in joined.disks.items():
        other.add(node, disk.copy())
    for half, government in ((joined, parent), (other, child)):
        half.buckets = 2
        for node in half.phasers:
            half.inbox[node] += [Doubled(2), Appointed(government)] if half is joined else [Appointed(government)]
    joined.run()
    other.run()
    return other


def add_there(number: int, series: int, key: bytes, amount: int) -> Submit:
    """Cut for two buckets."""
    batch = build([key], [b"%d" % amount], connection=7, first_series=series, previous_series=series - 1)
    return Submit(number, batch, FAR, buckets=2)


def state_of(joined: Joined) -> tuple[tuple[bytes | None, bytes], ...]:
    """The same for everybody who has committed everything."""
    joined.tick()
    images = [shown(phaser) for phaser in joined.phasers.values()]
    assert all(image == images[0] for image in images)
    return images[0].entries


@pytest.mark.parametrize("settings", [QUICK, RARE], ids=["from a state", "from the log"])
def test_both_halves_have_their_own_counters_and_go_on(shape: Shape, settings: Settings) -> None:
    joined = formed(three(shape), settings, counted)
    for number in range(6):
        joined.happen("a", add(number, number, (MINE, 1)) if number % 2 else add(number, number, (OTHERS, 10)))
    other = split(joined, three(shape, 2), three(shape, 2, "b"))
    assert state_of(joined) == ((None, b"6"), (MINE, b"3"))
    assert state_of(other) == ((None, b"6"), (OTHERS, b"30"))
    joined.happen("a", add_there(100, 6, MINE, 1))
    other.happen("b", add_there(100, 6, OTHERS, 1))
    assert joined.answers[100] == Stored(Receipt(8, 1), 0, (b"4",))
    assert other.answers[100] == Stored(Receipt(8, 1), 0, (b"31",))
    for half in (joined, other):
        check_all(half)


@pytest.mark.parametrize("behind", ["a", "b", "c"])
def test_whoever_learns_of_the_split_before_of_the_commit_ends_with_the_same(shape: Shape, behind: NodeId) -> None:
    """What is committed before the split and what is committed after it was written by the whole: all of it counts for
    what both halves share, however late a copy hears that it is committed."""
    joined = formed(three(shape), QUICK, counted)
    joined.happen("a", add(1, 0, (MINE, 2), (OTHERS, 3)))
    joined.stalled = {behind}
    joined.happen("a", add(2, 2, (MINE, 4), (OTHERS, 5)))
    joined.lose = lambda sender, to, message: isinstance(message, Commit)
    joined.resume(behind)
    joined.lose = lambda sender, to, message: False
    other = split(joined, three(shape, 2), three(shape, 2, "b"))
    assert state_of(joined) == ((None, b"4"), (MINE, b"6"))
    assert state_of(other) == ((None, b"4"), (OTHERS, b"8"))
    for half in (joined, other):
        check_all(half)


def test_a_copy_that_restarts_after_the_split_has_the_same(shape: Shape) -> None:
    """Its state is from before the split, and its log goes beyond it."""
    joined = formed(three(shape), RARE, counted)
    joined.happen("a", add(1, 0, (MINE, 2), (OTHERS, 3)))
    other = split(joined, three(shape, 2), three(shape, 2, "b"))
    for half, leader in ((joined, "a"), (other, "b")):
        before = state_of(half)
        for node in "abc":
            half.crash(node)
        for node in "abc":
            half.restart(node)
            half.appoint(three(shape, 3, leader), node)
        assert state_of(half) == before
        check_all(half)


def test_a_newcomer_of_a_half_gets_that_half(shape: Shape) -> None:
    joined = formed(three(shape), QUICK, counted)
    for number in range(8):
        joined.happen(
            "a", add(number, number, (MINE, 1), (OTHERS, 1)) if number % 2 else add(number, number, (MINE, 1))
        )
    other = split(joined, three(shape, 2), three(shape, 2, "b"))
    for half, leader in ((joined, "a"), (other, "b")):
        before = state_of(half)
        half.add("d")
        half.appoint(Government(3, leader, ("a", "b", "c"), ("d",), shape=shape))
        assert state_of(half) == before


def test_a_question_waits_until_the_other_half_is_gone(shape: Shape) -> None:
    joined = formed(three(shape), QUICK, counted)
    joined.happen("a", add(1, 0, (MINE, 2), (OTHERS, 3)))
    joined.lose = lambda sender, to, message: isinstance(message, Append)
    split(joined, three(shape, 2), three(shape, 2, "b"))
    joined.happen("a", ask(1, OTHERS, 2), ask(2, MINE, 2), ask(3, MINE, 1))
    assert joined.reads == {}, "the entry from which on the log is this half's is not committed"
    joined.lose = lambda sender, to, message: False
    for _ in range(3):
        joined.tick()
    assert joined.reads == {
        1: Invalid(f"nothing was counted under {OTHERS!r}"),
        2: ReadFrom(4, b"2"),
        3: Misplaced(2),
    }


def test_a_question_that_was_asked_of_the_whole_is_not_answered_by_a_half(shape: Shape) -> None:
    joined = formed(three(shape), QUICK, counted)
    joined.happen("a", add(1, 0, (MINE, 2), (OTHERS, 3)))
    joined.lose = lambda sender, to, message: True
    joined.happen("a", ask(1, OTHERS))
    joined.lose = lambda sender, to, message: False
    split(joined, three(shape, 2), three(shape, 2, "b"))
    joined.tick()
    assert joined.reads == {1: Misplaced(2)}
