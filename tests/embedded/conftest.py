"""A log in a fresh directory, one on a simulated disk, and a clock that goes when it is told to."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import hansard
from hansard.embedded import open_on
from sim.disk import SimDisk

NOON = 1_717_156_800_000_000
"""2024-05-31T12:00:00Z, in microseconds."""


class Clock:
    """Moves by a second with each look, unless it is set."""

    def __init__(self) -> None:
        self.now_us = NOON

    def __call__(self) -> int:
        self.now_us += 1_000_000
        return self.now_us * 1_000


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def log(tmp_path: Path, clock: Clock) -> Iterator[hansard.Log]:
    with hansard.open(tmp_path / "log", clock_ns=clock) as log:
        yield log


@pytest.fixture
def disk() -> SimDisk:
    return SimDisk()


@pytest.fixture
def simulated(disk: SimDisk, clock: Clock) -> Iterator[hansard.Log]:
    with open_on(disk, clock_ns=clock) as log:
        yield log
