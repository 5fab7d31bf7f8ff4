"""What there is to know about a log without reading it."""

from datetime import datetime, timedelta
from typing import NamedTuple

from hansard.storage.store import Store

from .places import BUCKET
from .receipts import EPOCH


class HoldInfo(NamedTuple):
    name: str
    offset: int
    """Nothing from here on is dropped..."""
    expires: datetime
    """...before this time."""


class Info(NamedTuple):
    path: str
    log_id: str
    start: int
    """The first offset that is retained."""
    end: int
    """The offset that the next change gets."""
    first_time: datetime | None
    last_time: datetime | None
    segments: int
    byte_count: int
    """What is stored, in segments and in the journal."""
    unfiled_bytes: int
    """The part of it that is in the journal."""
    holds: list[HoldInfo]
    full: str | None
    """Why nothing can be appended until there is room on the disk again."""
    damage: list[str]
    """What opening the log found damaged; `verify` looks at everything."""


def info_of(store: Store, path: str) -> Info:
    log, manifest = store.log(BUCKET), store.manifest
    with store.shelf.lock:
        segments, tail = log.filed.segments, list(log.tail)
        start, end, last = log.start, log.end, log.timestamp
    first = segments[0].first_timestamp if segments else tail[0].first_timestamp if tail else None
    unfiled = sum(entry.length for entry in tail)
    return Info(
        path=path,
        log_id=store.identity.log_id,
        start=start,
        end=end,
        first_time=None if first is None else _time(first),
        last_time=None if first is None else _time(last),
        segments=len(segments),
        byte_count=sum(segment.length for segment in segments) + unfiled,
        unfiled_bytes=unfiled,
        holds=[HoldInfo(hold.name, hold.offset, _time(hold.expires_at)) for hold in manifest.holds],
        full=None if store.full is None else str(store.full),
        damage=[str(found) for found in store.damage],
    )


def _time(timestamp: int) -> datetime:
    return EPOCH + timedelta(microseconds=timestamp)
