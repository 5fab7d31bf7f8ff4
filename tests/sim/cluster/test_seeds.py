"""The runner of seeds knows whole clusters: what counts, what they must have seen, how they are replayed."""

import sys
from collections import Counter
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from sim.cluster.coverage import REQUIRED
from sim.cluster.run import ACKNOWLEDGED_MIN, FAULTS_MIN, Result, run
from sim.kinds import CLUSTER, KINDS
from sim.seeds import BATCH, main, many

EVERYTHING = Counter(dict.fromkeys(REQUIRED, 1))


def result(
    seed: int,
    broken: str = "",
    counts: Counter[str] = EVERYTHING,
    acknowledged: int = ACKNOWLEDGED_MIN,
    faults: int = FAULTS_MIN,
    touched_us: tuple[int, ...] = (),
) -> Result:
    return Result(seed, acknowledged, faults, 1, "0" * 16, Counter(counts), broken, touched_us)


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

    monkeypatch.setitem(KINDS, CLUSTER, replace(KINDS[CLUSTER], run=fake))
    return asked


def test_a_run_in_which_little_happened_does_not_count() -> None:
    assert result(1).counts_as_run
    assert not result(1, acknowledged=ACKNOWLEDGED_MIN - 1).counts_as_run
    assert not result(1, faults=FAULTS_MIN - 1).counts_as_run


def test_the_command_line_asks_for_clusters_and_says_how_long_buckets_paused(
    monkeypatch: pytest.MonkeyPatch, command: Callable[[str], int], capsys: pytest.CaptureFixture[str]
) -> None:
    asked = pretend(monkeypatch, lambda seed: result(seed, touched_us=(1000 * seed,)))
    assert command("--world cluster --seeds 100 --first 1 --processes 1") == 0
    assert asked == list(range(1, 101))
    said = "  pauses of buckets touched by a departure (100): p50 51.0 ms, p99 100.0 ms, max 100.0 ms\n"
    assert said in capsys.readouterr().out


def test_a_failing_seed_says_how_it_is_replayed(
    monkeypatch: pytest.MonkeyPatch, command: Callable[[str], int], capsys: pytest.CaptureFixture[str]
) -> None:
    pretend(monkeypatch, lambda seed: result(seed, broken="x: y" if seed == 12 else ""))
    assert command("--world cluster --seeds 9 --first 10 --processes 1 --failures 1") == 1
    assert "  replay: python -m sim.seeds --world cluster --seed 12 --shrink\n" in capsys.readouterr().out


@pytest.mark.parametrize("what", REQUIRED)
def test_a_batch_that_misses_something_required_is_a_failure(
    what: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pretend(monkeypatch, lambda seed: result(seed, counts=Counter({**EVERYTHING, what: 0})))
    assert many(BATCH, 0, 1, 5, CLUSTER) == 1
    assert f"seeds up to {BATCH - 1}: no {what}\n" in capsys.readouterr().out


def test_nothing_is_required_twice() -> None:
    assert len(set(REQUIRED)) == len(REQUIRED)


def test_a_few_clusters_see_most_of_what_is_required() -> None:
    """The rest is rare: it is asked of batches of hundreds."""
    seen: set[str] = set()
    for seed in range(11):
        came = run(seed)
        assert not came.broken
        seen |= {what for what, number in came.counts.items() if number}
    assert len(set(REQUIRED) - seen) < len(REQUIRED) // 3
