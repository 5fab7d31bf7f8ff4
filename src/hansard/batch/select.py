"""A part of a batch, at its old offsets: for splits, filtered reads and pages that end inside a batch.

Values are moved as bytes and never looked at. The part still covers the whole batch's span of offsets, so that a
log of parts has no holes in it where a change was left out.
"""

from collections import defaultdict
from itertools import count
from operator import sub

import numpy as np

from .batch import Batch, Int32s, Int64s, Mask
from .columns import Blobs, Columns, Tags, counted_ends, pack
from .header import Buffer
from .layout import ABSENT


def select(batch: Batch, mask: Mask) -> Batch:
    """The changes where the mask is true; the batch itself where that is all of them."""
    assert len(mask) == len(batch)
    chosen = mask.nonzero()[0]
    if len(chosen) == len(batch):
        return batch
    header, where, blobs = batch.header, batch.layout, batch.blobs
    timestamps, connections, series = None, None, None
    if not len(chosen):
        header = header._replace(last_timestamp=header.first_timestamp)
    elif where.timestamps != ABSENT:
        timestamps = batch.timestamps[chosen]
    if where.connections != ABSENT:
        connections, series = batch.connections[chosen], batch.series[chosen]
    elif header.connection:
        series = header.first_series + chosen if where.series == ABSENT else batch.series[chosen]
        header = header._replace(first_series=int(series[0]) if len(chosen) else header.first_series)
    rows = np.array((chosen, chosen + 1))
    columns = Columns(
        hashes=batch.key_hashes[chosen],
        keys=_blobs(batch.raw[blobs.keys : blobs.values], batch.key_ends, batch.has_key, rows),
        values=_blobs(batch.raw[blobs.values : blobs.end], batch.value_ends, batch.has_value, rows),
        tags=_tags(batch, rows),
        timestamps=timestamps,
        connections=connections,
        series=series,
        offsets=chosen.astype(np.int32) if where.offsets == ABSENT else batch.offset_distances[chosen],
    )
    return pack(header, columns)


def between(batch: Batch, first: int, end: int) -> Batch:
    """The changes with offsets from `first` up to, not including, `end`; the batch itself where that is all."""
    header = batch.header
    if first <= header.base_offset and end >= header.end_offset:
        return batch
    return select(batch, (batch.offsets >= first) & (batch.offsets < end))


def _blobs(blob: Buffer, ends: Int32s, present: Mask | None, rows: Int64s) -> Blobs:
    left = None if present is None else present[rows[0]]
    return Blobs(*_part(blob, ends, rows), None if left is None or left.all() else left)


def _part(blob: Buffer, ends: Int32s, rows: Int64s) -> tuple[Int32s, list[Buffer]]:
    """Of a column the chosen rows, given as the places of their two ends: new ends for them, and their bytes."""
    starts, stops = ends[rows].tolist()
    part_ends = counted_ends(map(sub, stops, starts), len(starts))
    if starts[1:] == stops[:-1]:  # they lie together, and are moved together
        return part_ends, [blob[starts[0] : stops[-1]]] if starts else []
    return part_ends, [blob[start:stop] for start, stop in zip(starts, stops, strict=True)]


def _tags(batch: Batch, rows: Int64s) -> Tags:
    """The chosen changes' codes, over a dictionary of just the tags that are left: the others are nobody's business."""
    ends, pieces = _part(batch.tag_codes.data, batch.tag_ends, rows)
    old_codes = np.frombuffer(b"".join(pieces), np.int32).tolist()
    new_codes: defaultdict[int, int] = defaultdict(count().__next__)
    codes = np.fromiter(map(new_codes.__getitem__, old_codes), np.int32, len(old_codes))
    names = batch.tag_names if new_codes else []
    return Tags(ends, codes, [names[code] for code in new_codes])
