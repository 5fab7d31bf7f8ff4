"""For pytest: a test that takes `hansard_cluster` gets a running cluster of its own.

def test_it_goes_on(hansard_cluster):
    hansard_cluster.kill(0)

@pytest.mark.hansard(participants=5, buckets=8)
def test_it_goes_on_in_a_larger_one(hansard_cluster): ...
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .house import Cluster


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "hansard(participants, buckets, replication, shape): what the cluster of `hansard_cluster` is to be like",
    )


@pytest.fixture
def hansard_cluster(request: pytest.FixtureRequest) -> Iterator["Cluster"]:
    """A real Hansard cluster in this process: three participants, or what the mark `hansard` asks for."""
    from . import cluster  # noqa: PLC0415 (pytest loads this module whenever it starts)

    mark = request.node.get_closest_marker("hansard")
    with cluster(*(mark.args if mark else ()), **(mark.kwargs if mark else {})) as running:
        yield running
