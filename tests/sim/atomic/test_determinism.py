"""One seed, one run, for the atomic log too: whoever replays a failure sees the same failure."""

import os
import subprocess
import sys
from functools import cache
from itertools import count
from pathlib import Path

import pytest

from sim.atomic.plan import plan
from sim.atomic.run import run
from sim.atomic.world import World
from sim.run import Result

REPOSITORY = Path(__file__).parents[3]


def seed_of(*, real_store: bool, chaotic: bool) -> int:
    """The first seed with such a world that is neither large nor looked at too closely."""
    for seed in count():
        planned = plan(seed)
        alike = (planned.real_store, not planned.ordered) == (real_store, chaotic)
        if alike and not planned.thorough and 3 <= planned.places <= 4 and 10 <= len(planned.faults) <= 30:
            return seed
    raise AssertionError


SEEDS = {
    "plain": seed_of(real_store=False, chaotic=False),
    "chaotic": seed_of(real_store=False, chaotic=True),
    "real store": seed_of(real_store=True, chaotic=False),
}
EACH = pytest.mark.parametrize("seed", SEEDS.values(), ids=SEEDS)


def printed(hash_seed: int, *arguments: str) -> list[str]:
    """What the runner prints, in a process whose sets of strings have an order of their own."""
    command = [sys.executable, "-m", "sim.seeds", "--world", "atomic", *arguments]
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    done = subprocess.run(
        command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


@cache
def ran(seed: int) -> Result:
    return run(seed)


@EACH
def test_a_seed_gives_the_same_trace_in_every_process(seed: int) -> None:
    one = printed(1, "--seed", str(seed))
    assert one[0] == f"seed {seed}: all promises kept"
    assert one[-1] == f"  trace: {ran(seed).trace}"


def test_what_happens_is_told_byte_for_byte_alike_in_every_process() -> None:
    seed = SEEDS["plain"]
    faults = "--faults=" + ",".join([str(number) for number in range(len(plan(seed).faults))])
    one, other = printed(3, "--seed", str(seed), faults), printed(4, "--seed", str(seed), faults)
    assert len(one) > 1000
    assert one == other
    assert one[-1] == f"  trace: {ran(seed).trace}"


def test_a_run_is_the_same_after_other_runs_in_its_process() -> None:
    before = ran(SEEDS["plain"])
    ran(SEEDS["chaotic"])
    assert run(SEEDS["plain"]) == before


def test_different_seeds_give_different_traces() -> None:
    assert len({ran(seed).trace for seed in SEEDS.values()}) == len(SEEDS)


# Leaving out a fault.


class Enough(Exception):
    """The world has been told for as long as anybody wants to hear."""


def told(seed: int, kept: list[int], until_us: int) -> list[tuple[int, str]]:
    """What happens up to a time, with only these faults."""
    planned, lines = plan(seed), list[tuple[int, str]]()

    def tell(line: str) -> None:
        seconds, _, text = line.strip().partition("  ")
        at_us = round(float(seconds) * 1e6)
        if at_us > until_us:
            raise Enough
        lines.append((at_us, text))

    with pytest.raises(Enough):
        World(planned, [planned.faults[number] for number in kept], tell).run()
    return lines


@EACH
def test_leaving_out_a_fault_changes_nothing_before_it_strikes_and_none_of_the_other_faults(seed: int) -> None:
    faults = plan(seed).faults
    left_out = next(n for n, fault in enumerate(faults) if fault.at_us > 3_000_000)
    at_us = faults[left_out].at_us
    others = [number for number in range(len(faults)) if number != left_out]
    whole, part = [told(seed, kept, at_us + 2_000_000) for kept in (list(range(len(faults))), others)]
    before = [line for line in whole if line[0] < at_us]
    assert len(before) > 100
    assert [line for line in part if line[0] < at_us] == before
    assert part != whole
    expected = [(fault.at_us, f"nemesis: {fault.kind}") for n, fault in enumerate(faults) if n in others]
    strikes = [(at_us, text.removesuffix(" (to no effect)")) for at_us, text in part if text.startswith("nemesis: ")]
    assert strikes == expected[: len(strikes)] and len(strikes) >= left_out
