"""`python -m sim.atomic.exhaustive`: explore a world of the atomic log, and say what is in it.

python -m sim.atomic.exhaustive                 the largest one: minutes, and a GiB or more
python -m sim.atomic.exhaustive --world small   another one
python -m sim.atomic.exhaustive --list          which there are
"""

import argparse
import resource
import sys

from .explorer import Exploration, explore
from .timeline import timeline
from .worlds import LARGEST, WORLDS


def _spent() -> str:
    """By this process: the time of its processor, and the most memory that it had."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return f"{usage.ru_utime + usage.ru_stime:,.0f} s of CPU, at most {usage.ru_maxrss / 1024:,.0f} MiB"


def _progress(exploration: Exploration) -> None:
    steps = f"{exploration.states:,} states, {exploration.transitions:,} transitions"
    deep = f"{exploration.rank} timeouts and crashes on the way"
    print(f"{exploration.world.name}: {steps}, {deep}, {_spent()}", file=sys.stderr, flush=True)


def _report(exploration: Exploration) -> bool:
    world, system = exploration.world, exploration.system
    partly = "" if exploration.complete else ", interrupted" if exploration.interrupted else ", not all of it"
    print(f"{world.name}: {exploration.states:,} states, {exploration.transitions:,} transitions, {_spent()}{partly}")
    parts = (
        f"{len(system.catalogue.participants):,} participants",
        f"{len(system.catalogue.letters):,} messages",
        f"{exploration.covered:,} times at a state that stands for another",
    )
    print(f"  {', '.join(parts)}")
    print("  " + "; ".join([f"{what}: {count:,}" for what, count in sorted(system.happened().items())]))
    if exploration.fault:
        print("\n".join(timeline(exploration)))
    missing = exploration.never()
    if missing and exploration.complete:
        print(f"  never happened: {', '.join(missing)}")
    return exploration.complete and not missing


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m sim.atomic.exhaustive", description="Worlds in all their states.")
    parser.add_argument("--world", choices=list(WORLDS), default=LARGEST, help=f"which one (default {LARGEST})")
    parser.add_argument("--list", action="store_true", help="say which there are")
    parser.add_argument("--states-max", type=int, help="give up after so many")
    chosen = parser.parse_args()
    if chosen.list:
        print("\n".join([f"{world.name:14}{world.story}" for world in WORLDS.values()]))
        return 0
    fine = _report(explore(WORLDS[chosen.world], states_max=chosen.states_max, progress=_progress))
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
