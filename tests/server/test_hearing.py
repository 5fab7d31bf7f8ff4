"""Words that wait for each other: until as many are heard as are awaited, in each bucket by itself."""

from pathlib import Path
from typing import Any

import pytest

from hansard.phaser.government import Shape
from hansard.server import node
from hansard.server.hearing import OWN_DISK, Hearing

from .caller import change, submission
from .trio import Trio, told


def test_a_word_waits_until_all_that_are_awaited_are_heard() -> None:
    hearing = Hearing({0: 3}.__getitem__)
    assert hearing.can_wait(0, "b") and hearing.can_wait(0, OWN_DISK)
    assert not hearing.can_wait(0, "c")


def test_who_speaks_twice_is_heard_once() -> None:
    hearing = Hearing({0: 2}.__getitem__)
    assert hearing.can_wait(0, "b") and hearing.can_wait(0, "b")
    assert not hearing.can_wait(0, OWN_DISK)


def test_nobody_waits_where_nobody_is_awaited() -> None:
    hearing = Hearing({0: 0, 1: 1}.__getitem__)
    assert not hearing.can_wait(0, "b") and not hearing.can_wait(1, "b")


def test_buckets_do_not_wait_for_each_other() -> None:
    hearing = Hearing({0: 2, 1: 2}.__getitem__)
    assert hearing.can_wait(0, "b") and hearing.can_wait(1, "c")
    assert not hearing.can_wait(0, "c")


def test_what_was_said_before_a_turn_is_not_counted_after_it() -> None:
    hearing = Hearing({0: 2}.__getitem__)
    assert hearing.can_wait(0, "b")
    hearing.turned()
    assert hearing.can_wait(0, "c")


def test_nothing_waits_for_the_clock(tmp_path: Path, loop: Any, shape: Shape, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words that are let wait are never waited for in vain: where no clock ticks, and takes along what was left,
    everything is answered, one after the other and together."""

    async def story(trio: Trio) -> None:
        monkeypatch.setattr(node, "TICK_S", 3600.0)  # after the one that is waited for now
        trio.remind_nobody()
        async with await trio.dial() as caller:
            for number in range(400):
                caller.submit(submission(number, change(f"v{number}")))
                await caller.receipts(number)
            for number in range(400, 600):
                caller.submit(submission(number, change(f"v{number}")))
            await caller.receipts(*range(400, 600))

    told(tmp_path, story, loop=loop, shape=shape)
