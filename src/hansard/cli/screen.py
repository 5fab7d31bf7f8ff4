"""How a cluster looks on a screen: drawn with Rich, plain where the output is no terminal."""

import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final

from rich.box import SIMPLE
from rich.console import Console, Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from .survey import Participant, Survey

COLOURS: Final = ("cyan", "magenta", "yellow", "green", "blue", "bright_red", "bright_cyan", "bright_magenta")
STATES: Final = {"steady": "green", "expanding": "yellow", "switching": "yellow", "lost": "bold red", "idle": "dim"}
WIDTH: Final = 200
"""Where nobody looks nothing is folded."""
LISTED_MAX: Final = 8


def console() -> Console:
    """On stdout as it is now, which tests replace."""
    shown = sys.stdout.isatty()
    return Console(file=sys.stdout, highlight=False, soft_wrap=not shown, width=None if shown else WIDTH)


def table(*columns: str, title: str = "") -> Table:
    """Columns whose names end in a colon are numbers."""
    drawn = Table(
        box=SIMPLE, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False, title=title or None, title_justify="left"
    )
    for name in columns:
        drawn.add_column(name.removesuffix(":"), justify="right" if name.endswith(":") else "left", no_wrap=True)
    return drawn


def listed(items: Iterable[Any]) -> str:
    """A few, and how many more."""
    texts = [str(item) for item in items]
    more = f" and {len(texts) - LISTED_MAX} more" if len(texts) > LISTED_MAX else ""
    return ", ".join(texts[:LISTED_MAX]) + more


def duration_text(seconds: float) -> str:
    for unit, length in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def status_screen(now: Survey, before: Survey | None = None) -> RenderableType:
    status = now.status
    states = ", ".join(f"{count} {state}" for state, count in sorted(status["states"].items())) or "not placed yet"
    atomic = status["atomic"]
    lines = [
        Text.assemble(("cluster  ", "bold"), f"{status['cluster']}, log {status['log'] or '-'}"),
        Text.assemble(("buckets  ", "bold"), f"{status['buckets']}: {states}; table {status['version']}"),
        Text.assemble(
            ("atomic   ", "bold"),
            f"led by {atomic['leader'] or 'nobody'} in term {atomic['term']}, {atomic['committed']} entries; ",
            f"voters {', '.join(atomic['voters'])}",
        ),
    ]
    if before is not None and now.at_s > before.at_s:
        rate = max(0, now.committed - before.committed) / (now.at_s - before.at_s)
        lines.append(Text.assemble(("rate     ", "bold"), f"{rate:,.0f} offsets/s"))
    return Group(*lines, Text(), _participants(now), *_moving(now), *_warnings(now))


def _participants(now: Survey) -> Table:
    drawn = table("participant", "address", "zone", "leads:", "copies:", "behind:", "clients:", "loop:", "up:", "")
    for each in now.participants:
        drawn.add_row(Text(each.node, "bold"), each.address, each.zone or "-", *_row(now, each))
    return drawn


def _row(now: Survey, each: Participant) -> Sequence[RenderableType]:
    status = each.status
    if status is None:
        return ("", "", "", "", "", "", Text(f"does not answer: {each.trouble}", "red"))
    notes = [
        ("drained", each.node in now.status["drained"]),
        ("read-only", bool(status.get("read_only"))),
        ("marked down", status["marked_down"]),
        ("leads the atomic log", now.status["atomic"]["leader"] == each.node),
    ]
    return (
        str(each.leads),
        str(len(each.copies)),
        f"{now.lag(each):,}",
        str(status.get("clients", "")),
        f"{status.get('loop_lag_max_ms', 0):.0f} ms",
        duration_text(status.get("uptime_s", 0)),
        Text(", ".join(text for text, there in notes if there), "yellow"),
    )


def _moving(now: Survey) -> list[RenderableType]:
    moves = now.moves()
    if not moves:
        return []
    drawn = table("bucket:", "state", "to", "", ":")
    for move in moves[:LISTED_MAX]:
        bar = ProgressBar(total=1.0, completed=move.share, width=24) if move.newcomers else Text("")
        share = f"{move.share:.0%}" if move.newcomers else ""  # a bar without colours looks full
        state = Text(move.state, STATES[move.state])
        drawn.add_row(str(move.bucket), state, ", ".join(move.newcomers) or "-", bar, share)
    return [Text(), Text(f"{len(moves)} on the move", "bold"), drawn]


def _warnings(now: Survey) -> list[RenderableType]:
    status = now.status
    found: list[RenderableType] = []
    if status["lost"]:
        buckets = listed(lost["bucket"] for lost in status["lost"])
        who = listed(sorted({node for lost in status["lost"] for node in lost["nodes"]}))
        found.append(Text(f"lost: buckets {buckets}; start {who} again: they have the data", "bold red"))
    if status["thinned"]:
        few = listed(thinned["bucket"] for thinned in status["thinned"])
        found.append(
            Text(f"fewer copies than wanted: buckets {few}; start who is gone, or another in its place", "red")
        )
    if status["paused"]:
        found.append(Text("rebalancing is paused", "yellow"))
    return [Text(), *found] if found else []


def table_screen(now: Survey) -> RenderableType:
    """A row for each bucket, a column for each participant: who leads, who follows, who is coming."""
    names = [each.node for each in now.participants]
    drawn = table("bucket:", "epoch:", "state", *names)
    for bucket in now.buckets:
        state = Text(bucket["state"], STATES.get(bucket["state"], ""))
        marks = [_mark(bucket, name, COLOURS[place % len(COLOURS)]) for place, name in enumerate(names)]
        drawn.add_row(str(bucket["bucket"]), str(bucket["epoch"]), state, *marks)
    legend = Text("● leads   ○ has all of it   … is being brought up to date", "dim")
    return Group(drawn, Text(), legend)


def _mark(bucket: Any, name: str, colour: str) -> Text:
    if bucket["leader"] == name:
        return Text("●", f"bold {colour}")
    if name in bucket["full"]:
        return Text("○", colour)
    return Text("…", colour) if name in bucket["newcomers"] or name in bucket["members"] else Text("")


def buckets_screen(now: Survey) -> RenderableType:
    drawn = table("bucket:", "state", "leader", "copies", "from:", "committed:", "waiting:")
    leading = now.leading
    for bucket in now.buckets:
        copy = leading.get(bucket["bucket"], {})
        drawn.add_row(
            str(bucket["bucket"]),
            Text(bucket["state"], STATES.get(bucket["state"], "")),
            bucket["leader"] or "-",
            ", ".join(bucket["full"]),
            *(f"{copy[name]:,}" if name in copy else "-" for name in ("start", "committed", "backlog")),
        )
    return drawn
