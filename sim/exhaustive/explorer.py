"""Going through all states of a world, those that are reached in fewer steps first.

So the way to the first fault that is found is a shortest one. The states are kept with the state from which each was
first reached, and nothing else is: what happened on the way is found again by trying.
"""

from collections import Counter
from collections.abc import Callable

from msgspec import Struct

from hansard.phaser.effect import Achievement

from .catalogue import report_bit
from .properties import Checker
from .system import State, System
from .world import World

NOTHING: State = -1
PROGRESS_STATES = 100_000


class Exploration(Struct):
    """What came of it."""

    world: World
    system: System
    reached_from: dict[State, State]
    transitions: int = 0
    depth: int = 0
    """Steps to the state that is furthest away."""
    complete: bool = False
    fault: str = ""
    fault_state: State = NOTHING

    @property
    def states(self) -> int:
        return len(self.reached_from)

    def happened(self) -> Counter[str]:
        """How many different steps did what; and in how many ways the atomic log came to what it has."""
        counts = Counter(self.system.catalogue.happened)
        for control in self.system.controls:
            for government in self.world.governments:
                for achievement in Achievement:
                    if control.reports & report_bit(achievement, government.epoch):
                        counts[f"{achievement} in epoch {government.epoch}"] += 1
        return counts

    def never(self) -> list[str]:
        """What should have happened and did not."""
        counts = self.happened()
        return [what for what in self.world.sometimes if not counts[what]]

    def way(self) -> list[State]:
        """To the fault."""
        states = []
        state = self.fault_state
        while state != NOTHING:
            states.append(state)
            state = self.reached_from[state]
        return states[::-1]


def explore(
    world: World,
    *,
    states_max: int | None = None,
    progress: Callable[[Exploration], None] | None = None,
    checked_by: type[Checker] = Checker,
) -> Exploration:
    system = System(world)
    checker = checked_by(system)
    start = system.start()
    reached_from: dict[State, State] = {start: NOTHING}
    exploration = Exploration(world, system, reached_from)
    frontier = [start]
    due = PROGRESS_STATES
    while frontier:
        later: list[State] = []
        for state in frontier:
            after = system.successors(state)
            exploration.transitions += len(after)
            for each in after:
                if each in reached_from:
                    continue
                reached_from[each] = state
                later.append(each)
                fault = checker.fault_in(each)
                if fault:
                    exploration.fault, exploration.fault_state = fault, each
                    return exploration
            if len(reached_from) >= due:
                if progress is not None:
                    progress(exploration)
                due += PROGRESS_STATES
            if states_max is not None and len(reached_from) >= states_max:
                return exploration
        exploration.depth += bool(later)
        frontier = later
    exploration.complete = True
    return exploration
