"""A hop that the network brings twice is submitted once."""

from random import Random

from hansard.participant.hops import WINDOW, Seen


def test_what_comes_again_is_not_the_first() -> None:
    seen = Seen()
    assert seen.first(1, 1)
    assert not seen.first(1, 1)


def test_the_same_one_may_come_as_a_later_hop() -> None:
    seen = Seen()
    assert seen.first(1, 1)
    assert seen.first(1, 2)
    assert not seen.first(1, 2)


def test_new_ones_may_come_in_any_order() -> None:
    numbers = list(range(WINDOW))
    Random(1).shuffle(numbers)
    seen = Seen()
    assert all(seen.first(number, 1) for number in numbers)
    assert not any(seen.first(number, 1) for number in numbers)


def test_what_is_too_old_is_taken_for_seen() -> None:
    seen = Seen()
    assert seen.first(10 * WINDOW, 1)
    assert not seen.first(9 * WINDOW, 1)
    assert seen.first(9 * WINDOW + 1, 1)


def test_it_stays_small() -> None:
    seen = Seen()
    for number in range(20 * WINDOW):
        assert seen.first(number, 1)
    assert len(seen._numbers) <= 2 * WINDOW + 1
    assert not seen.first(20 * WINDOW - 1, 1)
