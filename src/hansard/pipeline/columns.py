"""The columns of changes, as the data source has them, and as they lie in archives and checkpoints.

The bucket of a key is `pmod(xxhash64(key), buckets)`, with Spark's own function: no UDF has to see a key. A missing key
hashes to 42 there and in a cluster alike.
"""

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as fn
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

BUCKET: Final = "bucket"
OFFSET: Final = "offset"
TIMESTAMP: Final = "timestamp"
KEY: Final = "key"
VALUE: Final = "value"
TAGS: Final = "tags"
CONNECTION: Final = "connection"
SERIES: Final = "series"

CHANGES: Final = StructType(
    [
        StructField(BUCKET, IntegerType()),
        StructField(OFFSET, LongType()),
        StructField(TIMESTAMP, TimestampType()),
        StructField(KEY, BinaryType()),
        StructField(VALUE, BinaryType()),
        StructField(TAGS, ArrayType(StringType())),
        StructField(CONNECTION, LongType()),
        StructField(SERIES, LongType()),
    ]
)
"""Nothing is declared to be there always: Parquet files do not say so either, and a union has one schema."""
NAMES: Final = tuple(CHANGES.names)


def home(buckets: int) -> Column:
    """In which of so many buckets a change lives by its key."""
    return fn.pmod(fn.xxhash64(KEY), fn.lit(buckets)).cast("int")


def fingerprint() -> Column:
    """Of all that a change is, as one number. What is missing leaves Spark's hash as it was, so that it is missing is
    hashed, too; and so is the number of tags."""
    missing = (fn.col(KEY).isNull().cast("int") + 2 * fn.col(VALUE).isNull().cast("int")).cast("int")
    return fn.xxhash64(*NAMES, missing, fn.size(TAGS))
