"""Killed as kill -9 does it, once between data and manifest and once before it is over, and begun again elsewhere."""

import random
from pathlib import Path

from pyspark.sql import SparkSession

from hansard.pipeline.archive import Archiver
from hansard.pipeline.restore import Restorer
from hansard.pipeline.source import Source
from hansard.testing import Cluster
from tests.pipeline.kills import archive_under_fire, restore_under_fire


def test_what_is_killed_and_begun_again_is_exact(spark: SparkSession, tmp_path: Path) -> None:
    def archived(root: Path, town: Cluster) -> None:
        Archiver(spark, Source.of(town.addresses), str(root)).catch_up()

    def restored(root: Path, town: Cluster) -> None:
        Restorer(spark, Source.of(town.addresses), str(root)).restore()

    log, rows, died = archive_under_fire(tmp_path, 1, random.Random(1), archived)
    assert died == 1 and len(rows) > 50
    assert restore_under_fire(tmp_path, log, rows, 1, random.Random(1), restored) == 1
