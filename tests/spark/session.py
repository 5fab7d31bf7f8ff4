"""One Spark session for all tests of a process: starting it takes longer than most of them do.

Whoever needs it writes `from tests.spark.session import spark as spark` into a conftest.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
ATTEMPTS = 4
"""So often is a task tried."""


def prepare(*, short: bool = True) -> None:
    """What Spark wants of its environment; the test is skipped where there is no Java for it. `short`: most of what
    small queries take is the JVM compiling them, so it does that quickly rather than well."""
    found = subprocess.run([ROOT / "tools" / "java", "find"], capture_output=True, text=True, check=False)
    if found.returncode:
        pytest.skip("there is no Java 17 or 21 for Spark: tools/java offer says how to install one")
    os.environ["JAVA_HOME"] = found.stdout.strip()
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    if short:
        os.environ["JDK_JAVA_OPTIONS"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    # Workers import the source from where this process does, which need not be where it is installed.
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])


def builder(master: str = f"local[2,{ATTEMPTS}]") -> SparkSession.Builder:
    """Two tasks at a time. What it compiles is not run often enough to be worth compiling well."""
    prepare()
    return (
        SparkSession.builder.master(master)
        .appName("hansard-tests")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.default.parallelism", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.log.level", "ERROR")
    )


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    home = tmp_path_factory.mktemp("spark")
    session = builder().config("spark.sql.warehouse.dir", str(home / "warehouse")).getOrCreate()
    yield session
    session.stop()
