"""What goes in comes out, and what no batch can hold is refused by name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.batch import Builder, Change, LimitExceeded, build, change_bytes, trust, verify
from hansard.batch.errors import BadInput
from hansard.batch.limits import (
    BATCH_BYTES_MAX,
    CHANGES_MAX,
    KEY_BYTES_MAX,
    TAG_BYTES_MAX,
    TAGS_PER_CHANGE_MAX,
    TIMESTAMP_MAX,
    VALUE_BYTES_MAX,
)

from .strategies import Content, Example, as_bytes, contents, examples


@given(examples())
def test_a_batch_holds_the_changes_that_it_was_built_of(example: Example) -> None:
    assert list(example.batch.changes()) == example.changes


@given(examples())
def test_a_batch_is_the_same_after_a_way_as_bytes(example: Example) -> None:
    raw = example.batch.to_bytes()
    for received in (verify(raw), verify(bytearray(raw)), verify(memoryview(raw)), trust(raw)):
        assert received == example.batch
        assert received.header == example.batch.header
        assert list(received.changes()) == example.changes
    assert len(raw) == example.batch.length == example.batch.header.length
    assert len(raw) % 8 == 0


@given(contents())
def test_the_builder_gives_what_build_gives(content: Content) -> None:
    builder = Builder()
    for key, value, tags in zip(*content, strict=True):
        builder.add(key, value, tags)
    assert len(builder) == len(content.values)
    batch = builder.build(connection=3, first_series=7, previous_series=2)
    assert batch == build(*content, connection=3, first_series=7, previous_series=2)


@given(contents())
def test_a_batch_is_no_larger_than_was_foreseen(content: Content) -> None:
    builder = Builder()
    for row in zip(*content, strict=True):
        builder.add(*row)
    assert builder.build().length <= builder.byte_count
    count = len(content.values)
    widest = build(*content, connections=[1] * count, series=range(count), timestamps=range(count))
    foreseen = sum(change_bytes(*row) for row in zip(*content, strict=True))
    assert widest.length + 4 * count <= foreseen + 96  # with a column of offsets as well


def test_astral_characters_are_foreseen_at_four_bytes_each() -> None:
    key, value, tag = "\U0001f600" * 100, "\U0001f600" * 1000, "\U0001f600" * 64
    assert build([key], [value], [[tag]]).length <= 96 + change_bytes(key, value, [tag])


def test_buffers_are_foreseen_by_their_bytes() -> None:
    numbers = memoryview(bytes(4000)).cast("q")
    assert build([None], [numbers]).length <= 96 + change_bytes(None, numbers, ())  # type: ignore[list-item, arg-type]


def test_text_is_stored_as_utf_8() -> None:
    batch = build(["größe"], ["東京"], [["ä"]])
    assert list(batch.changes()) == [Change(0, 0, "größe".encode(), "東京".encode(), ("ä",), 0, 0)]


def test_mixed_columns_are_taken_value_by_value() -> None:
    given_keys = [b"a", "b", None, bytearray(b"c"), memoryview(b"d"), memoryview(b"efgh").cast("H")]
    batch = build(given_keys, given_keys)  # type: ignore[arg-type]
    assert batch.keys() == batch.values() == [b"a", b"b", None, b"c", b"d", b"efgh"]


def test_missing_and_empty_are_not_the_same() -> None:
    batch = build([None, b"", None], [b"", None, b""])
    assert batch.keys() == [None, b"", None]
    assert batch.values() == [b"", None, b""]


def test_series_given_one_by_one_begin_the_header() -> None:
    batch = build(["a", "b"], ["1", "2"], connection=9, series=[5, 8], previous_series=3)
    assert (batch.header.connection, batch.header.first_series, batch.header.previous_series) == (9, 5, 3)
    assert batch.series.tolist() == [5, 8]


def test_vectors_cannot_be_written_to() -> None:
    received = bytearray(build(["a", None], ["1", "2"], [["t"], []], connection=1).to_bytes())
    batch = verify(received)
    for name in ("offsets", "timestamps", "connections", "series", "key_hashes", "key_ends", "tag_codes", "has_key"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(batch, name)[0] = 1


def long_tags(count: int) -> list[str]:
    return [str(number) for number in range(count)]


@pytest.mark.parametrize(
    ("field", "limit", "make"),
    [
        ("changes in a batch", CHANGES_MAX, lambda size: build(["k"] * size, ["v"] * size)),
        ("bytes of a key", KEY_BYTES_MAX, lambda size: build(["a", "k" * size], ["v", "v"])),
        ("bytes of a value", VALUE_BYTES_MAX, lambda size: build(["a", "k"], ["v", "v" * size])),
        ("tags of a change", TAGS_PER_CHANGE_MAX, lambda size: build(["k"], ["v"], [long_tags(size)])),
        ("bytes of a tag", TAG_BYTES_MAX, lambda size: build(["k"], ["v"], [["t" * size]])),
        ("bytes of a tag", TAG_BYTES_MAX, lambda size: build(["k"], ["v"], [["ä" * (size // 2) + "a" * (size % 2)]])),
        # One key of a byte, two values: 96 for the header, 2 * 8 hashes, 3 * 3 ends, 1 end of no names, and the bytes.
        (
            "bytes in a batch",
            BATCH_BYTES_MAX,
            lambda size: build(["k", ""], [b"v" * VALUE_BYTES_MAX, b"v" * (size - VALUE_BYTES_MAX - 153)]),
        ),
    ],
)
def test_the_largest_allowed_passes_and_one_more_is_refused(field: str, limit: int, make: object) -> None:
    assert callable(make)
    verify(make(limit).to_bytes())
    with pytest.raises(LimitExceeded) as refused:
        make(limit + 1)
    assert (refused.value.field, refused.value.limit, refused.value.actual) == (field, limit, limit + 1)
    assert field in str(refused.value) and f"{limit:,}" in str(refused.value)


def test_values_far_beyond_a_batch_are_refused_before_their_ends_overflow() -> None:
    value = bytes(VALUE_BYTES_MAX)
    with pytest.raises(LimitExceeded, match="bytes in a batch"):
        build([None] * 300, [value] * 300)


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("batch", {"keys": [], "values": []}),
        ("keys", {"keys": []}),
        ("tags", {"tags": [[], []]}),
        ("series", {"connection": 1, "series": [1, 2]}),
        ("connections", {"connections": [1, 2], "series": [1]}),
        ("timestamps", {"timestamps": []}),
        ("key", {"keys": [5]}),
        ("value", {"values": [["v"]]}),
        ("key", {"keys": ["\ud800"]}),
        ("value", {"values": [None, "\ud800"], "keys": ["a", "b"]}),
        ("tags", {"tags": ["tag"]}),
        ("tags", {"tags": [b"tag"]}),
        ("tags", {"tags": [{"tag"}]}),
        ("tags", {"tags": [None]}),
        ("tags", {"tags": [[["tag"]]]}),
        ("tag", {"tags": [[b"tag"]]}),
        ("tag", {"tags": [[None]]}),
        ("tag", {"tags": [[""]]}),
        ("tag", {"tags": [["\ud800"]]}),
        ("connection", {"connection": -1}),
        ("connection", {"connection": "1"}),
        ("previous_series", {"connection": 1, "previous_series": -1.0}),
        ("connection", {"connection": 1 << 63}),
        ("first_series", {"connection": 1, "first_series": -1}),
        ("first_series", {"connection": 1, "first_series": (1 << 63) - 1}),
        ("first_series", {"first_series": 1}),
        ("first_series", {"previous_series": 0}),
        ("previous_series", {"connection": 1, "previous_series": -2}),
        ("previous_series", {"connection": 1, "first_series": 4, "previous_series": 4}),
        ("series", {"series": [1]}),
        ("series", {"connection": 1, "series": [-1]}),
        ("series", {"connection": 1, "series": [1.5]}),
        ("series", {"connection": 1, "series": [1 << 63]}),
        ("series", {"connection": 1, "keys": ["a", "b"], "values": ["", ""], "series": [4, 4]}),
        ("series", {"connections": [0], "series": [3]}),
        ("series", {"connections": [7, 7], "keys": ["a", "b"], "values": ["", ""], "series": [4, 3]}),
        ("series", {"connections": [1]}),
        ("connection", {"connection": 1, "connections": [1], "series": [1]}),
        ("connections", {"connections": [-1], "series": [1]}),
        ("connections", {"connections": ["1"], "series": [1]}),
        ("timestamps", {"timestamps": [-1]}),
        ("timestamps", {"timestamps": [TIMESTAMP_MAX + 1]}),
        ("timestamps", {"timestamps": [2, 1], "keys": ["a", "b"], "values": ["", ""]}),
        ("timestamps", {"timestamps": ["now"]}),
    ],
)
def test_what_makes_no_sense_is_refused_by_its_name(field: str, arguments: dict[str, object]) -> None:
    with pytest.raises(BadInput) as refused:
        build(**({"keys": ["k"], "values": ["v"]} | arguments))  # type: ignore[arg-type]
    assert refused.value.field == field
    assert field in str(refused.value)


@pytest.mark.parametrize(
    "change",
    [(5, "v", ()), ("k", 5, ()), ("k", "v", "tag"), ("k", "v", ("",)), ("k" * 32_769, "v", ()), ("k", "v", "ab" * 40)],
)
def test_a_bad_change_does_not_spoil_the_builder(change: tuple[str, str, tuple[str, ...]]) -> None:
    builder = Builder()
    builder.add("a", "1", ["t"])
    foreseen = builder.byte_count
    with pytest.raises((BadInput, LimitExceeded)):
        builder.add(*change)
    assert (len(builder), builder.byte_count) == (1, foreseen)
    assert builder.build() == build(["a"], ["1"], [["t"]])


@given(st.lists(st.text(max_size=3) | st.binary(max_size=3) | st.none(), min_size=1))
def test_str_and_bytes_of_the_same_text_build_the_same_batch(texts: list[str | bytes | None]) -> None:
    encoded = [as_bytes(text) for text in texts]
    assert build(texts, texts) == build(encoded, encoded)
