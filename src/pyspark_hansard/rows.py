"""The rows of one task as changes: checked, put into an order that depends on their content alone, and their digest.

A task that is tried again may be given its rows in another order, because a shuffle hands them over as they come. So
they are sorted by what they are: equal rows are interchangeable, and each other one has the same place every time.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash
from numpy.typing import NDArray
from pyspark.sql.types import StructType

from hansard.batch.keyhash import key_hashes

from .columns import TYPES
from .options import BadOption, Given

KINDS: Final = {"key": ("binary", "string"), "value": ("binary", "string"), "tags": ("array<string>",)}
_BYTES: Final = pa.large_binary()
"""A task may have more than two GiB of them."""
_TAGS: Final = pa.list_(pa.string())
_BLOBS: Final = ("key", "value")
_SLICE: Final = 1 << 16
_TURNED: Final = np.array([int(f"{octet:08b}"[::-1], 2) for octet in range(256)], np.uint8)


class Mapping(NamedTuple):
    """Which column of a frame is which of a change's."""

    key: str
    value: str
    tags: str
    """Empty where there is none."""
    order: tuple[str, ...] = ()


def mapping(given: Given, schema: StructType) -> Mapping:
    """Which it is, or what is wrong with the frame."""
    types = {field.name: field.dataType.simpleString() for field in schema.fields}
    found = {}
    for name, kinds in KINDS.items():
        column = given.text(f"{name}Column", name)
        if column not in types:
            if name == "tags" and not given.has("tagsColumn"):
                found[name] = ""
                continue
            raise BadOption(
                f"there is no column {column!r} to be written as {name}: there are {', '.join(types) or 'none'}; "
                f"select one as {name}, or say which it is by {name}Column"
            )
        if types[column] not in kinds:
            raise BadOption(
                f"the column {column} is {types[column]}, and a {name} is {' or '.join(kinds)}: cast it, or use to_json"
            )
        found[name] = column
    order = given.listed("orderBy")
    for column in order:
        if column not in types:
            raise BadOption(f"orderBy: there is no column {column!r}; there are {', '.join(types)}")
    for column in types:
        if column not in (*found.values(), *order, *TYPES):
            raise BadOption(
                f"the column {column!r} is none of a change's (key, value, tags): leave it out by select(), or say "
                "what it is by keyColumn, valueColumn or tagsColumn"
            )
    return Mapping(found["key"], found["value"], found["tags"], order)


class Rows:
    """Invariant: `hashes` are those of the keys of `table`, which has key, value and tags."""

    def __init__(self, table: pa.Table, hashes: NDArray[np.int64]) -> None:
        self.table = table
        self.hashes = hashes

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @property
    def weights(self) -> NDArray[np.int64]:
        """The bytes of each row's key and value."""
        lengths = [pc.fill_null(pc.binary_length(self.table.column(name)), 0) for name in ("key", "value")]
        found: NDArray[np.int64] = pc.add(*lengths).to_numpy().astype(np.int64)
        return found

    def some(self, places: NDArray[np.int64]) -> pa.Table:
        """These rows, which rise; as they lie in memory, if they lie together."""
        first, count = int(places[0]), len(places)
        if not are_together(places) or any(self.table.column(name).null_count for name in _BLOBS):
            return self.table.take(pa.array(places)).combine_chunks()
        columns = [_rebased(self.table.column(name).chunk(0), first, count) for name in _BLOBS]
        tags = self.table.column("tags").chunk(0).slice(first, count)
        return pa.Table.from_arrays([*columns, tags], [*_BLOBS, "tags"])

    def digest(self) -> str:
        """Of all that is in them, in this order, however they lie in memory."""
        digest = xxhash.xxh3_128()
        for place in range(0, len(self), _SLICE):
            part = self.table.slice(place, _SLICE)
            for name in ("key", "value"):
                column = part.column(name).combine_chunks()
                lengths = pc.fill_null(pc.binary_length(column), -1)
                digest.update(lengths.to_numpy(zero_copy_only=False).astype(np.int64).tobytes())
                digest.update(_content(column, 8))
            tags = part.column("tags").combine_chunks()
            digest.update(pc.list_value_length(tags).to_numpy(zero_copy_only=False).astype(np.int64).tobytes())
            flat = tags.flatten()
            digest.update(pc.binary_length(flat).to_numpy(zero_copy_only=False).astype(np.int64).tobytes())
            digest.update(_content(flat, 4))
        return digest.hexdigest()


def _rebased(column: pa.Array, first: int, count: int) -> pa.Array:
    """Some of a column without nulls that may be larger than an array of `binary` can be, as one of those."""
    _, ends, data = column.buffers()
    bounds = np.frombuffer(ends, np.int64, count + 1, 8 * (column.offset + first))
    start, stop = int(bounds[0]), int(bounds[-1])
    narrow = (bounds - start).astype(np.int32)
    content = pa.py_buffer(b"") if data is None else data.slice(start, stop - start)
    return pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(narrow), content])


def _content(column: pa.Array, width: int) -> memoryview:
    """The bytes of all of it, one after the other. What is null has none."""
    _, ends, data = column.buffers()
    if data is None or not len(column):
        return memoryview(b"")
    bounds = np.frombuffer(ends, np.int64 if width == 8 else np.int32, len(column) + 1, width * column.offset)
    return memoryview(data)[int(bounds[0]) : int(bounds[-1])]


def gathered(batches: Iterable[pa.RecordBatch], which: Mapping, *, is_sorted: bool) -> Rows:
    """All rows of a task."""
    parts = [_part(batch, which) for batch in batches]
    if not parts:
        table = pa.table({"key": pa.array([], _BYTES), "value": pa.array([], _BYTES), "tags": pa.array([], _TAGS)})
        return Rows(table, np.empty(0, np.int64))
    hashes = np.concatenate([key_hashes(part.column("key").to_pylist()) for part in parts])
    table = pa.concat_tables(parts).combine_chunks()
    if is_sorted and len(table):
        order = _order(table, hashes, [f"order {column}" for column in which.order])
        table, hashes = table.take(pa.array(order)), hashes[order]
    return Rows(table.select(["key", "value", "tags"]).combine_chunks(), hashes)


def _part(batch: pa.RecordBatch, which: Mapping) -> pa.Table:
    columns: dict[str, Any] = {
        "key": _bytes(batch.column(which.key)),
        "value": _bytes(batch.column(which.value)),
        "tags": _lists(batch.column(which.tags) if which.tags else pa.nulls(len(batch), _TAGS)),
    }
    return pa.table(columns | {f"order {column}": batch.column(column) for column in which.order})


def _bytes(column: pa.Array) -> pa.Array:
    binary = pa.large_binary() if pa.types.is_large_string(column.type) else pa.binary()
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = column.cast(binary)
    column = column.cast(_BYTES)
    if column.null_count:  # what lies where nothing is counts for nothing
        column = pc.if_else(column.is_valid(), column, pa.scalar(None, _BYTES))
    return column


def _lists(column: pa.Array) -> pa.Array:
    """No tags is an empty list of them."""
    column = column.cast(_TAGS)
    if not column.null_count:
        return column
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    ends = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), column.flatten())


def _order(table: pa.Table, hashes: NDArray[np.int64], first: Sequence[str]) -> NDArray[np.int64]:
    """By the columns that were asked for, then by the keys' hashes, which is quick, then by all that there is.

    The lowest bits of a hash count most: they say which bucket it is, however many there are, so the rows of each lie
    together."""
    turned = _turned(hashes)
    if first:
        return _by_content(table, turned, first)
    order = np.argsort(turned)
    ranked = turned[order]
    is_same = ranked[1:] == ranked[:-1]
    if is_same.any():
        among = np.flatnonzero(np.append(is_same, False) | np.insert(is_same, 0, False))
        tied = order[among]
        order[among] = tied[_by_content(table.take(pa.array(tied)), turned[tied], ())]
    return order


def _by_content(table: pa.Table, turned: NDArray[np.uint64], first: Sequence[str]) -> NDArray[np.int64]:
    tags = pc.binary_join(table.column("tags").combine_chunks(), "\0")
    keyed = table.append_column("hash", pa.array(turned)).append_column("joined", tags)
    names = (*first, "hash", "key", "value", "joined")
    found: NDArray[np.int64] = pc.sort_indices(keyed, [(name, "ascending") for name in names]).to_numpy()
    return found.astype(np.int64)


def _turned(hashes: NDArray[np.int64]) -> NDArray[np.uint64]:
    """With their bits the other way round."""
    octets = np.ascontiguousarray(hashes, "<i8").view(np.uint8)
    found: NDArray[np.uint64] = _TURNED[octets].view(">u8").astype(np.uint64)
    return found


def are_together(places: NDArray[np.int64]) -> bool:
    """Whether places that rise have none between them that is not theirs."""
    return int(places[-1] - places[0]) + 1 == len(places)


def by_bucket(homes: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """The places of each bucket's rows, rising."""
    for bucket in np.unique(homes).tolist():
        yield bucket, np.flatnonzero(homes == bucket)
