"""One Spark session for all tests of the pipeline: starting one takes longer than most of them."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from hansard.pipeline.session import session
from tests.spark.session import ATTEMPTS, prepare


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    prepare()
    running = session(
        f"local[2,{ATTEMPTS}]", name="tests", memory_mb=1024, settings={"spark.sql.shuffle.partitions": "4"}
    )
    yield running
    running.stop()
