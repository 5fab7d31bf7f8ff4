"""Many seeds on all cores, or one of them looked at closely.

    python -m sim.seeds --seeds 500             run 500 seeds that count
    python -m sim.seeds --seed 47               run one, and say what came of it
    python -m sim.seeds --seed 47 --shrink      find the faults that matter, and show what happened
    python -m sim.seeds --seed 47 --faults 3,9  only these faults of it, with everything that happened
    python -m sim.seeds --world atomic ...      the same for the atomic log, instead of a bucket
    python -m sim.seeds --world cluster ...     the same for whole clusters

A seed counts if it had enough submissions acknowledged (or proposals settled), enough faults that took effect, and
enough virtual time. Every 500 that count must have seen everything that the coverage asks for.
"""

import argparse
import gc
import multiprocessing
import signal
import sys
import time
from collections import Counter, deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from itertools import count
from statistics import median
from typing import Final

from sim.kinds import BUCKET, KINDS, Kind
from sim.run import Result
from sim.shrink import shrink

BATCH: Final = 500
AHEAD: Final = 4
"""So many seeds for each process are under way or wait to be."""
IDLE_MAX: Final = 20
"""Seeds that did not count are put up with up to here, and as long as they are not more than the others."""


class Tally:
    """All results so far, and what is wrong with them."""

    def __init__(self, wanted: int, failures_max: int, kind: Kind = KINDS[BUCKET]) -> None:
        self.kind = kind
        self.wanted = wanted
        self.failures_max = failures_max
        """After so many there is no need to see more."""
        self.results: list[Result] = []
        self.failed: list[Result] = []
        self.idle = 0
        """Seeds that did not count."""
        self.totals: Counter[str] = Counter()
        self._batch: Counter[str] = Counter()
        self.missing: list[str] = []
        self.began = time.monotonic()

    def add(self, result: Result) -> None:
        if result.broken:
            self.failed.append(result)
        elif not result.counts_as_run:
            self.idle += 1
            return
        self.results.append(result)
        self.totals += result.counts
        self._batch += result.counts
        if len(self.results) % BATCH == 0:
            unseen = [what for what in self.kind.required if not self._batch[what]]
            if unseen:
                self.missing.append(f"seeds up to {result.seed}: no {', no '.join(unseen)}")
            self._batch.clear()

    @property
    def done(self) -> bool:
        return len(self.results) >= self.wanted or len(self.failed) >= self.failures_max or self.stands_still

    @property
    def stands_still(self) -> bool:
        """So little happens in most seeds that there would be no end of them."""
        return self.idle > max(IDLE_MAX, len(self.results))

    @property
    def good(self) -> bool:
        return not self.failed and not self.missing and not self.stands_still

    def progress(self) -> str:
        seconds = max(time.monotonic() - self.began, 0.001)
        hours = sum(result.virtual_us for result in self.results) / 3.6e9
        rate = len(self.results) / seconds
        return (
            f"{len(self.results)} of {self.wanted} seeds, {rate:.1f}/s, {hours:.1f} simulated hours, "
            f"{len(self.failed)} failed"
        )

    def report(self) -> Iterator[str]:
        yield self.progress() + f", {self.idle} did not count"
        if self.results:
            for name, numbers in (
                (self.kind.acknowledged, [result.acknowledged for result in self.results]),
                ("faults that took effect", [result.faults for result in self.results]),
                ("virtual seconds", [result.virtual_us // 1_000_000 for result in self.results]),
            ):
                yield f"  median {name}: {median(numbers):g}"
        yield from self.kind.summary(self.results)
        for what, number in sorted(self.totals.items()):
            yield f"  {number:9} {what}"
        yield from self.missing
        if self.stands_still:
            yield "most seeds do not count: hardly anything is acknowledged"
        for result in self.failed:
            yield f"seed {result.seed} broke a promise. {result.broken}"
            yield f"  replay: python -m sim.seeds {self.kind.option}--seed {result.seed} --shrink"


def _begin() -> None:
    """In a new process: it ends when it is told to, whatever its parent does about signals, and leaves Ctrl-C to it.
    What the parent had is not looked through for garbage after each world."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()
    gc.freeze()


def _run(world: str, seed: int) -> Result:
    """In a process of its own. A world is one heap of cycles, thrown away at once when it is done."""
    result = KINDS[world].run(seed)
    gc.collect()
    return result


def _results(world: str, first: int, processes: int) -> Generator[Result]:
    """Seed by seed, for as long as somebody wants more. What is under way at the end is waited for and not ended: a
    process that is ended while it hands on a result leaves the others waiting for ever."""
    if processes == 1:
        yield from map(KINDS[world].run, count(first))
    with ProcessPoolExecutor(processes, multiprocessing.get_context("fork"), _begin) as pool:
        seeds = count(first)
        ahead = deque([pool.submit(_run, world, next(seeds)) for _ in range(AHEAD * processes)])
        try:
            while True:
                yield ahead.popleft().result()
                ahead.append(pool.submit(_run, world, next(seeds)))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def many(wanted: int, first: int, processes: int, failures_max: int, world: str = BUCKET) -> int:
    tally = Tally(wanted, failures_max, KINDS[world])
    shown = time.monotonic()
    with closing(_results(world, first, processes)) as results:
        for result in results:
            tally.add(result)
            if time.monotonic() - shown > 1 or tally.done:
                shown = time.monotonic()
                print(f"\r{tally.progress()} ", end="", file=sys.stderr, flush=True)
            if tally.done:
                break
    print(file=sys.stderr)
    print("\n".join(tally.report()))
    return 0 if tally.good else 1


def one(seed: int, faults: Sequence[int] | None, world: str = BUCKET, *, shrunk: bool) -> int:
    kind = KINDS[world]
    result = kind.run(seed, faults)
    if shrunk and result.broken:
        faults = shrink(seed, lambda line: print(line, file=sys.stderr), kind.run, kind.faults)
    if faults is not None:
        result = kind.run(seed, faults, print)
        for number in faults:
            print(f"fault {number}: {kind.faults(seed)[number]}")
        print(f"replay: python -m sim.seeds {kind.option}--seed {seed} --faults={','.join(map(str, faults))}")
    print(f"seed {seed}: {result.broken or 'all promises kept'}")
    for name, value in (
        (kind.acknowledged, result.acknowledged),
        ("faults that took effect", result.faults),
        ("virtual seconds", result.virtual_us / 1e6),
        ("trace", result.trace),
    ):
        print(f"  {name}: {value}")
    return 1 if result.broken else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m sim.seeds", description="Simulated worlds from seeds.")
    parser.add_argument("--world", choices=list(KINDS), default=BUCKET, help=f"what is simulated (default {BUCKET})")
    parser.add_argument("--seeds", type=int, default=100, help="how many seeds that count (default 100)")
    parser.add_argument("--first", type=int, default=0, help="the first of them (default 0)")
    parser.add_argument("--processes", type=int, default=multiprocessing.cpu_count(), help="default: one for each core")
    parser.add_argument("--failures", type=int, default=5, help="stop after so many (default 5)")
    parser.add_argument("--seed", type=int, help="only this one")
    parser.add_argument("--shrink", action="store_true", help="cut it down to the faults that matter")
    parser.add_argument("--faults", help="only these of its faults, by number")
    arguments = parser.parse_args()
    if arguments.seed is None:
        return many(arguments.seeds, arguments.first, arguments.processes, arguments.failures, arguments.world)
    faults = [int(number) for number in arguments.faults.split(",") if number] if arguments.faults is not None else None
    return one(arguments.seed, faults, arguments.world, shrunk=arguments.shrink)


if __name__ == "__main__":
    sys.exit(main())
