"""What is brought to a cluster as new changes, described so that whoever comes later brings exactly the same.

A cargo is settled once, in a record of the target's log (load.py): bounds are bookmarks, files of a checkpoint are
named. What a batch of it has follows from that alone. So an archive that has grown since, or a newer checkpoint,
changes nothing for somebody who goes on.

    of an archive     a batch is what lies between two bookmarks: so of each key, earlier changes are in earlier batches
    of a checkpoint   each key is there once: a batch has the keys with some hash
"""

from collections.abc import Collection
from functools import cached_property
from typing import Final

from msgspec import Struct
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from hansard.bookmark import Bookmark
from hansard.checkpoint import Layer, Subject
from hansard.client.checkpoints import Checkpoint, checkpoint_of

from . import layers, manifest
from .columns import KEY, OFFSET, TAGS, VALUE
from .folder import Folder
from .manifest import ArchiveError
from .place import is_before, stepped
from .reading import Place, archived, chosen, placed
from .records import dockets_in
from .restore import existing, until_place

ROWS_PER_TASK: Final = 250_000
TASK_BYTES: Final = 32 << 20
"""Of compressed files: a task has its rows in memory, and they are several times that."""
TASKS: Final = 4
"""Of a batch."""
BATCHES_MAX: Final = 16
"""Of a checkpoint, all of which is read for each of them."""
CHECKPOINTS_MAX: Final = 1_000
"""Among which one before some place is looked for."""
_SEED: Final = 7
"""Keys are spread over batches otherwise than over buckets."""


class OfArchive(Struct, frozen=True, kw_only=True, omit_defaults=True, dict=True, tag="archive", tag_field="of"):
    root: str
    log: str
    since: str
    until: str
    """Bookmarks."""
    tags: tuple[str, ...] = ()
    match: str = "any"
    rows_per_batch: int
    tasks: int = TASKS

    @cached_property
    def steps(self) -> list[Bookmark]:
        """Where batches begin and end."""
        end = Bookmark.parse(self.until)
        found = [Bookmark.parse(self.since)]
        while found[-1] != end:
            found.append(stepped(found[-1], end, self.rows_per_batch))
        return found

    @property
    def batches(self) -> int:
        return len(self.steps) - 1

    def rows(self, spark: SparkSession, batch: int) -> DataFrame:
        folder = Folder(spark, self.root)
        catalog = manifest.load(folder)
        if catalog.log != self.log:
            raise ArchiveError(
                f"{folder.root} had an archive of log {self.log}, and has one of {catalog.log or 'none'}"
            )
        changes = archived(spark, folder, catalog, self.steps[batch], self.steps[batch + 1])
        return together(chosen(changes, self.tags, self.match), self.tasks)


class OfCheckpoint(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="checkpoint", tag_field="of"):
    subject: str
    number: int
    until: str
    """Its bookmark."""
    location: str
    layers: tuple[Layer, ...]
    batches: int
    tasks: int

    def rows(self, spark: SparkSession, batch: int) -> DataFrame:
        state = layers.state(spark, self.location, self.layers)
        mine = fn.pmod(fn.xxhash64(KEY, fn.lit(_SEED)), fn.lit(self.batches)) == batch
        return together(state.where(mine), self.tasks)


Cargo = OfArchive | OfCheckpoint


def together(changes: DataFrame, tasks: int) -> DataFrame:
    """All changes of a key in one task, which puts them into the order of their offsets: those of a key rise, through
    splits too."""
    return changes.select(KEY, VALUE, TAGS, OFFSET).repartition(tasks, KEY)


def of_archive(
    spark: SparkSession,
    root: str,
    since: Place | None = None,
    until: Place | None = None,
    tags: Collection[str] = (),
    match: str = "any",
) -> OfArchive:
    folder = Folder(spark, root)
    catalog = existing(folder)
    first = Bookmark.parse(manifest.series(folder, all_of_them=True)[0].since)
    end = until_place(spark, folder, catalog, until)
    start = first if since is None else _since(spark, folder, catalog, since)
    buckets = {*start.offsets, *end.offsets}  # either may have been taken before or after a split
    per_task = rows_per_task(catalog.rows, catalog.byte_count)
    return OfArchive(
        root=folder.root,
        log=catalog.log,
        since=str(start.split(catalog.log, buckets)),
        until=str(end.split(catalog.log, buckets)),
        tags=tuple(sorted(tags)),
        match=match,
        rows_per_batch=per_task * TASKS,
    )


def _since(spark: SparkSession, folder: Folder, catalog: manifest.Catalog, since: Place) -> Bookmark:
    start = placed(since, catalog.log)
    return start if isinstance(start, Bookmark) else until_place(spark, folder, catalog, start)


def of_checkpoint(checkpoint: Checkpoint, location: str = "") -> OfCheckpoint:
    rows = sum(layer.rows for layer in checkpoint.layers)
    per_task = rows_per_task(rows, sum(layer.bytes for layer in checkpoint.layers))
    batches = min(BATCHES_MAX, max(1, -(-rows // (per_task * TASKS))))
    return OfCheckpoint(
        subject=checkpoint.subject.name,
        number=checkpoint.number,
        until=str(checkpoint.bookmark),
        location=location or checkpoint.location,
        layers=checkpoint.layers,
        batches=batches,
        tasks=max(TASKS, -(-rows // (batches * per_task))),
    )


def rows_per_task(rows: int, byte_count: int) -> int:
    """As many as fit into a task's memory, by what rows take on average."""
    average = max(1, byte_count // max(1, rows))
    return max(1, min(ROWS_PER_TASK, TASK_BYTES // average))


def checkpoints_in(spark: SparkSession, root: str, subject: Subject) -> list[Checkpoint]:
    """Those that the records in an archive tell of, the newest first: for a log that is not there any more."""
    folder = Folder(spark, root)
    changes = archived(spark, folder, existing(folder))
    dockets = dockets_in(changes.where(fn.array_contains(TAGS, subject.name)))
    ends = dockets[subject.name].ends if dockets else []
    return [found for found in (checkpoint_of(subject, end) for end in reversed(ends)) if found is not None]


def newest(checkpoints: list[Checkpoint], until: Place | None) -> Checkpoint | None:
    """The newest that is not after a place."""
    for checkpoint in checkpoints:
        stop = placed(until, checkpoint.bookmark.log_id)
        if stop is None:
            return checkpoint
        if isinstance(stop, Bookmark):
            if is_before(checkpoint.bookmark, stop):
                return checkpoint
        elif checkpoint.time < stop:
            return checkpoint
    return None
