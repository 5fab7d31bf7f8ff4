"""Batches of one change, as most clients send them, without vectors.

A vector of one element costs as much to make as one of a thousand, and a batch needs a dozen of them. What is here
does the same work on plain numbers, for the common shape only: everything else goes the general way.

Nothing is refused here. Whatever is not recognized as good is left to the general way, which accepts it or names the
reason. So no refusal is worded twice, and the only mistake that can be made here is to take too much;
tests/batch/test_single.py looks for that.
"""

import struct
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Final

import numpy as np

from .batch import Batch, Mask, assemble
from .columns import EMPTY_HEADER, Blobs, Columns, Tags, check_size, counted_ends
from .header import HEADER_BYTES, Buffer, Flag
from .keyhash import key_hash
from .layout import padding
from .limits import KEY_BYTES_MAX, TAG_BYTES_MAX, TAGS_PER_CHANGE_MAX, VALUE_BYTES_MAX
from .numbering import client_problem

_COLUMNS = struct.Struct("<q6i")
"""The hash, then begin and end of the key, the value and the tags: all that comes before the tag codes."""

UNUSUAL: Final = Flag.COMPRESSED | Flag.OFFSETS | Flag.TIMESTAMPS | Flag.SERIES | Flag.CONNECTIONS
"""What a single change does not have when it comes from its client."""

_NULLS: Final = Flag.NULL_KEYS | Flag.NULL_VALUES

_CODES: Final = tuple(range(TAGS_PER_CHANGE_MAX))
"""A change's tags are numbered as they occur, so this is how the codes of any single change without repeats begin."""

_NUMBERS: Final = [struct.Struct(f"<{count}i") for count in range(2 * TAGS_PER_CHANGE_MAX + 2)]
"""So many numbers: the codes of a change's tags and the ends of their names are read together."""

_NO_TAGS: Final = ((),)

_PADDING_MAX: Final = bytes(7)


def is_sound(batch: Batch, *, hashes: bool) -> bool:
    """Whether this is a single change of the common shape whose columns are as `verify` wants them.

    The header and the checksums have been checked, nothing else has. False does not say that anything is wrong.
    """
    header, raw = batch.header, batch.body
    flags, tag_count, length = header.flags, header.tag_codes, header.body_length
    if header.change_count != 1 or flags & UNUSUAL or tag_count != header.tag_names or tag_count > len(_CODES):
        return False
    names = _names_position(flags, tag_count, tag_count)
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


def _names_position(flags: int, tag_codes: int, tag_names: int) -> int:
    """Where the bytes begin: behind the columns, the codes, the ends of the names, and a byte for each bitmap."""
    position = _COLUMNS.size + 4 * (tag_codes + tag_names + 1)
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
    numbers = _NUMBERS[2 * tag_count + 1].unpack_from(raw, _COLUMNS.size)
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


def built(
    keys: Sequence[object],
    values: Sequence[object],
    tags: Sequence[object] | None,
    connection: int,
    first_series: int,
    previous_series: int,
) -> Batch | None:
    """The batch of the one change in these columns; None for an uncommon shape, and for what no batch can hold."""
    if len(keys) != 1 or (tags is not None and len(tags) != 1):
        return None
    if not (type(connection) is type(first_series) is type(previous_series) is int):
        return None
    (key,), (value,), (row,) = keys, values, _NO_TAGS if tags is None else tags
    key_bytes, value_bytes, names = _encoded(key), _encoded(value), _encoded_tags(row)
    if key_bytes is None or value_bytes is None or names is None:
        return None
    problem = client_problem(
        connection=connection,
        first_series=first_series,
        previous_series=previous_series,
        change_count=1,
        series_column=False,
        connections_column=False,
    )
    if problem or len(key_bytes) > KEY_BYTES_MAX or len(value_bytes) > VALUE_BYTES_MAX:
        return None
    flags = (Flag.NULL_KEYS if key is None else 0) | (Flag.NULL_VALUES if value is None else 0)
    header = EMPTY_HEADER._replace(
        flags=flags,
        change_count=1,
        span=1,
        tag_names=len(names),
        tag_codes=len(names),
        connection=connection,
        first_series=first_series,
        previous_series=previous_series,
    )
    hash_ = key_hash(None if key is None else key_bytes)
    return assemble(header, _body(flags, hash_, names, key_bytes, value_bytes))


def _body(flags: int, hash_: int, names: Sequence[bytes], key: bytes, value: bytes) -> bytes:
    tag_count = len(names)
    ends = [*accumulate(map(len, names), initial=0)]
    length = _names_position(flags, tag_count, tag_count) + ends[-1] + len(key) + len(value)
    return b"".join(
        (
            _COLUMNS.pack(hash_, 0, len(key), 0, len(value), 0, tag_count),
            _NUMBERS[2 * tag_count + 1].pack(*_CODES[:tag_count], *ends),
            bytes(flags.bit_count()),  # a bitmap for each flag, and nothing is there
            *names,
            key,
            value,
            bytes(padding(length)),
        )
    )


def _encoded(text: object) -> bytes | None:
    """A missing text has no bytes; None is for what is neither that nor one of the two usual types."""
    if type(text) is bytes:
        return text
    if type(text) is str:
        try:
            return text.encode()
        except UnicodeEncodeError:
            return None
    return b"" if text is None else None


def _encoded_tags(tags: object) -> list[bytes] | None:
    """The dictionary of a change that carries each of its tags once; None where these are no such tags."""
    if (type(tags) is not list and type(tags) is not tuple) or len(tags) > TAGS_PER_CHANGE_MAX:
        return None
    try:
        names = [tag.encode() for tag in tags if type(tag) is str]
    except UnicodeEncodeError:
        return None
    return names if len({name for name in names if 0 < len(name) <= TAG_BYTES_MAX}) == len(tags) else None


def joined(batches: Sequence[Batch], flags: int) -> Columns:
    """The columns of many single changes of the common shape, which together are hardly more than a batch may hold.

    `flags` are all that occur among them.
    """
    hashes, key_lengths, value_lengths, tag_counts = [], [], [], []
    keys, values = [], []
    dictionary = _Dictionary()
    for batch in batches:
        header, raw = batch.header, batch.body
        hash_, _, key_length, _, value_length, _, tag_count = _COLUMNS.unpack_from(raw)
        start = dictionary.add(batch) if tag_count else _names_position(header.flags, 0, 0)
        middle = start + key_length
        keys.append(raw[start:middle])
        values.append(raw[middle : middle + value_length])
        hashes.append(hash_)
        key_lengths.append(key_length)
        value_lengths.append(value_length)
        tag_counts.append(tag_count)
    count = len(batches)
    check_size(count, HEADER_BYTES + sum(key_lengths) + sum(value_lengths))
    connections = [batch.header.connection for batch in batches]
    is_somebodys = any(connections)
    return Columns(
        hashes=np.array(hashes, np.int64),
        keys=Blobs(counted_ends(key_lengths, count), keys, _present(batches, flags & Flag.NULL_KEYS)),
        values=Blobs(counted_ends(value_lengths, count), values, _present(batches, flags & Flag.NULL_VALUES)),
        tags=Tags(counted_ends(tag_counts, count), np.array(dictionary.column, np.int32), list(dictionary.codes)),
        connections=np.array(connections, np.int64) if is_somebodys else None,
        series=np.array([batch.header.first_series for batch in batches], np.int64) if is_somebodys else None,
    )


class _Dictionary:
    """The tags of many single changes. Clients of one kind tend to have the same tags, so a dictionary is translated
    once, and its changes' codes with it."""

    def __init__(self) -> None:
        self.codes: dict[bytes, int] = {}
        self.column: list[int] = []
        self._seen: dict[tuple[int, int, bytes], list[int]] = {}

    def add(self, batch: Batch) -> int:
        """Take in the batch's tags; says where its key begins."""
        header, raw = batch.header, batch.body
        code_count, name_count = header.tag_codes, header.tag_names
        names = _names_position(header.flags, code_count, name_count)
        last_end = _COLUMNS.size + 4 * (code_count + name_count)
        keys: int = names + _NUMBERS[1].unpack_from(raw, last_end)[0]
        text = bytes(raw[_COLUMNS.size : keys])  # codes, ends and names, with what may lie between
        known = code_count, names, text
        codes = self._seen.get(known)
        if codes is None:
            codes = self._seen[known] = self._translated(text, code_count, name_count, names - _COLUMNS.size)
        self.column += codes
        return keys

    def _translated(self, text: bytes, code_count: int, name_count: int, names: int) -> list[int]:
        codes, new = self.codes, []
        numbers = _NUMBERS[code_count + name_count + 1].unpack_from(text)
        start = names
        for end in numbers[code_count + 1 :]:
            new.append(codes.setdefault(text[start : names + end], len(codes)))
            start = names + end
        return [new[code] for code in numbers[:code_count]]


def _present(batches: Sequence[Batch], flag: int) -> Mask | None:
    """Which changes have what may be missing; None without the flag that says that some is."""
    if not flag:
        return None
    bits = "key_bits" if flag == Flag.NULL_KEYS else "value_bits"
    return np.array(
        [not batch.header.flags & flag or batch.body[getattr(batch.layout, bits)] & 1 for batch in batches], np.bool_
    )
