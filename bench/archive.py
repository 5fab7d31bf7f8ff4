"""What the archive costs: rows a second from a running cluster to Parquet, beside Spark copying the same rows from
Parquet to Parquet in the same session, in turns; the best of each counts.

`python -m bench.archive --rows 1000000` does it with fewer.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql import functions as fn

from bench.table import NO_TARGET, Row, show
from hansard.pipeline import manifest
from hansard.pipeline.archive import Archiver
from hansard.pipeline.columns import CHANGES, NAMES
from hansard.pipeline.folder import Folder
from hansard.pipeline.session import session
from hansard.pipeline.source import Source
from hansard.testing import cluster

ROWS: Final = 3_000_000
VALUE_BYTES: Final = 256
TURNS: Final = 4
"""The first of each warms the JVM."""
TARGET: Final = 0.5
HERE: Final = Path(__file__).parents[1]


def measure(rows: int = ROWS) -> list[Row]:
    java = subprocess.run([HERE / "tools" / "java", "find"], capture_output=True, text=True, check=True)
    os.environ["JAVA_HOME"] = java.stdout.strip()
    spark = session("local[*]", name="bench")
    archived_s, copied_s = list[float](), list[float]()
    with (
        tempfile.TemporaryDirectory(prefix="hansard-bench-") as temporary,
        cluster(participants=1, buckets=8) as town,
    ):
        source = Source.of(town.addresses)
        _fill(spark, source, rows)
        for turn in range(TURNS):
            root, copy = f"{temporary}/archive{turn}", f"{temporary}/copy"
            archived_s.append(_archived(spark, source, root))
            folder = Folder(spark, root)
            files = [folder.path(path) for path in manifest.load(folder).files]
            there = spark.read.schema(CHANGES).parquet(*files).select(*NAMES)
            assert there.count() >= rows
            began = perf_counter()
            there.write.parquet(copy)
            copied_s.append(perf_counter() - began)
            shutil.rmtree(copy)
            shutil.rmtree(root)
    spark.stop()
    ratio = min(copied_s) / min(archived_s)
    return [
        Row("archive: log to Parquet", f"{rows / min(archived_s):,.0f} rows/s", NO_TARGET, ok=True),
        Row("archive: Spark copies Parquet", f"{rows / min(copied_s):,.0f} rows/s", NO_TARGET, ok=True),
        Row("archive: ratio", f"{ratio:.2f}", f"at least {TARGET}", ok=ratio >= TARGET),
    ]


def _fill(spark: SparkSession, source: Source, rows: int) -> None:
    """Through the data source's sink, which is the quickest way in."""
    number = fn.col("id")
    frame = spark.range(0, rows, 1, 8).select(
        fn.concat(fn.lit("k"), number % 100_000).alias("key"),
        fn.concat(fn.lit("v" * (VALUE_BYTES - 16)), fn.format_string("%016d", number)).alias("value"),
        fn.array(fn.concat(fn.lit("tenant:"), number % 100)).alias("tags"),
    )
    frame.write.format("hansard").options(**source.options(), sinkId="bench").mode("append").save()


def _archived(spark: SparkSession, source: Source, root: str) -> float:
    began = perf_counter()

    def reached(step: str) -> None:
        sys.stderr.write(f"archive: {step} after {perf_counter() - began:.1f} s\n")

    Archiver(spark, source, root, reached=reached).catch_up()
    return perf_counter() - began


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=ROWS)
    found = measure(parser.parse_args().rows)
    show(found)
    sys.exit(0 if all(row.ok for row in found) else 1)
