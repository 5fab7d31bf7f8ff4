"""Small files of an archive become large ones, and what nobody needs any more is removed.

A merged file has the rows of those that it replaces, no more and no less: their checksums add up to its own, or nothing
is replaced. Whoever reads by an older manifest still finds the old files for a while (`GRACE_S`).
"""

import secrets
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final

from pyspark.sql import SparkSession

from . import manifest, parquet
from .archive import now_us
from .folder import Folder
from .manifest import DATA, ArchiveError, Catalog, File

SMALL_ROWS: Final = parquet.ROWS_PER_FILE // 4
FILES_MIN: Final = 8
"""So many small files of a day are worth the work."""
ROWS_MAX: Final = 20 * parquet.ROWS_PER_FILE
GRACE_S: Final = 86_400.0


def mergeable(files: Iterable[File], small_rows: int = SMALL_ROWS, files_min: int = FILES_MIN) -> list[list[File]]:
    """Groups of small files, each of one day, each worth to be merged. A file that has become large is left alone, so
    each row is written a few times and not each time."""
    small = sorted((file for file in files if file.checksum.rows < small_rows), key=lambda file: (file.day, file.path))
    groups: list[list[File]] = []
    for _, of_day in groupby(small, key=lambda file: file.day):
        group: list[File] = []
        for file in of_day:
            if group and sum(each.checksum.rows for each in group) + file.checksum.rows > ROWS_MAX:
                groups.append(group)
                group = []
            group.append(file)
        groups.append(group)
    return [group for group in groups if len(group) >= files_min]


def compact(
    spark: SparkSession, folder: Folder, *, small_rows: int = SMALL_ROWS, files_min: int = FILES_MIN
) -> tuple[int, int]:
    """How many files were merged, and into how many. Somebody else's manifest in between costs the work, nothing
    more."""
    merged = made = 0
    while True:
        before = manifest.load(folder)
        groups = mergeable(before.files.values(), small_rows, files_min)
        if not groups:
            return merged, made
        group = groups[0]
        files = _rewritten(spark, folder, before, group)
        assert before.until is not None
        replaced = [file.path for file in group]
        if manifest.commit(folder, before, before.until, now_us(), files, replaced) is not None:
            merged, made = merged + len(group), made + len(files)


def _rewritten(spark: SparkSession, folder: Folder, before: Catalog, group: Sequence[File]) -> list[File]:
    run = manifest.run_name(before.number + 1, secrets.token_hex(6))
    wanted = parquet.total([file.checksum for file in group])
    tasks = parquet.tasks_for(wanted.rows)
    rows = parquet.frame(spark, folder, [file.path for file in group])
    parquet.write(parquet.merged(rows, tasks), folder, run, tasks)
    files = parquet.files_of(spark, folder, run)
    found = parquet.total([file.checksum for file in files])
    if found != wanted:
        folder.remove(run)
        what = f"{group[0].path} and {len(group) - 1} others of day {group[0].day}"
        raise ArchiveError(f"{what} are not what their manifests say ({found} instead of {wanted}): verify the archive")
    return files


def sweep(folder: Folder, grace_s: float = GRACE_S) -> int:
    """Remove what can never count: orphans of runs that were interrupted or came too late, and files that were replaced
    long enough ago. Returns how many files that were."""
    there = [found.path for found in folder.files(DATA)]
    catalog = manifest.load(folder)
    gone = manifest.orphans(there, catalog, now_us() - int(grace_s * 1_000_000))
    left = {_run(path) for path in set(there) - set(gone)}
    runs = {_run(path) for path in gone}
    for run in sorted(runs - left):
        folder.remove(run)
    for path in gone:
        if _run(path) in left:
            folder.remove(path)
    return len(gone)


def _run(path: str) -> str:
    return path.split("/day=", 1)[0]
