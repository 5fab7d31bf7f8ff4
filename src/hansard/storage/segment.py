"""Reading segment files: batch by batch from any block boundary, and making their index anew."""

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from hansard.batch import BATCH_BYTES_MAX, MAGIC, Batch, Malformed, check_header, reopen

from . import document, index
from .disk import Disk
from .errors import Corrupt, DiskFull
from .manifest import Segment, index_path, segment_path

WALK_BYTES = 1 << 20
"""Read at a time: small enough to stay in the processor's cache."""


class Damage(NamedTuple):
    """Bytes of a segment that are no batch, up to the next place where one begins (or the end)."""

    position: int
    length: int
    reason: str


def open_batches(data: bytes) -> Iterator[tuple[int, Batch | Damage]]:
    """The batches that lie one after the other in these bytes, with their places. A damaged one is passed over
    as far as its own header tells its length, and else to the next header that is whole."""
    position = 0
    while position < len(data):
        try:
            batch = reopen(data, position)
        except Malformed as error:
            stop = _next_batch(data, position)
            yield position, Damage(position, stop - position, str(error))
            position = stop
        else:
            yield position, batch
            position += batch.length


def _next_batch(data: bytes, position: int) -> int:
    try:
        stop = position + check_header(data, position).length
        if stop == len(data) or is_header(data, stop):
            return stop
    except Malformed:
        pass
    stop = position
    while (stop := data.find(MAGIC, stop + 1)) >= 0:
        if is_header(data, stop):
            return stop
    return len(data)


def is_header(data: bytes, position: int) -> bool:
    try:
        check_header(data, position)
    except Malformed:
        return False
    return True


def walk(disk: Disk, bucket: int, segment: Segment) -> Iterator[tuple[int, Batch | Damage]]:
    """All of a segment from its beginning, without its index; memory is bounded by the largest batch."""
    path = segment_path(bucket, segment.id)
    try:
        file = disk.open(path, read_only=True)
    except FileNotFoundError:
        raise missing(bucket, segment) from None
    try:
        position, step, end = 0, WALK_BYTES, segment.base
        while position < segment.length:
            data = file.read(position, min(step, segment.length - position))
            if not data:
                rest, offsets = segment.length - position, {"first": end, "end": segment.end}
                raise Corrupt(path, position, rest, "the file is cut short", bucket=bucket, **offsets)
            place, step = 0, WALK_BYTES
            last = position + len(data) >= segment.length or len(data) > BATCH_BYTES_MAX
            while place < len(data):
                item = _item_at(data, place, last)
                if item is None:  # cut by the end of what was read, or damaged: read on from here, and further
                    step = WALK_BYTES if place else 2 * BATCH_BYTES_MAX
                    break
                yield position + place, item
                place += item.length
                end = item.header.end_offset if isinstance(item, Batch) else end
            position += place
    finally:
        file.close()


def _item_at(data: bytes, place: int, last: bool) -> Batch | Damage | None:
    """The batch or the damage at a place; None if only more bytes can tell, and there are more."""
    try:
        return reopen(data, place)
    except Malformed as error:
        if not last:
            return None
        return Damage(place, _next_batch(data, place) - place, str(error))


def missing(bucket: int, segment: Segment) -> Corrupt:
    path = segment_path(bucket, segment.id)
    return Corrupt(path, 0, segment.length, "the file is missing", bucket=bucket, first=segment.base, end=segment.end)


def load_index(disk: Disk, bucket: int, segment: Segment, block_bytes: int, *, read_only: bool) -> index.SegmentIndex:
    """The segment's index from beside it, or made from its batches where that is not there or is another's."""
    path = index_path(bucket, segment.id)
    stored = document.read(disk, path)
    if stored is not None and (found := index.load(stored, segment.length, segment.digest)) is not None:
        return found
    return _rebuild_index(disk, bucket, segment, block_bytes, read_only=read_only)


def _rebuild_index(
    disk: Disk, bucket: int, segment: Segment, block_bytes: int, *, read_only: bool
) -> index.SegmentIndex:
    builder = index.IndexBuilder(0, 0, block_bytes)
    end, timestamp, whole = segment.base, segment.first_timestamp, True
    for _, item in walk(disk, bucket, segment):
        if isinstance(item, Damage):
            builder.skip(item.length, end, timestamp)
            whole = False
        else:
            builder.add(item.header, [index.fingerprint(name) for name in item.tag_names])
            end, timestamp = item.header.end_offset, item.header.last_timestamp
    chunk = builder.chunk()
    made = index.load(chunk, segment.length, builder.digest)
    assert made is not None
    whole = whole and builder.digest == segment.digest
    if whole and not read_only:
        path = index_path(bucket, segment.id)
        with suppress(DiskFull):  # it is a convenience: reads go on without
            with suppress(FileNotFoundError):
                disk.remove(path)  # not changed in place: another bucket may have it, of another length of the segment
            file = disk.open(path, create=True)
            try:
                file.truncate(0)
                file.write(0, [chunk])
            finally:
                file.close()
    return made._replace(complete=whole)
