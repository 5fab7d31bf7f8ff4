"""What a second look at the distributor found: each of these was wrong once, or nobody had looked at it."""

import pytest

from hansard.distributor.bucket import State
from hansard.distributor.command import Drain, Move, Release
from hansard.distributor.orders import Standing
from tests.distributor.company import Company, company, names


def one_at_a_time(company: Company) -> int:
    """The bucket that is on the move."""
    (number,) = [number for number, bucket in enumerate(company.distributor.buckets) if bucket.goal]
    return number


def test_what_is_missing_comes_before_what_was_ordered() -> None:
    found = company(names(5), 8, replication=2, spares=1)
    spare = found.distributor.slots.spares[0].node
    for number in range(8):
        leader, member = found.nodes(number)
        found.order(Move(number, (member, leader)))
    first = one_at_a_time(found)
    gone = next(node for node in names(5) if node not in (spare, *found.nodes(first)))
    thin = {number for number in range(8) if gone in found.nodes(number)}
    found.depart(gone)
    assert thin
    for number in sorted(thin):
        if found.due(number) is not None:
            found.step(number)
    found.step(first)
    for _ in range(len(thin)):
        number = one_at_a_time(found)
        assert number in thin, "a bucket that lacks a copy waits for one that somebody wants elsewhere"
        thin.remove(number)
        while found.distributor.buckets[number].goal:
            found.step(number)


def stuck() -> tuple[Company, int, str]:
    """A bucket on its way to one that is there, and cannot take it: its disk is full."""
    found = company(names(3), 4)
    found.arrive("n99")
    number = one_at_a_time(found)
    found.step(number)
    assert found.distributor.buckets[number].state is State.EXPANDING
    return found, number, "n99"


def test_who_is_drained_need_not_take_first_what_is_on_its_way_to_it() -> None:
    found, number, full = stuck()
    order = found.order(Drain(full))
    for other in range(4):
        if found.distributor.buckets[other].state is not State.EXPANDING:
            found.step(other)
    assert found.distributor.buckets[number].state is not State.EXPANDING
    found.settle()
    assert found.standing(order) is Standing.DONE


def test_an_order_takes_back_a_move_that_does_not_end() -> None:
    found, number, full = stuck()
    leader, *members = found.nodes(number)
    order = found.order(Move(number, (leader, *members)))
    assert full not in [member.node for member in found.distributor.buckets[number].newcomers]
    found.settle()
    assert found.standing(order) is Standing.DONE
    found.order(Release(number))


def test_whoever_revives_a_bucket_has_promised_nothing_later_than_its_new_epoch() -> None:
    """A recovered log may lack the last governments, and the disks know of them: an earlier epoch would be refused
    there for ever."""
    found = company(names(1), 1, replication=1)
    found.depart("n01")
    found.disks["n01"][0].counted = 9
    found.arrive("n01")
    bucket = found.distributor.buckets[0]
    assert bucket.leader is not None
    assert bucket.epoch > 9


def test_a_drain_is_not_done_as_long_as_a_lost_bucket_needs_that_disk() -> None:
    """Whoever reads that it is done may throw the machine away."""
    found = company(names(2), 4, replication=1)
    order = found.order(Drain("n02"))
    assert found.standing(order) is Standing.RUNNING
    found.depart("n02")
    assert State.LOST in found.states()
    assert found.standing(order) is not Standing.DONE
    found.arrive("n02")
    found.settle()
    assert found.steady() and found.loads() == {"n01": 4}


@pytest.mark.parametrize("early", [True, False])
def test_a_move_of_a_bucket_that_lacks_a_copy_comes_to_an_end(early: bool) -> None:
    """What is missing comes first, and what was ordered takes it back: that must not go on for ever."""
    found = company(names(5), 8, replication=2, spares=1)
    spare = found.distributor.slots.spares[0].node
    found.depart(found.nodes(0)[1])
    (left,) = found.nodes(0)
    other = next(node for node in found.here if node not in (left, spare))
    if not early:
        found.step(0)
    order = found.order(Move(0, (left, other)))
    found.settle(2000)
    assert found.standing(order) is Standing.DONE
    assert found.nodes(0) == [left, other]


def test_a_move_to_where_a_bucket_is_keeps_it_there() -> None:
    found = company(names(5), 8, replication=2, spares=1)
    found.depart(found.nodes(0)[1])
    (left,) = found.nodes(0)
    order = found.order(Move(0, (left,)))
    found.settle(2000)
    assert found.standing(order) is Standing.DONE
    assert found.nodes(0) == [left]
