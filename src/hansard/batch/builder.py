"""Building batches from Python values: from columns of them, or change by change.

`build` is the fast way: every step works on a whole column. `Builder` gathers single changes into such columns.
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import chain, count
from operator import index

import numpy as np

from .batch import Batch, Int64s, Mask
from .columns import EMPTY_HEADER, Blobs, Columns, Tags, check_longest, check_size, counted_ends, pack
from .errors import BadInput, LimitExceeded
from .header import HEADER_BYTES, Buffer
from .keyhash import key_hashes
from .limits import KEY_BYTES_MAX, TAG_BYTES_MAX, TAGS_PER_CHANGE_MAX, VALUE_BYTES_MAX
from .numbering import NO_SERIES, client_problem, series_problem, timestamps_problem
from .single import built

Text = bytes | str
"""Keys and values are bytes; a str stands for its UTF-8."""


def build(
    keys: Sequence[Text | None],
    values: Sequence[Text | None],
    tags: Sequence[Sequence[str]] | None = None,
    *,
    connection: int = 0,
    first_series: int = 0,
    previous_series: int = NO_SERIES,
    series: Sequence[int] | None = None,
    connections: Sequence[int] | None = None,
    timestamps: Sequence[int] | None = None,
) -> Batch:
    """One batch of columns of equal length; offsets and epoch are the leader's to fill in.

    `series` are given where they do not simply count up from `first_series`, `connections` (with `series`) where the
    changes are several clients', `timestamps` where they are not the leader's to fill in, as for an import.
    """
    change_count = len(values)
    if change_count == 1 and series is connections is timestamps is None:
        batch = built(keys, values, tags, connection, first_series, previous_series)
        if batch is not None:
            return batch
    for field, column in (
        ("keys", keys),
        ("tags", tags),
        ("series", series),
        ("connections", connections),
        ("timestamps", timestamps),
    ):
        if column is not None and len(column) != change_count:
            raise BadInput(field, f"{len(column)} of them for {change_count} values")
    check_count(change_count)
    encoded_keys = _encoded(keys, "key")
    columns = Columns(
        keys=_blobs(encoded_keys, "key", KEY_BYTES_MAX),
        hashes=key_hashes(encoded_keys),
        values=_blobs(_encoded(values, "value"), "value", VALUE_BYTES_MAX),
        tags=_tags(tags, change_count),
        timestamps=_numbers(timestamps, "timestamps"),
        connections=_numbers(connections, "connections"),
        series=_numbers(series, "series"),
    )
    if columns.series is not None and connections is None:
        first_series = int(columns.series[0])
    return submission(columns, connection, first_series, previous_series)


def check_count(change_count: int) -> None:
    if not change_count:
        raise BadInput("batch", "is empty")
    check_size(change_count, HEADER_BYTES)


def submission(columns: Columns, connection: int, first_series: int, previous_series: int) -> Batch:
    """The batch of these columns as their client numbers it; a BadInput where no reader would take it."""
    change_count = len(columns.hashes)
    assert change_count
    if columns.connections is not None and columns.connections.min() < 0:
        raise BadInput("connections", "one is negative")
    if columns.series is not None and (wrong := series_problem(columns.series, columns.connections, first_series)):
        raise BadInput("series", wrong)
    if columns.timestamps is not None and (wrong := timestamps_problem(columns.timestamps)):
        raise BadInput("timestamps", wrong)
    problem = client_problem(
        connection=_number(connection, "connection"),
        first_series=_number(first_series, "first_series"),
        previous_series=_number(previous_series, "previous_series"),
        change_count=change_count,
        series_column=columns.series is not None,
        connections_column=columns.connections is not None,
    )
    if problem:
        raise BadInput(*problem)
    header = EMPTY_HEADER._replace(
        span=change_count,
        connection=connection,
        first_series=first_series,
        previous_series=previous_series,
    )
    return pack(header, columns)


class Builder:
    """Gathers single changes, for callers that have them one at a time."""

    def __init__(self) -> None:
        self._keys: list[bytes | None] = []
        self._values: list[bytes | None] = []
        self._tags: list[tuple[str, ...]] = []
        self.byte_count = HEADER_BYTES
        """Not below what the batch will take, tags counted as if no two changes shared one."""

    def __len__(self) -> int:
        return len(self._values)

    def add(self, key: Text | None, value: Text | None, tags: Sequence[str] = ()) -> None:
        """Raises for what no batch can hold, so that one bad change does not spoil the others."""
        encoded_keys, encoded_values = _encoded([key], "key"), _encoded([value], "value")
        _blobs(encoded_keys, "key", KEY_BYTES_MAX)
        _blobs(encoded_values, "value", VALUE_BYTES_MAX)
        _tags([tags], 1)
        self._keys += encoded_keys
        self._values += encoded_values
        self._tags.append(tuple(tags))
        self.byte_count += change_bytes(encoded_keys[0], encoded_values[0], tags)

    def build(self, *, connection: int = 0, first_series: int = 0, previous_series: int = NO_SERIES) -> Batch:
        return build(
            self._keys,
            self._values,
            self._tags,
            connection=connection,
            first_series=first_series,
            previous_series=previous_series,
        )


def change_bytes(key: Text | None, value: Text | None, tags: Sequence[str]) -> int:
    """An upper bound of what a change adds to a batch, whichever columns that has."""
    return _CHANGE_BYTES + _bytes_max(key) + _bytes_max(value) + sum([8 + _bytes_max(tag) for tag in tags])


_CHANGE_BYTES = 80
"""Four wide columns, four narrow ones, two bits; and, for the first change, what every batch has once."""


def _bytes_max(text: Buffer | str | None) -> int:
    if text is None:
        return 0
    if isinstance(text, str):
        return len(text) if text.isascii() else 4 * len(text)
    return len(text) if isinstance(text, bytes) else memoryview(text).nbytes


# Columns of Python values. Each step handles a whole column within C; what is unusual is looked for only once
# something is known to be.


def _encoded(texts: Sequence[Text | None], field: str) -> list[bytes | None]:
    kinds = set(map(type, texts))
    try:
        if kinds == {bytes}:
            return list(texts)  # type: ignore[arg-type]
        if kinds == {str}:
            return list(map(str.encode, texts))  # type: ignore[arg-type]
        return [_encoded_text(text, field) for text in texts]
    except UnicodeEncodeError as error:
        raise BadInput(field, f"a str that is not valid Unicode: {error.reason}") from error


def _encoded_text(text: object, field: str) -> bytes | None:
    match text:
        case None | bytes():
            return text
        case str():
            return text.encode()
        case bytearray() | memoryview():
            return bytes(text)
        case _:
            raise BadInput(field, f"must be bytes, str or None, not {type(text).__name__}")


def _blobs(texts: Sequence[bytes | None], field: str, limit: int) -> Blobs:
    present: Mask | None = None
    try:
        ends = counted_ends(map(len, texts), len(texts))  # type: ignore[arg-type]
    except TypeError:  # None has no length
        present = np.array([text is not None for text in texts], np.bool_)
        texts = [text or b"" for text in texts]
        ends = counted_ends(map(len, texts), len(texts))  # type: ignore[arg-type]
    check_longest(ends, f"bytes of a {field}", limit)
    return Blobs(ends, texts, present)  # type: ignore[arg-type]


def _tags(tags: Sequence[Sequence[str]] | None, change_count: int) -> Tags:
    if tags is None:
        return Tags.none(change_count)
    if not set(map(type, tags)) <= {list, tuple}:
        for row in tags:
            _check_row(row)
    ends = counted_ends(map(len, tags), change_count)
    check_longest(ends, "tags of a change", TAGS_PER_CHANGE_MAX)
    codes: defaultdict[str, int] = defaultdict(count().__next__)
    try:
        column = np.fromiter(map(codes.__getitem__, chain.from_iterable(tags)), np.int32, int(ends[-1]))
    except TypeError as error:
        raise BadInput("tags", f"a tag must be a str: {error}") from error
    return Tags(ends, column, [tag_name(name) for name in codes])


def _check_row(tags: Sequence[str]) -> None:
    """A str is a sequence of str as well, and a set has no order that would be the same tomorrow."""
    if not isinstance(tags, Sequence) or isinstance(tags, str | bytes | bytearray):
        raise BadInput("tags", f"a list of str is wanted for each change, not a {type(tags).__name__}")


def tag_name(tag: str) -> bytes:
    """A tag as it stands in a dictionary."""
    if not isinstance(tag, str):
        raise BadInput("tag", f"must be a str, not {type(tag).__name__}")
    try:
        name = tag.encode()
    except UnicodeEncodeError as error:
        raise BadInput("tag", f"is not valid Unicode: {error.reason}") from error
    if not name:
        raise BadInput("tag", "is empty")
    if len(name) > TAG_BYTES_MAX:
        raise LimitExceeded("bytes of a tag", TAG_BYTES_MAX, len(name))
    return name


def _number(number: int, field: str) -> int:
    try:
        return index(number)
    except TypeError as error:
        raise BadInput(field, f"must be a whole number: {error}") from error


def _numbers(numbers: Sequence[int] | None, field: str) -> Int64s | None:
    if numbers is None:
        return None
    try:
        return np.fromiter(map(index, numbers), np.int64, len(numbers))
    except (TypeError, OverflowError) as error:
        raise BadInput(field, f"must be whole numbers of 64 bits: {error}") from error
