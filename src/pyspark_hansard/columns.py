"""The columns of a change, in Spark and in Arrow; and batches of the log as one record batch of them.

Batches of the log are in Arrow's layout already, so a record batch is put together from whole columns: there is no
Python for each change, and Spark gets few large ones instead of one for each batch.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from hansard.batch import Batch, select, tag_mask

from .options import BadOption, Choice
from .texts import structs, text

TYPES: Final = {
    "bucket": "INT",
    "offset": "BIGINT",
    "timestamp": "TIMESTAMP",
    "key": "BINARY",
    "value": "BINARY",
    "tags": "ARRAY<STRING>",
    "connection": "BIGINT",
    "series": "BIGINT",
}
"""In this order, unless `columns` says otherwise."""

RECORDS: Final = b"hansard:"
"""Tags that begin so are on what tools keep in the log for themselves."""


def ddl(columns: Sequence[str], choice: Choice, value_schema: str) -> str:
    """The schema that Spark is told."""
    types = dict(TYPES)
    if choice.key_format == "string":
        types["key"] = "STRING"
    if choice.value_format == "string":
        types["value"] = "STRING"
    elif choice.value_format == "json":
        types["value"] = f"STRUCT<{value_schema}>"
    for name in columns:
        if name not in types:
            raise BadOption(f"columns: there is no {name!r}; there are {', '.join(types)}")
    if len(set(columns)) < len(columns):
        raise BadOption(f"columns: one is named twice: {', '.join(columns)}")
    return ", ".join(f"{name} {types[name]}" for name in columns or types)


def check_schema(schema: StructType, choice: Choice) -> None:
    """Somebody may have given one of their own: it has some of the columns, with the types that they have."""
    for field in schema.fields:
        wanted = TYPES.get(field.name)
        if wanted is None:
            raise BadOption(f"the schema has a column {field.name!r}; there are {', '.join(TYPES)}")
        form = {"key": choice.key_format, "value": choice.value_format}.get(field.name, "")
        kind = field.dataType.simpleString()
        if form == "json":
            is_right = isinstance(field.dataType, StructType)
        else:
            wanted = {"string": "string"}.get(form, wanted)
            is_right = kind.replace("integer", "int") == wanted.lower()
        if not is_right:
            raise BadOption(f"the schema has {field.name} as {kind}, and it is {wanted.lower()}")


def arrow_schema(schema: StructType) -> pa.Schema:
    """Exactly what Spark expects of the first record batch."""
    return to_arrow_schema(schema, timezone="UTC")


def without_records(batches: Sequence[Batch]) -> list[Batch]:
    """What tools keep in the log for themselves is left out."""
    found: list[Batch] = []
    for batch in batches:
        if RECORDS in batch.tag_blob:
            names = [name for name in batch.tag_names if name.startswith(RECORDS)]
            mask = tag_mask(batch, names) if names else None
            if mask is not None:
                batch = select(batch, ~mask)
        if len(batch):
            found.append(batch)
    return found


def record_batch(batches: Sequence[Batch], bucket: int, schema: pa.Schema) -> pa.RecordBatch:
    """Changes of one bucket, in order."""
    count = sum([len(batch) for batch in batches])
    arrays = [_COLUMNS[field.name](batches, bucket, count, field.type) for field in schema]
    if not arrays:
        return pa.RecordBatch.from_struct_array(pa.array([{}] * count, pa.struct([])))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _joined(vectors: Sequence[Any], kind: pa.DataType) -> pa.Array:
    joined = vectors[0] if len(vectors) == 1 else np.concatenate(vectors)
    return pa.Array.from_buffers(kind, len(joined), [None, pa.py_buffer(joined)])


def _one(arrays: Sequence[pa.Array]) -> pa.Array:
    """A single one as it is, over the bytes that were received."""
    return arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)


def _buckets(batches: Sequence[Batch], bucket: int, count: int, kind: pa.DataType) -> pa.Array:  # noqa: ARG001
    return pa.Array.from_buffers(kind, count, [None, pa.py_buffer(np.full(count, bucket, np.int32))])


def _offsets(batches: Sequence[Batch], bucket: int, count: int, kind: pa.DataType) -> pa.Array:  # noqa: ARG001
    return _joined([batch.offsets for batch in batches], kind)


def _timestamps(batches: Sequence[Batch], bucket: int, count: int, kind: pa.DataType) -> pa.Array:  # noqa: ARG001
    return _joined([batch.timestamps for batch in batches], kind)


def _connections(batches: Sequence[Batch], bucket: int, count: int, kind: pa.DataType) -> pa.Array:  # noqa: ARG001
    return _joined([batch.connections for batch in batches], kind)


def _series(batches: Sequence[Batch], bucket: int, count: int, kind: pa.DataType) -> pa.Array:  # noqa: ARG001
    return _joined([batch.series for batch in batches], kind)


def _keys(batches: Sequence[Batch], bucket: int, count: int, kind: pa.DataType) -> pa.Array:  # noqa: ARG001
    keys = _one([batch.key_array() for batch in batches])
    return keys if kind == keys.type else text(keys, "key", batches, bucket)


def _values(batches: Sequence[Batch], bucket: int, count: int, kind: pa.DataType) -> pa.Array:  # noqa: ARG001
    values = _one([batch.value_array() for batch in batches])
    if kind == values.type:
        return values
    if pa.types.is_struct(kind):
        return structs(values, kind, batches, bucket)
    return text(values, "value", batches, bucket)


def _tags(batches: Sequence[Batch], bucket: int, count: int, kind: pa.DataType) -> pa.Array:  # noqa: ARG001
    ends = np.zeros(count + 1, np.int32)
    names: list[pa.Array] = []
    place = total = 0
    for batch in batches:
        ends[place + 1 : place + 1 + len(batch)] = batch.tag_ends[1:]
        if total:
            ends[place + 1 : place + 1 + len(batch)] += total
        place += len(batch)
        if batch.header.tag_codes:
            total += batch.header.tag_codes
            names.append(_dictionary(batch).take(pa.array(batch.tag_codes)))
    carried = _one(names) if names else pa.array([], pa.string())
    return pa.Array.from_buffers(kind, count, [None, pa.py_buffer(ends)], children=[carried])


def _dictionary(batch: Batch) -> pa.Array:
    names = batch.tag_blob
    return pa.Array.from_buffers(
        pa.string(), batch.header.tag_names, [None, pa.py_buffer(batch.name_ends), pa.py_buffer(names)]
    )


_COLUMNS: Final[dict[str, Callable[[Sequence[Batch], int, int, pa.DataType], pa.Array]]] = {
    "bucket": _buckets,
    "offset": _offsets,
    "timestamp": _timestamps,
    "key": _keys,
    "value": _values,
    "tags": _tags,
    "connection": _connections,
    "series": _series,
}
