"""Batches and Arrow hold the same changes, and on the way there nothing of size is copied."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given

from hansard.batch import (
    SCHEMA,
    Batch,
    Change,
    LimitExceeded,
    build,
    from_arrow,
    merge,
    select,
    to_arrow,
    trust,
    verify,
)
from hansard.batch.errors import BadInput

from .strategies import Content, Example, as_bytes, contents, examples, few

TIMESTAMP = pa.timestamp("us", "UTC")


def rows(table: pa.RecordBatch) -> list[Change]:
    plain = table.set_column(1, "timestamp", table.column("timestamp").cast(pa.int64())).to_pylist()
    return [Change(**{**row, "tags": tuple(row["tags"])}) for row in plain]


@few
@given(examples())
def test_the_record_batch_has_the_changes(example: Example) -> None:
    for batch in (example.batch, example.batch.compressed(), trust(example.batch.to_bytes())):
        table = to_arrow(batch)
        table.validate(full=True)
        assert table.schema.equals(SCHEMA)
        assert rows(table) == example.changes


def test_a_part_with_nothing_in_it_is_an_empty_record_batch() -> None:
    batch = build(["a"], ["1"], [["x"]], connection=1)
    table = to_arrow(select(batch, batch.offsets < 0))
    table.validate(full=True)
    assert table.num_rows == 0
    assert table.schema.equals(SCHEMA)


def test_times_are_times() -> None:
    batch = build(["a"], ["1"]).stamped(epoch=1, base_offset=0, timestamp=1_700_000_000_000_000)
    [row] = to_arrow(batch).to_pylist()
    assert row["timestamp"] == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert next(batch.changes()).time == row["timestamp"]


def buffers_within(array: pa.Array, raw: pa.Buffer) -> list[bool]:
    return [
        raw.address <= buffer.address and buffer.address + buffer.size <= raw.address + raw.size
        for buffer in array.buffers()
        if buffer is not None
    ]


def test_nothing_of_size_is_copied() -> None:
    many = build(
        ["a", None, "c"] * 50,
        ["1", "2", None] * 50,
        [["x", "y"], [], ["z"]] * 50,
        connections=[1, 2, 3] * 50,
        series=range(150),
        timestamps=range(150),
    )
    received = many.to_bytes()
    raw = pa.py_buffer(received)
    table = to_arrow(trust(received))
    for name in ("key", "value", "connection", "series", "timestamp"):
        within = buffers_within(table.column(name), raw)
        assert within and all(within), name
    tags = table.column("tags")
    assert all(buffers_within(tags, raw))
    assert all(buffers_within(tags.values.indices, raw)) and all(buffers_within(tags.values.dictionary, raw))


def test_the_record_batch_keeps_the_bytes_alive() -> None:
    table = to_arrow(verify(bytearray(build(["a"] * 100, ["b" * 1000] * 100).to_bytes())))
    assert table.column("value").to_pylist() == [b"b" * 1000] * 100


@few
@given(contents())
def test_arrow_columns_build_what_lists_build(content: Content) -> None:
    table = pa.RecordBatch.from_pydict(
        {
            "key": pa.array([as_bytes(key) for key in content.keys], pa.binary()),
            "value": pa.array([as_bytes(value) for value in content.values], pa.binary()),
            "tags": pa.array(content.tags, pa.list_(pa.string())),
        }
    )
    built = from_arrow(table, connection=3, first_series=9, previous_series=4)
    assert built == build(*content, connection=3, first_series=9, previous_series=4)
    assert verify(built.to_bytes()) == built


@few
@given(examples())
def test_the_way_there_and_back_keeps_content_and_times(example: Example) -> None:
    back = from_arrow(to_arrow(example.batch))
    kept = [(change.timestamp, change.key, change.value, change.tags) for change in example.changes]
    assert [(change.timestamp, change.key, change.value, change.tags) for change in back.changes()] == kept
    assert verify(back.to_bytes()) == back


TEXTS = ["", "k", "größe", "k" * 40]
BINARY = pa.array([text.encode() for text in TEXTS], pa.binary())


@pytest.mark.parametrize(
    "column",
    [
        BINARY,
        pa.array(TEXTS, pa.string()),
        pa.array(TEXTS, pa.large_string()),
        pa.array(TEXTS, pa.string_view()),
        BINARY.cast(pa.large_binary()),
        BINARY.cast(pa.binary_view()),
        BINARY.dictionary_encode(),
        pa.array(TEXTS).dictionary_encode(),
        pa.array(["x", *TEXTS, "y"])[1:5],
        pa.array([None, *TEXTS, None])[1:5],
    ],
    ids=lambda column: str(column.type),
)
def test_text_of_any_layout_is_taken(column: pa.Array) -> None:
    table = pa.RecordBatch.from_arrays([column, column], ["key", "value"])
    assert from_arrow(table) == build(TEXTS, TEXTS)


def test_fixed_size_and_null_columns_are_taken() -> None:
    table = pa.RecordBatch.from_arrays([pa.array([b"ab", None], pa.binary(2)), pa.nulls(2)], ["key", "value"])
    assert from_arrow(table) == build([b"ab", None], [None, None])


def test_bytes_under_a_null_do_not_get_into_the_batch() -> None:
    hidden = pa.Array.from_buffers(
        pa.binary(), 2, [pa.py_buffer(b"\1"), pa.py_buffer(b"\0\0\0\0\1\0\0\0\7\0\0\0"), pa.py_buffer(b"asecret")]
    )
    table = pa.RecordBatch.from_arrays([hidden, hidden], ["key", "value"])
    batch = from_arrow(table)
    assert batch == build(["a", None], ["a", None])
    assert b"secret" not in batch.to_bytes()


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.string()),
        pa.large_list(pa.large_string()),
        pa.list_(pa.dictionary(pa.int8(), pa.string())),
        pa.list_(pa.binary()),
        pa.list_view(pa.string()),
    ],
    ids=str,
)
def test_tags_of_any_layout_are_taken(kind: pa.DataType) -> None:
    tags = pa.array([["before"], ["x", "y"], [], None, ["x"], ["after"]], kind)
    table = pa.RecordBatch.from_arrays(
        [pa.array(list("_abcd_")), pa.array(list("_1234_")), tags], ["key", "value", "tags"]
    )
    assert from_arrow(table.slice(1, 4)) == build(list("abcd"), list("1234"), [["x", "y"], [], [], ["x"]])


def test_a_slice_of_a_record_batch_is_only_that_slice() -> None:
    whole = build(list("abcdef"), list("123456"), [["x"], ["y"], [], ["z"], [], ["x"]])
    assert from_arrow(to_arrow(whole).slice(1, 3).select(["key", "value", "tags"])) == build(
        list("bcd"), list("234"), [["y"], [], ["z"]]
    )


def test_a_table_of_several_chunks_is_one_batch() -> None:
    parts = [build(["a"], ["1"], [["x"]]), build(["b"], ["2"], [["y"]])]
    table = pa.Table.from_batches([to_arrow(part) for part in parts]).select(["key", "value", "tags"])
    assert from_arrow(table) == merge(parts)


def test_columns_that_mean_nothing_to_a_batch_are_left_out() -> None:
    table = pa.RecordBatch.from_pydict({"key": ["a"], "value": ["1"], "colour": ["red"], "offset": [7]})
    assert from_arrow(table) == build(["a"], ["1"])


@pytest.mark.parametrize(
    "column",
    [
        pa.array([10, 20], TIMESTAMP),
        pa.array([10, 20], pa.timestamp("us")),
        pa.array([10, 20], pa.int64()),
        pa.array([10_000, 20_000], pa.timestamp("ns", "Europe/Berlin")),
        pa.array([5, 10, 20, 1], TIMESTAMP)[1:3],
    ],
    ids=lambda column: str(column.type),
)
def test_times_of_any_unit_are_taken(column: pa.Array) -> None:
    table = pa.RecordBatch.from_arrays([pa.array(["a", "b"])] * 2 + [column], ["key", "value", "timestamp"])
    assert from_arrow(table) == build(["a", "b"], ["a", "b"], timestamps=[10, 20])


def table_of(**columns: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"key": ["a", "b"], "value": ["1", "2"]} | columns)


@pytest.mark.parametrize(
    ("field", "table"),
    [
        ("key", table_of().select(["value"])),
        ("value", table_of().select(["key"])),
        ("key", pa.RecordBatch.from_arrays([pa.array(["a"])] * 3, ["key", "key", "value"])),
        ("key", table_of(key=[1, 2])),
        ("value", table_of(value=[1.5, None])),
        ("value", table_of(value=[["1"], ["2"]])),
        ("tags", table_of(tags=["x", "y"])),
        ("tags", table_of(tags=[["x"], [None]])),
        ("tags", table_of(tags=[[1], [2]])),
        ("tags", table_of(tags=[[["x"]], []])),
        ("tags", table_of(tags=pa.array([[b"\xff"], []], pa.list_(pa.binary())))),
        ("tag", table_of(tags=[["x"], [""]])),
        ("timestamp", table_of(timestamp=pa.array([1, None], TIMESTAMP))),
        ("timestamp", table_of(timestamp=["2020-01-01", "2020-01-02"])),
        ("timestamp", table_of(timestamp=pa.array([1, 2], pa.timestamp("ns")))),
        ("timestamps", table_of(timestamp=pa.array([2, 1], TIMESTAMP))),
        ("timestamps", table_of(timestamp=pa.array([-1, 1], TIMESTAMP))),
        ("batch", table_of().slice(0, 0)),
    ],
)
def test_columns_that_cannot_be_read_are_refused_by_name(field: str, table: pa.RecordBatch) -> None:
    with pytest.raises(BadInput) as refused:
        from_arrow(table)
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("field", "make"),
    [
        ("bytes of a key", lambda: table_of(key=["a", "k" * 32_769])),
        ("bytes of a value", lambda: table_of(value=["1", b"v" * ((8 << 20) + 1)])),
        ("bytes of a tag", lambda: table_of(tags=[["t" * 257], []])),
        ("tags of a change", lambda: table_of(tags=[["t"] * 65, []])),
        ("changes in a batch", lambda: pa.RecordBatch.from_arrays([pa.nulls(65_537)] * 2, ["key", "value"])),
        ("bytes in a batch", lambda: table_of(value=[b"v" * (8 << 20)] * 2)),
    ],
)
def test_columns_beyond_the_limits_are_refused(field: str, make: Callable[[], pa.RecordBatch]) -> None:
    with pytest.raises(LimitExceeded) as refused:
        from_arrow(make())
    assert refused.value.field == field


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary_view()], ids=str)
def test_columns_beyond_any_array_are_refused_as_too_much(kind: pa.DataType) -> None:
    """Gigabytes that are the same megabytes again and again."""
    value = pa.array([bytes(8 << 20)], pa.binary()).cast(kind)
    table = pa.table({"key": pa.nulls(300), "value": pa.chunked_array([value] * 300)})
    with pytest.raises(LimitExceeded, match="bytes in a batch"):
        from_arrow(table)


def test_tags_in_lists_of_one_size_are_taken() -> None:
    tags = pa.array([["x", "y"], None, ["y", "z"]], pa.list_(pa.string(), 2))
    table = pa.RecordBatch.from_arrays([pa.array(["a", "b", "c"])] * 2 + [tags], ["key", "value", "tags"])
    assert from_arrow(table) == build(["a", "b", "c"], ["a", "b", "c"], [["x", "y"], [], ["y", "z"]])


def test_numbers_that_make_no_sense_are_refused() -> None:
    with pytest.raises(BadInput, match="previous_series"):
        from_arrow(table_of(), connection=1, first_series=2, previous_series=2)


def test_one_batch_is_one_batch_whoever_builds_it() -> None:
    def batch() -> Batch:
        return build(["a", None], [None, "2"], [["x"], ["y", "x"]], connection=3)

    assert from_arrow(to_arrow(batch()).select(["key", "value", "tags"]), connection=3) == batch()
