"""One change, as a Python program sees it. Nothing on the hot path makes these."""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Change(NamedTuple):
    offset: int
    timestamp: int
    """Microseconds since 1970, UTC."""
    key: bytes | None
    value: bytes | None
    """None says that the key is deleted."""
    tags: tuple[str, ...]
    connection: int
    series: int

    @property
    def time(self) -> datetime:
        return _EPOCH + timedelta(microseconds=self.timestamp)
