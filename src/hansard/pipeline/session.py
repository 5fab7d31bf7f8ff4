"""A SparkSession that suits the jobs: in this process by default, on any master by name.

Whoever has a session already hands that to a job and needs nothing of this.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

LOCAL: Final = "local[*]"
MEMORY_MB_MAX: Final = 4096
MEMORY_MB_MIN: Final = 1024

SETTINGS: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",  # the default has no statistics, so nothing is pruned
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
"""For any master; what a caller sets goes before them."""


def session(
    master: str = LOCAL, *, name: str = "hansard", settings: Mapping[str, str] | None = None, memory_mb: int = 0
) -> SparkSession:
    """The session that runs in this process, or a new one. A master that is not local brings its own memory."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else workers use whatever python3 PATH has
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).appName(name)
    quiet = Path(__file__).with_name("log4j2.properties").as_uri()
    wanted = {**SETTINGS, "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={quiet}"}
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        cores = os.cpu_count() or 1
        wanted |= {
            "spark.driver.memory": f"{memory_mb or fair_memory_mb(_machine_mb())}m",
            "spark.sql.shuffle.partitions": str(max(4, 2 * cores)),
        }
    for key, value in {**wanted, **(settings or {})}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def fair_memory_mb(machine_mb: int) -> int:
    """A quarter of the machine: in local mode the driver is everybody, and Python's workers need their own."""
    return max(MEMORY_MB_MIN, min(MEMORY_MB_MAX, machine_mb // 4))


def _machine_mb() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
