"""The tables of this pipeline. `spark-pipelines run` with `--refresh changes`, then with `--refresh latest`, brings
them up to date.

changes   every change of the log, appended as it comes, each once, with its day
latest    of each tenant and key the latest change, without those that are deleted

A tenant is a tag with the prefix `hansard.tenants`. A token is read from the environment: HANSARD_TOKEN.
"""

import os

from pyspark import pipelines
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from hansard.pipeline import layers, parquet

spark = SparkSession.active()


@pipelines.table(comment="every change of the log, once")
def changes() -> DataFrame:
    options = {"endpoints": spark.conf.get("hansard.endpoints"), "hold": spark.conf.get("hansard.hold")}
    given = {"token": os.environ.get("HANSARD_TOKEN"), "tlsCa": spark.conf.get("hansard.ca", None)}
    options |= {name: text for name, text in given.items() if text}
    log = spark.readStream.format("hansard").options(**options, since="earliest")
    return parquet.dated(log.load())


@pipelines.materialized_view(comment="of each tenant and key the latest change")
def latest() -> DataFrame:
    prefix = spark.conf.get("hansard.tenants")
    assert prefix is not None
    rows = layers.latest(layers.of_each(spark.read.table("changes"), prefix))
    tenant = fn.regexp_extract(layers.SUBJECT, "^[^/]*/[^/]*/(.*)$", 1).alias("tenant")
    there = rows.where(fn.col("value").isNotNull())
    return there.select(tenant, *[name for name in layers.ROW if name not in (layers.FOLDER, layers.SUBJECT)])
