"""Many seeds are tallied, one that fails is replayed, and a failure is cut down to the faults that matter."""

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations

import pytest
from msgspec.structs import replace

from hansard.phaser.effect import Effect
from hansard.phaser.event import Event, Paused
from sim.kinds import BUCKET, KINDS
from sim.oracles import Violation
from sim.oracles.alike import Alike
from sim.oracles.order import Order
from sim.run import ACKNOWLEDGED_MIN, FAULTS_MIN, VIRTUAL_US_MIN, Result, run
from sim.seeds import BATCH, IDLE_MAX, Tally, main, many
from sim.shrink import promise, shrink
from sim.world.coverage import REQUIRED
from sim.world.participant import Participant
from sim.world.plan import plan

EVERYTHING = Counter(dict.fromkeys(REQUIRED, 1))


def result(
    seed: int,
    broken: str = "",
    counts: Counter[str] = EVERYTHING,
    acknowledged: int = ACKNOWLEDGED_MIN,
    faults: int = FAULTS_MIN,
    virtual_us: int = VIRTUAL_US_MIN,
) -> Result:
    return Result(seed, acknowledged, faults, virtual_us, "0" * 16, Counter(counts), broken)


def idle(seed: int) -> Result:
    return result(seed, acknowledged=ACKNOWLEDGED_MIN - 1)


class Fake:
    """Runs no world: says what is to come of a seed, and remembers which it was asked for."""

    def __init__(self, of: Callable[[int], Result]) -> None:
        self.of = of
        self.seeds: list[int] = []

    def __call__(self, seed: int) -> Result:
        self.seeds.append(seed)
        return self.of(seed)


@pytest.fixture
def pretend(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[int], Result]], Fake]:
    """From now on seeds come out as a function says."""

    def install(of: Callable[[int], Result]) -> Fake:
        fake = Fake(of)
        monkeypatch.setitem(KINDS, BUCKET, replace(KINDS[BUCKET], run=fake))
        return fake

    return install


Pretend = Callable[[Callable[[int], Result]], Fake]

# What counts.


def test_a_run_in_which_little_happened_does_not_count() -> None:
    assert result(1).counts_as_run
    assert not result(1, acknowledged=ACKNOWLEDGED_MIN - 1).counts_as_run
    assert not result(1, faults=FAULTS_MIN - 1).counts_as_run
    assert not result(1, virtual_us=VIRTUAL_US_MIN - 1).counts_as_run


def test_a_seed_that_does_not_count_is_replaced_by_another(
    pretend: Pretend, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = pretend(lambda seed: idle(seed) if seed in (8, 9) else result(seed))
    assert many(3, 7, 1, 5) == 0
    assert fake.seeds == [7, 8, 9, 10, 11]
    report = capsys.readouterr().out
    assert report.startswith("3 of 3 seeds") and "0 failed, 2 did not count" in report


def test_a_seed_that_breaks_a_promise_fails_however_little_happened_in_it() -> None:
    tally = Tally(10, 5)
    tally.add(result(1, broken="stored once: twice", acknowledged=0, faults=0, virtual_us=0))
    assert [failed.seed for failed in tally.failed] == [1] and tally.idle == 0
    assert not tally.good


def test_worlds_in_which_nothing_happens_are_a_failure_and_not_run_forever(
    pretend: Pretend, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = pretend(idle)
    assert many(3, 0, 1, 5) == 1
    assert len(fake.seeds) == IDLE_MAX + 1
    assert "most seeds do not count" in capsys.readouterr().out


def test_what_was_counted_is_added_up_over_the_seeds_that_count() -> None:
    tally = Tally(10, 5)
    tally.add(result(1, counts=Counter({"wrap": 2, "crash": 1})))
    tally.add(result(2, counts=Counter({"wrap": 3})))
    tally.add(result(3, counts=Counter({"wrap": 100}), faults=0))
    assert tally.totals == {"wrap": 5, "crash": 1}
    lines = list(tally.report())
    assert "          5 wrap" in lines
    assert f"  median acknowledged submissions: {ACKNOWLEDGED_MIN}" in lines


# What every batch must have seen.


@pytest.mark.parametrize("what", REQUIRED)
def test_a_batch_that_misses_something_required_is_a_failure(
    what: str, pretend: Pretend, capsys: pytest.CaptureFixture[str]
) -> None:
    pretend(lambda seed: result(seed, counts=Counter({**EVERYTHING, what: 0})))
    assert many(BATCH, 0, 1, 5) == 1
    assert f"seeds up to {BATCH - 1}: no {what}\n" in capsys.readouterr().out


def test_once_in_a_batch_is_enough(pretend: Pretend) -> None:
    pretend(lambda seed: result(seed, counts=EVERYTHING if seed % BATCH == 77 else Counter()))
    assert many(2 * BATCH, 0, 1, 5) == 0


def test_each_batch_is_looked_at_by_itself() -> None:
    tally = Tally(3 * BATCH, 5)
    for seed in range(3 * BATCH):
        tally.add(result(seed, counts=EVERYTHING if seed < BATCH or seed >= 2 * BATCH else Counter()))
    assert tally.missing == [f"seeds up to {2 * BATCH - 1}: no {', no '.join(REQUIRED)}"]
    assert not tally.good


# Failures.


def test_a_failing_seed_is_a_failure_and_its_report_names_the_replay_command(
    pretend: Pretend, capsys: pytest.CaptureFixture[str]
) -> None:
    pretend(lambda seed: result(seed, broken="stored once: b'1:1' is stored twice" if seed == 4 else ""))
    assert many(6, 0, 1, 5) == 1
    report = capsys.readouterr().out.splitlines()
    assert "seed 4 broke a promise. stored once: b'1:1' is stored twice" in report
    assert "  replay: python -m sim.seeds --seed 4 --shrink" in report


def test_after_enough_failures_no_more_seeds_are_run(pretend: Pretend) -> None:
    fake = pretend(lambda seed: result(seed, broken="x: y" if seed % 2 else ""))
    assert many(100, 0, 1, 3) == 1
    assert fake.seeds == [0, 1, 2, 3, 4, 5]


def test_several_processes_run_the_seeds_that_one_would(monkeypatch: pytest.MonkeyPatch) -> None:
    added: list[Result] = []
    add = Tally.add
    monkeypatch.setitem(KINDS, BUCKET, replace(KINDS[BUCKET], run=result))

    def noted(tally: Tally, one: Result) -> None:
        added.append(one)
        add(tally, one)

    monkeypatch.setattr(Tally, "add", noted)
    assert many(20, 5, 2, 5) == 0
    assert [one.seed for one in added] == list(range(5, 25))


def test_a_failed_assertion_and_an_error_that_nobody_expected_are_the_seed_s_failures(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(order: Order, participant: Participant) -> None:
        raise AssertionError("not this one")

    def stumble(order: Order, participant: Participant) -> None:
        raise KeyError(participant.name)

    monkeypatch.setattr(Order, "started", fail)
    assert run(1).broken.startswith("an assertion failed: test_seeds.py:")
    assert run(1).broken.endswith("fail: not this one")
    monkeypatch.setattr(Order, "started", stumble)
    assert run(1).broken.startswith("KeyError was raised: test_seeds.py:")
    assert run(1).broken.endswith("stumble: 'a1'")


# Shrinking.


SEED = next(seed for seed in range(100) if len(plan(seed).faults) >= 20)
LAST = len(plan(SEED).faults) - 1


def needs(*faults: int) -> Callable[[int, Sequence[int]], Result]:
    """A run that fails in one way if all of these faults are in it, and in another way if only the first is."""

    def pretended(seed: int, kept: Sequence[int]) -> Result:
        if set(faults) <= set(kept):
            return result(seed, broken=f"stored once: {len(kept)} faults")
        return result(seed, broken="linearizable reads: no" if faults[0] in kept else "")

    return pretended


@pytest.mark.parametrize("wanted", [(3,), (LAST,), (0, 1), *combinations((2, 9, LAST - 1), 2), (1, 4, 6, 8)])
def test_what_is_left_of_the_faults_is_what_the_failure_needs(wanted: tuple[int, ...]) -> None:
    told: list[str] = []
    assert shrink(SEED, told.append, needs(*wanted)) == list(wanted)
    assert told[-1] == f"{len(wanted)} faults are enough"


def test_a_failure_that_needs_no_fault_is_left_with_none() -> None:
    assert shrink(SEED, lambda line: None, lambda seed, kept: result(seed, broken="stored once: always")) == []


def test_a_seed_that_does_not_fail_cannot_be_shrunk() -> None:
    with pytest.raises(AssertionError, match="only what fails can be shrunk"):
        shrink(SEED, lambda line: None, lambda seed, kept: result(seed))


def test_what_broke_is_told_without_the_particulars() -> None:
    assert promise(result(1, broken="stored once: b'1:1' is stored twice")) == "stored once"
    assert promise(result(1)) == ""


# From the command line.


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], int]:
    def call(arguments: str) -> int:
        monkeypatch.setattr(sys, "argv", ["sim.seeds", *arguments.split()])
        return main()

    return call


def object_to_holding(monkeypatch: pytest.MonkeyPatch) -> int:
    """From now on holding the bucket breaks a promise; a seed that does that, among few other things."""

    def after_turn(oracle: Alike, participant: Participant, events: Sequence[Event], effects: Sequence[Effect]) -> None:
        if Paused(True) in events:
            raise Violation("nothing is held", f"{participant.name} was")

    monkeypatch.setattr(Alike, "after_turn", after_turn)
    for seed in range(10_000):
        kinds = [fault.kind for fault in plan(seed).faults]
        if len(kinds) <= 8 and kinds[1:].count("hold") == 1:
            return seed
    raise AssertionError


def test_shrinking_a_failing_seed_shows_what_happened_with_the_faults_that_matter(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: Callable[[str], int]
) -> None:
    seed = object_to_holding(monkeypatch)
    hold = next(n for n, fault in enumerate(plan(seed).faults) if fault.kind == "hold")
    assert command(f"--seed {seed} --shrink") == 1
    printed = capsys.readouterr()
    assert printed.err.splitlines()[-1] == "1 faults are enough"
    lines = printed.out.splitlines()
    strikes = [line for line in lines if "  nemesis: " in line]
    assert len(strikes) == 1 and strikes[0].endswith("nemesis: hold")
    assert any(" < submission " in line for line in lines)
    assert f"fault {hold}: {plan(seed).faults[hold]}" in lines
    replay = f"replay: python -m sim.seeds --seed {seed} --faults={hold}"
    assert replay in lines
    assert any(line.startswith(f"seed {seed}: nothing is held: ") for line in lines)
    assert command(replay.partition("sim.seeds ")[2]) == 1
    assert capsys.readouterr().out == printed.out


def test_a_failure_without_any_fault_can_be_replayed_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: Callable[[str], int]
) -> None:
    def started(order: Order, participant: Participant) -> None:
        raise order.broken("it is never well")

    monkeypatch.setattr(Order, "started", started)
    assert command("--seed 2 --shrink") == 1
    printed = capsys.readouterr().out
    replay = "replay: python -m sim.seeds --seed 2 --faults="
    assert replay in printed.splitlines()
    assert command(replay.partition("sim.seeds ")[2]) == 1
    assert capsys.readouterr().out == printed


def test_a_seed_that_keeps_all_promises_is_told_without_a_timeline(
    capsys: pytest.CaptureFixture[str], command: Callable[[str], int]
) -> None:
    assert command("--seed 2 --shrink") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "seed 2: all promises kept"
    assert len(lines) == 5 and lines[-1] == f"  trace: {run(2).trace}"


def test_seeds_are_run_as_the_command_line_says(pretend: Pretend, command: Callable[[str], int]) -> None:
    fake = pretend(lambda seed: result(seed, broken="x: y" if seed == 13 else ""))
    assert command("--seeds 3 --first 10 --processes 1") == 0
    assert command("--seeds 30 --first 10 --processes 1 --failures 1") == 1
    assert fake.seeds == [10, 11, 12, 10, 11, 12, 13]
