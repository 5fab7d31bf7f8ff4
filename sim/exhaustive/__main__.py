"""`python -m sim.exhaustive`: explore worlds, all of them or one, and say what is in them."""

import argparse
import sys

from hansard.phaser.government import Shape

from .explorer import Exploration, explore
from .timeline import timeline
from .world import shaped
from .worlds import WORLDS


def _progress(exploration: Exploration) -> None:
    counts = f"{exploration.states:,} states, {exploration.depth} steps deep"
    print(f"{exploration.world.name}: {counts}", file=sys.stderr, flush=True)


def _run(name: str, shape: Shape, states_max: int | None) -> bool:
    exploration = explore(shaped(WORLDS[name], shape), states_max=states_max, progress=_progress)
    extent = f"{exploration.states:,} states, {exploration.transitions:,} transitions, {exploration.depth} steps deep"
    print(f"{name} ({shape}): {extent}{'' if exploration.complete else ', not all of it'}")
    catalogue = exploration.system.catalogue
    print(f"  {len(catalogue.participants):,} participants, {len(catalogue.letters):,} messages")
    print("  " + ", ".join([f"{what} {count:,}" for what, count in sorted(exploration.happened().items())]))
    if exploration.fault:
        print("\n".join(timeline(exploration)))
    missing = exploration.never()
    if missing and exploration.complete:
        print(f"  never happened: {', '.join(missing)}")
    sys.stdout.flush()
    return exploration.complete and not missing


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m sim.exhaustive", description=__doc__)
    parser.add_argument("--world", choices=sorted(WORLDS), help="all of them, if none is named")
    parser.add_argument("--shape", choices=[shape.value for shape in Shape], help="both, if none is named")
    parser.add_argument("--states-max", type=int, help="give up after so many")
    chosen = parser.parse_args()
    fine = True
    for name in [chosen.world] if chosen.world else WORLDS:
        for shape in [Shape(chosen.shape)] if chosen.shape else Shape:
            fine &= _run(name, shape, chosen.states_max)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
