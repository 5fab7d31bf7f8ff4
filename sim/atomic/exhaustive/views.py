"""Who is who: places in a state, and names as each participant sees them.

Every participant has the first name in its own eyes, and a *view* says at which place each name is. One that has the
names of the others mixed up is the same with another view. So states in which the participants have changed places, or
one of them calls the others by each other's names, are the same state. That needs a core to which names are nothing but
names, in a world where all begin alike; renaming.py says more.
"""

from collections.abc import Sequence
from itertools import permutations

Turn = tuple[int, ...]
"""A way to change names, or places: which one each becomes."""


UNCHANGED = 0
"""The number of the change that changes nothing."""


class Views:
    def __init__(self, size: int) -> None:
        places = range(size)
        self.turns: list[Turn] = list(permutations(places))
        """The first changes nothing."""
        self.number = {turn: number for number, turn in enumerate(self.turns)}
        self.own = [number for number, turn in enumerate(self.turns) if turn[0] == 0]
        """Those after which everybody is still the first in its own eyes."""
        self.views = [[view for view in self.turns if view[0] == place] for place in places]
        """By place, all views from there: at which place each name is."""
        known = [{view: number for number, view in enumerate(views)} for views in self.views]
        self.turned = [
            [{number: known[place][_turned(view, self.turns[number])] for number in self.own} for view in views]
            for place, views in enumerate(self.views)
        ]
        """By place, view and change of names: the view afterwards."""
        self.moved = [
            [[known[turn[place]][tuple([turn[each] for each in view])] for turn in self.turns] for view in views]
            for place, views in enumerate(self.views)
        ]
        """By place, view and change of places: the view afterwards, from the new place."""
        self.between = [
            [[[self.number[_between(here, there)] for there in others] for others in self.views] for here in views]
            for views in self.views
        ]
        """By place and view of one, and place and view of another: what the names of the first are to the second."""


def _turned(view: Sequence[int], turn: Turn) -> Turn:
    after = [0] * len(view)
    for name, place in enumerate(view):
        after[turn[name]] = place
    return tuple(after)


def _between(here: Sequence[int], there: Sequence[int]) -> Turn:
    names = [0] * len(there)
    for name, place in enumerate(there):
        names[place] = name
    return tuple([names[place] for place in here])
