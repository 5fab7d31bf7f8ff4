"""Arrow streams, in and out. What comes from outside is small on the way in and must not be large in memory.

Arrow can say much with few bytes: compressed buffers, dictionaries, views of the same bytes. So only plain columns are
taken, and what is compressed, of another type, or a dictionary that is replaced is refused before anything is unpacked.
"""

import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import pyarrow as pa

from hansard.batch.limits import CHANGES_MAX

from .workroom import portions

MEDIA_TYPE: Final = "application/vnd.apache.arrow.stream"
TAG_BYTES_MAX: Final = 128 << 20
"""Of all tags of a body together, written out."""
TAG_BYTES: Final = 64
"""What one takes besides its letters."""
NAMES_SHOWN_MAX: Final = 200

SCHEMA: Final = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("bucket", pa.int32()),
        pa.field("offset", pa.int64()),
        pa.field("timestamp", pa.timestamp("us", "UTC"), nullable=False),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("tags", pa.list_(pa.string()), nullable=False),
        pa.field("connection", pa.string()),
        pa.field("series", pa.int64()),
    ]
)

Columns = tuple[list[bytes | None], list[bytes | None], list[list[str]]]


def columns_of(body: bytes) -> Columns:
    """Keys, values and tags; a ValueError where it is no stream that may be read."""
    try:
        _check_plain(body)
        with pa.ipc.open_stream(pa.py_buffer(body)) as stream:
            _check_columns(stream.schema)
            table = stream.read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError, struct.error, IndexError) as error:
        raise ValueError(f"this is no Arrow stream: {str(error)[:200]}") from error
    if not 0 < table.num_rows <= CHANGES_MAX:
        raise ValueError(f"it has {table.num_rows} changes, and 1 to {CHANGES_MAX} are wanted")
    keys: list[bytes | None] = [None] * table.num_rows
    if "key" in table.schema.names:
        keys = _blobs(table, "key")
    return keys, _blobs(table, "value"), _tags(table)


def _check_columns(schema: pa.Schema) -> None:
    names = schema.names
    if set(names) - {"key", "value", "tags"} or len(set(names)) < len(names) or "value" not in names:
        found = ", ".join(names)[:NAMES_SHOWN_MAX]
        raise ValueError(f"the columns key, value and tags are wanted, and there are {found}")
    plain = (pa.types.is_string, pa.types.is_binary, pa.types.is_large_string, pa.types.is_large_binary)
    for name in {"key", "value"} & set(names):
        kind = schema.field(name).type
        if not any(is_kind(kind) for is_kind in (*plain, pa.types.is_null)):
            raise ValueError(f"column {name} must be binary or string, not {kind}")
    kind = schema.field("tags").type if "tags" in names else pa.list_(pa.string())
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    if not is_list or not (pa.types.is_string(kind.value_type) or _is_coded(kind)):
        raise ValueError(f"column tags must be a list of strings, not {kind}")


def _is_coded(kind: Any) -> bool:
    value = kind.value_type
    return bool(pa.types.is_dictionary(value) and pa.types.is_string(value.value_type))


def _blobs(table: pa.Table, name: str) -> list[bytes | None]:
    return [each.encode() if isinstance(each, str) else each for each in _listed(table.column(name))]


def _listed(column: pa.ChunkedArray) -> Iterator[Any]:
    """Arrow lets nobody else in while it does this, so it is done in portions."""
    for portion in portions(len(column)):
        yield from column[portion].to_pylist()


def _tags(table: pa.Table) -> list[list[str]]:
    if "tags" not in table.schema.names:
        return [[] for _ in range(table.num_rows)]
    coded = _is_coded(table.schema.field("tags").type)
    for chunk in table.column("tags").chunks if coded else ():
        codes = chunk.flatten()
        longest = max([len(name or "") for name in codes.dictionary.to_pylist()], default=0)
        if (longest + TAG_BYTES) * len(codes) > TAG_BYTES_MAX:
            raise ValueError("column tags is too large")
    found: list[list[str]] = [row or [] for row in _listed(table.column("tags"))]
    if any(tag is None for row in found for tag in row):
        raise ValueError("column tags: a tag is missing")
    return found


# Whether anything is compressed stands in each message's head, a FlatBuffers table (Arrow's format/Message.fbs). Before
# version 5 it could stand in the metadata of a message as well.

_DICTIONARY, _RECORD_BATCH = 2, 3
_HEADER_TYPE, _HEADER, _METADATA = 1, 2, 4
_COMPRESSION = 3
_ID, _DATA, _IS_DELTA = 0, 1, 2


def _check_plain(body: bytes) -> None:
    messages = pa.ipc.MessageReader.open_stream(pa.py_buffer(body))
    dictionaries: set[int] = set()
    while True:
        try:
            message = messages.read_next_message()
        except StopIteration:
            return
        if message is None:
            return
        if message.metadata_version != pa.ipc.MetadataVersion.V5:
            raise ValueError("it is of an old version of Arrow: write it with metadata of version 5")
        _check_message(bytes(message.metadata), dictionaries)


def _check_message(metadata: bytes, dictionaries: set[int]) -> None:
    message = struct.unpack_from("<I", metadata)[0]
    if _field(metadata, message, _METADATA):
        raise ValueError("a message has metadata of its own: send it without")
    kind_at = _field(metadata, message, _HEADER_TYPE)
    kind = metadata[kind_at] if kind_at else 0
    batch = header = _table(metadata, message, _HEADER)
    if kind == _DICTIONARY:
        batch = _table(metadata, header, _DATA)
        id_at, delta_at = _field(metadata, header, _ID), _field(metadata, header, _IS_DELTA)
        id = struct.unpack_from("<q", metadata, id_at)[0] if id_at else 0
        if id in dictionaries or (delta_at and metadata[delta_at]):
            raise ValueError("a dictionary is replaced or added to: send one for all batches, or plain strings")
        dictionaries.add(id)
    if kind in {_RECORD_BATCH, _DICTIONARY} and _field(metadata, batch, _COMPRESSION):
        raise ValueError("its buffers are compressed: send them as they are")


def _field(metadata: bytes, table: int, number: int) -> int:
    """Where a field of a table lies; 0 if it is not there."""
    vtable = table - struct.unpack_from("<i", metadata, table)[0]
    size = struct.unpack_from("<H", metadata, vtable)[0]
    place = 4 + 2 * number
    distance = struct.unpack_from("<H", metadata, vtable + place)[0] if place + 2 <= size else 0
    return table + distance if distance else 0


def _table(metadata: bytes, table: int, number: int) -> int:
    at = _field(metadata, table, number)
    return int(at + struct.unpack_from("<I", metadata, at)[0])


# The way out.


def stream_of(rows: Iterable[Sequence[Any]], marks: Sequence[str] | None = None) -> bytes:
    """Rows in the order of SCHEMA; and the bookmark after each, if there are any."""
    columns = list(zip(*rows, strict=True)) or [() for _ in SCHEMA]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
    schema = SCHEMA
    if marks is not None:
        schema = schema.append(pa.field("bookmark", pa.string(), nullable=False))
        arrays.append(pa.array(marks, pa.string()))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
    return bytes(sink.getvalue())
