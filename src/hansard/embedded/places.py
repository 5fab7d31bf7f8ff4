"""Places in a log as users name them: a bookmark or its token, an offset, or a time."""

from datetime import datetime, timedelta

from hansard.bookmark import PREFIX, BadPlace, Bookmark
from hansard.storage.errors import Trimmed
from hansard.storage.store import Store

from .errors import AheadOfLog
from .receipts import EPOCH

BUCKET = 0
"""An embedded log is one bucket."""

Place = Bookmark | int | datetime | str
"""A str is a bookmark's token, a time in RFC 3339, or an offset in digits."""


def timestamp_of(time: datetime | str) -> int:
    """A time as the log keeps it: microseconds since 1970, UTC."""
    if isinstance(time, str):
        try:
            time = datetime.fromisoformat(time)
        except ValueError:
            raise BadPlace(
                f"{time!r} is neither a bookmark, an offset nor a time; write times as 2024-05-31T12:00:00Z"
            ) from None
    if time.tzinfo is None or time.utcoffset() is None:
        example = time.isoformat()
        raise BadPlace(
            f"the time {example} does not say in which time zone it is; write {example}Z or {example}+02:00, "
            "in Python datetime.now(UTC) or time.astimezone()"
        )
    return (time - EPOCH) // timedelta(microseconds=1)


def parsed(place: Place) -> Bookmark | int | datetime:
    """A str as what it stands for."""
    if isinstance(place, bool) or not isinstance(place, Bookmark | int | datetime | str):
        raise BadPlace(f"a bookmark, an offset or a time is wanted, not {type(place).__name__}")
    if not isinstance(place, str):
        return place
    if place.startswith(PREFIX):
        return Bookmark.parse(place)
    if place.isascii() and place.isdigit():
        return int(place)
    return EPOCH + timedelta(microseconds=timestamp_of(place))


def offset_of(store: Store, place: Place) -> int:
    """The offset of the first change at or after a place. It may be one that is not retained, or not there yet."""
    place = parsed(place)
    if isinstance(place, Bookmark):
        offset, end = place.resolve(store.identity.log_id, (BUCKET,))[BUCKET], store.bounds(BUCKET)[1]
        if offset > end:
            raise AheadOfLog(offset, end)
        return offset
    if isinstance(place, datetime):
        return store.offset_since(BUCKET, timestamp_of(place))
    if place < 0:
        raise BadPlace(f"offsets begin at 0, so {place} is none")
    return place


def first_offset(store: Store, since: Place | None) -> int:
    """Where a read from a place begins; Trimmed if retention has dropped what was there."""
    start = store.bounds(BUCKET)[0]
    if since is None:
        return start
    offset = offset_of(store, since)
    if offset < start:
        raise Trimmed(BUCKET, offset, start)
    return offset
