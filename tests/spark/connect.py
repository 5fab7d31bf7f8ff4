"""The data source through Spark Connect: `python -m tests.spark.connect`, or as a part of `make spark`.

A process of its own, because one that has a session of the other kind cannot begin one of this.
"""

import sys
import tempfile

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from hansard.testing import cluster as running
from tests.spark.local import options
from tests.spark.session import prepare

ROWS = 1_000


def main() -> int:
    prepare()
    spark = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    assert type(spark).__module__.startswith("pyspark.sql.connect"), type(spark)
    try:
        with running(buckets=2) as cluster, tempfile.TemporaryDirectory() as home:
            reach = options(cluster)
            made = spark.range(ROWS).selectExpr("cast(id as string) as key", "'v' as value", "array('x') as tags")
            for _ in range(2):  # the second time nothing is stored
                made.write.format("hansard").options(**reach, sinkId="connect").mode("append").save()
            assert spark.read.format("hansard").options(**reach, tags="x").load().count() == ROWS
            with pytest.raises(PySparkException, match="tag"):
                spark.read.format("hansard").options(**reach, tag="x").load().count()
            copied = spark.readStream.format("hansard").options(**reach, tags="x").load()
            copies = copied.selectExpr("key", "value", "array('y') as tags").writeStream.format("hansard")
            copies = copies.options(**reach).option("checkpointLocation", home)
            copies.trigger(availableNow=True).start().awaitTermination()
            assert spark.read.format("hansard").options(**reach, tags="y").load().count() == ROWS
    finally:
        spark.stop()
    print(
        f"spark: through Connect: {ROWS:,} rows written twice under one sinkId, read, and copied by a stream, once each"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
