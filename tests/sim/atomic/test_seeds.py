"""The runner of seeds knows the atomic log's world: what counts in it, what it must have seen, how it is replayed."""

import sys
from collections import Counter
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from sim.atomic.coverage import REQUIRED
from sim.atomic.oracles.once import Once
from sim.atomic.participant import Participant
from sim.atomic.plan import plan
from sim.atomic.run import FAULTS_MIN, SETTLED_MIN, VIRTUAL_US_MIN, Result, run
from sim.kinds import ATOMIC, KINDS
from sim.seeds import BATCH, main, many
from sim.shrink import shrink

EVERYTHING = Counter(dict.fromkeys(REQUIRED, 1))


def result(
    seed: int,
    broken: str = "",
    counts: Counter[str] = EVERYTHING,
    settled: int = SETTLED_MIN,
    faults: int = FAULTS_MIN,
    virtual_us: int = VIRTUAL_US_MIN,
) -> Result:
    return Result(seed, settled, faults, virtual_us, "0" * 16, Counter(counts), broken)


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], int]:
    def call(arguments: str) -> int:
        monkeypatch.setattr(sys, "argv", ["sim.seeds", *arguments.split()])
        return main()

    return call


def pretend(monkeypatch: pytest.MonkeyPatch, of: Callable[[int], Result]) -> list[int]:
    """From now on seeds come out as a function says; those that were asked for."""
    asked: list[int] = []

    def fake(seed: int) -> Result:
        asked.append(seed)
        return of(seed)

    monkeypatch.setitem(KINDS, ATOMIC, replace(KINDS[ATOMIC], run=fake))
    return asked


def test_a_run_in_which_little_happened_does_not_count() -> None:
    assert result(1).counts_as_run
    assert not result(1, settled=SETTLED_MIN - 1).counts_as_run
    assert not result(1, faults=FAULTS_MIN - 1).counts_as_run
    assert not result(1, virtual_us=VIRTUAL_US_MIN - 1).counts_as_run


def test_the_command_line_asks_for_a_world(
    monkeypatch: pytest.MonkeyPatch, command: Callable[[str], int], capsys: pytest.CaptureFixture[str]
) -> None:
    asked = pretend(monkeypatch, lambda seed: result(seed, broken="x: y" if seed == 12 else ""))
    assert command("--world atomic --seeds 2 --first 10 --processes 1") == 0
    assert "median settled proposals: 200" in capsys.readouterr().out
    assert command("--world atomic --seeds 9 --first 10 --processes 1 --failures 1") == 1
    assert asked == [10, 11, 10, 11, 12]
    assert "  replay: python -m sim.seeds --world atomic --seed 12 --shrink\n" in capsys.readouterr().out


@pytest.mark.parametrize("what", REQUIRED)
def test_a_batch_that_misses_something_required_is_a_failure(
    what: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pretend(monkeypatch, lambda seed: result(seed, counts=Counter({**EVERYTHING, what: 0})))
    assert many(BATCH, 0, 1, 5, ATOMIC) == 1
    assert f"seeds up to {BATCH - 1}: no {what}\n" in capsys.readouterr().out


def test_a_failing_seed_is_shrunk_and_replayed(
    monkeypatch: pytest.MonkeyPatch, command: Callable[[str], int], capsys: pytest.CaptureFixture[str]
) -> None:
    """As if a pause broke a promise."""

    def resume(participant: Participant) -> None:
        if participant.paused:
            raise Once().broken("somebody was paused")

    monkeypatch.setattr(Participant, "resume", resume)
    kinds = {seed: [fault.kind for fault in plan(seed).faults] for seed in range(2000)}
    seed = next(seed for seed, all_kinds in kinds.items() if all_kinds.count("pause") == 1 and len(all_kinds) < 16)
    number = kinds[seed].index("pause")
    assert command(f"--world atomic --seed {seed} --shrink") == 1
    printed = capsys.readouterr().out
    replay = f"replay: python -m sim.seeds --world atomic --seed {seed} --faults={number}"
    assert replay in printed.splitlines()
    assert f"fault {number}: {plan(seed).faults[number]}" in printed.splitlines()
    assert command(replay.partition("sim.seeds ")[2]) == 1
    assert capsys.readouterr().out == printed


def test_shrinking_takes_the_faults_of_the_world_that_it_is_for() -> None:
    faults = KINDS[ATOMIC].faults

    def needs(seed: int, kept: object) -> Result:
        assert isinstance(kept, list)
        return result(seed, broken="x: y" if len(faults(seed)) - 1 in kept else "")

    assert shrink(7, lambda line: None, needs, faults) == [len(faults(7)) - 1]


def test_a_few_worlds_see_most_of_what_is_required() -> None:
    """The rest is rare: it is asked of batches of hundreds."""
    seen: set[str] = set()
    for seed in range(8):
        came = run(seed)
        assert not came.broken
        seen |= {what for what, number in came.counts.items() if number}
    assert len(set(REQUIRED) - seen) < len(REQUIRED) // 3
