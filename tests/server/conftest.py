"""A journal on a slow disk; the loops that a node runs in, and the shapes of a government."""

from collections.abc import Iterator
from typing import Any

import pytest

from hansard.phaser.government import Shape

from .office import Office, SlowDisk
from .trio import LOOPS


@pytest.fixture
def disk() -> SlowDisk:
    return SlowDisk()


@pytest.fixture
def office(disk: SlowDisk) -> Iterator[Office]:
    office = Office(disk)
    yield office
    disk.let_go()
    office.journal.stop()


@pytest.fixture(params=LOOPS, ids=["asyncio", "uvloop"])
def loop(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(params=list(Shape))
def shape(request: pytest.FixtureRequest) -> Any:
    return request.param
