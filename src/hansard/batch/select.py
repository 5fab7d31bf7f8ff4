"""Parts of batches, at their old offsets: for splits, filtered reads and pages that end inside a batch.

Values are moved as bytes and never looked at. A part still covers the whole batch's span of offsets, so that a log of
parts has no holes in it where a change was left out. Parts of batches that follow each other are gathered into one
batch, because a filtered read that gave one for each would mostly give headers.
"""

from collections.abc import Callable, Sequence
from operator import itemgetter, sub
from typing import NamedTuple

import numpy as np

from .batch import Batch, Int32s, Int64s, Mask
from .builder import submission
from .columns import Blobs, Columns, Tags, counted_ends, pack
from .header import Header
from .layout import ABSENT
from .numbering import NO_SERIES


class Part(NamedTuple):
    """Some changes of a batch, by their places in it, rising."""

    batch: Batch
    places: Int64s


def select(batch: Batch, mask: Mask) -> Batch:
    """The changes where the mask is true; the batch itself where that is all of them."""
    assert len(mask) == len(batch)
    places = mask.nonzero()[0]
    return batch if len(places) == len(batch) else gather([Part(batch, places)])


def since(batch: Batch, offset: int) -> Batch:
    """The changes from an offset on, as a batch that begins there: for a log that has everything before it."""
    assert batch.header.base_offset < offset < batch.header.end_offset
    return gather([Part(batch, (batch.offsets >= offset).nonzero()[0])], offset)


def gather(parts: Sequence[Part], base_offset: int | None = None) -> Batch:
    """One batch of parts of batches that follow each other in a log. Its epoch is that of the last. It begins where the
    first one does, unless it is told where."""
    assert parts
    first, last = parts[0].batch.header, parts[-1].batch.header
    base = first.base_offset if base_offset is None else base_offset
    header = first._replace(base_offset=base, span=last.end_offset - base, epoch=last.epoch)
    rows = [_Rows(batch, places.tolist()) for batch, places in parts]
    columns = Columns(
        hashes=np.array([number for part in rows for number in part.hashes()], np.int64),
        keys=_blobs([part.keys() for part in rows], _present([(batch.has_key, places) for batch, places in parts])),
        values=_blobs(
            [part.values() for part in rows], _present([(batch.has_value, places) for batch, places in parts])
        ),
        tags=_tags(rows),
        offsets=_distances(parts, base),
    )
    header, columns = _with_times(header, columns, parts)
    return pack(*_with_numbers(header, columns, parts))


def portion(batch: Batch, places: Int64s, previous_series: int = NO_SERIES) -> Batch:
    """Some changes of a client's batch as that client would have built them by themselves: offsets and times, which are
    the leader's, are not in it."""
    assert len(places) and batch.layout.connections == ABSENT
    rows, connection = _Rows(batch, places.tolist()), batch.header.connection
    series = batch.series[places] if connection else None
    first_series = int(series[0]) if series is not None else 0
    if series is not None and series[-1] - first_series == len(series) - 1:
        series = None
    columns = Columns(
        hashes=batch.key_hashes[places],
        keys=_blobs([rows.keys()], _present([(batch.has_key, places)])),
        values=_blobs([rows.values()], _present([(batch.has_value, places)])),
        tags=_tags([rows]),
        series=series,
    )
    return submission(columns, connection, first_series, previous_series)


class _Rows:
    """The chosen rows of one batch. A filtered read takes a few of each of many batches: for so few, plain numbers are
    much faster than vectors, and for many they are not slower."""

    def __init__(self, batch: Batch, places: list[int]) -> None:
        self.batch = batch
        self._raw = memoryview(batch.raw)
        self._at = _getter(places)
        self._after = _getter([place + 1 for place in places])

    def hashes(self) -> Sequence[int]:
        return self._at(self._raw[: 8 * len(self.batch)].cast("q"))

    def keys(self) -> "_Pieces":
        blobs = self.batch.blobs
        return self._pieces(self.batch.layout.key_ends, self._raw[blobs.keys : blobs.values])

    def values(self) -> "_Pieces":
        blobs = self.batch.blobs
        return self._pieces(self.batch.layout.value_ends, self._raw[blobs.values : blobs.end])

    def tag_codes(self) -> "_Pieces":
        where, header = self.batch.layout, self.batch.header
        codes = self._raw[where.tag_codes : where.tag_codes + 4 * header.tag_codes].cast("i")
        return self._pieces(where.tag_ends, codes)

    def _pieces(self, position: int, blob: memoryview) -> "_Pieces":
        """Of a column the rows' lengths, and their bytes or numbers."""
        ends = self._raw[position : position + 4 * (len(self.batch) + 1)].cast("i")
        starts, stops = self._at(ends), self._after(ends)
        lengths = list(map(sub, stops, starts))
        if starts[1:] == stops[:-1]:  # they lie together, and are moved together
            return _Pieces(lengths, [blob[starts[0] : stops[-1]]] if starts else [])
        return _Pieces(lengths, [blob[start:stop] for start, stop in zip(starts, stops, strict=True)])


class _Pieces(NamedTuple):
    lengths: list[int]
    pieces: list[memoryview]


def _getter(places: list[int]) -> Callable[[memoryview], tuple[int, ...]]:
    """Takes the numbers at these places of a column."""
    if len(places) > 1:
        return itemgetter(*places)
    return lambda column: tuple(column[place] for place in places)


def _joined(vectors: list[Int64s]) -> Int64s:
    return vectors[0] if len(vectors) == 1 else np.concatenate(vectors)


def _distances(parts: Sequence[Part], base: int) -> Int32s:
    return (_joined([batch.offsets[places] for batch, places in parts]) - base).astype(np.int32)


def _with_times(header: Header, columns: Columns, parts: Sequence[Part]) -> tuple[Header, Columns]:
    """A column of times where they differ; the header's where they do not."""
    if not len(columns.hashes):
        return header._replace(last_timestamp=header.first_timestamp), columns
    last = parts[-1].batch.header.last_timestamp
    if header.first_timestamp == last and parts[0].batch.layout.timestamps == ABSENT:
        return header, columns
    times = _joined([batch.timestamps[places] for batch, places in parts])
    return header, columns._replace(timestamps=times)


def _with_numbers(header: Header, columns: Columns, parts: Sequence[Part]) -> tuple[Header, Columns]:
    """Connection and series: in the header for a part of one client's batch, as columns for what is several' ."""
    batch, places = parts[0]
    if len(parts) == 1 and batch.layout.connections == ABSENT:
        if not header.connection:
            return header, columns
        series = header.first_series + places if batch.layout.series == ABSENT else batch.series[places]
        first = int(series[0]) if len(series) else header.first_series
        return header._replace(first_series=first), columns._replace(series=series)
    header = header._replace(connection=0, first_series=0, previous_series=NO_SERIES)
    if not any(batch.header.connection or batch.layout.connections != ABSENT for batch, _ in parts):
        return header, columns
    return header, columns._replace(
        connections=_joined([batch.connections[places] for batch, places in parts]),
        series=_joined([batch.series[places] for batch, places in parts]),
    )


def _blobs(columns: Sequence[_Pieces], present: Mask | None) -> Blobs:
    lengths = [length for column in columns for length in column.lengths]
    return Blobs(counted_ends(lengths, len(lengths)), [piece for column in columns for piece in column.pieces], present)


def _present(masks: Sequence[tuple[Mask | None, Int64s]]) -> Mask | None:
    if all(mask is None for mask, _ in masks):
        return None
    joined = np.concatenate(
        [np.ones(len(places), np.bool_) if mask is None else mask[places] for mask, places in masks]
    )
    return None if joined.all() else joined


def _tags(parts: Sequence[_Rows]) -> Tags:
    """The chosen changes' codes, over a dictionary of just the tags that are left: the others are nobody's business."""
    new_codes: dict[bytes, int] = {}
    codes: list[int] = []
    lengths: list[int] = []
    for rows in parts:
        column = rows.tag_codes()
        lengths += column.lengths
        names = rows.batch.tag_names if any(column.lengths) else []
        for piece in column.pieces:
            codes += [new_codes.setdefault(names[code], len(new_codes)) for code in piece]
    return Tags(counted_ends(lengths, len(lengths)), np.array(codes, np.int32), list(new_codes))
