"""What a checkpoint costs: all keys at first, and then one in a hundred that has changed.

One participant, so that the machine is Spark's; the session is started and warm before anything is measured. The full
build reads the log and writes every key; the second one reads what has come since its bookmark and writes a layer. Both
are whole runs of the job, with their records, the reading back and the sweep.

    python -m bench.checkpoint                5 million keys
    python -m bench.checkpoint --keys 500000 --steps
"""

import os
import subprocess
import sys
import tempfile
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Final

from bench.table import NO_TARGET, Row, show
from hansard.checkpoint import Subject
from hansard.client import Client
from hansard.testing import cluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from hansard.pipeline.source import Source

KEYS: Final = 5_000_000
CHANGED: Final = 100
VALUE: Final = b"x" * 100
TAG: Final = "tenant:bench"
PART_MAX: Final = 0.25
ROOT: Final = Path(__file__).parents[1]


def load(spark: "SparkSession", source: "Source", keys: range) -> None:
    from pyspark.sql import functions as fn  # noqa: PLC0415

    numbers = spark.range(keys.start, keys.stop, keys.step, 8)
    key, tags = fn.format_string("key-%09d", "id").alias("key"), fn.array(fn.lit(TAG)).alias("tags")
    frame = numbers.select(key, fn.lit(VALUE.decode()).alias("value"), tags)
    options = {**source.options(), "sinkId": f"bench-{keys.step}"}
    frame.write.format("hansard").options(**options).mode("append").save()


def measure(keys: int = KEYS, *, steps: bool = False) -> list[Row]:
    java = subprocess.run([ROOT / "tools" / "java", "find"], capture_output=True, text=True, check=True)
    os.environ["JAVA_HOME"] = java.stdout.strip()
    from hansard.pipeline.checkpoint import Checkpointer  # noqa: PLC0415
    from hansard.pipeline.session import session  # noqa: PLC0415
    from hansard.pipeline.source import Source  # noqa: PLC0415

    with tempfile.TemporaryDirectory(prefix="hansard-bench-") as root, cluster(1, buckets=4) as one:
        spark = session("local[2]")
        source = Source.of(one.addresses, one.token)

        def checkpoint(tag: str) -> float:
            began_s = perf_counter()

            def reached(step: str) -> None:
                if steps:
                    sys.stderr.write(f"{tag}: {step} after {perf_counter() - began_s:.1f} s\n")

            Checkpointer(spark, source, root, subject=Subject.of([tag]), reached=reached).run()
            return perf_counter() - began_s

        with Client.connect(one.addresses, token=one.token, timeout_s=60) as client:
            client.submit_many([b"warm"] * 1000, [VALUE] * 1000, [["warm"]] * 1000)
            for _ in range(2):
                checkpoint("warm")
        load(spark, source, range(keys))
        full_s = checkpoint(TAG)
        load(spark, source, range(0, keys, CHANGED))
        delta_s = checkpoint(TAG)
        spark.stop()
    part = delta_s / full_s
    return [
        Row(f"checkpoint of {keys:,} keys", f"{full_s:.1f} s, {keys / full_s:,.0f} keys/s", NO_TARGET, ok=True),
        Row(
            f"the next one, of {keys // CHANGED:,} changed keys",
            f"{delta_s:.1f} s, {part:.2f} of that",
            f"at most {PART_MAX} of that",
            ok=part <= PART_MAX,
        ),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    assert __doc__
    parser = ArgumentParser(
        prog="python -m bench.checkpoint", description=__doc__, formatter_class=RawDescriptionHelpFormatter
    )
    parser.add_argument("--keys", type=int, default=KEYS)
    parser.add_argument("--steps", action="store_true", help="say when each step was done")
    given = parser.parse_args(arguments)
    rows = measure(given.keys, steps=given.steps)
    show(rows)
    return 0 if all(row.ok for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
