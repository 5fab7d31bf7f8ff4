"""Batches of many changes in the shape that most clients send, looked at with few vectors.

The general way looks at one column after the other, and each look has a price of its own, however short the column is.
Here all ends are one table and are looked at together; a dictionary of tags that was seen before is known to be good.

As in single.py nothing is refused here: whatever is not recognized as good is left to the general way.
"""

from functools import lru_cache
from itertools import pairwise, repeat
from typing import Final

import numpy as np
from xxhash import xxh64_digest

from .batch import Batch
from .header import Buffer, Flag
from .keyhash import SEED
from .limits import KEY_BYTES_MAX, TAG_BYTES_MAX, TAGS_PER_CHANGE_MAX, VALUE_BYTES_MAX
from .single import UNUSUAL

NOT_PLAIN: Final = UNUSUAL | Flag.NULL_KEYS | Flag.NULL_VALUES
_ENDS_MAX: Final = 1 << 31
"""No end is as far out, however many lengths come before it: then they are what they would be with signs."""
_PADDING_MAX: Final = bytes(7)
_NO_NAMES: Final = bytes(4)
"""The ends of a dictionary without names: the one that stands before the first."""

# What the method of the same name does, without the Python that numpy has around it.
_most = np.maximum.reduce


def is_sound(batch: Batch, *, hashes: bool) -> bool:
    """Whether the columns of a batch are as `verify` wants them. False does not say that anything is wrong.

    The header and the checksums have been checked, nothing else has.
    """
    header, raw, where = batch.header, batch.body, batch.layout
    count = header.change_count
    if header.flags & NOT_PLAIN or not count or where.blobs > len(raw):
        return False
    # Without signs: where ends fall, the length is beyond every limit.
    ends = np.frombuffer(raw, np.uint32, 3 * (count + 1), where.key_ends).reshape(3, count + 1)
    key_longest, value_longest, tags_most = _most(ends[:, 1:] - ends[:, :-1], 1).tolist()
    if key_longest > KEY_BYTES_MAX or value_longest > VALUE_BYTES_MAX or tags_most > TAGS_PER_CHANGE_MAX:
        return False
    if count * max(key_longest, value_longest, tags_most) >= _ENDS_MAX:  # ends may have gone once around
        return False
    (keys_begin, keys_length), (values_begin, values_length), (codes_begin, codes_end) = ends[:, ::count].tolist()
    if keys_begin or values_begin or codes_begin or codes_end != header.tag_codes:
        return False
    names_length = _names_length(batch)
    keys = where.blobs + names_length
    end = keys + keys_length + values_length
    if names_length < 0 or end > len(raw) or not _PADDING_MAX.startswith(raw[end:]):
        return False
    if not hashes:
        return True
    if 0 < keys_length == key_longest * count:
        return _hashes_fit(raw, np.frombuffer(raw, _bytes_of(key_longest), count, keys).tolist())
    blob, start = bytes(raw[keys : keys + keys_length]), 0
    return _hashes_fit(raw, [blob[start : (start := end)] for end in ends[0, 1:].tolist()])


def _names_length(batch: Batch) -> int:
    """Of the dictionary; -1 where it, or what points into it, is not good."""
    header, raw, where = batch.header, batch.body, batch.layout
    count = header.tag_names
    if not count:
        return -1 if header.tag_codes or raw[where.name_ends : where.blobs] != _NO_NAMES else 0
    length = int.from_bytes(raw[where.blobs - 4 : where.blobs], "little", signed=True)
    if not 0 <= length <= len(raw) - where.blobs:
        return -1
    if not _is_dictionary(count, bytes(raw[where.name_ends : where.blobs + length])):
        return -1
    carried = np.zeros(count, np.uint8)
    try:
        carried[np.frombuffer(raw, np.uint32, header.tag_codes, where.tag_codes)] = 1
    except IndexError:
        return -1
    return length if 0 not in carried.tobytes() else -1


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


@lru_cache(maxsize=256)
def _bytes_of(length: int) -> "np.dtype[np.void]":
    """So many bytes, as an element of a vector: keys of one length are cut apart by numpy, in a quarter of the time."""
    return np.dtype((np.void, length))


def _hashes_fit(raw: Buffer, keys: list[bytes]) -> bool:
    """Bytes are compared, not numbers, which would have to be made first; the hasher puts the highest byte first."""
    stored = np.frombuffer(raw, np.uint64, len(keys))
    return b"".join(map(xxh64_digest, keys, repeat(SEED))) == stored.byteswap().tobytes()
