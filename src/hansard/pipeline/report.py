"""The job `report`: how much is written by whom, when, to which keys and buckets; and how far behind holds are.

All numbers come from one pass over the changes between two bookmarks, which are kept in memory, without their values,
while the steps of usage.py look at them from each side.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from msgspec import Struct
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from hansard.bookmark import Bookmark
from hansard.client import Client

from . import usage
from .reading import chosen, read
from .source import Source

PIECES: Final = 60
LIMIT: Final = 20
PREFIX: Final = "tenant:"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Volume(Struct, frozen=True, kw_only=True):
    name: str
    changes: int
    bytes: int
    deleted: int
    keys: int | None = None
    tenant: str | None = None


class Rate(Struct, frozen=True, kw_only=True):
    """Of one tenant, in each piece of the time."""

    tenant: str
    changes: list[int]
    bytes: list[int]


class Lag(Struct, frozen=True, kw_only=True):
    """How far a hold is from the end of the log, in offsets of all buckets together."""

    name: str
    changes: int
    expires: str


class Report(Struct, frozen=True, kw_only=True):
    log: str
    made: str
    prefix: str
    first: str
    """The time of the first change; empty if there is none."""
    last: str
    changes: int
    bytes: int
    skew: float
    """How much larger the largest bucket is than the mean: 1 is even."""
    piece_s: float
    tenants: list[Volume]
    tags: list[Volume]
    keys: list[Volume]
    """Those that change most often."""
    buckets: list[Volume]
    rates: list[Rate]
    holds: list[Lag]


@dataclass(frozen=True, slots=True)
class Reporter:
    spark: SparkSession
    source: Source
    archive: str = ""
    """With it, all that was ever archived counts, and not only what the log retains."""
    since: datetime | None = None
    until: datetime | None = None
    prefix: str = PREFIX
    limit: int = LIMIT
    pieces: int = PIECES
    reached: Callable[[str], None] = lambda _: None

    def run(self) -> Report:
        with self.source.client() as client:
            end = client.bookmark()
            self.reached("reading")
            rows = usage.measured(self._changes(client, end), self.prefix).persist(StorageLevel.MEMORY_AND_DISK)
            try:
                return self._told(rows, client.log_id, lags(client.ask({"ask": "holds"})["holds"], end))
            finally:
                rows.unpersist()

    def _changes(self, client: Client, end: Bookmark) -> DataFrame:
        source = self.source
        if self.archive:
            return read(
                self.spark,
                archive=self.archive,
                endpoints=source.endpoints,
                since=self.since,
                until=self.until or end,
                token=source.token,
                tls_ca=source.tls_ca,
                tls_cert=source.tls_cert,
                tls_key=source.tls_key,
            )
        start = client.bookmark(self.since or _EPOCH)
        stop = client.bookmark(self.until) if self.until is not None else end
        return chosen(source.changes(self.spark, start, stop))

    def _told(self, rows: DataFrame, log: str, holds: list[Lag]) -> Report:
        tenants = _volumes(usage.by_tenant(rows), usage.TENANT)
        self.reached("counting keys and buckets")
        buckets = _volumes(usage.by_bucket(rows), "bucket")
        keys = _volumes(usage.hot_keys(rows, self.limit), "key")
        tags = _volumes(usage.by_tag(rows, self.limit), "tag")
        self.reached("counting over time")
        (ends,) = usage.span(rows).collect()
        first_us, last_us = ends["first_us"] or 0, ends["last_us"] or 0
        width_us = max(1, -(-(last_us - first_us + 1) // self.pieces))
        rates = rates_of(
            usage.over_time(rows, first_us, width_us).collect(), [each.name for each in tenants], self.pieces
        )
        return Report(
            log=log,
            made=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
            prefix=self.prefix,
            first=_time(first_us),
            last=_time(last_us),
            changes=sum([each.changes for each in tenants]),
            bytes=sum([each.bytes for each in tenants]),
            skew=skew([each.bytes for each in buckets]),
            piece_s=width_us / 1e6,
            tenants=tenants,
            tags=tags,
            keys=keys,
            buckets=buckets,
            rates=rates,
            holds=holds,
        )


def _volumes(frame: DataFrame, name: str) -> list[Volume]:
    found = []
    for row in frame.collect():
        known: dict[str, Any] = row.asDict()
        called = known[name]
        if isinstance(called, bytes | bytearray):
            called = bytes(called).decode(errors="backslashreplace")
        found.append(
            Volume(
                name=usage.NOBODY if called is None else str(called),
                changes=known["changes"],
                bytes=known["bytes"],
                deleted=known["deleted"],
                keys=known.get("keys"),
                tenant=known.get(usage.TENANT) if name != usage.TENANT else None,
            )
        )
    return found


def skew(sizes: list[int]) -> float:
    """The largest against the mean; 1 where there is nothing to compare."""
    total = sum(sizes)
    return round(max(sizes) * len(sizes) / total, 3) if total else 1.0


def rates_of(rows: list[Any], tenants: list[str], pieces: int) -> list[Rate]:
    """Each tenant's, with zeros where it has written nothing."""
    found = {name: ([0] * pieces, [0] * pieces) for name in tenants}
    for row in rows:
        changes, sizes = found[row[usage.TENANT]]
        changes[row["piece"]], sizes[row["piece"]] = row["changes"], row["bytes"]
    return [Rate(tenant=name, changes=changes, bytes=sizes) for name, (changes, sizes) in found.items()]


def lags(holds: Sequence[Mapping[str, Any]], end: Bookmark) -> list[Lag]:
    """The one that is furthest behind first."""
    found = []
    for hold in holds:
        places = Bookmark(end.log_id, {int(bucket): place for bucket, place in hold["offsets"].items()})
        behind = sum([max(0, at - (places.offset(bucket) or 0)) for bucket, at in end.offsets.items()])
        found.append(Lag(name=hold["name"], changes=behind, expires=_time(hold["expires_us"])))
    return sorted(found, key=lambda lag: (-lag.changes, lag.name))


def _time(time_us: int) -> str:
    time = _EPOCH + timedelta(microseconds=time_us)
    return time.isoformat(timespec="seconds").replace("+00:00", "Z") if time_us else ""
