"""The cluster's time: whatever one clock says, stamps stay near the median of the voters'."""

import pytest

from hansard.participant.clock import RTT_US_MAX, TOLERANCE_US, UNKNOWN_RTT_US_MAX, ClusterClock
from hansard.participant.message import ClockTold

SECOND = 1_000_000
DAY = 24 * 3600 * SECOND
NOON = 1_700_000_000 * SECOND


def measured(*walls_us: int, mine_us: int = NOON) -> ClusterClock:
    """A leader with a clock of its own that has just heard b, c ... say these times."""
    clock = ClusterClock("a", SECOND)
    voters = ["a", *"bcdefg"[: len(walls_us)]]
    for voter, wall_us in zip(voters[1:], walls_us, strict=True):
        clock.told(voter, ClockTold(0, wall_us, 0), "a", 0)
    clock.measure("a", voters, 0, mine_us)
    return clock


@pytest.mark.parametrize("wrong_us", [-30 * DAY, -2 * SECOND, 2 * SECOND, 30 * DAY])
def test_one_wrong_clock_of_three_moves_nothing(wrong_us: int) -> None:
    assert measured(NOON, NOON + wrong_us).wall_us(0, NOON) == NOON
    own_is_wrong = measured(NOON, NOON, mine_us=NOON + wrong_us)
    assert abs(own_is_wrong.wall_us(0, NOON + wrong_us) - NOON) == TOLERANCE_US


def test_two_wrong_clocks_of_five_move_nothing() -> None:
    clock = measured(NOON + 30 * DAY, NOON + 40 * DAY, NOON, NOON)
    assert clock.wall_us(0, NOON) == NOON


def test_of_two_clocks_the_earlier_one_counts() -> None:
    assert measured(NOON + DAY).tell(0, 0, NOON).cluster_us == NOON
    assert measured(NOON - DAY).tell(0, 0, NOON).cluster_us == NOON - DAY


@pytest.mark.parametrize("wrong_us", [-30 * DAY, 30 * DAY])
def test_of_two_clocks_the_one_counts_that_is_nearer_to_what_was_known(wrong_us: int) -> None:
    clock = measured(NOON, NOON + wrong_us)
    clock.told("c", ClockTold(4 * SECOND, NOON + 4 * SECOND + wrong_us, 0), "a", 4 * SECOND)
    clock.measure("a", ["a", "b", "c"], 4 * SECOND, NOON + 4 * SECOND)  # b has not been heard lately
    assert clock.tell(0, 4 * SECOND, NOON).cluster_us == NOON + 4 * SECOND


def test_without_a_majority_nothing_is_known() -> None:
    clock = ClusterClock("a", SECOND)
    clock.measure("a", ["a", "b", "c"], 0, NOON)
    assert not clock.known
    assert clock.tell(0, 0, NOON).cluster_us == 0
    clock.told("b", ClockTold(0, NOON, 0), "a", 0)
    clock.measure("a", ["a", "b", "c"], 2 * SECOND, NOON)
    assert clock.known


def test_who_does_not_know_the_time_waits_a_while_for_all_voters() -> None:
    clock = ClusterClock("a", SECOND)
    clock.measure("a", ["a", "b", "c"], 0, NOON)
    clock.told("c", ClockTold(0, NOON - DAY, 0), "a", 0)
    clock.measure("a", ["a", "b", "c"], 100_000, NOON)
    assert not clock.known
    clock.told("b", ClockTold(100_000, NOON + 100_000, 0), "a", 100_000)
    clock.measure("a", ["a", "b", "c"], 100_000, NOON + 100_000)
    assert clock.wall_us(100_000, NOON + 100_000) == NOON + 100_000


def slow(clock: ClusterClock, *asked_us: int) -> None:
    """The leader is asked at these times, says that it was noon at the beginning, and takes four seconds."""
    for at_us in asked_us:
        clock.told("a", ClockTold(at_us, NOON + at_us + 2 * SECOND, NOON + at_us + 2 * SECOND), "a", at_us + 4 * SECOND)


def test_answers_that_take_too_long_count_only_if_nothing_is_known_and_all_do() -> None:
    clock = ClusterClock("b", SECOND)
    for asked in range(9):
        clock.told("a", ClockTold(asked, NOON, NOON), "a", asked + UNKNOWN_RTT_US_MAX + 1)
    slow(clock, 20 * SECOND, 24 * SECOND)
    assert not clock.known
    slow(clock, 28 * SECOND)
    assert clock.wall_us(32 * SECOND, NOON + DAY) == NOON + 32 * SECOND + TOLERANCE_US
    for asked in range(40 * SECOND, 44 * SECOND, SECOND):
        clock.told("a", ClockTold(asked, NOON + DAY, NOON + DAY), "a", asked + RTT_US_MAX + 1)
    assert clock.wall_us(32 * SECOND, NOON + DAY) == NOON + 32 * SECOND + TOLERANCE_US
    clock.told("a", ClockTold(0, NOON, NOON), "a", RTT_US_MAX)
    assert clock.wall_us(0, NOON + DAY) == NOON - RTT_US_MAX // 2 + TOLERANCE_US


def test_answers_that_waited_while_one_slept_say_nothing() -> None:
    """They are off by half of the sleep, however many there are; the next question is answered quickly."""
    clock = ClusterClock("b", SECOND)
    for asked_us in range(0, SECOND, 100_000):
        clock.told("a", ClockTold(asked_us, NOON + asked_us, NOON + asked_us), "a", 4 * SECOND)
    assert not clock.known
    clock.told("a", ClockTold(4 * SECOND, NOON + 4 * SECOND, NOON + 4 * SECOND), "a", 4 * SECOND)
    assert clock.wall_us(4 * SECOND, NOON) == NOON + 4 * SECOND - TOLERANCE_US


def test_two_sleeps_with_a_quick_answer_between_them_are_not_a_slow_network() -> None:
    clock = ClusterClock("a", SECOND)
    told = [(0, 4), (4, 8), (8, 8), (9, 13), (13, 17)]
    for asked, heard in told:
        clock.told("b", ClockTold(asked * SECOND, NOON + asked * SECOND, 0), "a", heard * SECOND)
    clock.measure("a", ["a", "b"], 17 * SECOND, NOON + 17 * SECOND)
    assert not clock.known  # the only answer that says anything is too old


def test_only_the_leader_is_believed() -> None:
    clock = ClusterClock("b", SECOND)
    clock.told("c", ClockTold(0, NOON, NOON), "a", 0)
    assert not clock.known


def test_half_of_the_way_is_added() -> None:
    clock = ClusterClock("b", SECOND)
    clock.told("a", ClockTold(1_000, NOON, NOON), "a", 101_000)
    assert clock.wall_us(101_000, NOON + DAY) == NOON + 50_000 + TOLERANCE_US


def test_it_goes_on_when_nobody_answers() -> None:
    clock = ClusterClock("b", SECOND)
    clock.told("a", ClockTold(0, NOON, NOON), "a", 0)
    assert clock.wall_us(100 * SECOND, NOON + DAY) == NOON + 100 * SECOND + TOLERANCE_US


def test_old_answers_do_not_make_a_majority() -> None:
    clock = measured(NOON, NOON)
    clock.measure("a", ["a", "b", "c"], 4 * SECOND, NOON + 4 * SECOND + DAY)
    assert clock.tell(0, 4 * SECOND, NOON).cluster_us == 0
    assert clock.wall_us(4 * SECOND, NOON + 4 * SECOND) == NOON + 4 * SECOND  # as it was


def test_the_leader_asks_the_voters_and_everybody_else_asks_the_leader() -> None:
    leader, other = ClusterClock("a", SECOND), ClusterClock("d", SECOND)
    voters = ["a", "b", "c"]
    assert leader.ask("a", voters, 0) == ["b", "c"]
    assert other.ask("a", voters, 0) == ["a"]
    assert other.ask("", voters, SECOND) == []
    assert leader.ask("a", voters, 1) == []


def test_it_is_asked_for_more_often_while_it_is_not_known() -> None:
    clock = ClusterClock("b", SECOND)
    asked = [now_us for now_us in range(0, SECOND, 20_000) if clock.ask("a", ["a"], now_us)]
    assert len(asked) == 10
    clock.told("a", ClockTold(SECOND, NOON, NOON), "a", SECOND)
    asked = [now_us for now_us in range(SECOND, 3 * SECOND, 20_000) if clock.ask("a", ["a"], now_us)]
    assert len(asked) == 2
