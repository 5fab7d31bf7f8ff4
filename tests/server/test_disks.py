"""Disks that are full, fail, are empty or know more than memory does: what becomes of three participants then."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from hansard.phaser import Settings
from hansard.phaser.government import Shape
from hansard.server import journal
from hansard.storage.errors import SyncFailed
from hansard.wire.submission import Unknown
from sim.disk import SimDisk

from .caller import change, submission
from .load import Crowd
from .trio import NAMES, Trio, told, until, values


def used(disk: SimDisk) -> int:
    return sum(len(content) for content in disk.files().values())


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_acknowledged_while_a_disk_is_full_and_all_goes_on_when_there_is_room(
    tmp_path: Path, shape: Shape, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "FULL_RETRY_S", 0.005)
    disk = SimDisk()
    large = b"x" * 9_000
    count = 300  # more than the room that a journal takes beforehand

    async def story(trio: Trio) -> None:
        async with await trio.dial() as caller:
            disk.capacity = used(disk)
            for number in range(count):
                caller.submit(submission(number, change(large, connection=5, series=number)))
            caller.submit(submission(count, change("last", connection=5, series=count), wait_us=500_000))
            assert await caller.hear(count) == [Unknown(count)]
            assert len(caller.answers) < count
            disk.capacity = None
            assert len(await caller.receipts(*range(count))) == count
            assert trio.end(name) == trio.end("a")

    told(tmp_path, story, shape=shape, disks={name: disk})
    for other in NAMES:
        if other != name:
            assert values(tmp_path / other) == [large.decode()] * count + ["last"]


@pytest.mark.parametrize("name", NAMES)
def test_failed_sync_ends_its_participant_and_acknowledges_nothing(tmp_path: Path, name: str) -> None:
    disk = SimDisk()

    async def story(trio: Trio) -> None:
        async with await trio.dial() as caller:
            caller.submit(submission(1, change("before")))
            await caller.receipts(1)
            disk.fail_sync = disk.sync_count + 1
            caller.submit(submission(2, change("after"), wait_us=300_000))
            assert await caller.hear(2) == [Unknown(2)]
            (failure,) = trio.failures
            assert isinstance(failure, SyncFailed)
            trio.failures.clear()

    told(tmp_path, story, disks={name: disk})


SMALL_MEMORY = Settings(tail_bytes_max=1, fetch_bytes=20_000)


def test_member_whose_disk_was_lost_gets_everything_again_in_the_next_reign(
    tmp_path: Path, loop: Any, shape: Shape
) -> None:
    """Within a reign what was acknowledged is never sent again: whoever comes back without it is another one."""
    crowds: list[Crowd] = []

    async def story(trio: Trio) -> None:
        crowd = Crowd(trio.entrances["a"].address, 5, bytes_each=500)
        crowds.append(crowd)
        crowd.start()
        for reign, name in enumerate(("b", "c"), 2):
            await crowd.progress(300)
            await trio.stop(name)
            await trio.stop("a")
            shutil.rmtree(tmp_path / name)
            await trio.start(name)
            await trio.start("a")
            await trio.opened(reign)
        await crowd.progress(300)
        await crowd.finish()

    told(tmp_path, story, loop=loop, shape=shape, settings=SMALL_MEMORY)
    crowds[0].check(tmp_path)


def test_leader_that_restarts_sends_a_member_from_disk_what_only_its_disk_has(tmp_path: Path, shape: Shape) -> None:
    count = 200

    async def story(trio: Trio) -> None:
        await trio.stop("c")
        async with await trio.dial() as caller:
            for number in range(count):
                caller.submit(submission(number, change(f"{number}".ljust(9_000))))
            await until(lambda: trio.end("a") > count)
        await trio.stop("a")
        await trio.start("c")
        await trio.start("a")
        await trio.opened(2)
        async with await trio.dial() as caller:
            caller.submit(submission(1, change("last")))
            await caller.receipts(1)

    told(tmp_path, story, shape=shape, settings=SMALL_MEMORY)
    for name in NAMES:
        assert [value.strip() for value in values(tmp_path / name)] == [*map(str, range(count)), "last"]
