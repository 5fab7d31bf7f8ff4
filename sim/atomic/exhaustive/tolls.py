"""The *toll* of a state: how often each has lost its patience, and how many have crashed, on the way there.

Nothing but the bounds of a world looks at it. So whatever can happen after a higher toll can happen after a lower one,
and a state need not be looked at if the same one has been reached at a lower toll: lower for everybody, since each has
its own bound. (One thing is free for those who have lost their patience before, and costs the others just that: hearing
of a later term, see lean.py. The lower toll is not above the higher one afterwards either.)
"""

from collections.abc import Sequence
from itertools import permutations, product
from typing import NamedTuple


class Toll(NamedTuple):
    timeouts: tuple[int, ...]
    """By place."""
    crashes: int


class Tolls:
    """All that there are, with numbers. The first is none."""

    def __init__(self, places: int, timeouts_max: int, crashes_max: int) -> None:
        spans = [range(timeouts_max + 1)] * places
        self.tolls = [Toll(timeouts, crashes) for crashes in range(crashes_max + 1) for timeouts in product(*spans)]
        number = {toll: place for place, toll in enumerate(self.tolls)}
        self.rank = [sum(toll.timeouts) + toll.crashes for toll in self.tolls]
        """By toll, how high it is: whatever is lower than another ranks lower."""
        self.less = [
            [number[other] for other in self.tolls if other != toll and _within(other, toll)] for toll in self.tolls
        ]
        """By toll, all lower ones."""
        self.impatient = [
            [number.get(Toll(_more(toll.timeouts, place), toll.crashes), -1) for place in range(places)]
            for toll in self.tolls
        ]
        """By toll and place, the toll after somebody there has lost its patience; -1 if that was too often."""
        self.crashed = [number.get(Toll(toll.timeouts, toll.crashes + 1), -1) for toll in self.tolls]
        """By toll, the toll after a crash."""
        self.moved = [
            [number[Toll(_moved(toll.timeouts, turn), toll.crashes)] for turn in permutations(range(places))]
            for toll in self.tolls
        ]
        """By toll and change of places."""

    def timeouts(self, toll: int, place: int) -> int:
        return self.tolls[toll].timeouts[place]


def _within(one: Toll, other: Toll) -> bool:
    pairs = zip(one.timeouts, other.timeouts, strict=True)
    return one.crashes <= other.crashes and all(left <= right for left, right in pairs)


def _more(timeouts: Sequence[int], place: int) -> tuple[int, ...]:
    return tuple([count + (each == place) for each, count in enumerate(timeouts)])


def _moved(timeouts: Sequence[int], turn: Sequence[int]) -> tuple[int, ...]:
    after = [0] * len(timeouts)
    for place, count in enumerate(timeouts):
        after[turn[place]] = count
    return tuple(after)
