"""What a client has submitted to a bucket and has no answer for, cut anew when it hears that the bucket was split.

A bucket that lives under `level` buckets is split in two: it and the one that is `level` further on have one half of
its keys each, and both know all of a stream that it knew. So each batch is cut into the changes for either half. Series
stay what they are: whatever was stored before the split is recognised in both halves, and counts in the one that has
its key.

The chain of a stream goes on in each half by itself: a part names the last series of the part before it in the same
half. The first one names nothing. Whatever was sent before it is settled, so nothing that it has to wait for is
missing; and what the parent's chain would name may be the other half's alone: an answer that came after the split
speaks for one half only.

It does no IO, and knows neither callers nor connections: whoever does keeps for each part of which batch it is.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from hansard.batch import Batch, bucket_mask, portion

NO_SERIES: Final = -1


class Continues(NamedTuple):
    """A stream goes on from another connection, whose last series sent to this bucket was `previous`."""

    connection: int
    previous: int


class Cut(NamedTuple):
    """The changes of one batch that live in one bucket."""

    batch: Batch
    continues: Continues | None
    whole: int
    """Of which batch it is a part, by its place among those that were cut."""
    places: tuple[int, ...]
    """Its changes' places in that one."""


class Lane(NamedTuple):
    """What is to be sent to one of the buckets that came of a split, in this order."""

    bucket: int
    level: int
    cuts: tuple[Cut, ...]


def descendants(bucket: int, level: int, to: int) -> Iterator[tuple[int, int]]:
    """The buckets that a bucket has become when it is split until it lives under `to`, each with the least level that
    it can have: whether those that were split off first were split again is for them to say."""
    assert level < to and to & (to - 1) == level & (level - 1) == 0, "levels are powers of two, and rise"
    yield bucket, to
    while level < to:
        yield bucket + level, 2 * level
        level *= 2


def recut(batches: Sequence[Batch], bucket: int, level: int, to: int) -> list[Lane]:
    """All that was submitted to a bucket, in order, and is not settled; the bucket was thought to live under `level`,
    and lives under `to`. Everything is to be sent again."""
    return [
        Lane(number, least, tuple(_chained(batches, number, least))) for number, least in descendants(bucket, level, to)
    ]


def _chained(batches: Sequence[Batch], bucket: int, level: int) -> Iterator[Cut]:
    connection, last = 0, NO_SERIES
    for whole, batch in enumerate(batches):
        places = bucket_mask(batch, bucket, level).nonzero()[0]
        if not len(places):
            continue
        own = batch.header.connection
        goes_on = Continues(connection, last) if connection and own != connection else None
        part = portion(batch, places, last if own and own == connection else NO_SERIES)
        yield Cut(part, goes_on, whole, tuple(places.tolist()))
        if own:
            connection, last = own, int(batch.series[places[-1]])
