"""Going on without what is damaged, where there is no other copy of it: the last resort, and only ever asked for.

A damaged batch is replaced by one that covers its offsets and holds nothing, so that no offset is ever used again.
"""

from collections.abc import Collection

from msgspec.structs import replace

from hansard.batch import covering

from .disk import Disk
from .errors import Corrupt
from .filing import SegmentWriter, sealed
from .manifest import BucketEntry, Segment, segment_path
from .segment import Damage, walk
from .settings import StoreSettings


def without_damage(
    disk: Disk, settings: StoreSettings, entry: BucketEntry, paths: Collection[str], next_id: int
) -> tuple[BucketEntry, int]:
    """The bucket with those of its segments that are among these files written anew, without what is damaged in them;
    and the next free segment number."""
    segments: list[Segment] = []
    for segment in entry.segments:
        if segment_path(entry.bucket, segment.id) not in paths:
            segments.append(segment)
            continue
        writer = SegmentWriter(disk, settings, BucketEntry(entry.bucket), next_id)
        try:
            _copy(disk, entry.bucket, segment, writer)
            writer.finish()
        finally:
            writer.abandon()
        segments += map(sealed, writer.segments)
        next_id = writer.next_id
    return replace(entry, segments=tuple(segments)), next_id


def _copy(disk: Disk, bucket: int, segment: Segment, writer: SegmentWriter) -> None:
    at, epoch, time, whole = segment.base, 0, segment.first_timestamp, True
    try:
        for _, item in walk(disk, bucket, segment):
            if isinstance(item, Damage):
                whole = False
                continue
            header = item.header
            if not whole and header.base_offset > at:
                writer.add(covering(at, header.base_offset, epoch or header.epoch, time), frozenset())
            writer.add(item, None)
            writer.flush()
            at, epoch, time, whole = header.end_offset, header.epoch, header.last_timestamp, True
    except Corrupt:  # the file is missing or cut short
        whole = False
    if not whole and at < segment.end:
        writer.add(covering(at, segment.end, epoch or segment.epoch, time), frozenset())
