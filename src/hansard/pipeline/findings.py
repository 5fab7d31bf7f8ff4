"""What a verification finds: one kind of thing that can be wrong in each row, with where it is."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from pyspark.sql import DataFrame, SparkSession

DAMAGED: Final = "damaged"
"""Bytes that are not what was written: a checksum does not fit, or a file cannot be read."""
MISSING: Final = "missing"
"""A file or a change that should be there is not."""
DIFFERENT: Final = "different"
"""Two who should have the same have something else."""
DUPLICATE: Final = "duplicate"
DISORDER: Final = "disorder"
"""Offsets rise and times do not fall, or the other way round."""
MISPLACED: Final = "misplaced"
"""A change lies in a bucket in which its key does not live."""
SURPLUS: Final = "surplus"
"""Something is there that nobody else has."""

SCHEMA: Final = "kind STRING, place STRING, bucket INT, first BIGINT, end BIGINT, remark STRING"


class Finding(NamedTuple):
    kind: str
    place: str
    """Whose: `archive`, `log`, a file, a participant."""
    bucket: int | None
    first: int | None
    end: int | None
    """The offsets that it is about, without the last."""
    remark: str

    def __str__(self) -> str:
        where = "" if self.bucket is None else f" bucket {self.bucket}"
        if self.first is not None:
            last = self.first if self.end is None else self.end - 1
            where += f" offset {self.first}" if last <= self.first else f" offsets {self.first} to {last}"
        return f"{self.kind}: {self.place}{where}: {self.remark}"


def as_frame(spark: SparkSession, findings: Iterable[Finding]) -> DataFrame:
    return spark.createDataFrame(list(findings), SCHEMA)


def reason(error: Exception) -> str:
    """The root of it, in one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    return f"it cannot be read: {(causes or lines)[-1] if (causes or lines) else type(error).__name__}"[:300]
