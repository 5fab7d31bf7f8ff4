"""Several clients' batches made one, as a leader does for each group commit: one batch to write, sync and send.

Single changes pay the price of a batch only together, so joining them has to be cheap: where all are single, it is
done on plain numbers. Otherwise a handful of slices is taken of each batch, and all the arithmetic is done afterwards,
on whole columns.
"""

from collections.abc import Sequence
from functools import reduce
from operator import and_, or_

import numpy as np
from numpy.typing import NDArray

from .batch import Batch, Int32s, Int64s, Mask
from .columns import EMPTY_HEADER, Blobs, Columns, Tags, check_size, pack, running_ends
from .header import HEADER_BYTES, Buffer, Flag
from .layout import BlobPositions, Layout
from .limits import BATCH_BYTES_MAX
from .single import UNUSUAL, joined


def merge(batches: Sequence[Batch]) -> Batch:
    """All the changes in the order given, each with its connection and series.

    Epoch, offsets and times are the leader's to fill in; those that the batches may have are dropped. The series of
    one connection must rise from batch to batch, as they do once duplicates have been refused.
    """
    assert batches
    if len(batches) == 1:
        return batches[0]
    all_flags = {batch.header.flags for batch in batches}
    flags, shared = reduce(or_, all_flags), reduce(and_, all_flags)
    assert flags & Flag.INTERNAL == shared & Flag.INTERNAL, "what readers must not see is never with what they see"
    counts = [batch.header.change_count for batch in batches]
    body_bytes = sum([batch.header.body_length for batch in batches])
    if counts.count(1) == len(counts) and not flags & UNUSUAL and body_bytes <= BATCH_BYTES_MAX:
        columns = joined(batches, flags)
    else:
        columns = _columns(batches, np.array(counts, np.int64), flags)
    return pack(EMPTY_HEADER._replace(span=max(sum(counts), 1), flags=shared), columns)


def _columns(batches: Sequence[Batch], counts: Int64s, flags: int) -> Columns:
    count = int(counts.sum())
    parts = [(batch.raw, batch.layout, batch.blobs) for batch in batches]
    check_size(count, HEADER_BYTES + sum([blobs.end - blobs.keys for _, _, blobs in parts]))
    keys, values = _blobs(batches, parts, counts, flags)
    connections, series = _numbers(batches, counts, flags)
    return Columns(
        hashes=np.frombuffer(b"".join([batch.raw[: 8 * batch.header.change_count] for batch in batches]), np.int64),
        keys=keys,
        values=values,
        tags=_tags(batches, parts, counts),
        connections=connections,
        series=series,
        offsets=None if count else np.zeros(0, np.int32),
    )


Part = tuple[Buffer, Layout, BlobPositions]
"""The body of one of the batches, and where everything lies in it."""


def _blobs(batches: Sequence[Batch], parts: Sequence[Part], counts: Int64s, flags: int) -> tuple[Blobs, Blobs]:
    keys = Blobs(
        _ends([raw[where.key_ends : where.value_ends] for raw, where, _ in parts], counts),
        [raw[blobs.keys : blobs.values] for raw, _, blobs in parts],
        _present([batch.has_key for batch in batches], counts) if flags & Flag.NULL_KEYS else None,
    )
    values = Blobs(
        _ends([raw[where.value_ends : where.tag_ends] for raw, where, _ in parts], counts),
        [raw[blobs.values : blobs.end] for raw, _, blobs in parts],
        _present([batch.has_value for batch in batches], counts) if flags & Flag.NULL_VALUES else None,
    )
    return keys, values


def _ends(vectors: Sequence[Buffer], counts: Int64s) -> Int32s:
    """One vector of ends. Each of the old ones begins at zero, so what is joined is the lengths between them."""
    ends: Int32s = np.frombuffer(b"".join(vectors), np.int32)
    within = np.ones(len(ends) - 1, np.bool_)
    within[np.add.accumulate(counts[:-1] + 1) - 1] = False  # at each seam a last end meets the zero of the next
    return running_ends((ends[1:] - ends[:-1])[within])


def _present(masks: Sequence[Mask | None], counts: Int64s) -> Mask:
    whole = [np.ones(count, np.bool_) if mask is None else mask for mask, count in zip(masks, counts, strict=True)]
    return np.concatenate(whole)


def _numbers(batches: Sequence[Batch], counts: Int64s, flags: int) -> tuple[Int64s, Int64s] | tuple[None, None]:
    """Connections and series; none where all of the changes are nobody's."""
    connections = np.repeat(np.array([batch.header.connection for batch in batches], np.int64), counts)
    if not (flags & Flag.CONNECTIONS or connections.any()):
        return None, None
    stops = np.cumsum(counts)
    starts = stops - counts
    first_series = np.array([batch.header.first_series for batch in batches], np.int64)
    series = np.arange(stops[-1]) + np.repeat(first_series - starts, counts)
    series[connections == 0] = 0
    for batch, start, stop in zip(batches, starts, stops, strict=True) if flags & Flag.SERIES else ():
        if batch.header.flags & Flag.SERIES:
            connections[start:stop] = batch.connections
            series[start:stop] = batch.series
    return connections, series


def _tags(batches: Sequence[Batch], parts: Sequence[Part], counts: Int64s) -> Tags:
    """One dictionary for all. Clients of one kind tend to have the same tags, so a dictionary is translated once.

    The translations lie one after another in one vector; a code is looked up at its own batch's part of it.
    """
    codes: dict[bytes, int] = {}
    translations: list[int] = []
    starts: dict[tuple[int, int, bytes], int] = {}
    bases: list[int] = []
    for batch, (raw, where, blobs) in zip(batches, parts, strict=True):
        # Ends and names, with what may lie between: no two dictionaries of this many tags look the same.
        names_at = where.blobs - where.name_ends
        dictionary = batch.header.tag_names, names_at, bytes(raw[where.name_ends : blobs.keys])
        if dictionary not in starts:
            starts[dictionary] = len(translations)
            translations += [codes.setdefault(name, len(codes)) for name in batch.tag_names]
        bases.append(starts[dictionary])
    old_codes: Int32s = np.frombuffer(
        b"".join([raw[where.tag_codes : where.name_ends] for raw, where, _ in parts]), np.int32
    )
    code_counts = [batch.header.tag_codes for batch in batches]
    new_codes: NDArray[np.int32] = np.array(translations, np.int32)[old_codes + np.repeat(bases, code_counts)]
    return Tags(
        _ends([raw[where.tag_ends : where.tag_codes] for raw, where, _ in parts], counts), new_codes, list(codes)
    )
