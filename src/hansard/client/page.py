"""What a reader is given: changes of all buckets in one order, and the place to go on from."""

from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

import msgspec

from hansard.bookmark import Bookmark

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
UNTOLD: Final = -1
"""In place of a bucket or an offset that is kept from a token which is limited to tags."""


class Change(NamedTuple):
    """Sorts as pages are sorted, within a bucket and across buckets: by time, bucket, offset."""

    timestamp: int
    """Microseconds since 1970, UTC."""
    bucket: int
    offset: int
    key: bytes | None
    value: bytes | None
    """None says that the key is deleted."""
    tags: tuple[str, ...]
    connection: int
    series: int

    @property
    def byte_count(self) -> int:
        """Of its texts."""
        return len(self.key or b"") + len(self.value or b"") + sum(map(len, self.tags))

    @property
    def time(self) -> datetime:
        return _EPOCH + timedelta(microseconds=self.timestamp)

    @property
    def text(self) -> str | None:
        """The value as text."""
        return None if self.value is None else self.value.decode()

    def json(self) -> Any:
        """The value as what it says in JSON."""
        return None if self.value is None else msgspec.json.decode(self.value)


class Page(NamedTuple):
    changes: list[Change]
    bookmark: Bookmark
    """To go on: as `since` of the next page, or as `until` where the order is descending."""
    at_start: bool
    """Nothing that is retained comes before what this page covers."""
    at_end: bool
    """Nothing had come after it when it was read. A short page may well have more after it: pages are bounded in bytes,
    too."""
    previous: Bookmark
    """Where this page begins: to go back, as `until` of a page in descending order, or `since` of an ascending one."""


def timestamp_of(time: datetime) -> int:
    """A time as the log keeps it."""
    if time.tzinfo is None or time.utcoffset() is None:
        raise ValueError(
            f"the time {time.isoformat()} does not say in which time zone it is; write datetime.now(UTC), or "
            "time.astimezone()"
        )
    return max(0, (time - _EPOCH) // timedelta(microseconds=1))
