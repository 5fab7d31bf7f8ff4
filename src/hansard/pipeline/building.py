"""The files of one run: the new layer of each subject that has changed, merged with layers that are not much larger."""

from collections.abc import Callable, Collection, Mapping
from typing import Final, NamedTuple

from pyspark import StorageLevel
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as fn

from hansard.checkpoint import Layer

from . import layers
from .folder import Folder
from .layers import FOLDER, SUBJECT, merged_from

BUILDS: Final = "builds"
MASK: Final = (1 << 64) - 1

Bases = Mapping[str, tuple[Layer, ...]]
"""The layers that there are of each subject, by its folder."""


class Plan(NamedTuple):
    """What becomes of one subject's layers: so many stay below the new one, and these go into it."""

    kept: int
    merged: tuple[Layer, ...]


class Wrote(NamedTuple):
    """A new layer, and how many of those before lie below it."""

    subject: str
    layer: Layer
    kept: int


class Miswritten(OSError):
    """What was read back is not what was written."""


def planned(counts: Mapping[str, int], bases: Bases) -> dict[str, Plan]:
    """By how many rows are new of each."""
    plans = {}
    for folder, added in counts.items():
        base = bases.get(folder, ())
        kept = merged_from([layer.rows for layer in base], added)
        plans[folder] = Plan(kept, base[kept:])
    return plans


class Build:
    """`shared`: rows of many subjects, which are brought together, so that each has few files."""

    def __init__(self, spark: SparkSession, folder: Folder, id: str, *, shared: bool) -> None:
        self._spark = spark
        self._folder = folder
        self._shared = shared
        self.path = f"{BUILDS}/{id}"

    def write(
        self, latest: DataFrame, bases: Bases, apart: Collection[str], reached: Callable[[str], None]
    ) -> dict[str, Wrote]:
        """The latest rows of each subject since its base, as files; by its folder. Those of the folders `apart` are
        made by somebody else."""
        if apart:
            latest = latest.where(~fn.col(FOLDER).isin(*apart))
        if not any(bases.values()):
            self._save(latest.where(fn.col("value").isNotNull()))
            reached("written")
            return {folder: Wrote(subject, layer, 0) for folder, (subject, layer) in self._described().items()}
        latest = latest.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            counts = {row[FOLDER]: row["count"] for row in latest.groupBy(FOLDER).count().collect()}
            plans = planned(counts, bases)
            self._save(self._merged(latest, plans))
        finally:
            latest.unpersist()
        reached("written")
        found = self._described()
        return {folder: Wrote(subject, layer, plans[folder].kept) for folder, (subject, layer) in found.items()} | {
            folder: Wrote("", _nothing(), 0) for folder in plans if folder not in found
        }

    def _merged(self, latest: DataFrame, plans: Mapping[str, Plan]) -> DataFrame:
        old = [layer for plan in plans.values() for layer in plan.merged]
        if old:
            latest = layers.latest(latest.unionByName(layers.written(self._spark, self._folder.root, old)))
        return layers.without_deleted(latest, [folder for folder, plan in plans.items() if not plan.kept])

    def _save(self, rows: DataFrame) -> None:
        if self._shared:
            rows = rows.hint("rebalance", FOLDER)
        observed = Observation()
        counted = rows.observe(
            observed,
            fn.count(fn.lit(1)).alias("rows"),
            fn.coalesce(fn.bit_xor(layers.print_of()), fn.lit(0)).alias("xored"),
        )
        counted.write.partitionBy(FOLDER).mode("error").parquet(self._folder.path(self.path))
        self._came = (observed.get["rows"], observed.get["xored"])

    def _described(self) -> dict[str, tuple[str, Layer]]:
        """Read back from the files, so that what the record says is what whoever reads them finds."""
        sizes: dict[str, int] = {}
        there = self._folder.files(self.path)
        self._folder.sync([file.path for file in there])
        for file in there:
            path = file.path.rpartition("/")[0]
            sizes[path] = sizes.get(path, 0) + file.byte_count
        if not sizes:
            if self._came[0]:
                raise Miswritten(f"{self._folder.path(self.path)} has no files, and {self._came[0]} rows were written")
            return {}
        rows = layers.described(self._spark.read.parquet(self._folder.path(self.path))).collect()
        xored = 0
        for row in rows:
            xored ^= row["xored"]
        if (sum([row["rows"] for row in rows]), xored) != self._came:
            raise Miswritten(f"{self._folder.path(self.path)} does not hold what was written to it: look at that disk")
        found = {}
        for row in rows:
            path = f"{self.path}/{FOLDER}={row[FOLDER]}"
            digest = f"{row['xored'] & MASK:016x}"
            layer = Layer(path=path, rows=row["rows"], deleted=row["deleted"], bytes=sizes[path], digest=digest)
            found[row[FOLDER]] = (str(row[SUBJECT]), layer)
        return found


def _nothing() -> Layer:
    """Where all that there was is deleted."""
    return Layer(path="", rows=0)
