"""Where a reader is in each bucket, with the level that the bucket has there: of what a split makes of it.

A place is the level of a bucket and an offset in it. What a bucket has before an offset, at a level, is the same for
ever, through every split: its halves have it, at the same offsets. So two sets of places say exactly which changes lie
between them, whatever has become of the buckets since. It does no IO.
"""

from collections.abc import Mapping
from typing import NamedTuple

from hansard.bookmark import Bookmark


class Place(NamedTuple):
    level: int
    """The bucket has the keys that are its own where there are this many buckets."""
    offset: int


class Range(NamedTuple):
    """Changes of a bucket, as it is at a level, from `start` up to, not including, `end`."""

    bucket: int
    level: int
    start: int
    end: int
    lenient: bool = False
    """It was asked for from wherever the log begins: what is not retained any more is left out."""

    @property
    def offsets(self) -> int:
        return self.end - self.start


Places = Mapping[int, Place]


def between(start: Mapping[int, int], end: Places, *, lenient: bool = False) -> list[Range]:
    """What is in each bucket of `end` after `start`: a bucket that is not in that is where the one was of which it is a
    half; of what it says nothing nothing was read."""
    before = Bookmark("", start)
    ranges = []
    for bucket, (level, offset) in sorted(end.items()):
        first = before.offset(bucket) or 0
        if first < offset:
            ranges.append(Range(bucket, level, first, offset, lenient))
    return ranges


def offsets(places: Places) -> dict[int, int]:
    return {bucket: place.offset for bucket, place in places.items()}
