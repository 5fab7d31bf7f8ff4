"""What can be wrong with changes, as functions from DataFrames to findings; they hold for an archive and for a log.

Offsets have gaps in any healthy log, so a gap by itself means nothing: what is missing is what the other side has.
"""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as fn

from .columns import BUCKET, NAMES, OFFSET, TIMESTAMP, fingerprint
from .findings import DIFFERENT, DISORDER, DUPLICATE, MISPLACED, MISSING, SURPLUS
from .parquet import checksum_columns

BLOCK = 4096
"""Offsets whose rows are compared by one checksum; only where that differs are they looked at one by one."""
COUNT_MAX = 1000
"""Findings of one kind: whoever has more has one problem, not a thousand."""


def _finding(kind: str, place: str, remark: Column) -> list[Column]:
    return [
        fn.lit(kind).alias("kind"),
        fn.lit(place).alias("place"),
        fn.col(BUCKET).cast("int").alias("bucket"),
        fn.col(OFFSET).alias("first"),
        (fn.col(OFFSET) + 1).alias("end"),
        remark.alias("remark"),
    ]


def misplaced(changes: DataFrame, levels: Mapping[int, int], place: str) -> DataFrame:
    """Changes that lie in a bucket in which their keys do not live, by Spark's own hash. Of each bucket it is said at
    which level it is; for others (they were split off while it was read) the least that it can be."""
    kept: Column = fn.lit(0)
    for level in sorted({*levels.values(), *[1 << bit for bit in range(21)]}):
        known = [bucket for bucket, at in levels.items() if at == level]
        least = (fn.col(BUCKET) >= level // 2) & (fn.col(BUCKET) < level) & ~fn.col(BUCKET).isin(*levels)
        kept = fn.when(fn.col(BUCKET).isin(*known) | least, fn.lit(level)).otherwise(kept)
    wrong = changes.withColumn("level", kept).where(fn.pmod(fn.xxhash64("key"), "level") != fn.col(BUCKET))
    at = fn.concat(fn.lit("its key lives in bucket "), fn.pmod(fn.xxhash64("key"), "level").cast("string"))
    return wrong.select(*_finding(MISPLACED, place, at)).limit(COUNT_MAX)


def duplicates(changes: DataFrame, place: str) -> DataFrame:
    """Of changes labelled with the buckets of now: offsets that are there more than once."""
    twice = changes.groupBy(BUCKET, OFFSET).agg(fn.count(fn.lit(1)).alias("times")).where("times > 1")
    remark = fn.concat(fn.lit("it is there "), fn.col("times").cast("string"), fn.lit(" times"))
    return twice.select(*_finding(DUPLICATE, place, remark)).limit(COUNT_MAX)


def disorder(changes: DataFrame, place: str) -> DataFrame:
    """Of changes labelled with the buckets of now: where times fall while offsets rise, or a client's series do."""
    by_bucket = Window.partitionBy(BUCKET).orderBy(OFFSET)
    by_stream = Window.partitionBy(BUCKET, "connection").orderBy(OFFSET)
    before = changes.withColumn("earlier", fn.lag(TIMESTAMP).over(by_bucket)).withColumn(
        "fewer", fn.when(fn.col("connection") != 0, fn.lag("series").over(by_stream))
    )
    wrong = before.where((fn.col(TIMESTAMP) < fn.col("earlier")) | (fn.col("series") <= fn.col("fewer")))
    remark = fn.when(
        fn.col(TIMESTAMP) < fn.col("earlier"), fn.lit("its time is before that of the change before it")
    ).otherwise(fn.lit("its series is not after the one before it of the same connection"))
    return wrong.select(*_finding(DISORDER, place, remark)).limit(COUNT_MAX)


def compared(ours: DataFrame, theirs: DataFrame, place: str, other: str) -> DataFrame:
    """Where two who should have the same rows differ, labelled alike: by checksums of blocks, then by rows."""
    suspect = differing(_blocks(ours), _blocks(theirs))
    mine, yours = _within(ours, suspect), _within(theirs, suspect)
    joined = mine.join(yours.withColumnRenamed("print", "other_print"), [BUCKET, OFFSET], "full_outer")
    wrong = joined.where(~fn.col("print").eqNullSafe(fn.col("other_print")))
    kind = (
        fn.when(fn.col("print").isNull(), fn.lit(MISSING))
        .when(fn.col("other_print").isNull(), fn.lit(SURPLUS))
        .otherwise(fn.lit(DIFFERENT))
    )
    remark = (
        fn.when(fn.col("print").isNull(), fn.lit(f"{other} has a change there"))
        .when(fn.col("other_print").isNull(), fn.lit(f"{other} has no change there"))
        .otherwise(fn.lit(f"{other} has another change there"))
    )
    return wrong.select(kind.alias("kind"), *_finding("", place, remark)[1:]).limit(COUNT_MAX)


def differing(ours: DataFrame, theirs: DataFrame) -> DataFrame:
    """Blocks that have not the same checksum, or that one side has not."""
    names = ["rows", "xored", "added"]
    both = ours.join(
        theirs.select(BUCKET, "block", *[fn.col(name).alias(f"other_{name}") for name in names]),
        [BUCKET, "block"],
        "full_outer",
    )
    alike = fn.lit(True)
    for name in names:
        alike = alike & fn.col(name).eqNullSafe(fn.col(f"other_{name}"))
    return both.where(~alike).select(BUCKET, "block")


def _blocks(changes: DataFrame) -> DataFrame:
    block = fn.floor(fn.col(OFFSET) / BLOCK).alias("block")
    return changes.groupBy(BUCKET, block).agg(*checksum_columns())


def _within(changes: DataFrame, blocks: DataFrame) -> DataFrame:
    """One row for each offset in these blocks, and a number for all that is there."""
    numbered = changes.withColumn("block", fn.floor(fn.col(OFFSET) / BLOCK))
    few = numbered.join(fn.broadcast(blocks), [BUCKET, "block"], "left_semi").select(*NAMES)
    return few.groupBy(BUCKET, OFFSET).agg(fn.max(fingerprint()).alias("print"))
