"""The report as one page: HTML with its styles and plots in it, and nothing to load."""

from collections.abc import Sequence
from html import escape
from itertools import accumulate
from pathlib import Path
from typing import Final

from . import plots
from .plots import COLOURS, Series, short
from .report import Report, Volume

SHOWN: Final = 7
"""So many tenants have a colour of their own; the others are one."""

STYLE: Final = Path(__file__).with_name("report.css")


def page(report: Report) -> str:
    title = f"Hansard: use of the log {escape(report.log)}"
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{title}</title><style>{STYLE.read_text()}</style></head><body><main>",
            f"<header><h1>Use of the log</h1><p>{escape(_subtitle(report))}</p></header>",
            _figures(report),
            *_sections(report),
            "<footer>hansard pipeline report</footer></main></body></html>",
        ]
    )


def _subtitle(report: Report) -> str:
    span = f"{report.first} to {report.last}" if report.first else "no changes"
    return f"log {report.log} · {span} · made {report.made}"


def _figures(report: Report) -> str:
    tenants = [each for each in report.tenants if each.name != "(none)"]
    keys = sum([each.keys or 0 for each in report.buckets])
    figures = [
        (short(report.changes), "changes"),
        (f"{short(report.bytes)}B", "keys and values"),
        (short(len(tenants)), "tenants"),
        (short(keys), "keys"),
        (f"{report.skew:.2f}", "largest bucket to mean"),
        (short(max([lag.changes for lag in report.holds], default=0)), "furthest hold behind"),
    ]
    cells = [f'<div class="figure"><b>{escape(number)}</b><span>{name}</span></div>' for number, name in figures]
    return f'<div class="figures">{"".join(cells)}</div>'


def _sections(report: Report) -> list[str]:
    series = _series(report)
    labels = (report.first, report.last)
    per_s = [Series(each.name, [value / report.piece_s for value in each.values]) for each in series]
    sizes = _grouped([(rate.tenant, rate.bytes) for rate in report.rates])
    growth = [Series(each.name, [*accumulate(each.values)]) for each in sizes]
    lag = [(hold.name, float(hold.changes), f"{short(hold.changes)}, until {hold.expires}") for hold in report.holds]
    return [
        _section(
            "Rate",
            f"changes a second, by tenant, in pieces of {report.piece_s:g} s",
            plots.stacked(per_s, labels),
            per_s,
        ),
        _section(
            "Growth", "bytes of keys and values since the beginning", plots.lines(growth, labels, unit="B"), growth
        ),
        _section(
            "Tenants",
            f"tags that begin with {report.prefix}",
            _bars(report.tenants, series=True) + _table(report.tenants),
        ),
        _section("Hot keys", "those that change most often", _bars(report.keys, by_changes=True)),
        _section("Tags", "a change counts for each of its tags", _bars(report.tags)),
        _section(
            "Buckets",
            "bytes in each; far above the mean is skew, and doubling the buckets spreads keys, not a single hot one",
            plots.columns([(each.name, float(each.bytes)) for each in report.buckets], mean=True, unit="B"),
        ),
        _section("Holds", "changes between each and the end of the log", plots.bars(lag) if lag else "<p>none</p>"),
    ]


def _section(title: str, note: str, body: str, series: Sequence[Series] = ()) -> str:
    key = "".join(
        f'<span><i class="s{place % COLOURS}"></i>{escape(each.name)}</span>' for place, each in enumerate(series)
    )
    legend = f'<div class="key">{key}</div>' if len(series) > 1 else ""
    return f'<section><h2>{escape(title)}</h2><p class="note">{escape(note)}</p>{body}{legend}</section>'


def _series(report: Report) -> list[Series]:
    return _grouped([(rate.tenant, rate.changes) for rate in report.rates])


def _grouped(rates: Sequence[tuple[str, Sequence[int]]]) -> list[Series]:
    """The largest by themselves, as they come, and all others together."""
    found = [Series(name, [float(value) for value in values]) for name, values in rates[:SHOWN]]
    rest = rates[SHOWN:]
    if rest:
        found.append(
            Series(f"{len(rest)} others", [float(sum(each)) for each in zip(*[v for _, v in rest], strict=True)])
        )
    return found


def _bars(volumes: Sequence[Volume], *, by_changes: bool = False, series: bool = False) -> str:
    if not volumes:
        return "<p>none</p>"
    return plots.bars(
        [
            (
                each.name,
                float(each.changes if by_changes else each.bytes),
                f"{short(each.changes)} · {short(each.bytes)}B",
            )
            for each in volumes[:20]
        ],
        series=series,
    )


def _table(volumes: Sequence[Volume]) -> str:
    head = "<tr><th>tenant</th><th>changes</th><th>bytes</th><th>deletions</th><th>keys</th></tr>"
    rows = [
        f"<tr><td>{escape(each.name)}</td><td>{each.changes:,}</td><td>{each.bytes:,}</td><td>{each.deleted:,}</td>"
        f"<td>{each.keys or 0:,}</td></tr>"
        for each in volumes
    ]
    return f"<table>{head}{''.join(rows)}</table>"
