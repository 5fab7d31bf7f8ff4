"""What `hansard start` finds in its settings, says, and does."""

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import typer

from hansard.server.address import written
from hansard.server.logs import begin
from hansard.server.plan import Planned, planned
from hansard.server.settings import DEFAULT, SETTINGS, Chosen, gathered
from hansard.server.start import run

from .output import write_lines


def start(flags: Mapping[str, Any], config: str | None, *, check: bool) -> None:
    config = config or os.environ.get("HANSARD_CONFIG")
    chosen = gathered(flags, os.environ, Path(config) if config else None)
    plan = planned(chosen)
    if check:
        write_lines(_used(chosen, plan))
    for error in plan.errors:
        typer.echo(f"hansard: {error}", err=True)
    if plan.errors:
        raise typer.Exit(2)
    if not check:
        begin(plan.plan.node, plan.log_level, plan.log_format, sys.stderr)
        run(plan.plan)


def _used(chosen: Chosen, planned: Planned) -> Iterator[str]:
    """Every setting that counts for anything."""
    plan = planned.plan
    used = {**chosen.values, "listen": written(plan.listen), "advertise": plan.advertise}
    rows = [(name, _shown(used[name]), chosen.sources[name]) for name in SETTINGS if _counts(chosen, name)]
    if not chosen.given("advertise"):
        rows.insert(3, ("advertise", plan.address, "listen"))
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    for name, value, source in rows:
        yield f"{name:{widths[0]}}  {value:{widths[1]}}  {source}"
    if not planned.errors:
        yield f"It would {_intent(planned)}."


def _counts(chosen: Chosen, name: str) -> bool:
    if chosen[name] in (None, (), "", False):
        return False
    if name in ("buckets", "replication", "shape", "participants", "open", "importing"):
        return bool(chosen["found"])
    return name != "tls_clients" or chosen["tls_cert"] is not None or chosen.sources[name] != DEFAULT


def _shown(value: object) -> str:
    return " ".join(value) if isinstance(value, tuple) else str(value).lower() if value is True else str(value)


def _intent(planned: Planned) -> str:
    plan = planned.plan
    if planned.goes_on:
        return f"go on with what is in {plan.directory}"
    if plan.found is not None:
        return f"found a cluster of {plan.found.buckets} buckets in {plan.directory}"
    where = " ".join(plan.join) or f"the addresses in {plan.join_file}"
    return f"join a cluster through {where}"
