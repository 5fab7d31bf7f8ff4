"""What was measured, as a table: the claim, what this machine gives, what was promised, and whether it is kept."""

from collections.abc import Iterable
from typing import NamedTuple

from rich.console import Console
from rich.table import Table


class Row(NamedTuple):
    claim: str
    measured: str
    target: str
    ok: bool


def show(rows: Iterable[Row]) -> None:
    table = Table("claim", "measured", "target", "")
    for row in rows:
        table.add_row(row.claim, row.measured, row.target, "[green]ok" if row.ok else "[red]missed")
    Console().print(table)
