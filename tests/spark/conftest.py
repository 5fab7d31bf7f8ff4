"""A session and a cluster for all tests of the data source."""

from collections.abc import Iterator

import pytest

from hansard.testing import Cluster
from hansard.testing import cluster as running
from tests.spark.session import spark

__all__ = ["cluster", "spark"]


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Three participants, which tests leave as they are; what they submit has tags of its own."""
    with running(buckets=4) as three:
        yield three
