"""Archive and live tail as one DataFrame: `hansard.pipeline.read`.

The archive ends at a bookmark, and there the live part begins: so nothing is missing and nothing is there twice,
however the buckets were split before, after or in between. The archived part is read by Spark's own Parquet reader, and
of its files only those that may have what is wanted.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as fn

from hansard.bookmark import Bookmark, WrongLog

from . import manifest, parquet, place
from .columns import BUCKET, KEY, NAMES, TAGS, TIMESTAMP
from .folder import Folder
from .manifest import ArchiveError, Catalog, File
from .source import Source

RESERVED = "hansard:"
"""Tags that begin so are of tools, which keep something in the log for themselves."""

Place = Bookmark | datetime | str
"""A bookmark, its token, or a time."""


def read(
    spark: SparkSession,
    *,
    archive: str,
    endpoints: str | Sequence[str] = (),
    since: Place | None = None,
    until: Place | None = None,
    tags: Collection[str] = (),
    match: str = "any",
    key: str | None = None,
    buckets: Collection[int] | None = None,
    records: bool = False,
    token: str = "",
    tls_ca: str = "",
    tls_cert: str = "",
    tls_key: str = "",
) -> DataFrame:
    """All changes of an archive, and with `endpoints` those of the cluster that are not archived yet, up to its end at
    this moment. The columns are those of `spark.read.format("hansard")`, and each row has the bucket in which its key
    lives at the end of what is read.

    Places are bookmarks, their tokens or times; `since` is in it, `until` is not. Without endpoints it ends where the
    archive does.
    """
    if match not in ("any", "all"):
        raise ValueError(f"match is 'any' or 'all' of the tags, not {match!r}")
    source = Source.of(endpoints, token, tls_ca, tls_cert, tls_key) if endpoints else None
    return joined(
        spark, archive, source, since, until, tags=tags, match=match, key=key, buckets=buckets, records=records
    )


def joined(
    spark: SparkSession,
    archive: str,
    source: Source | None,
    since: Place | None = None,
    until: Place | None = None,
    *,
    tags: Collection[str] = (),
    match: str = "any",
    key: str | None = None,
    buckets: Collection[int] | None = None,
    records: bool = False,
) -> DataFrame:
    """The same, of a cluster as jobs know it."""
    folder = Folder(spark, archive)
    catalog = manifest.load(folder)
    if catalog.until is None:
        raise ArchiveError(f"there is no archive at {folder.root}: hansard pipeline archive makes one")
    start, stop = placed(since, catalog.log), placed(until, catalog.log)
    end = _end(source, catalog) if source is not None else catalog.until
    found = archived(spark, folder, catalog, start, stop)
    if source is not None:
        last = _capped(end, stop, catalog.until)
        if last is not None:
            tail = source.changes(spark, catalog.until, last, tags=sorted(tags), match=match, key=key)
            found = found.unionByName(bounded(tail, start, stop))
    found = chosen(found, tags, match, key, records=records)
    found = place.relabelled(found, end.offsets)
    return (found if buckets is None else found.where(fn.col(BUCKET).isin(*buckets))).select(*NAMES)


def archived(
    spark: SparkSession,
    folder: Folder,
    catalog: Catalog,
    since: Bookmark | datetime | None = None,
    until: Bookmark | datetime | None = None,
) -> DataFrame:
    """What an archive has between two places, labelled as it lies there."""
    files = pruned(catalog.files.values(), since, until)
    return bounded(parquet.frame(spark, folder, [file.path for file in files]), since, until)


def pruned(files: Iterable[File], since: Bookmark | datetime | None, until: Bookmark | datetime | None) -> list[File]:
    """Those that may have something between two places, by what the manifests say."""
    found = list(files)
    if isinstance(since, datetime):
        found = [file for file in found if file.last_us >= micros(since)]
    if isinstance(until, datetime):
        found = [file for file in found if file.first_us < micros(until)]
    if isinstance(since, Bookmark):
        found = [file for file in found if any(end > _least(since, b) for b, (_, end, _) in file.buckets.items())]
    if isinstance(until, Bookmark):
        found = [file for file in found if any(first < _most(until, b) for b, (first, _, _) in file.buckets.items())]
    return sorted(found, key=lambda file: file.path)


def _related(bookmark: Bookmark, bucket: int) -> list[int]:
    """Places of all buckets whose keys may lie under this label: the bucket's own, or its ancestor's, and those of
    buckets that were split off from it."""
    level = 1 << bucket.bit_length()
    below = [at for other, at in bookmark.offsets.items() if other >= level and other % level == bucket]
    return [bookmark.offset(bucket) or 0, *below]


def _least(bookmark: Bookmark, bucket: int) -> int:
    return min(_related(bookmark, bucket))


def _most(bookmark: Bookmark, bucket: int) -> int:
    return max(_related(bookmark, bucket))


def bounded(
    changes: DataFrame, since: Bookmark | datetime | None = None, until: Bookmark | datetime | None = None
) -> DataFrame:
    """What lies between two places."""
    if isinstance(since, Bookmark):
        changes = place.since(changes, since)
    elif since is not None:
        changes = changes.where(fn.col(TIMESTAMP) >= fn.timestamp_micros(fn.lit(micros(since))))
    if isinstance(until, Bookmark):
        changes = place.before(changes, until)
    elif until is not None:
        changes = changes.where(fn.col(TIMESTAMP) < fn.timestamp_micros(fn.lit(micros(until))))
    return changes


def chosen(
    changes: DataFrame, tags: Collection[str] = (), match: str = "any", key: str | None = None, *, records: bool = False
) -> DataFrame:
    """Changes with these tags, of this key. What tools keep for themselves is left out, unless it is asked for by its
    tag."""
    if tags:
        has: list[Column] = [fn.array_contains(TAGS, tag) for tag in sorted(tags)]
        changes = changes.where(reduce(lambda one, other: one & other if match == "all" else one | other, has))
    if key is not None:
        changes = changes.where(fn.col(KEY) == fn.encode(fn.lit(key), "utf-8"))
    if not records and not any(tag.startswith(RESERVED) for tag in tags):
        changes = changes.where(~fn.exists(TAGS, lambda tag: tag.startswith(RESERVED)))
    return changes


def micros(time: datetime) -> int:
    return int(time.timestamp()) * 1_000_000 + time.microsecond


def placed(given: Place | None, log: str) -> Bookmark | datetime | None:
    if given is None:
        return None
    if isinstance(given, str):
        if not given.startswith("b1"):
            try:
                given = datetime.fromisoformat(given)
            except ValueError:
                raise ValueError(f"{given!r} is neither a bookmark nor a time such as 2026-03-01T12:00:00Z") from None
        else:
            given = Bookmark.parse(given)
    if isinstance(given, datetime):
        if given.tzinfo is None:
            raise ValueError(f"the time {given} does not say in which zone it is: add Z, or +01:00")
        return given.astimezone(UTC)
    if given.log_id != log:
        raise WrongLog(given.log_id, log)
    return given


def _end(source: Source, catalog: Catalog) -> Bookmark:
    """After all that was acknowledged before."""
    with source.client() as client:
        if client.log_id != catalog.log:
            raise WrongLog(catalog.log, client.log_id)
        return client.bookmark()


def _capped(end: Bookmark, stop: Bookmark | datetime | None, archived: Bookmark) -> Bookmark | None:
    """Where the live part ends; None if the archive has all."""
    if isinstance(stop, Bookmark):
        buckets = {*end.offsets, *stop.offsets}
        end = Bookmark(end.log_id, {b: min(end.offset(b) or 0, stop.offset(b) or 0) for b in buckets})
    end = place.later(end, archived)
    beyond = any(at > (archived.offset(bucket) or 0) for bucket, at in end.offsets.items())
    return end if beyond else None
