"""Which segments may go. Whole ones, the oldest first, and never past a hold."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .manifest import Hold, Segment


class Retention(NamedTuple):
    """How much to keep; None keeps everything. A segment goes when any of the limits allows it."""

    age_us: int | None = None
    """A segment goes when its last change is older than this."""
    byte_count: int | None = None
    """A segment goes when what is left without it is still at least this much."""
    change_count: int | None = None
    """The same in changes."""
    before: int | None = None
    """A segment goes when all of it is before this offset."""
    through: int | None = None
    """No segment after the one with this id goes, whatever else is said: those that came since may be another log's."""


def held_from(holds: Iterable[Hold], bucket: int, now: int) -> int | None:
    """The first offset that somebody still holds; None if nobody does."""
    return min((hold.offset for hold in holds if hold.bucket == bucket and hold.expires_at > now), default=None)


def droppable(segments: Sequence[Segment], keep: Retention, now: int, held: int | None) -> int:
    """How many segments, from the oldest on, may go."""
    byte_count = sum(segment.length for segment in segments)
    change_count = sum(segment.change_count for segment in segments)
    count = 0
    for segment in segments:
        if held is not None and segment.end > held:
            break
        if keep.through is not None and segment.id > keep.through:
            break
        byte_count -= segment.length
        change_count -= segment.change_count
        expired = keep.age_us is not None and segment.last_timestamp < now - keep.age_us
        spare_bytes = keep.byte_count is not None and byte_count >= keep.byte_count
        spare_changes = keep.change_count is not None and change_count >= keep.change_count
        unwanted = keep.before is not None and segment.end <= keep.before
        if not (expired or spare_bytes or spare_changes or unwanted):
            break
        count += 1
    return count
