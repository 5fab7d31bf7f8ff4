"""Filters that Spark pushes down, as far as they narrow what is read: by bucket, offset, time, key and tags.

Spark evaluates all of them again, so what is not understood here costs time and nothing else. It does no IO.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
)

from .options import Choice

_INSTANT: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Bounds:
    buckets: frozenset[int] | None = None
    """None: all."""
    first: int = 0
    end: int | None = None
    """Offsets before it; None: all."""
    since: datetime | None = None
    until: datetime | None = None

    def with_filter(self, pushed: Filter) -> "Bounds":
        match pushed:
            case In(("bucket",), values):
                return self._in_buckets(values)
            case EqualTo(("bucket",), value) | EqualNullSafe(("bucket",), value):
                return self._in_buckets([value])
            case EqualTo(("offset",), value) | EqualNullSafe(("offset",), value) if _is_whole(value):
                return self._from(value)._before(value + 1)
            case GreaterThan(("offset",), value) if _is_whole(value):
                return self._from(value + 1)
            case GreaterThanOrEqual(("offset",), value) if _is_whole(value):
                return self._from(value)
            case LessThan(("offset",), value) if _is_whole(value):
                return self._before(value)
            case LessThanOrEqual(("offset",), value) if _is_whole(value):
                return self._before(value + 1)
            case GreaterThan(("timestamp",), value) | GreaterThanOrEqual(("timestamp",), value):
                return self._not_before(_instant(value))
            case LessThan(("timestamp",), value):
                return self._until(_instant(value))
            case LessThanOrEqual(("timestamp",), value):
                return self._until(_after(value))
            case EqualTo(("timestamp",), value) | EqualNullSafe(("timestamp",), value):
                return self._not_before(_instant(value))._until(_after(value))
            case _:
                return self

    def _in_buckets(self, values: Iterable[Any]) -> "Bounds":
        numbers = frozenset(value for value in values if _is_whole(value))
        return replace(self, buckets=numbers if self.buckets is None else self.buckets & numbers)

    def _from(self, offset: int) -> "Bounds":
        return replace(self, first=max(self.first, offset))

    def _before(self, offset: int) -> "Bounds":
        return replace(self, end=offset if self.end is None else min(self.end, offset))

    def _not_before(self, time: datetime | None) -> "Bounds":
        return self if time is None else replace(self, since=time if self.since is None else max(self.since, time))

    def _until(self, time: datetime | None) -> "Bounds":
        return self if time is None else replace(self, until=time if self.until is None else min(self.until, time))


def narrowed(choice: Choice, pushed: Filter) -> Choice:
    """By key and tags, where the options say nothing of them."""
    match pushed:
        case EqualTo(("key",), value) | EqualNullSafe(("key",), value) if choice.key is None:
            key = value.encode() if isinstance(value, str) else value
            return replace(choice, key=bytes(key)) if isinstance(key, bytes | bytearray) else choice
        case EqualTo(("tags",), list() as tags) if (
            tags and not choice.tags and all(isinstance(tag, str) for tag in tags)
        ):
            return replace(choice, tags=tuple(dict.fromkeys(tags)), every=True)
        case _:
            return choice


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _instant(value: Any) -> datetime | None:
    """What has no zone is not understood."""
    return value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo is not None else None


def _after(value: Any) -> datetime | None:
    time = _instant(value)
    return None if time is None else time + _INSTANT
