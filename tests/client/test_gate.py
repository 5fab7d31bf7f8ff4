"""How much may gather: first come, first served, and nobody is forgotten."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from hansard.client.errors import ClientClosed, Overloaded
from hansard.client.gate import Gate
from tests.client.fake import TIMEOUT_S, run, until


def entering(gate: Gate, changes: int, byte_count: int = 0, timeout_s: float = TIMEOUT_S) -> "asyncio.Task[None]":
    loop = asyncio.get_running_loop()
    waiting: Coroutine[Any, Any, None] = gate.enter(changes, byte_count, loop.time() + timeout_s)
    return loop.create_task(waiting)


def test_there_is_room_up_to_either_bound_and_always_for_one() -> None:
    gate = Gate(10, 1000)
    assert gate.admits(50, 5000) and not gate.admits(1, 1)
    gate.leave(50, 5000)
    assert gate.admits(9, 10) and gate.admits(1, 990) and not gate.admits(1, 0)
    gate.leave(9, 10)
    assert not gate.admits(1, 11) and gate.admits(1, 10)


def test_those_who_wait_come_in_by_turns_and_before_those_who_come_later() -> None:
    async def test() -> None:
        gate = Gate(10, 1000)
        assert gate.admits(10, 0)
        large, small = entering(gate, 8), entering(gate, 1)
        await asyncio.sleep(0)
        gate.leave(5, 0)
        assert not gate.admits(1, 0), "others came first"
        await asyncio.sleep(0)
        assert not large.done() and not small.done()
        gate.leave(4, 0)
        await asyncio.gather(large, small)
        assert not gate.admits(1, 0)

    run(test())


def test_nobody_passes_one_who_was_let_in_and_has_not_gone_on_yet() -> None:
    async def test() -> None:
        gate, order = Gate(3, 1000), list[int]()

        async def submit(number: int) -> None:
            if not gate.admits(1, 0):
                await gate.enter(1, 0, asyncio.get_running_loop().time() + TIMEOUT_S)
            order.append(number)

        assert gate.admits(3, 0)
        loop = asyncio.get_running_loop()
        first = loop.create_task(submit(1))
        await asyncio.sleep(0)
        loop.call_soon(gate.leave, 3, 0)  # and in the same turn others come
        await asyncio.gather(first, loop.create_task(submit(2)), loop.create_task(submit(3)))
        assert order == [1, 2, 3]
        gate.leave(3, 0)
        assert gate.admits(3, 0)

    run(test())


def test_one_who_gives_up_makes_way_whether_it_was_let_in_or_not() -> None:
    async def test() -> None:
        gate = Gate(10, 1000)
        assert gate.admits(10, 0)
        large, small = entering(gate, 10), entering(gate, 1)
        await asyncio.sleep(0)
        gate.leave(5, 0)
        large.cancel()
        await small
        gate.leave(6, 0)
        assert gate.admits(10, 0)
        third = entering(gate, 10)
        await asyncio.sleep(0)
        gate.leave(10, 0)
        third.cancel()  # in the very turn in which it is let in
        await until(third.done)
        assert third.cancelled() and gate.admits(10, 0)

    run(test())


def test_waiting_ends_at_the_deadline_or_when_the_gate_is_shut() -> None:
    async def test() -> None:
        gate = Gate(1, 1000)
        assert gate.admits(1, 0)
        with pytest.raises(Overloaded):
            await entering(gate, 1, timeout_s=0.01)
        waiting = entering(gate, 1)
        await asyncio.sleep(0)
        gate.shut(ClientClosed())
        with pytest.raises(ClientClosed):
            await waiting
        gate.leave(1, 0)
        assert gate.admits(1, 0)

    run(test())
