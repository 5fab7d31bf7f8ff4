"""Keys and values as text, and values as structs of what they say in JSON.

What is no text, or no JSON of that schema, fails the read and is named by its place in the log: a null in its stead
would say that the key was deleted.
"""

from collections.abc import Sequence

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from hansard.batch import Batch


class BadValue(ValueError):
    def __init__(self, what: str, bucket: int, offset: int, wrong: str, instead: str) -> None:
        super().__init__(what, bucket, offset, wrong, instead)

    def __str__(self) -> str:
        what, bucket, offset, wrong, instead = self.args
        return f"the {what} of the change at offset {offset} of bucket {bucket} {wrong}; {instead}"


def text(column: pa.Array, what: str, batches: Sequence[Batch], bucket: int) -> pa.Array:
    try:
        return pc.cast(column, pa.string())
    except pa.ArrowInvalid:
        for place, content in enumerate(column.to_pylist()):
            try:
                (content or b"").decode()
            except UnicodeDecodeError as error:
                instead = f"read it with {what}Format binary"
                raise BadValue(what, bucket, _offset(batches, place), f"is not UTF-8 ({error})", instead) from None
        raise


def structs(values: pa.Array, kind: pa.StructType, batches: Sequence[Batch], bucket: int) -> pa.Array:
    """One struct for each value; null for a key that is deleted."""
    present = values.drop_null()
    if not len(present):
        return pa.nulls(len(values), kind)
    schema = pa.schema([kind.field(number) for number in range(kind.num_fields)])
    parsing = pj.ParseOptions(schema, newlines_in_values=True, unexpected_field_behavior="ignore")
    whole = pa.BufferReader(_lines(present))
    try:
        table = pj.read_json(whole, pj.ReadOptions(use_threads=False, block_size=whole.size() + 1), parsing)
    except pa.ArrowInvalid as error:
        raise _first_bad(values, batches, bucket, str(error)) from error
    if len(table) != len(present):
        raise _first_bad(values, batches, bucket, f"{len(present)} values are {len(table)} documents")
    table = table.select(schema.names).combine_chunks()
    columns = [column.combine_chunks() for column in table.columns]
    if not values.null_count:
        return pa.StructArray.from_arrays(columns, fields=list(schema))
    places = pc.if_else(values.is_valid(), pc.subtract(pc.cumulative_sum(values.is_valid().cast(pa.int64())), 1), None)
    taken = pa.StructArray.from_arrays(columns, fields=list(schema)).take(places)
    return taken.cast(kind) if taken.type != kind else taken


def _lines(values: pa.Array) -> pa.Buffer:
    """One after the other, each followed by a line's end."""
    joined = pc.binary_join_element_wise(values, pa.scalar(b"", pa.binary()), pa.scalar(b"\n", pa.binary()))
    _, _, data = joined.buffers()
    ends = np.frombuffer(joined.buffers()[1], np.int32, len(joined) + 1, 4 * joined.offset)
    return data.slice(int(ends[0]), int(ends[-1] - ends[0]))


def _first_bad(values: pa.Array, batches: Sequence[Batch], bucket: int, why: str) -> Exception:
    """Which of them it was: they are tried one by one only once something is known to be wrong."""
    instead = "read it with valueFormat string, and use from_json"
    for place, content in enumerate(values.to_pylist()):
        if content is None:
            continue
        try:
            is_object = isinstance(msgspec.json.decode(content), dict)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return BadValue("value", bucket, _offset(batches, place), f"is no JSON ({error})", instead)
        if not is_object:
            return BadValue("value", bucket, _offset(batches, place), "is no JSON object", instead)
    return BadValue("value", bucket, _offset(batches, 0), f"or of one after it is not of the schema ({why})", instead)


def _offset(batches: Sequence[Batch], place: int) -> int:
    for batch in batches:
        if place < len(batch):
            return int(batch.offsets[place])
        place -= len(batch)
    raise AssertionError("a place outside of what was read")
