"""The guide to Spark is a program: it runs from top to bottom, in the one session that there is, on a cluster."""

import re
from typing import Any

from pyspark.sql import SparkSession

from hansard.testing import Cluster
from tests.docs.test_examples import HOME, blocks


def test_the_guide_runs_from_top_to_bottom(spark: SparkSession, cluster: Cluster) -> None:
    """At other addresses, because those of the page may be in use."""
    path = HOME / "docs" / "guides" / "spark.md"
    page = re.sub(r"127\.0\.0\.1:730([123])", lambda found: cluster.addresses[int(found[1]) - 1], path.read_text())
    names: dict[str, Any] = {"__name__": "example"}
    programs = [block for block in blocks(page) if block.language == "py"]
    for block in programs:
        exec(compile("\n" * (block.line - 1) + block.text, path, "exec"), names)
    assert names["spark"] is spark and len(programs) == 4
