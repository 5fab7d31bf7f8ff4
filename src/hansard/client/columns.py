"""Many changes as a caller gives them, in columns: checked as a whole, so that nothing costs much for each.

What is usual (bytes or str throughout, tags as tuples or lists) is looked at within C; anything else change by change,
by the same rules as a single one (change.py).
"""

from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from hansard.batch import Int64s, LimitExceeded, Text
from hansard.batch.errors import BadInput
from hansard.batch.limits import KEY_BYTES_MAX, VALUE_BYTES_MAX

from .change import BARE_BYTES, Value, key_bytes, tag_bytes, value_bytes


class Columns(NamedTuple):
    """Changes of which none will be refused by a batch. They are nobody else's: who gave them may go on with its
    lists."""

    keys: Sequence[bytes | None]
    values: Sequence[bytes | None]
    tags: Sequence[tuple[str, ...]]
    sizes: Int64s
    """Of each change, not below what it adds to a batch."""
    byte_count: int
    """Of all."""

    def arranged(self, order: Sequence[int]) -> "Columns":
        """All of them in another order."""
        assert len(order) == len(self.keys) > 1
        take = itemgetter(*order)
        return Columns(take(self.keys), take(self.values), take(self.tags), self.sizes[order], self.byte_count)

    def run(self, start: int, end: int) -> "Columns":
        """Those that lie together."""
        sizes = self.sizes[start:end]
        its = self.keys[start:end], self.values[start:end], self.tags[start:end]
        return Columns(*its, sizes, int(np.add.reduce(sizes)))


def checked_columns(
    keys: Sequence[Text | None], values: Sequence[Value | None], tags: Sequence[Sequence[str]] | None
) -> Columns:
    count = len(values)
    for field, column in (("keys", keys), ("tags", tags)):
        if column is not None and len(column) != count:
            raise BadInput(field, f"{len(column)} of them for {count} values")
    if not count:
        raise BadInput("batch", "is empty")
    its_keys, its_values = _keys(keys), _values(values)
    sizes = BARE_BYTES + _lengths(its_keys, "key", KEY_BYTES_MAX) + _lengths(its_values, "value", VALUE_BYTES_MAX)
    rows: Sequence[tuple[str, ...]] = ((),) * count
    if tags is not None:
        rows, row_bytes = _rows(tags)
        sizes += row_bytes
    return Columns(its_keys, its_values, rows, sizes, int(np.add.reduce(sizes)))


def _keys(keys: Sequence[Text | None]) -> Sequence[bytes | None]:
    return _usual(keys) or [key_bytes(key) for key in keys]


def _values(values: Sequence[Value | None]) -> Sequence[bytes | None]:
    return _usual(values) or [value_bytes(value) for value in values]


def _usual(texts: Sequence[object]) -> list[bytes | None] | None:
    """None where they are to be looked at one by one."""
    kinds = set(map(type, texts))
    if kinds == {bytes}:
        return list(texts)  # type: ignore[arg-type]
    if kinds == {str}:
        try:
            return list(map(str.encode, texts))  # type: ignore[arg-type]
        except UnicodeEncodeError:
            return None
    return None


def _lengths(texts: Sequence[bytes | None], field: str, limit: int) -> Int64s:
    try:
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))  # type: ignore[arg-type]
    except TypeError:  # None has no length
        lengths = np.array([len(text or b"") for text in texts], np.int64)
    if (longest := int(np.maximum.reduce(lengths))) > limit:
        raise LimitExceeded(f"bytes of a {field}", limit, longest)
    return lengths


def _rows(tags: Sequence[Sequence[str]]) -> tuple[list[tuple[str, ...]], Int64s]:
    """The tags of each change, and what they add to a batch. Many changes have the same, which are looked at once."""
    kinds = set(map(type, tags))
    rows: list[tuple[str, ...]]
    if kinds <= {tuple, list}:
        rows = list(map(tuple, tags))
        try:
            known = {row: tag_bytes(row)[1] for row in set(rows)}
        except TypeError:  # something in it that cannot be a tag
            known = None
        if known is not None:
            return rows, np.fromiter(map(known.__getitem__, rows), np.int64, len(rows))
    pairs = [tag_bytes(row) for row in tags]
    return [row for row, _ in pairs], np.array([byte_count for _, byte_count in pairs], np.int64)
