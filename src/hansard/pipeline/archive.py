"""The job `archive`: what is new in the log goes to Parquet files, exactly once, whatever happens to whoever does it.

One round, and what is left if it ends there:

    1  the hold is where the archive ends: nothing after that is dropped by retention
    2  the end of the log is asked for; both bounds are offsets from now on
    3  the rows between are written to a folder of this run      files that no manifest names: orphans
    4  the files are synced, read back and described, and have   the same
       what came, by its fingerprint; of tasks that were tried
       twice the attempt that Spark counts is taken
    5  the manifest is created                                   the archive goes on; the hold is behind, which is safe
    6  the hold moves to the new end                             as after a whole round

Whoever finds at 5 that somebody else has created that manifest has written orphans, and begins again after that one.
"""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, NamedTuple

from crc32c import crc32c
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as fn

from hansard.bookmark import Bookmark, WrongLog
from hansard.client import Client
from hansard.client.errors import ClientError

from . import manifest, parquet, scribe
from .columns import fingerprint
from .folder import Folder
from .manifest import ArchiveError, Catalog, Checksum
from .place import distance, stepped
from .source import Source

HOLD_S: Final = 7 * 86_400.0
ROWS_PER_RUN: Final = 20_000_000
"""A run that is interrupted is done again: so a long log goes in several."""
HOLDS_TRIED: Final = 10
_BEGINNING: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Went(NamedTuple):
    """What a round has done."""

    catalog: Catalog
    rows: int
    files: int
    is_behind: bool
    """There was more than one run should have."""


@dataclass(frozen=True, slots=True)
class Archiver:
    """Of one log, at one root."""

    spark: SparkSession
    source: Source
    root: str
    hold: str = ""
    """Its name in the cluster; by default made from the root."""
    hold_s: float = HOLD_S
    rows_per_run: int = ROWS_PER_RUN
    rows_per_file: int = parquet.ROWS_PER_FILE
    by_spark: bool = False
    """Files are written by Spark's own writer, as they are wherever the root is no path of this machine's."""
    reached: Callable[[str], None] = lambda _: None
    """Told of each step when it is done: for progress, and for tests that end it there."""

    @property
    def folder(self) -> Folder:
        return Folder(self.spark, self.root)

    @property
    def hold_name(self) -> str:
        return self.hold or f"archive-{crc32c(self.folder.root.encode()):08x}"

    def catch_up(self) -> Went:
        """Rounds until the archive has all that was there when this began."""
        rows = files = 0
        while True:
            went = self.round()
            rows, files = rows + went.rows, files + went.files
            if not went.is_behind:
                return went._replace(rows=rows, files=files)

    def round(self) -> Went:
        folder = self.folder
        with self.source.client() as client:
            while True:
                before = manifest.load(folder)
                if before.log not in ("", client.log_id):
                    raise WrongLog(before.log, client.log_id)
                start = self._held(client, before)
                end = client.bookmark()
                until = stepped(start, end, self.rows_per_run)
                self.reached("planned")
                went = self._run(folder, before, start, until)
                if went is not None:
                    self._keep(client, until)
                    self.reached("held")
                    return went._replace(is_behind=until != end)

    def _held(self, client: Client, before: Catalog) -> Bookmark:
        """From where on, and nothing from there on is dropped while we look."""
        problem: Exception | None = None
        for _ in range(1 if before.until is not None else HOLDS_TRIED):
            start = before.until if before.until is not None else client.bookmark(at=_BEGINNING)
            try:
                self._keep(client, start)
            except ClientError as error:
                problem = error  # dropped in between; or, of an archive that goes on, long ago
            else:
                return start
        what = "the log has dropped changes that this archive has not: it was too long since it was here last"
        if before.until is None:
            what = "the beginning of the log cannot be held"
        raise ArchiveError(f"{what} ({problem}); what is archived stays good, what comes needs another root")

    def _keep(self, client: Client, place: Bookmark) -> None:
        client.ask({"ask": "hold", "name": self.hold_name, "lasts_s": self.hold_s, "bookmark": str(place)})

    def _run(self, folder: Folder, before: Catalog, start: Bookmark, until: Bookmark) -> Went | None:
        """None: somebody else was first."""
        expected = distance(start.resolve(until.log_id, until.offsets), until.offsets)
        if not expected and before.number:
            return Went(before, 0, 0, is_behind=False)
        run = manifest.run_name(before.number + 1, secrets.token_hex(6))
        tasks = parquet.tasks_for(expected, self.rows_per_file, self.spark.sparkContext.defaultParallelism)
        if folder.local is None or self.by_spark:
            came = _written(self.source.changes(self.spark, start, until), folder, run, tasks)
            self.reached("written")
            files = parquet.files_of(self.spark, folder, run)
        else:
            told = scribe.written(self.spark, self.source.reader(start, until), folder.local / run, tasks)
            came = parquet.total([file.checksum for file in told])
            self.reached("written")
            counted = scribe.counted(folder, run, told)
            folder.sync(counted)
            files = parquet.files_at(self.spark, folder, counted)
        found = parquet.total([file.checksum for file in files])
        if found != came:
            folder.remove(run)
            raise ArchiveError(f"what was written to {folder.path(run)} is not what came: {found} instead of {came}")
        self.reached("described")
        after = manifest.commit(folder, before, until, now_us(), files, since=start)
        if after is None:
            folder.remove(run)
            return None
        self.reached("committed")
        return Went(after, came.rows, len(files), is_behind=False)


def _written(changes: DataFrame, folder: Folder, run: str, tasks: int) -> Checksum:
    """The checksum of what came, counted on its way to the files."""
    observed = Observation()
    printed = changes.withColumn("print", fingerprint())  # before it is observed: there nothing is compiled
    watched = printed.observe(observed, *parquet.checksum_columns(fn.col("print"))).drop("print")
    parquet.write(watched, folder, run, tasks)
    return Checksum(observed.get["rows"], observed.get["xored"], observed.get["added"])


def now_us() -> int:
    return time.time_ns() // 1000
