"""`hansard status`, `table` and `buckets`: what a cluster looks like."""

import asyncio
import sys
from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from .output import json_line, write_lines
from .reach import AsJson, At, Profile, Reach, reach

if TYPE_CHECKING:
    from rich.console import RenderableType

    from .survey import Survey

INTERVAL_S: Final = 1.0

Watch = Annotated[bool, typer.Option("--watch", "-w", help="Again and again, until Ctrl-C.", show_default=False)]


def status(at: At = None, profile: Profile = None, watch: Watch = False, as_json: AsJson = False) -> None:
    """Show a cluster on one screen.

    Who takes part, what each leads and how far behind it is, what is on the move, what is missing. The exit code is 1
    if some bucket is lost, or some participant does not answer.
    """
    from .screen import status_screen  # noqa: PLC0415

    healthy = asyncio.run(_look(reach(at, profile), status_screen, _json_status, watch=watch, as_json=as_json))
    if not healthy:
        raise typer.Exit(1)


def table(at: At = None, profile: Profile = None, watch: Watch = False, as_json: AsJson = False) -> None:
    """Show which participants have which bucket."""
    from .screen import table_screen  # noqa: PLC0415

    asyncio.run(_look(reach(at, profile), lambda now, _: table_screen(now), _json_table, watch=watch, as_json=as_json))


def buckets(at: At = None, profile: Profile = None, watch: Watch = False, as_json: AsJson = False) -> None:
    """Show where each bucket's log begins, what is committed, and what waits."""
    from .screen import buckets_screen  # noqa: PLC0415

    asyncio.run(
        _look(reach(at, profile), lambda now, _: buckets_screen(now), _json_buckets, watch=watch, as_json=as_json)
    )


async def _look(
    where: Reach,
    drawn: "Callable[[Survey, Survey | None], RenderableType]",
    as_data: "Callable[[Survey], Any]",
    *,
    watch: bool,
    as_json: bool,
) -> bool:
    """Whether all is there, at the last look."""
    from rich.live import Live  # noqa: PLC0415

    from .screen import console  # noqa: PLC0415
    from .survey import survey  # noqa: PLC0415

    before: Survey | None = None
    screen = console()
    live = Live(console=screen, auto_refresh=False, screen=sys.stdout.isatty()) if watch and not as_json else None
    async with where.operator() as operator:
        with live or nullcontext():
            while True:
                now = await survey(operator)
                if as_json:
                    write_lines([json_line(as_data(now))])
                elif live is not None:
                    live.update(drawn(now, before), refresh=True)
                else:
                    screen.print(drawn(now, before))
                before = now
                if not watch:
                    return not now.status["lost"] and all(each.status is not None for each in now.participants)
                await asyncio.sleep(INTERVAL_S)


def _json_status(now: "Survey") -> dict[str, Any]:
    participants = [
        {
            "node": each.node,
            "address": each.address,
            "zone": each.zone,
            "answers": each.status is not None,
            "trouble": each.trouble,
            "leads": each.leads,
            "copies": len(each.copies),
            "behind": now.lag(each),
            "status": each.status,
        }
        for each in now.participants
    ]
    moves = [move._asdict() for move in now.moves()]
    return {**now.status, "participants": participants, "moves": moves, "committed": now.committed}


def _json_table(now: "Survey") -> Any:
    return now.table


def _json_buckets(now: "Survey") -> list[dict[str, Any]]:
    leading = now.leading
    return [
        {**bucket, **{name: leading.get(bucket["bucket"], {}).get(name) for name in ("start", "committed", "backlog")}}
        for bucket in now.buckets
    ]
