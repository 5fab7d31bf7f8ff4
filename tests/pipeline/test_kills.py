"""Killed as kill -9 does it, once between data and manifest and once before it is over, and begun again elsewhere."""

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pyspark.sql import SparkSession

import hansard
from hansard.pipeline.archive import Archiver
from hansard.pipeline.restore import Restorer
from hansard.pipeline.source import Source
from hansard.testing import Cluster, cluster
from tests.pipeline.kills import archive_under_fire, restore_under_fire
from tests.pipeline.rows import in_log


def test_what_is_killed_and_begun_again_is_exact(spark: SparkSession, tmp_path: Path) -> None:
    def archived(root: Path, town: Cluster) -> None:
        Archiver(spark, Source.of(town.addresses), str(root)).catch_up()

    def restored(root: Path, town: Cluster) -> None:
        Restorer(spark, Source.of(town.addresses), str(root)).restore()

    with cluster(1, buckets=4) as town, hansard.Client.connect(town.addresses) as client:
        client.submit_many([f"k{number % 70}" if number % 9 else None for number in range(500)], list(range(500)))
        archived(tmp_path / "kept", town)
        log, rows = client.log_id, in_log(client)
    # At the same time, because most of what each takes is the start of a JVM.
    with ThreadPoolExecutor(2) as both:
        archiving = both.submit(archive_under_fire, tmp_path / "archive", 1, random.Random(1), archived)
        restoring = both.submit(restore_under_fire, tmp_path / "kept", log, rows, 1, random.Random(1), restored)
        _, there, died = archiving.result()
        assert died == 1 and len(there) > 50
        assert restoring.result() == 1 and len(rows) == 500
