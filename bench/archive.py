"""What the archive costs: rows a second from a running cluster to Parquet, beside Spark copying the same rows from
Parquet to Parquet in the same session. The JVM is warm in both.

`python -m bench.archive --rows 5000000` does it with more.
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

from bench.table import NO_TARGET, Row, show
from hansard.client import Client
from hansard.pipeline import manifest, parquet, read
from hansard.pipeline.archive import Archiver
from hansard.pipeline.folder import Folder
from hansard.pipeline.session import session
from hansard.pipeline.source import Source
from hansard.testing import Cluster, cluster

ROWS: Final = 1_000_000
VALUE_BYTES: Final = 256
LOT: Final = 10_000
TARGET: Final = 0.5
HERE: Final = Path(__file__).parents[1]


def measure(rows: int = ROWS) -> list[Row]:
    java = subprocess.run([HERE / "tools" / "java", "find"], capture_output=True, text=True, check=True)
    os.environ["JAVA_HOME"] = java.stdout.strip()
    spark = session("local[*]", name="bench")
    with (
        tempfile.TemporaryDirectory(prefix="hansard-bench-") as temporary,
        cluster(participants=1, buckets=8) as town,
        Client.connect(town.addresses) as client,
    ):
        root = Path(temporary)
        _fill(client, LOT)
        Archiver(spark, Source.of(town.addresses), str(root / "warm")).catch_up()
        _fill(client, rows - LOT)
        archived_s = _archived(spark_root := str(root / "archive"), town)
        folder = Folder(spark, spark_root)
        files = manifest.load(folder).files
        assert read(spark, archive=spark_root).count() == rows
        copied_s = []
        for number in range(2):
            began = perf_counter()
            parquet.frame(spark, folder, files).write.parquet(str(root / f"copy{number}"))
            copied_s.append(perf_counter() - began)
            shutil.rmtree(root / f"copy{number}")
    ratio = min(copied_s) / archived_s
    return [
        Row("archive: log to Parquet", f"{rows / archived_s:,.0f} rows/s", NO_TARGET, ok=True),
        Row("archive: Spark copies Parquet", f"{rows / min(copied_s):,.0f} rows/s", NO_TARGET, ok=True),
        Row("archive: ratio", f"{ratio:.2f}", f"at least {TARGET}", ok=ratio >= TARGET),
    ]


def _fill(client: Client, rows: int) -> None:
    value = b"v" * (VALUE_BYTES - 16)
    for first in range(0, rows, LOT):
        keys = [f"k{number % 100_000}" for number in range(first, first + LOT)]
        values = [value + b"%016d" % number for number in range(first, first + LOT)]
        client.submit_many(keys, values, [[f"tenant:{number % 100}"] for number in range(LOT)])


def _archived(root: str, town: Cluster) -> float:
    began = perf_counter()

    def reached(step: str) -> None:
        sys.stderr.write(f"archive: {step} after {perf_counter() - began:.1f} s\n")

    Archiver(session("local[*]"), Source.of(town.addresses), root, reached=reached).catch_up()
    return perf_counter() - began


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=ROWS)
    found = measure(parser.parse_args().rows)
    show(found)
    sys.exit(0 if all(row.ok for row in found) else 1)
