"""Plots as SVG, drawn here: a page with them opens anywhere, without a network and without a program.

Colours and fonts come from the page's styles, by class: `s0` to `s7` are series, `grid` and `label` what they say.
"""

from collections.abc import Sequence
from html import escape
from typing import Final, NamedTuple

WIDTH: Final = 860
LEFT: Final = 64
RIGHT: Final = 12
COLOURS: Final = 8
BAR: Final = 24


class Series(NamedTuple):
    name: str
    values: Sequence[float]


def stacked(series: Sequence[Series], labels: tuple[str, str], *, height: int = 240, unit: str = "") -> str:
    """Areas on top of each other, over time; `labels` are for the first and the last moment."""
    count = max([len(each.values) for each in series], default=0)
    tops = [sum([each.values[place] for each in series]) for place in range(count)]
    scale = Scale(max(tops, default=0), height - 28)
    below = [0.0] * count
    areas = []
    for number, each in enumerate(series):
        above = [low + value for low, value in zip(below, each.values, strict=True)]
        forward = [f"{_x(place, count):.1f},{scale.y(value):.1f}" for place, value in enumerate(above)]
        back = [f"{_x(place, count):.1f},{scale.y(value):.1f}" for place, value in reversed([*enumerate(below)])]
        title = f"<title>{escape(each.name)}: {short(sum(each.values))}{unit} in all</title>"
        areas.append(
            f'<polygon class="area s{number % COLOURS}" points="{" ".join([*forward, *back])}">{title}</polygon>'
        )
        below = above
    return _drawing(height, [*scale.grid(unit), *areas, *_times(labels, height)])


def lines(series: Sequence[Series], labels: tuple[str, str], *, height: int = 220, unit: str = "") -> str:
    scale = Scale(max([max(each.values, default=0) for each in series], default=0), height - 28)
    drawn = []
    for number, each in enumerate(series):
        points = [f"{_x(place, len(each.values)):.1f},{scale.y(value):.1f}" for place, value in enumerate(each.values)]
        title = f"<title>{escape(each.name)}: {short(each.values[-1] if each.values else 0)}{unit}</title>"
        drawn.append(f'<polyline class="line s{number % COLOURS}" points="{" ".join(points)}">{title}</polyline>')
    return _drawing(height, [*scale.grid(unit), *drawn, *_times(labels, height)])


def columns(values: Sequence[tuple[str, float]], *, mean: bool = False, height: int = 200, unit: str = "") -> str:
    """One beside the other; with a line at their mean."""
    scale = Scale(max([value for _, value in values], default=0), height - 28)
    step = (WIDTH - LEFT - RIGHT) / max(1, len(values))
    drawn = scale.grid(unit)
    for place, (name, value) in enumerate(values):
        x, top = LEFT + place * step + step * 0.12, scale.y(value)
        title = f"<title>{escape(name)}: {short(value)}{unit}</title>"
        drawn.append(
            f'<rect class="bar s0" x="{x:.1f}" y="{top:.1f}" width="{step * 0.76:.1f}" '
            f'height="{max(0.0, scale.floor - top):.1f}" rx="2">{title}</rect>'
        )
        if place % max(1, len(values) // 16) == 0:
            middle = x + step * 0.38
            drawn.append(f'<text class="label mid" x="{middle:.1f}" y="{height - 8}">{escape(name)}</text>')
    if mean and values:
        y = scale.y(sum([value for _, value in values]) / len(values))
        drawn.append(f'<line class="mean" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        drawn.append(f'<text class="label end" x="{WIDTH - RIGHT}" y="{y - 5:.1f}">mean</text>')
    return _drawing(height, drawn)


def bars(values: Sequence[tuple[str, float, str]], *, series: bool = False) -> str:
    """One below the other, the name to the left, and what it says to the right. `series`: in the colours that the same
    names have in other plots, where all after the last colour share that."""
    most = max([value for _, value, _ in values], default=0) or 1
    left, room = 260, WIDTH - 260 - 150
    drawn = []
    for place, (name, value, said) in enumerate(values):
        y = place * BAR
        width = max(1.5, room * value / most)
        title, colour = f"<title>{escape(name)}</title>", f"s{min(place, COLOURS - 1) if series else 0}"
        drawn += [
            f'<text class="name end" x="{left - 10}" y="{y + 16}">{title}{escape(_cut(name))}</text>',
            f'<rect class="bar {colour}" x="{left}" y="{y + 4}" width="{width:.1f}" height="{BAR - 8}" rx="2"/>',
            f'<text class="label" x="{left + width + 8:.1f}" y="{y + 16}">{escape(said)}</text>',
        ]
    return _drawing(max(BAR, BAR * len(values)), drawn)


class Scale:
    """Values as heights, from 0 up to a round number."""

    def __init__(self, most: float, floor: int) -> None:
        self.floor = floor
        self.steps = _round_steps(most)
        self.top = self.steps[-1]

    def y(self, value: float) -> float:
        return self.floor - (self.floor - 12) * value / self.top

    def grid(self, unit: str) -> list[str]:
        drawn = []
        for step in self.steps:
            y = self.y(step)
            drawn.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
            drawn.append(f'<text class="label end" x="{LEFT - 8}" y="{y + 4:.1f}">{short(step)}{unit}</text>')
        return drawn


def _round_steps(most: float) -> list[float]:
    """From 0 to above the most, in three to six steps that people like."""
    if most <= 0:
        return [0.0, 1.0]
    size = 1.0
    while size * 10 <= most:
        size *= 10
    while size > most:
        size /= 10
    step = next(size * part for part in (0.2, 0.5, 1, 2, 5) if size * part * 5 >= most)
    count = -int(-most // step)
    return [step * number for number in range(count + 1)]


def short(value: float) -> str:
    """A number as people say it: 1.2k, 3M."""
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"


def _x(place: int, count: int) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * place / max(1, count - 1)


def _times(labels: tuple[str, str], height: int) -> list[str]:
    first, last = map(escape, labels)
    return [
        f'<text class="label" x="{LEFT}" y="{height - 8}">{first}</text>',
        f'<text class="label end" x="{WIDTH - RIGHT}" y="{height - 8}">{last}</text>',
    ]


def _cut(name: str, width: int = 34) -> str:
    return name if len(name) <= width else f"{name[: width - 1]}…"


def _drawing(height: int, parts: Sequence[str]) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img" xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'
