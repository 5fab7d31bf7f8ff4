"""Batches of many changes in the shape that most clients send, looked at with few vectors.

The general way looks at one column after the other, and each look has a price of its own, however short the column is.
Here all ends are one table and are looked at together; a dictionary of tags that was seen before is known to be good.

As in single.py nothing is refused here: whatever is not recognized as good is left to the general way.
"""

from functools import lru_cache
from itertools import pairwise, repeat
from typing import Final

import numpy as np
from xxhash import xxh64_intdigest

from .batch import Batch, Int32s
from .header import Flag
from .keyhash import SEED
from .limits import KEY_BYTES_MAX, TAG_BYTES_MAX, TAGS_PER_CHANGE_MAX, VALUE_BYTES_MAX
from .single import UNUSUAL

NOT_PLAIN: Final = UNUSUAL | Flag.NULL_KEYS | Flag.NULL_VALUES
_LIMITS: Final = np.array((KEY_BYTES_MAX, VALUE_BYTES_MAX, TAGS_PER_CHANGE_MAX), np.int32)
_PADDING_MAX: Final = bytes(7)

# What the methods of the same names do, without the Python that numpy has around them.
_least = np.minimum.reduce
_most = np.maximum.reduce
_all = np.logical_and.reduce


def is_sound(batch: Batch, *, hashes: bool) -> bool:
    """Whether the columns of a batch are as `verify` wants them. False does not say that anything is wrong.

    The header and the checksums have been checked, nothing else has.
    """
    header, raw, where = batch.header, batch.body, batch.layout
    count = header.change_count
    if header.flags & NOT_PLAIN or not count or where.blobs > len(raw):
        return False
    ends = np.frombuffer(raw, np.int32, 3 * (count + 1), where.key_ends).reshape(3, count + 1)
    if ends[:, 0].any() or _least(ends, axis=None) < 0:
        return False
    lengths = ends[:, 1:] - ends[:, :-1]
    if _least(lengths, axis=None) < 0 or not _all(_most(lengths, axis=1) <= _LIMITS):
        return False
    keys_length, values_length, codes_count = ends[:, -1].tolist()
    if codes_count != header.tag_codes:
        return False
    names_length = _names_length(batch)
    keys = where.blobs + names_length
    end = keys + keys_length + values_length
    if names_length < 0 or end > len(raw) or not _PADDING_MAX.startswith(raw[end:]):
        return False
    return not hashes or _hashes_fit(batch, ends[0], keys, keys_length)


def _names_length(batch: Batch) -> int:
    """Of the dictionary; -1 where it, or what points into it, is not good."""
    header, raw, where = batch.header, batch.body, batch.layout
    count = header.tag_names
    length = int.from_bytes(raw[where.name_ends + 4 * count : where.blobs], "little", signed=True)
    if not 0 <= length <= len(raw) - where.blobs:
        return -1
    if not _is_dictionary(count, bytes(raw[where.name_ends : where.blobs + length])):
        return -1
    if not count:
        return -1 if header.tag_codes else length
    codes = np.frombuffer(raw, np.uint32, header.tag_codes, where.tag_codes)
    if not len(codes) or _most(codes) >= count:
        return -1
    carried = np.zeros(count, np.bool_)
    carried[codes] = True
    return length if _all(carried) else -1


@lru_cache(maxsize=1024)
def _is_dictionary(count: int, content: bytes) -> bool:
    """Ends, then names. Clients of one kind tend to have the same tags."""
    ends = np.frombuffer(content, np.int32, count + 1).tolist()
    blob = content[4 * (count + 1) :]
    if ends[0] or ends[-1] != len(blob) or not all(0 < end - start <= TAG_BYTES_MAX for start, end in pairwise(ends)):
        return False
    names = [blob[start:end] for start, end in pairwise(ends)]
    if len(set(names)) < count:
        return False
    try:
        for name in names:
            name.decode()
    except UnicodeDecodeError:
        return False
    return True


def _hashes_fit(batch: Batch, ends: Int32s, start: int, length: int) -> bool:
    blob = bytes(batch.body[start : start + length])
    keys = [blob[first:last] for first, last in pairwise(ends.tolist())]
    hashes = np.fromiter(map(xxh64_intdigest, keys, repeat(SEED)), np.uint64, len(keys))
    return hashes.tobytes() == batch.body[: 8 * len(keys)]
