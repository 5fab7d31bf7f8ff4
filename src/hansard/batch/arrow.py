"""Batches to and from Arrow. The columns of a batch are in Arrow's layout already, so most are handed over as they are.

Tags become a list of dictionary-encoded strings, which is how they are stored. Offsets, times, connections and
series are vectors of their own here, whether or not the batch stores them as columns.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .batch import Batch, Int32s, Int64s, Mask
from .builder import check_count, submission, tag_name
from .columns import Blobs, Columns, Tags, check_longest, pack, running_ends
from .errors import BadInput, LimitExceeded
from .header import Flag
from .keyhash import key_hashes
from .limits import BATCH_BYTES_MAX, KEY_BYTES_MAX, SPAN_MAX, TAGS_PER_CHANGE_MAX, VALUE_BYTES_MAX
from .numbering import NO_SERIES

_INT64 = pa.int64()
_INT32 = pa.int32()
_STRING = pa.string()
_BINARY = pa.binary()
_TIMESTAMP = pa.timestamp("us", "UTC")
_TAGS = pa.list_(pa.dictionary(_INT32, _STRING))

SCHEMA: Final = pa.schema(
    [
        pa.field("offset", _INT64, nullable=False),
        pa.field("timestamp", _TIMESTAMP, nullable=False),
        pa.field("key", _BINARY),
        pa.field("value", _BINARY),
        pa.field("tags", _TAGS, nullable=False),
        pa.field("connection", _INT64, nullable=False),
        pa.field("series", _INT64, nullable=False),
    ]
)


def to_arrow(batch: Batch) -> pa.RecordBatch:
    """The batch as a record batch over the same bytes; nothing of size is copied."""
    return pa.RecordBatch.from_arrays(
        [
            _vector(_INT64, batch.offsets),
            _vector(_TIMESTAMP, batch.timestamps),
            batch.key_array(),
            batch.value_array(),
            _tag_array(batch),
            _connections(batch),
            _series(batch),
        ],
        schema=SCHEMA,
    )


def _vector(kind: pa.DataType, values: Int64s) -> pa.Array:
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])


def _connections(batch: Batch) -> pa.Array:
    if batch.header.flags & Flag.CONNECTIONS:
        return _vector(_INT64, batch.connections)
    return _constant(batch.header.connection, batch.header.change_count)


def _series(batch: Batch) -> pa.Array:
    if batch.header.connection or batch.header.flags & Flag.SERIES:
        return _vector(_INT64, batch.series)
    return _constant(0, batch.header.change_count)


@lru_cache(maxsize=16)
def _constant(number: int, count: int) -> pa.Array:
    """Kept, because a client's batches tend to follow each other, and nobody can change an array."""
    return _vector(_INT64, np.full(count, number, np.int64))


def _tag_array(batch: Batch) -> pa.Array:
    header, where, buffer = batch.header, batch.layout, batch.buffer
    name_ends = buffer.slice(where.name_ends, 4 * (header.tag_names + 1))
    name_bytes = buffer.slice(where.blobs, batch.blobs.keys - where.blobs)
    names = pa.Array.from_buffers(_STRING, header.tag_names, [None, name_ends, name_bytes])
    codes = buffer.slice(where.tag_codes, 4 * header.tag_codes)
    coded = pa.DictionaryArray.from_buffers(_TAGS.value_type, header.tag_codes, [None, codes], names)
    ends = buffer.slice(where.tag_ends, 4 * (header.change_count + 1))
    return pa.Array.from_buffers(_TAGS, header.change_count, [None, ends], children=[coded])


def from_arrow(
    table: pa.RecordBatch | pa.Table,
    *,
    connection: int = 0,
    first_series: int = 0,
    previous_series: int = NO_SERIES,
    series: Int64s | None = None,
    hashes: Int64s | None = None,
) -> Batch:
    """A batch of the columns `key`, `value` and, if they are there, `tags` and `timestamp`; others do not matter.

    `series` are given where they do not simply count up from `first_series`, and `hashes` of the keys where they are
    known already."""
    check_count(table.num_rows)
    keys = _cast(_column(table, "key"), "key", _BINARY, _is_text)
    values = _cast(_column(table, "value"), "value", _BINARY, _is_text)
    names = table.schema.names
    columns = Columns(
        keys=_blobs(keys, "key", KEY_BYTES_MAX),
        hashes=key_hashes(keys.to_pylist()) if hashes is None else hashes,
        values=_blobs(values, "value", VALUE_BYTES_MAX),
        tags=_tags(_column(table, "tags")) if "tags" in names else Tags.none(table.num_rows),
        timestamps=_timestamps(_column(table, "timestamp")) if "timestamp" in names else None,
        series=series,
    )
    if series is not None:
        first_series = int(series[0])
    return submission(columns, connection, first_series, previous_series)


def logged_from_arrow(table: pa.RecordBatch | pa.Table) -> Batch:
    """Changes as a log had them, with offset, time, connection and series: for who brings them to another cluster. The
    columns are those of `to_arrow`; offsets rise, and may have gaps."""
    check_count(table.num_rows)
    keys = _cast(_column(table, "key"), "key", _BINARY, _is_text)
    offsets, connections, series = (_integers(table, name) for name in ("offset", "connection", "series"))
    if offsets[0] < 0 or (offsets[1:] <= offsets[:-1]).any():
        raise BadInput("offset", "does not rise")
    distances = offsets - offsets[0]
    if distances[-1] >= SPAN_MAX:
        raise LimitExceeded("offsets that a batch covers", SPAN_MAX, int(distances[-1]) + 1)
    is_numbered = bool(connections.any())  # nobody's changes have no numbers
    columns = Columns(
        keys=_blobs(keys, "key", KEY_BYTES_MAX),
        hashes=key_hashes(keys.to_pylist()),
        values=_blobs(_cast(_column(table, "value"), "value", _BINARY, _is_text), "value", VALUE_BYTES_MAX),
        tags=_tags(_column(table, "tags")),
        timestamps=_timestamps(_column(table, "timestamp")),
        connections=connections if is_numbered else None,
        series=series if is_numbered else None,
    )
    batch = submission(columns, 0, 0, NO_SERIES)
    header = batch.header._replace(base_offset=int(offsets[0]), span=int(distances[-1]) + 1)
    return pack(header, columns._replace(offsets=distances.astype(np.int32)))


def _integers(table: pa.RecordBatch | pa.Table, name: str) -> Int64s:
    column = _cast(_column(table, name), name, _INT64, pa.types.is_integer)
    if column.null_count:
        raise BadInput(name, "is missing for some changes")
    return np.ascontiguousarray(column.to_numpy())


_COLUMN_BYTES_MAX: Final = 1 << 30
"""Far beyond any batch, and below what the ends of one array can count."""


def _column(table: pa.RecordBatch | pa.Table, name: str) -> pa.Array:
    """One column in one piece, without a dictionary."""
    names = table.schema.names
    if names.count(name) != 1:
        raise BadInput(name, f"one such column is wanted, and there are {', '.join(names) or 'none'}")
    column = table.column(name)
    if column.nbytes > _COLUMN_BYTES_MAX:
        raise LimitExceeded("bytes in a batch", BATCH_BYTES_MAX, column.nbytes)
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _cast(column: pa.Array, name: str, wanted: pa.DataType, is_allowed: Callable[[pa.DataType], bool]) -> pa.Array:
    """Arrow would also make text of numbers and times of text; what it is asked here is only to change the layout."""
    if not is_allowed(column.type):
        raise BadInput(name, f"a column of {column.type} cannot be read as {wanted}")
    try:
        return pc.cast(column, wanted)
    except pa.ArrowException as error:
        raise BadInput(name, f"cannot be read as {wanted}: {error}") from error


def _is_text(kind: pa.DataType) -> bool:
    return any(
        is_kind(kind)
        for is_kind in (
            pa.types.is_string,
            pa.types.is_binary,
            pa.types.is_large_string,
            pa.types.is_large_binary,
            pa.types.is_string_view,
            pa.types.is_binary_view,
            pa.types.is_fixed_size_binary,
            pa.types.is_null,
        )
    )


def _is_time(kind: pa.DataType) -> bool:
    return any(is_kind(kind) for is_kind in (pa.types.is_timestamp, pa.types.is_int64))


def _blobs(array: pa.Array, field: str, limit: int) -> Blobs:
    """A column of Arrow's binaries as one of ours, over the same bytes."""
    present: Mask | None = None
    if array.null_count:
        present = array.is_valid().to_numpy(zero_copy_only=False)
        array = array.fill_null(b"")  # Arrow does not mind bytes where nothing is; the format does
    _, ends_buffer, data = array.buffers()
    ends: Int32s = np.frombuffer(ends_buffer, np.int32, len(array) + 1, 4 * array.offset)
    start, stop = int(ends[0]), int(ends[-1])
    ends = ends - start
    check_longest(ends, f"bytes of a {field}", limit)
    return Blobs(ends, [memoryview(data)[start:stop]] if stop > start else [], present)


def _timestamps(column: pa.Array) -> Int64s:
    times = _cast(column, "timestamp", _TIMESTAMP, _is_time)
    if times.null_count:
        raise BadInput("timestamp", "is missing for some changes")
    numbers: Int64s = times.cast(_INT64).to_numpy()
    return np.ascontiguousarray(numbers)


def _tags(column: pa.Array) -> Tags:
    """A missing list of tags is an empty one; a missing tag is a mistake."""
    try:
        lengths = pc.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False)
        flat: Any = column.flatten()
    except (pa.ArrowException, AttributeError) as error:
        raise BadInput("tags", f"a column of {column.type} is no list of strings for each change") from error
    if pa.types.is_dictionary(flat.type):
        flat = flat.dictionary_decode()
    flat = _cast(flat, "tags", _STRING, _is_text)
    if flat.null_count:
        raise BadInput("tags", "a tag is missing")
    ends = running_ends(lengths.astype(np.int32))
    check_longest(ends, "tags of a change", TAGS_PER_CHANGE_MAX)
    coded = flat.dictionary_encode()
    names = [tag_name(name) for name in coded.dictionary.to_pylist()]
    return Tags(ends, coded.indices.to_numpy(), names)
