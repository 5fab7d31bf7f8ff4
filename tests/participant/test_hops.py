"""A hop that the network brings twice is submitted once."""

from random import Random

from hansard.batch import build
from hansard.participant.hops import PROCESSES, WINDOW, Register, Seen, Verdict
from hansard.participant.message import Hop, Process

NEW, AGAIN, FORGOTTEN = Verdict


def test_what_comes_again_is_known() -> None:
    seen = Seen()
    assert [seen.judge(1, 1), seen.judge(1, 1)] == [NEW, AGAIN]


def test_the_same_one_may_come_as_a_later_hop() -> None:
    seen = Seen()
    assert [seen.judge(1, 1), seen.judge(1, 2), seen.judge(1, 2)] == [NEW, NEW, AGAIN]


def test_new_ones_may_come_in_any_order() -> None:
    numbers = list(range(WINDOW))
    Random(1).shuffle(numbers)
    seen = Seen()
    assert {seen.judge(number, 1) for number in numbers} == {NEW}
    assert {seen.judge(number, 1) for number in numbers} == {AGAIN}


def test_of_what_is_too_old_nobody_knows() -> None:
    seen = Seen()
    assert seen.judge(10 * WINDOW, 1) is NEW
    assert seen.judge(9 * WINDOW, 1) is FORGOTTEN
    assert seen.judge(9 * WINDOW + 1, 1) is NEW


def test_it_stays_small() -> None:
    seen = Seen()
    assert {seen.judge(number, 1) for number in range(20 * WINDOW)} == {NEW}
    assert len(seen) <= 2 * WINDOW + 1
    assert seen.judge(20 * WINDOW - 1, 1) is AGAIN


def hop(process: int, number: int, origin: str = "a") -> Hop:
    return Hop(origin, Process(process, 1), number, 1, 0, 0, build([b"k"], [b"v"]), 0, 1, None)


def test_each_process_of_each_node_has_its_own_numbers() -> None:
    register = Register()
    hops = [hop(1, 1), hop(2, 1), hop(1, 1, "b")]
    assert [register.judge(each) for each in (*hops, *hops)] == [NEW, NEW, NEW, AGAIN, AGAIN, AGAIN]


def test_the_latest_processes_are_remembered() -> None:
    register = Register()
    for process in range(PROCESSES + 1):
        register.judge(hop(process, 1))
    assert register.judge(hop(PROCESSES, 1)) is AGAIN
    assert register.judge(hop(1, 1)) is AGAIN
    assert register.judge(hop(0, 1)) is NEW
