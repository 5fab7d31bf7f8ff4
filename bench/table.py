"""What was measured, as a table: the claim, what this machine gives, what was promised, and whether it is kept."""

from collections.abc import Iterable
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

NO_TARGET = "none"
"""For a figure that is worth seeing and that nothing was promised of."""


class Row(NamedTuple):
    claim: str
    measured: str
    target: str
    ok: bool


def show(rows: Iterable[Row]) -> None:
    table = Table("claim", "measured", "target", "")
    for row in rows:
        verdict = "" if row.target == NO_TARGET else "[green]ok" if row.ok else "[red]missed"
        table.add_row(row.claim, row.measured, row.target, verdict)
    Console().print(table)
