"""Real processes that are killed, stopped and held up under load: whatever they acknowledged is on all three disks."""

import asyncio
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from hansard.phaser.government import Shape
from hansard.server.disk import open_directory

from .load import Crowd
from .processes import Participants
from .trio import NAMES, run

Story = Callable[[Participants, Crowd], Coroutine[Any, Any, None]]

STREAMS = 8
PATIENCE_S = 60.0
"""Far beyond what is needed, for machines that have much else to do."""


def lived(directory: Path, story: Story, shape: Shape = Shape.STAR) -> None:
    """Under load from beginning to end; afterwards everybody is stopped, and the three disks are compared."""
    crowds: list[Crowd] = []

    async def test() -> None:
        async with Participants(directory, shape) as participants:
            crowd = Crowd(participants.addresses["a"], STREAMS)
            crowds.append(crowd)
            crowd.start()
            await crowd.progress(200)
            await story(participants, crowd)
            await crowd.progress(200)
            await crowd.finish()
            await participants.stop(*NAMES)
            assert not list(participants.complaints())

    run(test(), timeout_s=PATIENCE_S)
    crowds[0].check(directory)


@pytest.mark.parametrize("shape", list(Shape))
def test_member_that_is_killed_resumes_from_its_disk(tmp_path: Path, shape: Shape) -> None:
    async def story(participants: Participants, crowd: Crowd) -> None:
        for name in ("b", "c"):
            await participants.kill(name)
            await participants.start(name)
            await crowd.progress(200)

    lived(tmp_path, story, shape)


@pytest.mark.parametrize("shape", list(Shape))
def test_leader_that_is_killed_begins_a_new_reign_and_loses_nothing_acknowledged(tmp_path: Path, shape: Shape) -> None:
    async def story(participants: Participants, crowd: Crowd) -> None:
        for _ in range(3):
            await participants.kill("a")
            await participants.start("a")
            await crowd.progress(200)

    lived(tmp_path, story, shape)


@pytest.mark.parametrize("shape", list(Shape))
def test_nothing_acknowledged_is_lost_when_all_are_killed_at_once(tmp_path: Path, shape: Shape) -> None:
    async def story(participants: Participants, crowd: Crowd) -> None:
        for _ in range(3):
            await crowd.progress(200)
            participants.signal(signal.SIGKILL, *NAMES)
            await participants.ended(*NAMES)
            await participants.start(*NAMES)

    lived(tmp_path, story, shape)


def test_member_that_is_held_up_is_waited_for(tmp_path: Path) -> None:
    async def story(participants: Participants, crowd: Crowd) -> None:
        for name in ("b", "c"):
            participants.signal(signal.SIGSTOP, name)
            before = crowd.acknowledged
            await asyncio.sleep(0.7)  # longer than it takes until what was sent is taken for lost
            assert crowd.acknowledged - before <= 8 * STREAMS, "no more than was under way"
            participants.signal(signal.SIGCONT, name)
            await crowd.progress(200)

    lived(tmp_path, story)


def test_leader_that_is_held_up_goes_on(tmp_path: Path) -> None:
    async def story(participants: Participants, crowd: Crowd) -> None:
        participants.signal(signal.SIGSTOP, "a")
        await asyncio.sleep(0.7)
        participants.signal(signal.SIGCONT, "a")
        await crowd.progress(200)

    lived(tmp_path, story)


def test_everybody_stops_when_asked_to_and_starts_again_where_it_was(tmp_path: Path) -> None:
    async def story(participants: Participants, crowd: Crowd) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            participants.signal(number, *NAMES)
            assert await participants.ended(*NAMES) == [0, 0, 0]
            await participants.start(*NAMES)
            await crowd.progress(100)

    lived(tmp_path, story)


# Refusals to start.


def refused(words: list[str]) -> str:
    """What a command that cannot start says: one line, and exit code 1."""
    ended = subprocess.run(
        [sys.executable, "-m", "hansard", *words], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert ended.returncode == 1, ended.stderr
    lines = [line for line in ended.stderr.splitlines() if line.startswith("hansard: ")]
    assert len(lines) == 1 and "Traceback" not in ended.stderr and not ended.stdout, ended.stderr
    return lines[0]


def test_directory_of_another_participant_is_refused(tmp_path: Path) -> None:
    open_directory(tmp_path / "b", "skeleton", "b").close()
    message = refused(Participants(tmp_path).words("a", tmp_path / "b"))
    assert "b, not a" in message and "belongs to another" in message


def test_directory_in_use_and_port_in_use_are_refused_and_disturb_nobody(tmp_path: Path) -> None:
    async def test() -> None:
        async with Participants(tmp_path) as participants:
            crowd = Crowd(participants.addresses["a"], STREAMS)
            crowd.start()
            again = await asyncio.to_thread(refused, participants.words("b"))
            assert "in use by process" in again and str(tmp_path / "b") in again
            elsewhere = await asyncio.to_thread(refused, participants.words("b", tmp_path / "elsewhere"))
            assert str(participants.addresses["b"][1]) in elsewhere and "in use" in elsewhere
            await crowd.progress(100)
            await crowd.finish()
            await participants.stop(*NAMES)
        crowd.check(tmp_path)

    run(test(), timeout_s=PATIENCE_S)


def test_port_that_is_taken_is_named(tmp_path: Path) -> None:
    participants = Participants(tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        participants.addresses["a"] = taken.getsockname()
        message = refused(participants.words("a"))
    assert str(participants.addresses["a"][1]) in message
