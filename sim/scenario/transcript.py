"""A scenario file: its upper half as it is played, and the traces below it.

# comments, commands, expectations
settings: part_bytes=64              settings that matter here
broken: why                          it is known to fail
shapes: star chain                   where there are shapes: which to play it with; all unless it says otherwise
[chain] expect b: follows a          a line for one shape only
---- star
the trace
---- chain
the trace
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from .chances import Chances
from .scene import Scene
from .words import BadCommand

_HEADER = re.compile(r"(shapes|settings|broken): *(.*)")
_SECTION = re.compile(r"^----(?: (\w+))?$", re.MULTILINE)
_SECTION_NAMED = re.compile(r"\[(\w+)\] +")

THE_END = "the end"

Stage = TypeVar("Stage", bound=Scene[Any])


class ScenarioFailed(AssertionError):
    """Says which line failed, why, and what had happened until then."""


@dataclass(frozen=True, slots=True)
class Language(Generic[Stage]):
    """What the lines of a scenario are about."""

    shapes: tuple[str, ...]
    """What each scenario is played with, one after the other; one without a name if there is nothing to choose."""
    begin: Callable[[str, Mapping[str, int], Chances], Stage]
    """The stage, for a shape and settings."""
    perform: Callable[[Stage, str], None]
    check: Callable[[Stage, str], None]
    conclude: Callable[[Stage], None]
    """What must hold at the end of every scenario."""


@dataclass(frozen=True, slots=True)
class Scenario:
    language: Language[Any]
    upper: str
    """As it was written, with the newline before the first section."""
    traces: dict[str, str]
    """One for each shape."""
    headers: dict[str, str]
    lines: tuple[tuple[int, str], ...]
    """Commands and expectations, with their line numbers."""

    @property
    def shapes(self) -> list[str]:
        return self.headers["shapes"].split() if "shapes" in self.headers else list(self.language.shapes)

    @property
    def settings(self) -> dict[str, int]:
        chosen = dict(pair.split("=") for pair in self.headers.get("settings", "").split())
        return {name: int(value) for name, value in chosen.items()}

    @property
    def broken(self) -> str | None:
        return self.headers.get("broken")


def parse(text: str, language: Language[Any]) -> Scenario:
    upper, *sections = _SECTION.split(text)
    traces = {name or "": trace.strip("\n") for name, trace in zip(sections[::2], sections[1::2], strict=True)}
    headers: dict[str, str] = {}
    lines: list[tuple[int, str]] = []
    for number, line in enumerate(upper.splitlines(), start=1):
        line = line.split("#")[0].strip()
        header = _HEADER.fullmatch(line)
        if header is not None:
            headers[header[1]] = header[2]
        elif line:
            lines.append((number, line))
    return Scenario(language, upper, traces, headers, tuple(lines))


def play(scenario: Scenario, shape: str) -> str:
    """The trace; a ScenarioFailed where an expectation does not hold, or a promise is broken.

    Where a crash keeps `any` number of writes, or time runs for `any` while, the scenario is played once for each; the
    trace is of the first.
    """
    first: str | None = None
    chances = Chances()
    while first is None or chances.turn():
        stage = scenario.language.begin(shape, scenario.settings, chances)
        for number, line in (*scenario.lines, (len(scenario.upper.splitlines()), THE_END)):
            try:
                _play_line(scenario.language, stage, shape, line)
            except (AssertionError, BadCommand) as error:
                happened = "\n".join(stage.lines[-30:])
                where = f"line {number}{', ' if shape else ''}{shape}{chances}"
                raise ScenarioFailed(f"{where}: {line}\n  {error}\n{happened}") from error
        first = first or "\n".join(stage.lines)
    return first


def _play_line(language: Language[Stage], stage: Stage, shape: str, line: str) -> None:
    only = _SECTION_NAMED.match(line)
    if only is not None:
        if only[1] != shape:
            return
        line = line[only.end() :]
    if line == THE_END:
        language.conclude(stage)
        stage.lines.append(f"> {THE_END}")
        line = "show"
    elif line.startswith("expect "):
        language.check(stage, line.removeprefix("expect "))
        return
    else:
        stage.lines.append(f"> {line}")
    language.perform(stage, line)
    stage.tell_repetitions()


def renewed(text: str, language: Language[Any]) -> str:
    """The file with its traces as they are now. Whatever is above them stays as it is."""
    scenario = parse(text, language)
    upper = scenario.upper.rstrip("\n")
    sections = [f"{f'---- {shape}'.rstrip()}\n{play(scenario, shape)}\n" for shape in scenario.shapes]
    return f"{upper}\n{''.join(sections)}"
