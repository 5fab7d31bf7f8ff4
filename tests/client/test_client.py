"""Submitting when all is well: one batch a turn, receipts, limits, cancellation, closing."""

import asyncio
from collections.abc import Callable

import pytest

from hansard.client import AsyncClient, Receipt
from tests.client.fake import LOOPS, TIMESTAMP, FakeParticipant, run

Loop = Callable[[], asyncio.AbstractEventLoop]

pytestmark = pytest.mark.parametrize("loop", LOOPS)


def test_a_change_is_answered_with_its_place(loop: Loop) -> None:
    async def test() -> None:
        async with FakeParticipant() as leader, await AsyncClient.connect([leader.address], connection=7) as client:
            assert await client.submit("k", "a") == Receipt(0, 0, TIMESTAMP)
            assert await client.submit(b"k", b"b", ["t"]) == Receipt(0, 1, TIMESTAMP)
            assert leader.bucket.values == [b"a", b"b"]

    run(test(), loop)


def test_what_is_submitted_in_one_turn_is_one_batch_and_each_caller_gets_its_own_offset(loop: Loop) -> None:
    async def test() -> None:
        async with FakeParticipant() as leader, await AsyncClient.connect([leader.address], connection=7) as client:
            await client.submit("k", "first")
            receipts = await asyncio.gather(*[client.submit(f"k{n}", f"v{n}", ["t"]) for n in range(1000)])
            assert [receipt.offset for receipt in receipts] == list(range(1, 1001))
            assert leader.frames == [1, 1] and len(leader.submits[1].batch) == 1000
            assert leader.bucket.values[1:] == [b"v%d" % n for n in range(1000)]

    run(test(), loop)
