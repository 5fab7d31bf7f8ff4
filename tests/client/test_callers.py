"""Callers whose changes share a batch: each is told of its own, once, also where the batch is cut anew."""

import asyncio
from collections.abc import Sequence

import pytest

from hansard.client import DeadlinePassed, PartlyStored, Receipt, Receipts
from hansard.client.callers import Shares
from hansard.client.delivery import Delivery

Waiting = asyncio.Future[Sequence[Receipt]]


def two() -> tuple[Shares, Waiting, Waiting]:
    """One has the batch's first three changes, which are its second, third and last; the other has the last two."""
    loop = asyncio.new_event_loop()
    one, other = loop.create_future(), loop.create_future()
    loop.close()
    shares, first = Shares(), Delivery(4, one)
    first.stored([0], Receipts(9, 1, 70, 1))
    shares.add(first, [1, 2, 3])
    shares.add(Delivery(2, other), range(2))
    return shares, one, other


def offsets(future: Waiting) -> list[int | None]:
    return [receipt.offset for receipt in future.result()]


def test_each_gets_the_receipts_of_its_own() -> None:
    shares, one, other = two()
    shares.stored(Receipts(0, 5, 10, 1))
    assert offsets(one) == [70, 10, 11, 12] and offsets(other) == [13, 14]


def test_receipts_may_come_one_by_one() -> None:
    shares, one, other = two()
    shares.stored([Receipt(0, offset, 1) for offset in (5, 4, 3, 2, 1)])
    assert offsets(one) == [70, 5, 4, 3] and offsets(other) == [2, 1]


def test_parts_tell_each_of_its_own() -> None:
    shares, one, other = two()
    here, there = shares.part([0, 2, 4]), shares.part([1, 3])
    here.stored(Receipts(0, 3, 10, 1))
    assert not one.done() and not other.done()
    there.stored(Receipts(1, 2, 50, 1))
    assert offsets(one) == [70, 10, 50, 11] and offsets(other) == [51, 12]


def test_what_was_told_is_not_told_again() -> None:
    shares, one, other = two()
    shares.stored_in_part({1: Receipt(0, 11, 1), 3: Receipt(0, 13, 1)})
    shares.stored_in_part({1: Receipt(0, 11, 1)})
    assert not one.done() and not other.done()
    shares.part([0, 1]).stored(Receipts(0, 2, 10, 1))
    shares.part([2, 3, 4]).failed(DeadlinePassed(5))
    for waiting in (one, other):
        with pytest.raises(PartlyStored):
            waiting.result()
    told = one.exception()
    assert isinstance(told, PartlyStored)
    assert [type(outcome) for outcome in told.outcomes] == [Receipt, Receipt, Receipt, DeadlinePassed]


def test_who_has_all_told_is_not_told_of_a_failure() -> None:
    shares, one, other = two()
    shares.stored_in_part({3: Receipt(0, 13, 1), 4: Receipt(0, 14, 1)})
    shares.failed(DeadlinePassed(5))
    assert offsets(other) == [13, 14]
    with pytest.raises(PartlyStored, match="of 4 changes 1 are stored, 3 are not"):
        one.result()
