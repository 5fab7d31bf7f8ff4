"""Scenario transcripts: each file says what must happen and why, and holds the trace of it happening.

A trace that has changed is made anew with

    python -m tests.scenarios --regenerate [name ...]

and reviewed like code. That never touches what stands above the traces, and it refuses to write a file whose
expectations fail. The language is described in sim/scenario/commands.py and sim/scenario/expectation.py.
"""

from difflib import unified_diff
from pathlib import Path

import pytest

from sim.scenario.language import PHASER
from sim.scenario.transcript import Scenario, ScenarioFailed, parse, play, renewed

from .folders import FILES, scenario_in

SCENARIOS = {path: scenario_in(path) for path in FILES}
PLAYS = [
    pytest.param(
        path,
        shape,
        id="-".join(filter(None, (path.stem, shape))),
        marks=[pytest.mark.xfail(reason=scenario.broken, raises=ScenarioFailed)] if scenario.broken else [],
    )
    for path, scenario in SCENARIOS.items()
    for shape in scenario.shapes
]


@pytest.mark.parametrize(("path", "shape"), PLAYS)
def test_it_happens_as_told(path: Path, shape: str) -> None:
    scenario = SCENARIOS[path]
    told = scenario.traces.get(shape, "")
    happened = play(scenario, shape)
    if happened != told:
        difference = "\n".join(
            unified_diff(told.splitlines(), happened.splitlines(), "as told", "as it happened", lineterm="", n=2)
        )
        command = f"python -m tests.scenarios --regenerate {path.stem}"
        pytest.fail(f"{path.name} {shape} happens otherwise now:\n{difference}\nto accept that: {command}")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_says_what_must_happen(path: Path) -> None:
    scenario = SCENARIOS[path]
    assert scenario.upper.startswith("# "), "a scenario begins with what must happen, and why"
    assert any("expect " in line for _, line in scenario.lines), "a scenario without an expectation shows nothing"


def upper(scenario: Scenario) -> str:
    return scenario.upper.rstrip("\n")


EXAMPLE = """# A change is stored.
shapes: star
appoint 1 a: a b
settle
submit a k=1
settle
expect answer 1: stored at 1
"""


def test_regenerating_writes_traces_and_leaves_the_rest() -> None:
    once = renewed(EXAMPLE, PHASER)
    assert upper(parse(once, PHASER)) == EXAMPLE.rstrip("\n")
    assert "a  answers 1: stored at 1" in parse(once, PHASER).traces["star"]
    assert renewed(once, PHASER) == once


def test_regenerating_refuses_where_an_expectation_fails() -> None:
    with pytest.raises(ScenarioFailed, match="it was answered: stored at 1"):
        renewed(EXAMPLE.replace("stored at 1", "stored at 2"), PHASER)


def test_a_line_that_says_nothing_is_refused() -> None:
    with pytest.raises(ScenarioFailed, match="line 3, star: abdicate a"):
        renewed(EXAMPLE.replace("appoint 1 a: a b", "abdicate a"), PHASER)
