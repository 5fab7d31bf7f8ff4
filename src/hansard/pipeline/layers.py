"""What checkpoints are made of: steps from changes to the latest of each key, and how layers are put together.

Rows have the columns of changes, the time as a number (every reader of Parquet reads that alike), and whose state they
are: `subject`, a tag, and `folder`, which stands for it in paths. A key lives in one bucket, and a half of that goes on
after the offsets of the whole: so of the changes to a key the one with the highest offset is the latest, whatever was
split in between.
"""

from collections.abc import Callable, Collection, Sequence
from functools import reduce
from hashlib import sha256
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as fn

from hansard.checkpoint import RESERVED, Layer, Subject
from hansard.checkpoint.subject import NAME_BYTES_MAX
from hansard.client.state import COLUMNS

from .columns import KEY, OFFSET, TAGS, TIMESTAMP, VALUE

SUBJECT: Final = "subject"
FOLDER: Final = "folder"
FOLDER_DIGITS: Final = 32
ROW: Final = (FOLDER, SUBJECT, *COLUMNS)
FILE: Final = (
    "subject STRING, timestamp_us BIGINT, bucket INT, offset BIGINT, key BINARY, value BINARY, tags ARRAY<STRING>, "
    "connection BIGINT, series BIGINT"
)
"""What a file has: said, so that Spark need not look into the files for it first."""
RATIO: Final = 2
"""A layer that is less than so many times what lies on it is merged with that."""
LAYERS_MAX: Final = 12


# Of whom a change is.


def folder_of(subject: str) -> str:
    """A name that any file system takes, that tells nothing, and that nobody takes for a number."""
    return f"s{sha256(subject.encode()).hexdigest()[:FOLDER_DIGITS]}"


def folder_column() -> Column:
    """The same of each row."""
    return fn.concat(fn.lit("s"), fn.substring(fn.sha2(SUBJECT, 256), 1, FOLDER_DIGITS))


def of_subject(changes: DataFrame, subject: Subject) -> DataFrame:
    """The rows of one subject. What tools keep in the log for themselves is nobody's state."""
    kept = changes.where(fn.col(KEY).isNotNull() & ~fn.exists(TAGS, _is_reserved))
    if subject.tags:
        has: list[Column] = [fn.array_contains(TAGS, tag) for tag in subject.tags]
        every = subject.match == "all"
        kept = kept.where(reduce(lambda one, other: one & other if every else one | other, has))
    return _rows(kept.withColumn(SUBJECT, fn.lit(subject.name)), fn.lit(folder_of(subject.name)))


def of_each(changes: DataFrame, prefix: str) -> DataFrame:
    """The rows of all subjects that are one tag with this prefix: a change with two such tags is of both. A tag whose
    records could not carry it has none."""
    return _of_single(changes, lambda tag: tag.startswith(prefix))


def of_tags(changes: DataFrame, tags: Collection[str]) -> DataFrame:
    """The same of the subjects that are one of these tags."""
    return _of_single(changes, lambda tag: tag.isin(*tags))


def _of_single(changes: DataFrame, is_wanted: Callable[[Column], Column]) -> DataFrame:
    kept = changes.where(fn.col(KEY).isNotNull() & ~fn.exists(TAGS, _is_reserved))
    named = kept.withColumn("_tag", fn.explode(fn.array_distinct(fn.filter(TAGS, is_wanted))))
    named = named.withColumn(SUBJECT, fn.concat(fn.lit(Subject.of(["x"]).name.removesuffix("x")), "_tag"))
    named = named.where(fn.octet_length(SUBJECT) <= NAME_BYTES_MAX)
    return _rows(named, folder_column())


def _rows(changes: DataFrame, folder: Column) -> DataFrame:
    return changes.withColumns({"timestamp_us": fn.unix_micros(TIMESTAMP), FOLDER: folder}).select(*ROW)


def _is_reserved(tag: Column) -> Column:
    return tag.startswith(RESERVED)


# Of many changes the latest.


def latest(rows: DataFrame) -> DataFrame:
    """Of each subject and key the row with the highest offset. The same row twice is there once."""
    rest = [name for name in ROW if name not in (FOLDER, KEY, OFFSET)]
    newest = fn.max(fn.struct(OFFSET, *rest)).alias("newest")
    return rows.groupBy(FOLDER, KEY).agg(newest).select(FOLDER, KEY, "newest.*").select(*ROW)


def written(spark: SparkSession, location: str, found: Sequence[Layer]) -> DataFrame:
    """The rows of all these layers."""
    paths = [f"{location.rstrip('/')}/{layer.path}" for layer in found]
    rows = spark.read.schema(FILE).parquet(*paths) if paths else spark.createDataFrame([], FILE)
    return rows.withColumn(FOLDER, folder_column()).select(*ROW)


def state(spark: SparkSession, location: str, found: Sequence[Layer]) -> DataFrame:
    """What a checkpoint says: of each key the latest of all its layers, and nothing of those that are deleted."""
    rows = written(spark, location, found)
    return (rows if len(found) == 1 else latest(rows)).where(fn.col(VALUE).isNotNull())


def without_deleted(rows: DataFrame, folders: Collection[str]) -> DataFrame:
    """Under these a deletion hides nothing any more: there is no layer below."""
    if not folders:
        return rows
    return rows.where(fn.col(VALUE).isNotNull() | ~fn.col(FOLDER).isin(*folders))


def print_of() -> Column:
    """Of what a row says, as one number."""
    missing = fn.col(VALUE).isNull().cast("int")
    return fn.xxhash64(SUBJECT, KEY, VALUE, missing, OFFSET, "timestamp_us", TAGS, "connection", "series")


def described(rows: DataFrame) -> DataFrame:
    """A row for each folder: how much is in it, and a digest that does not depend on order or files."""
    return rows.groupBy(FOLDER).agg(
        fn.first(SUBJECT).alias(SUBJECT),
        fn.count(fn.lit(1)).alias("rows"),
        fn.count_if(fn.col(VALUE).isNull()).alias("deleted"),
        fn.bit_xor(print_of()).alias("xored"),
    )


def merged_from(rows: Sequence[int], added: int, ratio: int = RATIO, layers_max: int = LAYERS_MAX) -> int:
    """With which of the layers, by their rows, the oldest first, and all after it, what is added becomes one. So there
    are few layers, each much larger than the next one, and a row is written again only when as much has come since as
    there was: what a checkpoint costs follows what has changed."""
    first = len(rows)
    while first and (rows[first - 1] < ratio * added or first >= layers_max):
        first -= 1
        added += rows[first]
    return first
