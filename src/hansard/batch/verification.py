"""Bytes from outside, looked at once and completely: afterwards every column may be used blindly.

The checks are vector operations; none costs per change in Python, except that of the key hashes, which has to
hash every key again. Single changes, for which vectors cost the most, are mostly seen to be good without any.
"""

import numpy as np

from . import plain, single
from .batch import Batch, Int32s, Mask, reopen
from .errors import BadTag, BadVector, OverLimit, TooLong, TooShort, WrongKeyHash
from .header import Buffer, Flag, octets
from .keyhash import key_hashes
from .limits import KEY_BYTES_MAX, TAG_BYTES_MAX, TAGS_PER_CHANGE_MAX, VALUE_BYTES_MAX
from .numbering import series_problem, timestamps_problem


def verify(buffer: Buffer, *, hashes: bool = True) -> Batch:
    """The one batch that these bytes are, or the Malformed that says why not.

    Without `hashes` the stored key hashes are believed: for bytes from a peer that has checked them.
    """
    view = octets(buffer)
    batch = reopen(view)
    if batch.length != len(view):
        raise TooLong(batch.length, len(view))
    return _looked_at(batch, hashes=hashes)


def verify_at(buffer: Buffer, position: int) -> Batch:
    """The batch that begins at a position of bytes that hold several."""
    return _looked_at(reopen(buffer, position), hashes=True)


def _looked_at(batch: Batch, *, hashes: bool) -> Batch:
    is_sound = single.is_sound if batch.header.change_count == 1 else plain.is_sound
    if not is_sound(batch, hashes=hashes):
        check_columns(batch)
        if hashes:
            check_hashes(batch)
    return batch


def check_columns(batch: Batch) -> None:
    """Everything behind the header, of a batch of any shape, but the key hashes."""
    _check_room(batch)
    _check_blobs(batch)
    _check_tags(batch)
    _check_order(batch)


def check_hashes(batch: Batch) -> None:
    """Every stored hash against its key."""
    wrong = key_hashes(batch.keys()) != batch.key_hashes
    if wrong.any():
        raise WrongKeyHash(int(np.flatnonzero(wrong)[0]))


def _check_room(batch: Batch) -> None:
    """The vectors fit into the body, and so does what their ends promise; only then may anything be laid over it."""
    raw_length = len(batch.raw)
    if batch.layout.blobs > raw_length:
        raise TooShort(batch.layout.blobs, raw_length)
    blobs = batch.blobs
    if not blobs.names <= blobs.keys <= blobs.values <= blobs.end <= raw_length:
        raise BadVector("ends", f"lead outside the body of {raw_length:,} bytes")
    rest = bytes(batch.raw[blobs.end :])
    if len(rest) > 7 or any(rest):
        raise BadVector("padding", f"{len(rest):,} bytes, where at most 7 zeros are wanted")


def _check_blobs(batch: Batch) -> None:
    key_lengths = _lengths("key_ends", batch.key_ends, "bytes of a key", KEY_BYTES_MAX)
    value_lengths = _lengths("value_ends", batch.value_ends, "bytes of a value", VALUE_BYTES_MAX)
    _check_bits(batch, "key_bits", batch.layout.key_bits, batch.has_key, key_lengths)
    _check_bits(batch, "value_bits", batch.layout.value_bits, batch.has_value, value_lengths)


def _lengths(column: str, ends: Int32s, field: str, limit: int) -> Int32s:
    if ends[0] != 0 or (ends[1:] < ends[:-1]).any():
        raise BadVector(column, "does not rise from zero")
    lengths: Int32s = ends[1:] - ends[:-1]
    longest = int(lengths.max(initial=0))
    if longest > limit:
        raise OverLimit(field, limit, longest)
    return lengths


def _check_bits(batch: Batch, column: str, position: int, present: Mask | None, lengths: Int32s) -> None:
    if present is None:
        return
    if lengths[~present].any():
        raise BadVector(column, "what is missing has bytes")
    used = len(batch) % 8
    if used and batch.raw[position + len(batch) // 8] >> used:
        raise BadVector(column, "has bits past the last change")


def _check_tags(batch: Batch) -> None:
    _lengths("tag_ends", batch.tag_ends, "tags of a change", TAGS_PER_CHANGE_MAX)
    codes, name_count = batch.tag_codes, batch.header.tag_names
    if batch.tag_ends[-1] != len(codes):
        raise BadVector("tag_ends", "does not end where the codes do")
    if len(codes) and codes.view(np.uint32).max() >= name_count:  # a negative code is a large one, too
        raise BadVector("tag_codes", "points outside the dictionary")
    lengths = _lengths("name_ends", batch.name_ends, "bytes of a tag", TAG_BYTES_MAX)
    if not name_count:
        return
    is_carried = np.zeros(name_count, np.bool_)
    is_carried[codes] = True
    if not is_carried.all():
        raise BadTag("a tag stands in the dictionary that no change carries")
    if not lengths.all():
        raise BadTag("a tag is empty")
    if len(set(batch.tag_names)) < name_count:
        raise BadTag("a tag stands twice in the dictionary")
    try:
        batch.tag_blob.decode()
    except UnicodeDecodeError as error:
        raise BadTag(f"a tag is not UTF-8: {error.reason}") from error
    firsts = np.frombuffer(batch.tag_blob, np.uint8)[batch.name_ends[:-1]]
    if ((firsts & 0xC0) == 0x80).any():
        raise BadTag("a tag is not UTF-8: a character is cut in two")


def _check_order(batch: Batch) -> None:
    header, flags = batch.header, batch.header.flags
    if not header.change_count:
        return
    if flags & Flag.OFFSETS:
        distances = batch.offset_distances
        if distances[0] < 0 or distances[-1] >= header.span or (distances[1:] <= distances[:-1]).any():
            raise BadVector("offsets", "do not rise within the span")
    if flags & Flag.TIMESTAMPS:
        if problem := timestamps_problem(batch.timestamps):
            raise BadVector("timestamps", problem)
        if batch.timestamps[0] != header.first_timestamp or batch.timestamps[-1] != header.last_timestamp:
            raise BadVector("timestamps", "do not begin and end as the header says")
    if flags & Flag.SERIES:
        connections = batch.connections if flags & Flag.CONNECTIONS else None
        if connections is not None and connections.min() < 0:
            raise BadVector("connections", "one is negative")
        if problem := series_problem(batch.series, connections, header.first_series):
            raise BadVector("series", problem)
