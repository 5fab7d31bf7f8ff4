"""`hansard holds`: what is kept for whom, whatever retention would drop."""

import asyncio
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from .output import json_line, time_text, write_lines
from .reach import AsJson, At, Profile, Reach, reach

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Show, set and drop holds.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The hold's name.", show_default=False)]


@app.command("list")
def list_all(at: At = None, profile: Profile = None, as_json: AsJson = False) -> None:
    """Show what is held, and from where on each bucket is retained."""
    found = asyncio.run(_ask(reach(at, profile), ask="holds"))
    write_lines([json_line(found)] if as_json else _lines(found))


@app.command("set")
def set_one(
    name: Name,
    bookmark: Annotated[str, typer.Option(metavar="BOOKMARK", help="The place to keep all from.", show_default=False)],
    lasts_s: Annotated[float, typer.Option(metavar="SECONDS", help="For how long, from now on.")] = 86_400.0,
    at: At = None,
    profile: Profile = None,
    as_json: AsJson = False,
) -> None:
    """Hold on to everything from a bookmark on; the same name again moves and renews it."""
    held = asyncio.run(_ask(reach(at, profile), ask="hold", name=name, lasts_s=lasts_s, bookmark=bookmark))
    write_lines([json_line(held) if as_json else f"{name} holds until {time_text(held['expires_us'])}"])


@app.command("drop")
def drop(name: Name, at: At = None, profile: Profile = None, as_json: AsJson = False) -> None:
    """Let go of a hold: what it kept may be dropped from now on."""
    dropped = asyncio.run(_ask(reach(at, profile), ask="let go", name=name))
    write_lines([json_line(dropped) if as_json else f"{name} holds nothing any more"])


async def _ask(where: Reach, **question: Any) -> Any:
    async with where.operator() as operator:
        return await operator.ask(**question)


def _lines(found: dict[str, Any]) -> Iterator[str]:
    for hold in found["holds"]:
        offsets = ", ".join(f"{bucket} from {offset}" for bucket, offset in sorted(hold["offsets"].items()))
        yield f"{hold['name']}  until {time_text(hold['expires_us'])}  buckets {offsets or 'none'}"
    if not found["holds"]:
        yield "nothing is held"
    for bucket, start in found["retained"].items():
        yield f"bucket {bucket} is retained from offset {start} on"
