"""The job `verify`: members against each other, the archive against itself, both against each other, and checkpoints
against what these say.

What is compared is bounded by bookmarks, so the log may go on meanwhile. Each part says what it finds and goes on: one
file that cannot be read does not hide what is wrong with another.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, NamedTuple

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from hansard.bookmark import Bookmark, WrongLog

from . import checks, manifest, members, parquet, place
from .checkpoints import Inspector, known
from .findings import DAMAGED, DIFFERENT, MISSING, Finding, reason
from .folder import Folder
from .manifest import DATA, ArchiveError, Catalog, File
from .reading import archived, joined
from .records import Register, dockets_in
from .restore import existing
from .source import Source

_BEGINNING: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Verified(NamedTuple):
    findings: list[Finding]
    copies: int = 0
    """That were compared."""
    files: int = 0
    rows: int = 0
    """Of the archive."""
    mended: int = 0
    checkpoints: int = 0


@dataclass(frozen=True, slots=True)
class Verifier:
    spark: SparkSession
    source: Source | None
    """The cluster; None: only the archive is looked at."""
    root: str = ""
    """The archive; empty: only the cluster is looked at."""
    repair: bool = False
    checkpoints: bool = False
    """Whether these are looked at."""
    reached: Callable[[str], None] = lambda _: None

    def verify(self) -> Verified:
        copies, mended, found = 0, 0, list[Finding]()
        if self.source is not None:
            copies, mended, found = asyncio.run(self._members(self.source))
        seen = Verified(found, copies, mended=mended)
        if self.root:
            archive = self._archive()
            seen = seen._replace(findings=found + archive.findings, files=archive.files, rows=archive.rows)
        if self.checkpoints:
            count, wrong = self._checkpoints()
            seen = seen._replace(findings=seen.findings + wrong, checkpoints=count)
        return seen

    def _archive(self) -> Verified:
        folder = Folder(self.spark, self.root)
        catalog, found = self._catalog(folder)
        if catalog.until is None:
            if not found:
                raise ArchiveError(f"there is no archive at {folder.root}: hansard pipeline archive makes one")
            return Verified(found)
        self.reached("files of the archive")
        readable, wrong = checked_files(self.spark, folder, catalog)
        found += wrong
        found += self._rows(folder, catalog, catalog.until, readable)
        return Verified(found, files=len(catalog.files), rows=catalog.rows)

    def _checkpoints(self) -> tuple[int, list[Finding]]:
        """By the records in the log, or, where an archive is looked at by itself, by those that it has."""
        spark, source, root = self.spark, self.source, self.root
        retained: Bookmark | None = None
        if source is not None:
            with source.client() as client:
                dockets, start = Register(client).dockets, client.bookmark(at=_BEGINNING)
            if not root and any(start.offsets.values()):
                retained = start
        else:
            folder = Folder(spark, root)
            catalog = existing(folder)
            dockets = dockets_in(archived(spark, folder, catalog))

        def changes(until: Bookmark) -> DataFrame | None:
            if source is None:
                assert catalog.until is not None
                return joined(spark, root, None, None, until) if place.is_before(until, catalog.until) else None
            return joined(spark, root, source, None, until) if root else source.changes(spark, start, until)

        return Inspector(spark, changes, retained, self.reached).inspect(known(dockets))

    async def _members(self, source: Source) -> tuple[int, int, list[Finding]]:
        async with source.operator() as operator:
            copies, found = await members.compare(operator, self.reached)
            if not (self.repair and found):
                return copies, 0, found
            mended = await members.repair(operator, self.reached)
            copies, found = await members.compare(operator, self.reached)
            return copies, mended, found

    def _catalog(self, folder: Folder) -> tuple[Catalog, list[Finding]]:
        """With what is wrong with the manifests; as far as it goes without those that are."""
        try:
            return manifest.load(folder, all_of_them=True), []
        except ArchiveError as error:
            found = [Finding(DAMAGED, "manifests", None, None, None, str(error))]
        try:
            return manifest.load(folder), found
        except ArchiveError:
            return Catalog(), found

    def _rows(self, folder: Folder, catalog: Catalog, until: Bookmark, readable: Iterable[File]) -> list[Finding]:
        """What the archive's rows say, by themselves and beside the log's."""
        there = parquet.frame(self.spark, folder, [file.path for file in readable])
        first = Bookmark.parse(manifest.series(folder)[0].since)
        labelled = place.relabelled(there, until.offsets)
        self.reached("rows of the archive")
        steps = [
            checks.misplaced(there, place.levels(first.offsets), "archive"),
            checks.duplicates(labelled, "archive"),
            checks.disorder(labelled, "archive"),
        ]
        if self.source is not None:
            self.reached("archive and log")
            steps += self._beside(self.source, catalog, until, there)
        return [Finding(*row) for step in steps for row in step.collect()]

    def _beside(self, source: Source, catalog: Catalog, until: Bookmark, there: DataFrame) -> list[DataFrame]:
        with source.client() as client:
            if client.log_id != catalog.log:
                raise WrongLog(catalog.log, client.log_id)
            retained = client.bookmark(at=_BEGINNING)
        buckets = {*retained.offsets, *until.offsets}
        start = Bookmark(
            until.log_id, {each: min(retained.offset(each) or 0, until.offset(each) or 0) for each in buckets}
        )
        end = Bookmark(until.log_id, {each: until.offset(each) or 0 for each in buckets})
        log = source.changes(self.spark, start, end)
        ours = place.relabelled(place.since(there, retained), buckets)
        return [
            checks.misplaced(log, place.levels(buckets), "log"),
            checks.disorder(log, "log"),
            checks.compared(ours, place.relabelled(log, buckets), "archive", "the log"),
        ]


def checked_files(spark: SparkSession, folder: Folder, catalog: Catalog) -> tuple[list[File], list[Finding]]:
    """Those that can be read, and what is wrong with the files of an archive."""
    sizes = {found.path: found.byte_count for found in folder.files(DATA)}
    wrong: list[Finding] = []
    there: dict[str, File] = {}
    for path, file in sorted(catalog.files.items()):
        if path not in sizes:
            wrong.append(_about(file, MISSING, "the file is not there"))
        else:
            there[path] = file
    found, unreadable = _described(spark, folder, {path: sizes[path] for path in there})
    for path, why in unreadable.items():
        wrong.append(_about(there[path], DAMAGED, why))
    for path, file in there.items():
        if path in unreadable:
            continue
        now = found.get(path)
        if now is None or now.checksum != file.checksum or now.buckets != file.buckets:
            rows = 0 if now is None else now.checksum.rows
            what = f"its rows are not those that were written: {rows:,} rows, and {file.checksum.rows:,} were written"
            wrong.append(_about(file, DIFFERENT, what))
    return [file for path, file in there.items() if path not in unreadable], wrong


def _described(spark: SparkSession, folder: Folder, sizes: dict[str, int]) -> tuple[dict[str, File], dict[str, str]]:
    """All at once; where one cannot be read, each half by itself."""
    if not sizes:
        return {}, {}
    try:
        return {file.path: file for file in parquet.files_at(spark, folder, sizes)}, {}
    except (PySparkException, Py4JJavaError) as error:
        if len(sizes) == 1:
            return {}, dict.fromkeys(sizes, reason(error))
    paths = sorted(sizes)
    half = len(paths) // 2
    found: dict[str, File] = {}
    unreadable: dict[str, str] = {}
    for part in (paths[:half], paths[half:]):
        some, bad = _described(spark, folder, {path: sizes[path] for path in part})
        found |= some
        unreadable |= bad
    return found, unreadable


def _about(file: File, kind: str, remark: str) -> Finding:
    bucket, (first, end, _) = min(file.buckets.items())
    if len(file.buckets) > 1:
        return Finding(kind, file.path, None, None, None, f"{remark}; it has changes of {len(file.buckets)} buckets")
    return Finding(kind, file.path, bucket, first, end, remark)
