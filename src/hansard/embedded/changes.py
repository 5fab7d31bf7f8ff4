"""Changes on their way into the log: checked one by one, so that a bad one fails alone, and gathered into batches."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import pyarrow as pa

from hansard.batch import Batch, BatchError, LimitExceeded, Text, build, change_bytes, from_arrow, tag_name
from hansard.batch.errors import BadInput
from hansard.batch.limits import KEY_BYTES_MAX, TAGS_PER_CHANGE_MAX, VALUE_BYTES_MAX

BATCH_CHANGES: Final = 10_000
BATCH_BYTES: Final = 8 << 20
"""Where a long append is cut: larger batches are no faster, and hold up everybody else's for longer."""


class NewChange(NamedTuple):
    """A change that is not in the log yet. Keys and values are bytes, a str stands for its UTF-8; a value of None says
    that the key is deleted."""

    key: Text | None = None
    value: Text | None = None
    tags: Sequence[str] = ()


Changes = Iterable[NewChange | Sequence[Any] | Mapping[str, Any]]


class CheckedChange(NamedTuple):
    """One that no batch will refuse."""

    key: bytes | None
    value: bytes | None
    tags: tuple[str, ...]
    byte_count: int


def checked(key: Text | None, value: Text | None, tags: Sequence[str]) -> CheckedChange:
    """The change as bytes; BatchError if it is not fit for a batch."""
    if not isinstance(tags, Sequence) or isinstance(tags, Text):
        raise BadInput("tags", f"a list of str is wanted, not {tags!r:.60}")
    names = tuple(tags)
    if len(names) > TAGS_PER_CHANGE_MAX:
        raise LimitExceeded("tags of a change", TAGS_PER_CHANGE_MAX, len(names))
    for name in names:
        tag_name(name)
    key_bytes, value_bytes = _encoded("key", key, KEY_BYTES_MAX), _encoded("value", value, VALUE_BYTES_MAX)
    return CheckedChange(key_bytes, value_bytes, names, change_bytes(key_bytes, value_bytes, names))


def _encoded(field: str, text: Text | None, limit: int) -> bytes | None:
    if text is None:
        return None
    if isinstance(text, str):
        try:
            data = text.encode()
        except UnicodeEncodeError as error:
            raise BadInput(field, f"a str that is not valid Unicode: {error.reason}") from error
    elif isinstance(text, bytes | bytearray | memoryview):
        data = bytes(text)
    else:
        raise BadInput(field, f"must be bytes, str or None, not {type(text).__name__}")
    if len(data) > limit:
        raise LimitExceeded(f"bytes of a {field}", limit, len(data))
    return data


def new_change(change: NewChange | Sequence[Any] | Mapping[str, Any]) -> NewChange:
    """What a caller gave for a change: a tuple of key, value and tags (which may be left out), or a dict of these."""
    if isinstance(change, NewChange):
        return change
    if isinstance(change, Mapping):
        unknown = sorted(str(name) for name in change.keys() - set(NewChange._fields))
        if unknown:
            raise BadInput("change", f"has key, value and tags, but no {', '.join(unknown)}")
        return NewChange(**change)
    if isinstance(change, Sequence) and not isinstance(change, Text) and 2 <= len(change) <= 3:
        return NewChange(*change)
    raise BadInput("change", f"(key, value), (key, value, tags) or a dict of these is wanted, not {change!r:.60}")


def batches_of(changes: Changes) -> Iterator[Batch]:
    """Batches within the limits; nothing is built beyond the one that is asked for."""
    gathered: list[NewChange] = []
    byte_count = done = 0
    for given in changes:
        try:
            change = new_change(given)
            size = _size(change)
        except BatchError as error:
            raise _placed(error, done + len(gathered)) from None
        if gathered and (len(gathered) >= BATCH_CHANGES or byte_count + size > BATCH_BYTES):
            yield _built(gathered, done)
            done += len(gathered)
            gathered, byte_count = [], 0
        gathered.append(change)
        byte_count += size
    if gathered:
        yield _built(gathered, done)


def _size(change: NewChange) -> int:
    try:
        return change_bytes(*change)
    except TypeError:  # no text, so it has no length: `checked` says it better
        return checked(*change).byte_count


def _built(changes: list[NewChange], done: int) -> Batch:
    """A batch is checked column by column; only when it is refused, change by change, to say which one it was."""
    keys, values, tags = zip(*changes, strict=True)
    try:
        return build(keys, values, tags)
    except BatchError:
        for place, change in enumerate(changes):
            try:
                checked(*change)
            except BatchError as error:
                raise _placed(error, done + place) from None
        raise


def _placed(error: BatchError, place: int) -> BatchError:
    error.add_note(f"This is change {place:,} of those given, counted from 0.")
    return error


def batches_of_arrow(data: pa.RecordBatch | pa.Table, *, keep_times: bool) -> Iterator[Batch]:
    """The columns `key`, `value` and, if there, `tags`; and `timestamp`, if the times are to be kept."""
    if not isinstance(data, pa.RecordBatch | pa.Table):
        raise BadInput("data", f"a pyarrow RecordBatch or Table is wanted, not {type(data).__name__}")
    if "timestamp" in data.schema.names and not keep_times:
        data = data.drop_columns(["timestamp"])
    if keep_times and "timestamp" not in data.schema.names:
        raise BadInput("timestamp", "there is no such column, so there are no times to keep")
    for part in data.to_batches() if isinstance(data, pa.Table) else [data]:
        for start in range(0, part.num_rows, BATCH_CHANGES):
            yield from _cut(part.slice(start, BATCH_CHANGES))


def _cut(part: pa.RecordBatch) -> Iterator[Batch]:
    """In halves, until each is small enough for a batch."""
    try:
        yield from_arrow(part)
        return
    except LimitExceeded as error:
        if error.field != "bytes in a batch" or part.num_rows == 1:
            raise
    half = part.num_rows // 2
    yield from _cut(part.slice(0, half))
    yield from _cut(part.slice(half))
