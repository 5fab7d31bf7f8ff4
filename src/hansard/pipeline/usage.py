"""Steps of the report: who uses the log, how much, when and where. Each is a function from changes to a small table."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from .columns import BUCKET, KEY, TAGS, TIMESTAMP, VALUE

TENANT: Final = "tenant"
BYTES: Final = "bytes"
NOBODY: Final = "(none)"
"""Of changes without such a tag, or without a key."""


def measured(changes: DataFrame, prefix: str) -> DataFrame:
    """What the other steps need of each change. Its tenant is the first of its tags with this prefix."""
    size = fn.coalesce(fn.octet_length(KEY), fn.lit(0)) + fn.coalesce(fn.octet_length(VALUE), fn.lit(0))
    tenant = fn.coalesce(
        fn.try_element_at(fn.filter(TAGS, lambda tag: tag.startswith(prefix)), fn.lit(1)), fn.lit(NOBODY)
    )
    return changes.select(
        BUCKET,
        TIMESTAMP,
        KEY,
        TAGS,
        size.cast("bigint").alias(BYTES),
        fn.col(VALUE).isNull().alias("deletes"),
        tenant.alias(TENANT),
    )


def _volume() -> list[Column]:
    return [
        fn.count(fn.lit(1)).alias("changes"),
        fn.sum(BYTES).alias(BYTES),
        fn.count_if("deletes").alias("deleted"),
    ]


def by_tenant(rows: DataFrame) -> DataFrame:
    """The largest first. Keys are counted exactly."""
    return rows.groupBy(TENANT).agg(*_volume(), fn.countDistinct(KEY).alias("keys")).orderBy(fn.desc(BYTES), TENANT)


def by_tag(rows: DataFrame, limit: int) -> DataFrame:
    """A change with several tags counts for each."""
    tagged = rows.withColumn("tag", fn.explode(TAGS))
    return tagged.groupBy("tag").agg(*_volume()).orderBy(fn.desc(BYTES), "tag").limit(limit)


def by_bucket(rows: DataFrame) -> DataFrame:
    return rows.groupBy(BUCKET).agg(*_volume(), fn.countDistinct(KEY).alias("keys")).orderBy(BUCKET)


def hot_keys(rows: DataFrame, limit: int) -> DataFrame:
    """Those that change most often."""
    keyed = rows.where(fn.col(KEY).isNotNull()).groupBy(KEY, TENANT).agg(*_volume())
    return keyed.orderBy(fn.desc("changes"), KEY).limit(limit)


def over_time(rows: DataFrame, start_us: int, width_us: int) -> DataFrame:
    """Of each tenant, in each piece of time that has any; they are numbered from `start_us` on."""
    piece = ((fn.unix_micros(TIMESTAMP) - fn.lit(start_us)) / fn.lit(width_us)).cast("bigint").alias("piece")
    return rows.groupBy(TENANT, piece).agg(*_volume()).orderBy("piece", TENANT)


def span(rows: DataFrame) -> DataFrame:
    """One row: the first and the last time."""
    return rows.agg(
        fn.min(fn.unix_micros(TIMESTAMP)).alias("first_us"), fn.max(fn.unix_micros(TIMESTAMP)).alias("last_us")
    )
