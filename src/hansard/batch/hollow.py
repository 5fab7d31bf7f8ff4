"""Batches of which some changes are there in name only: their key, numbers and time, and nothing of what they said.

A log that is imported into more buckets than it had goes to each of them by its own keys alone. But how far a client's
stream has come is one number for all parts of the bucket that it was sent to, so each part has to know of the changes
that went to the others. They count for nothing else: whoever reads leaves out what is another bucket's.
"""

import numpy as np

from .batch import Batch, Int32s, Mask
from .columns import Blobs, Columns, Tags, pack, running_ends
from .header import Flag
from .select import select


def hollow(batch: Batch, mask: Mask) -> Batch:
    """The changes where the mask is true; of the others that are a client's what tells how far its stream has come."""
    assert len(mask) == len(batch)
    told = mask | (batch.connections != 0)
    batch, mask = select(batch, told), mask[told]
    if mask.all():
        return batch
    flags = batch.header.flags
    columns = Columns(
        hashes=batch.key_hashes,
        keys=Blobs(batch.key_ends, [batch.raw[batch.blobs.keys : batch.blobs.values]], batch.has_key),
        values=_values(batch, mask),
        tags=_tags(batch, mask),
        timestamps=batch.timestamps if flags & Flag.TIMESTAMPS else None,
        connections=batch.connections if flags & Flag.CONNECTIONS else None,
        series=batch.series if flags & Flag.SERIES else None,
        offsets=batch.offset_distances if flags & Flag.OFFSETS else None,
    )
    return pack(batch.header, columns)


def _values(batch: Batch, mask: Mask) -> Blobs:
    ends, start = batch.value_ends, batch.blobs.values
    view = memoryview(batch.raw)
    pieces = [view[start + ends[row] : start + ends[row + 1]] for row in mask.nonzero()[0]]
    present = mask if batch.has_value is None else mask & batch.has_value
    return Blobs(_kept_ends(ends, mask), pieces, present)


def _tags(batch: Batch, mask: Mask) -> Tags:
    """Over a dictionary of just the tags that are left."""
    ends = batch.tag_ends
    codes = batch.tag_codes[np.repeat(mask, ends[1:] - ends[:-1])]
    left, new_codes = np.unique(codes, return_inverse=True)
    names = batch.tag_names
    return Tags(_kept_ends(ends, mask), new_codes.astype(np.int32), [names[code] for code in left])


def _kept_ends(ends: Int32s, mask: Mask) -> Int32s:
    lengths: Int32s = np.where(mask, ends[1:] - ends[:-1], 0).astype(np.int32)
    return running_ends(lengths)
