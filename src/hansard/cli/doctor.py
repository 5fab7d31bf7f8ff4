"""`hansard doctor`: is the cluster well, and if not, what to do."""

import asyncio
from typing import TYPE_CHECKING, Final

import typer

from .output import json_line, write_lines
from .reach import AsJson, At, Profile, Reach, reach

if TYPE_CHECKING:
    from .checkup import Finding

MARKS: Final = {"well": ("✓", "green"), "odd": ("!", "yellow"), "bad": ("✗", "bold red")}


def doctor(at: At = None, profile: Profile = None, as_json: AsJson = False) -> None:
    """Look for what is wrong, and say what to do.

    Reachability, versions, the atomic log, copies, disks, clocks, pace, ways between participants, settings. The exit
    code is 1 if something is bad.
    """
    from .checkup import Verdict  # noqa: PLC0415

    found = asyncio.run(_examine(reach(at, profile)))
    if as_json:
        write_lines([json_line([finding._asdict() for finding in found])])
    else:
        from rich.text import Text  # noqa: PLC0415

        from .screen import console  # noqa: PLC0415

        screen = console()
        for finding in found:
            mark, style = MARKS[finding.verdict]
            screen.print(Text.assemble((mark, style), f" {finding.subject:10}  ", finding.found))
            if finding.remedy:
                screen.print(Text(f"              → {finding.remedy}", style))
    if any(finding.verdict is Verdict.BAD for finding in found):
        raise typer.Exit(1)


async def _examine(where: Reach) -> "list[Finding]":
    from .checkup import findings  # noqa: PLC0415
    from .survey import survey  # noqa: PLC0415

    async with where.operator() as operator:
        return findings(await survey(operator))
