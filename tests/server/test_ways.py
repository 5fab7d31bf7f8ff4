"""Ways between participants that are cut, slow, or gone for a while: everything acknowledged is there, once."""

from pathlib import Path
from random import Random
from typing import Any

from hansard.phaser.government import Shape

from .caller import change, submission
from .load import Crowd
from .trio import Trio, told, until, values


def test_streams_survive_ways_that_are_cut_again_and_again(tmp_path: Path, loop: Any, shape: Shape) -> None:
    random = Random(11)
    crowds: list[Crowd] = []

    async def story(trio: Trio) -> None:
        crowd = Crowd(trio.entrances["a"].address, 10)
        crowds.append(crowd)
        crowd.start()
        ways = list(trio.doors.values())
        for _ in range(12):
            await crowd.progress(20)
            random.choice(ways).cut()
        await crowd.finish()
        assert sum(door.passed for door in ways) > 9

    told(tmp_path, story, loop=loop, shape=shape)
    crowds[0].check(tmp_path)


def test_streams_survive_a_member_that_comes_and_goes(tmp_path: Path, loop: Any, shape: Shape) -> None:
    crowds: list[Crowd] = []

    async def story(trio: Trio) -> None:
        crowd = Crowd(trio.entrances["a"].address, 10)
        crowds.append(crowd)
        crowd.start()
        for name in ("b", "c", "b", "c"):
            await crowd.progress(100)
            await trio.stop(name)
            await trio.start(name)
        await crowd.progress(100)
        await crowd.finish()

    told(tmp_path, story, loop=loop, shape=shape)
    crowds[0].check(tmp_path)


def test_streams_survive_a_leader_that_comes_and_goes(tmp_path: Path, loop: Any, shape: Shape) -> None:
    crowds: list[Crowd] = []

    async def story(trio: Trio) -> None:
        crowd = Crowd(trio.entrances["a"].address, 10)
        crowds.append(crowd)
        crowd.start()
        for reign in range(2, 5):
            await crowd.progress(100)
            await trio.stop("a")
            await trio.start("a")
            await trio.opened(reign)
        await crowd.progress(100)
        await crowd.finish()

    told(tmp_path, story, loop=loop, shape=shape)
    crowds[0].check(tmp_path)


def test_slow_ways_change_nothing_but_the_time(tmp_path: Path, shape: Shape) -> None:
    crowds: list[Crowd] = []

    async def story(trio: Trio) -> None:
        for door in trio.doors.values():
            door.delay_s = 0.02
        crowd = Crowd(trio.entrances["a"].address, 10, bytes_each=9_000)
        crowds.append(crowd)
        crowd.start()
        await crowd.progress(500)
        await crowd.finish()
        assert all(stream.resent == 0 for stream in crowd.streams)

    told(tmp_path, story, shape=shape)
    crowds[0].check(tmp_path)


def test_way_that_is_there_again_is_used_at_once(tmp_path: Path, loop: Any, shape: Shape) -> None:
    """What was lost with it is sent again because there is a way again, and not because time has passed."""

    async def story(trio: Trio) -> None:
        trio.remind_nobody()
        async with await trio.dial() as caller:
            for number, way in enumerate(trio.doors):
                trio.doors[way].shut()
                caller.submit(submission(number, change(f"{number}")))
                await until(lambda: trio.end("a") > number + 1)  # noqa: B023 (it is waited for right here)
                trio.doors[way].unlock()
                await caller.receipts(number)

    told(tmp_path, story, loop=loop, shape=shape)
    assert values(tmp_path / "b") == values(tmp_path / "c") == [f"{number}" for number in range(6)]
