"""What a caller is told whose changes went into several buckets."""

import asyncio
from collections.abc import Sequence

import pytest

from hansard.client import ClientClosed, DeadlinePassed, OutcomeUnknown, PartlyStored, Receipt, Receipts
from hansard.client.delivery import Delivery


def delivery(count: int) -> tuple[Delivery, "asyncio.Future[Sequence[Receipt]]"]:
    """Nobody waits for the future, so its loop never runs."""
    loop = asyncio.new_event_loop()
    future: asyncio.Future[Sequence[Receipt]] = loop.create_future()
    loop.close()
    return Delivery(count, future), future


def test_receipts_come_in_the_order_of_the_call_when_all_are_there() -> None:
    one, future = delivery(4)
    one.stored([3, 1], Receipts(1, 2, 50, 9))
    assert not future.done()
    one.stored([0, 2], Receipts(0, 2, 70, 9))
    assert list(future.result()) == [Receipt(0, 70, 9), Receipt(1, 51, 9), Receipt(0, 71, 9), Receipt(1, 50, 9)]


def test_what_is_all_in_one_bucket_costs_nothing_for_each() -> None:
    one, future = delivery(3)
    receipts = Receipts(0, 3, 7, 9)
    one.stored(range(3), receipts)
    assert future.result() is receipts


def test_where_nothing_is_stored_for_one_reason_that_is_the_error() -> None:
    one, future = delivery(2)
    one.failed([0], DeadlinePassed(5))
    one.failed([1], DeadlinePassed(5))
    with pytest.raises(DeadlinePassed):
        future.result()


def test_a_mixture_says_it_of_each() -> None:
    one, future = delivery(3)
    one.stored([1], Receipts(0, 1, 7, 9))
    one.failed([0], ClientClosed())
    one.failed([2], OutcomeUnknown("lost"))
    with pytest.raises(PartlyStored, match="of 3 changes 1 are stored, 1 are not, and of 1 it is not known") as told:
        future.result()
    assert [type(outcome) for outcome in told.value.outcomes] == [ClientClosed, Receipt, OutcomeUnknown]
    assert isinstance(told.value.again(), PartlyStored)
