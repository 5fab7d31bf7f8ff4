"""One seed, one run, for whole clusters too: whoever replays a failure sees the same failure."""

import os
import subprocess
import sys
from functools import cache
from itertools import count
from pathlib import Path

import pytest

from sim.cluster.plan import plan
from sim.cluster.run import Result, run

REPOSITORY = Path(__file__).parents[3]


def seed_of(*, ordered: bool, holding: bool = False) -> int:
    """The first seed with such a cluster that is small, and not looked at too closely."""
    for seed in count():
        planned = plan(seed)
        small = 3 <= planned.places <= 4 and planned.buckets <= 2 and 10 <= len(planned.faults) <= 20
        kind = (planned.ordered, planned.holders > 0)
        if small and kind == (ordered, holding) and not planned.thorough:
            return seed
    raise AssertionError


SEEDS = {
    "plain": seed_of(ordered=True),
    "chaotic": seed_of(ordered=False),
    "holding": seed_of(ordered=True, holding=True),
}


def printed(hash_seed: int, seed: int) -> list[str]:
    """What the runner prints, in a process whose sets of strings have an order of their own."""
    command = [sys.executable, "-m", "sim.seeds", "--world", "cluster", "--seed", str(seed)]
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    done = subprocess.run(
        command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


@cache
def ran(seed: int) -> Result:
    return run(seed)


@pytest.mark.parametrize("seed", SEEDS.values(), ids=SEEDS)
def test_a_seed_gives_the_same_trace_in_every_process(seed: int) -> None:
    one, other = printed(1, seed), printed(2, seed)
    assert one[0] == f"seed {seed}: all promises kept"
    assert one == other
    assert one[-1] == f"  trace: {ran(seed).trace}"


def test_a_run_is_the_same_after_other_runs_in_its_process() -> None:
    before = ran(SEEDS["plain"])
    ran(SEEDS["chaotic"])
    assert run(SEEDS["plain"]) == before


def test_different_seeds_give_different_traces() -> None:
    assert len({ran(seed).trace for seed in SEEDS.values()}) == len(SEEDS)
