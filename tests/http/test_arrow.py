"""An Arrow stream that says much with few bytes is refused before it is read."""

import struct
from typing import Any

import pyarrow as pa
import pytest

from hansard.http.arrow import _field, _table, columns_of

RECORD_BATCH = 3
HEADER_TYPE, HEADER, BODY_LENGTH, COMPRESSION = 1, 2, 3, 3
HUGE, SMALL = 64 << 20, 1 << 20
PLAIN = pa.schema([("value", pa.binary())])


def written(batches: list[Any], metadata: dict[str, str] | None = None, **options: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batches[0].schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        for batch in batches:
            writer.write_batch(batch, custom_metadata=metadata)
    return bytes(sink.getvalue())


def values(*found: bytes) -> Any:
    return pa.record_batch([pa.array(found, pa.binary())], PLAIN)


def unmarked(body: bytes) -> bytes:
    """Without the field of each batch's head that says that it is compressed."""
    marked, at = bytearray(body), 0
    while (length := struct.unpack_from("<i", marked, at + 4)[0]) > 0:
        head = bytes(marked[at + 8 : at + 8 + length])
        message = struct.unpack_from("<I", head)[0]
        length_at = _field(head, message, BODY_LENGTH)
        if head[_field(head, message, HEADER_TYPE)] == RECORD_BATCH:
            batch = _table(head, message, HEADER)
            vtable = batch - struct.unpack_from("<i", head, batch)[0]
            struct.pack_into("<H", marked, at + 8 + vtable + 4 + 2 * COMPRESSION, 0)
        at += 8 + length + (struct.unpack_from("<q", head, length_at)[0] if length_at else 0)
    return bytes(marked)


def refused(body: bytes, why: str) -> None:
    """And nothing large was made of it."""
    peak = pa.default_memory_pool().max_memory()
    with pytest.raises(ValueError, match=why) as error:
        columns_of(body)
    assert pa.default_memory_pool().max_memory() < peak + SMALL
    assert len(str(error.value)) < 400


def test_plain_columns_are_read() -> None:
    assert columns_of(written([values(b"a"), values(b"b", b"c")]))[1] == [b"a", b"b", b"c"]


def test_compressed_buffers_are_refused_however_they_are_marked() -> None:
    large = values(bytes(HUGE))
    refused(written([large], compression="zstd"), "compressed")
    v4 = pa.ipc.MetadataVersion.V4
    hidden = {"ARROW:experimental_compression": "zstd"}
    body = unmarked(written([large], hidden, compression="zstd", metadata_version=v4))
    refused(body, "old version")
    refused(unmarked(written([large], hidden, compression="zstd")), "metadata")


def test_tags_may_have_one_dictionary_and_no_other() -> None:
    def tagged(*names: str) -> Any:
        codes = pa.DictionaryArray.from_arrays(pa.array([len(names) - 1], pa.int32()), pa.array(names))
        tags = pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), codes)
        return pa.record_batch({"value": pa.array([b"v"], pa.binary()), "tags": tags})

    assert columns_of(written([tagged("a", "b"), tagged("a", "b")]))[2] == [["b"], ["b"]]
    growing = [tagged(*["a", "b", "c"][:count]) for count in (1, 2, 3)]
    refused(written(growing), "dictionary")
    refused(written(growing, emit_dictionary_deltas=True), "dictionary")


def test_columns_of_other_types_are_refused_before_they_are_read() -> None:
    coded = pa.DictionaryArray.from_arrays(pa.array([0], pa.int32()), pa.array(["x" * 1000]))
    for column in (coded, pa.array([[b"v"]]), pa.array([1]), pa.array([b"v"], pa.binary_view())):
        body = written([pa.record_batch({"value": column})])
        refused(body, "must be binary")
    refused(written([pa.record_batch({"x" * 100_000: pa.array([b"v"])})]), "are wanted")
