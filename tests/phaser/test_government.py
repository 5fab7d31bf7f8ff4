import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.phaser.government import (
    REIGN_BITS,
    Government,
    Shape,
    committed_end,
    downstream,
    epoch_of,
    first_term,
    line,
    next_term,
    reign_of,
    upstream,
)

STAR = Government(3, "b", ("a", "b", "c"), ("d", "e"), Shape.STAR)
CHAIN = Government(3, "b", ("a", "b", "c"), ("d", "e"), Shape.CHAIN)
governments = st.builds(
    lambda members, newcomers, shape, place: Government(
        1,
        f"m{place % members}",
        tuple(f"m{n}" for n in range(members)),
        tuple(f"n{n}" for n in range(newcomers)),
        shape,
    ),
    st.integers(1, 5),
    st.integers(0, 3),
    st.sampled_from(Shape),
    st.integers(0, 4),
)


def test_a_later_government_has_the_higher_term_whatever_the_reigns() -> None:
    term = first_term(1)
    for _ in range(1000):
        term = next_term(1, term)
    assert term < first_term(2)
    assert (epoch_of(term), reign_of(term)) == (1, 1000)


def test_no_reign_runs_over_into_the_next_epoch() -> None:
    last = first_term(6) - 1
    assert next_term(5, last - 1) == last and reign_of(last) == (1 << REIGN_BITS) - 1
    with pytest.raises(AssertionError, match="used up"):
        next_term(5, last)


def test_a_leader_that_restarts_in_its_epoch_begins_another_reign() -> None:
    assert next_term(5, first_term(5)) == first_term(5) + 1
    assert next_term(5, first_term(4) + 3) == first_term(5)


def test_the_leader_is_first_and_newcomers_are_last() -> None:
    assert line(CHAIN, expanded=False) == ("b", "a", "c")
    assert line(CHAIN, expanded=True) == ("b", "a", "c", "d", "e")


def test_in_a_star_the_leader_feeds_everybody_who_counts() -> None:
    assert downstream(STAR, "b", expanded=False) == ("a", "c")
    assert downstream(STAR, "b", expanded=True) == ("a", "c", "d", "e")
    assert downstream(STAR, "c", expanded=True) == ()


def test_in_a_chain_each_feeds_the_next() -> None:
    passed_on = {node: downstream(CHAIN, node, expanded=True) for node in "bacde"}
    assert passed_on == {"b": ("a",), "a": ("c",), "c": ("d",), "d": ("e",), "e": ()}


def test_who_does_not_count_yet_passes_nothing_on() -> None:
    assert downstream(CHAIN, "d", expanded=False) == ()
    assert downstream(CHAIN, "c", expanded=False) == ()


@given(governments, st.booleans())
def test_upstream_is_whoever_has_me_downstream(government: Government, expanded: bool) -> None:
    counted = line(government, expanded=expanded)
    for node in counted[1:]:
        assert node in downstream(government, upstream(government, node, expanded=expanded), expanded=expanded)
    for node in set(government.newcomers) - set(counted):
        assert upstream(government, node, expanded=expanded) == government.leader


def test_committed_is_what_everybody_has_not_most() -> None:
    assert committed_end(9, [8, 3, 9]) == 3
    assert committed_end(2, [8, 3, 9]) == 2
    assert committed_end(7, []) == 7
