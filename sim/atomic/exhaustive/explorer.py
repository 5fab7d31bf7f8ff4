"""Going through all states of a world, those with the lowest tolls first.

A state that has been reached at a lower toll already is *covered*: it is not looked at, because all that can happen
from it is looked at from there. (That is sound in any order; in this one most are covered.) Only the states are kept,
and not how they were reached. When something is wrong with one, the way to it is searched anew, step by step and with
nothing covered, within the rank of its toll: a shortest one of those with as few timeouts and crashes as it takes.
"""

from collections.abc import Callable, Iterable

from msgspec import Struct

from .properties import Checker
from .system import State, System
from .world import World

NOTHING: State = -1
PROGRESS_STATES = 100_000

Progress = Callable[["Exploration"], None]


class Exploration(Struct):
    """What came of it."""

    world: World
    system: System
    seen: set[State]
    transitions: int = 0
    covered: int = 0
    """How often one came to a state that was covered."""
    rank: int = 0
    """Of the tolls that are looked at."""
    complete: bool = False
    interrupted: bool = False
    fault: str = ""
    way: list[State] = []
    """To the fault."""

    @property
    def states(self) -> int:
        return len(self.seen)

    def never(self) -> list[str]:
        """What should have happened and did not."""
        counts = self.system.happened()
        return [what for what in self.world.sometimes if not counts[what]]


def explore(
    world: World,
    *,
    states_max: int | None = None,
    progress: Progress | None = None,
    checked_by: type[Checker] = Checker,
) -> Exploration:
    """All of it; or up to a fault, to a number of states, or to an interrupt by who waits for it."""
    system = System(world)
    checker = checked_by(system)
    exploration = Exploration(world, system, set())
    try:
        _explore(exploration, checker, states_max, progress)
        if exploration.fault:
            exploration.way = _shortest_way(system, checked_by(system), exploration.rank)
    except KeyboardInterrupt:
        exploration.interrupted = True
    return exploration


def _explore(exploration: Exploration, checker: Checker, states_max: int | None, progress: Progress | None) -> None:
    system, seen = exploration.system, exploration.seen
    later: list[set[State]] = [set() for _ in range(max(system.tolls.rank) + 1)]
    """By rank, states to begin with."""
    later[0].add(system.start())
    due = PROGRESS_STATES
    for rank, begun in enumerate(later):
        exploration.rank = rank
        frontier = _reached(exploration, checker, begun)
        begun.clear()
        while frontier and not exploration.fault:
            state = frontier.pop()
            after = system.successors(state)
            exploration.transitions += len(after)
            near = []
            for each in after:
                if each not in seen:
                    high = system.rank(each)
                    if high == rank:
                        near.append(each)
                    else:
                        later[high].add(each)
            frontier += _reached(exploration, checker, near)
            if len(seen) >= due:
                due += PROGRESS_STATES
                if progress is not None:
                    progress(exploration)
            if states_max is not None and len(seen) >= states_max:
                return
        if exploration.fault:
            return
    exploration.complete = True


def _reached(exploration: Exploration, checker: Checker, states: Iterable[State]) -> list[State]:
    """Those of them that are new, and are not covered."""
    system, seen, covering = exploration.system, exploration.seen, exploration.world.covering
    found = []
    for state in states:
        if state in seen:
            continue
        if covering and not seen.isdisjoint(system.covers(state)):
            exploration.covered += 1
            continue
        seen.add(state)
        found.append(state)
        fault = checker.fault_in(state)
        if fault:
            exploration.fault = fault
            break
    return found


def _shortest_way(system: System, checker: Checker, rank_max: int) -> list[State]:
    """From the beginning to a fault, within a rank."""
    start = system.start()
    reached_from = {start: NOTHING}
    frontier = [start]
    while frontier:
        later = []
        for state in frontier:
            if checker.fault_in(state):
                return _back(reached_from, state)
            for each in system.successors(state):
                if each not in reached_from and system.rank(each) <= rank_max:
                    reached_from[each] = state
                    later.append(each)
        frontier = later
    return []


def _back(reached_from: dict[State, State], state: State) -> list[State]:
    way = []
    while state != NOTHING:
        way.append(state)
        state = reached_from[state]
    return way[::-1]
