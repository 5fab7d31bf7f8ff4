"""A scenario file: its upper half as it is played, and the traces below it.

# comments, commands, expectations
shapes: star chain                   the shapes of government to play it with; both unless it says otherwise
settings: part_bytes=64              settings of the phasers that matter here
broken: why                          it is known to fail
[chain] expect b: follows a          a line for one shape only
---- star
the trace
---- chain
the trace
"""

import re
from dataclasses import dataclass

from hansard.phaser import Settings
from hansard.phaser.government import Shape

from .chances import Chances
from .commands import BadCommand, perform
from .expectation import check
from .stage import Stage

_HEADER = re.compile(r"(shapes|settings|broken): *(.*)")
_SECTION = re.compile(r"^---- (star|chain)$", re.MULTILINE)

THE_END = "the end"


class ScenarioFailed(AssertionError):
    """Says which line failed, why, and what had happened until then."""


@dataclass(frozen=True, slots=True)
class Scenario:
    upper: str
    """As it was written, with the newline before the first section."""
    traces: dict[Shape, str]
    headers: dict[str, str]
    lines: tuple[tuple[int, str], ...]
    """Commands and expectations, with their line numbers."""

    @property
    def shapes(self) -> list[Shape]:
        return [Shape(word) for word in self.headers.get("shapes", "star chain").split()]

    @property
    def settings(self) -> Settings:
        chosen = dict(pair.split("=") for pair in self.headers.get("settings", "").split())
        return Settings(**{name: int(value) for name, value in chosen.items()})

    @property
    def broken(self) -> str | None:
        return self.headers.get("broken")


def parse(text: str) -> Scenario:
    upper, *sections = _SECTION.split(text)
    traces = {Shape(name): trace.strip("\n") for name, trace in zip(sections[::2], sections[1::2], strict=True)}
    headers: dict[str, str] = {}
    lines: list[tuple[int, str]] = []
    for number, line in enumerate(upper.splitlines(), start=1):
        line = line.split("#")[0].strip()
        header = _HEADER.fullmatch(line)
        if header is not None:
            headers[header[1]] = header[2]
        elif line:
            lines.append((number, line))
    return Scenario(upper, traces, headers, tuple(lines))


def play(scenario: Scenario, shape: Shape) -> str:
    """The trace; a ScenarioFailed where an expectation does not hold, or the phaser breaks its promise.

    Where a crash keeps `any` number of writes, or time runs for `any` while, the scenario is played once for each; the
    trace is of the first.
    """
    first: str | None = None
    chances = Chances()
    while first is None or chances.turn():
        stage = Stage(shape, scenario.settings, chances)
        for number, line in (*scenario.lines, (len(scenario.upper.splitlines()), THE_END)):
            try:
                _play_line(stage, line)
            except (AssertionError, BadCommand) as error:
                happened = "\n".join(stage.lines[-30:])
                raise ScenarioFailed(f"line {number}, {shape}{chances}: {line}\n  {error}\n{happened}") from error
        first = first or "\n".join(stage.lines)
    return first


def _play_line(stage: Stage, line: str) -> None:
    only = re.match(r"\[(star|chain)\] +", line)
    if only is not None:
        if stage.shape != only[1]:
            return
        line = line[only.end() :]
    if line == THE_END:
        stage.kept_promises.at_the_end(stage)
        stage.lines.append(f"> {THE_END}")
        line = "show"
    elif line.startswith("expect "):
        check(stage, line.removeprefix("expect "))
        return
    else:
        stage.lines.append(f"> {line}")
    perform(stage, line)
    stage.tell_repetitions()


def renewed(text: str) -> str:
    """The file with its traces as they are now. Whatever is above them stays as it is."""
    scenario = parse(text)
    upper = scenario.upper.rstrip("\n")
    sections = [f"---- {shape}\n{play(scenario, shape)}\n" for shape in scenario.shapes]
    return f"{upper}\n{''.join(sections)}"
