"""Two clusters for all tests that leave them as they are: one that is open, and one that needs tokens."""

from collections.abc import Iterator

import pytest

from .caller import Caller
from .town import Town


@pytest.fixture(scope="session")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    with Town(tmp_path_factory.mktemp("town")) as town:
        yield town


@pytest.fixture(scope="session")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    with Town(tmp_path_factory.mktemp("guarded")) as town:
        town.guard()
        yield town


@pytest.fixture
def caller(town: Town) -> Iterator[Caller]:
    with town.caller() as caller:
        yield caller
