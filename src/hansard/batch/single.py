"""Batches of one change, as most clients send them, read without vectors.

A vector of one element costs as much to make as one of a thousand, and a batch needs a dozen of them. What is here
does the same work on plain numbers. It knows only the common shape, and never says what is wrong: whatever it does
not recognize as good goes the general way, which accepts it or names the reason. So no refusal is worded twice, and
the only mistake that can be made here is to take too much; tests/batch/test_single.py looks for that.
"""

import struct
from itertools import pairwise
from typing import Final

from .batch import Batch
from .header import Buffer, Flag
from .keyhash import key_hash
from .limits import KEY_BYTES_MAX, TAG_BYTES_MAX, TAGS_PER_CHANGE_MAX, VALUE_BYTES_MAX

_COLUMNS = struct.Struct("<q6i")
"""The hash, then begin and end of the key, the value and the tags: all that comes before the tag codes."""

_UNUSUAL: Final = Flag.COMPRESSED | Flag.OFFSETS | Flag.TIMESTAMPS | Flag.SERIES | Flag.CONNECTIONS
"""What a single change does not have when it comes from its client."""

_NULLS: Final = Flag.NULL_KEYS | Flag.NULL_VALUES

_CODES: Final = tuple(range(TAGS_PER_CHANGE_MAX))
"""A change's tags are numbered as they occur, so this is how the codes of any single change without repeats begin."""

_DICTIONARIES: Final = [struct.Struct(f"<{2 * count + 1}i") for count in range(TAGS_PER_CHANGE_MAX + 1)]
"""By the number of tags: the codes, and the ends of the names."""

_PADDING_MAX: Final = bytes(7)


def is_sound(batch: Batch, *, hashes: bool) -> bool:
    """Whether this is a single change of the common shape whose columns are as `verify` wants them.

    The header and the checksums have been checked, nothing else has. False does not say that anything is wrong.
    """
    header, raw = batch.header, batch.body
    flags, tag_count, length = header.flags, header.tag_codes, header.body_length
    if header.change_count != 1 or flags & _UNUSUAL or tag_count != header.tag_names or tag_count > len(_CODES):
        return False
    names = _names_position(flags, tag_count)
    if names > length:
        return False
    hash_, key_start, key_length, value_start, value_length, tags_start, tags_end = _COLUMNS.unpack_from(raw)
    if key_start or value_start or tags_start or tags_end != tag_count:
        return False
    if not (0 <= key_length <= KEY_BYTES_MAX and 0 <= value_length <= VALUE_BYTES_MAX):
        return False
    if flags & _NULLS and not _are_missing(raw, names, flags, key_length, value_length):
        return False
    keys = names + _names_length(raw, names, tag_count)
    values = keys + key_length
    end = values + value_length
    if not names <= keys <= end <= length or not _PADDING_MAX.startswith(raw[end:]):
        return False
    return not hashes or hash_ == key_hash(None if flags & Flag.NULL_KEYS else bytes(raw[keys:values]))


def _names_position(flags: int, tag_count: int) -> int:
    """Where the bytes begin: behind the columns, the codes, the ends of the names, and a byte for each bitmap."""
    position = _COLUMNS.size + 8 * tag_count + 4
    if flags & _NULLS:
        position += 2 if flags & _NULLS == _NULLS else 1
    return position


def _are_missing(raw: Buffer, names: int, flags: int, key_length: int, value_length: int) -> bool:
    """What a flag says may be missing is missing: its bitmap, right before the names, is zero, and it has no bytes."""
    if flags & Flag.NULL_VALUES and (value_length or raw[names - 1]):
        return False
    key_bits = names - 2 if flags & Flag.NULL_VALUES else names - 1
    return not (flags & Flag.NULL_KEYS and (key_length or raw[key_bits]))


def _names_length(raw: Buffer, names: int, tag_count: int) -> int:
    """Bytes of the dictionary's names; negative where the codes or the names are not known to be good."""
    numbers = _DICTIONARIES[tag_count].unpack_from(raw, _COLUMNS.size)
    ends = numbers[tag_count:]
    if ends[0] or numbers[:tag_count] != _CODES[:tag_count]:
        return -1
    if not tag_count:
        return 0
    blob = bytes(raw[names : names + max(ends[-1], 0)])
    try:
        tags = {blob[start:end].decode() for start, end in pairwise(ends) if 0 < end - start <= TAG_BYTES_MAX}
    except UnicodeDecodeError:
        return -1
    return ends[-1] if len(tags) == tag_count else -1  # otherwise one is empty, too long, or there twice
