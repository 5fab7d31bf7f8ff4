"""`hansard tokens`: who may do what."""

import asyncio
from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any

import typer

from .failure import fail
from .output import json_line, time_text, write_lines
from .reach import AsJson, At, Profile, Reach, reach

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Show, grant and revoke tokens.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="Whose token it is.", show_default=False)]
Texts = list[str] | None


class Scope(StrEnum):
    SUBMIT = "submit"
    READ = "read"
    ADMIN = "admin"


@app.command("list")
def list_all(at: At = None, profile: Profile = None, as_json: AsJson = False) -> None:
    """Show what each token allows; never its secret."""
    found = asyncio.run(_ask(reach(at, profile), ask="tokens"))
    write_lines([json_line(found)] if as_json else _lines(found))


@app.command()
def grant(
    name: Name,
    scope: Annotated[
        list[Scope],
        typer.Option(help="What it may do; may be repeated.", show_default=False),
    ],
    tag: Annotated[Texts, typer.Option(metavar="TAG", help="Only changes with this tag.", show_default=False)] = None,
    prefix: Annotated[
        Texts, typer.Option(metavar="TEXT", help="Or with a tag that begins so.", show_default=False)
    ] = None,
    lasts: Annotated[
        str | None, typer.Option(metavar="TIME", help="90s, 15m, 2h or 7d; for ever if not given.", show_default=False)
    ] = None,
    changes_per_s: Annotated[
        int, typer.Option(metavar="N", min=0, help="The most, at each participant; 0: no limit.")
    ] = 0,
    bytes_per_s: Annotated[int, typer.Option(metavar="N", min=0, help="The same in bytes.")] = 0,
    at: At = None,
    profile: Profile = None,
    as_json: AsJson = False,
) -> None:
    """Grant a token, and print it: this is the only time that it is shown."""
    question: dict[str, Any] = {
        "ask": "grant",
        "name": name,
        "scopes": scope,
        "tags": tag or [],
        "prefixes": prefix or [],
        "expires_s": None if lasts is None else seconds(lasts),
        "rates": {"changes_per_s": changes_per_s, "bytes_per_s": bytes_per_s},
    }
    granted = asyncio.run(_ask(reach(at, profile), **question))
    write_lines([json_line(granted) if as_json else granted["token"]])


@app.command()
def revoke(name: Name, at: At = None, profile: Profile = None, as_json: AsJson = False) -> None:
    """Make a token useless, at once, for those who are connected too."""
    revoked = asyncio.run(_ask(reach(at, profile), ask="revoke", name=name))
    write_lines([json_line(revoked) if as_json else f"{name}'s token is revoked"])


def seconds(text: str) -> float:
    from .following import AGO, UNITS  # noqa: PLC0415

    found = AGO.fullmatch(text)
    if found is None:
        raise fail(f"{text!r} is no time: give one as 90s, 15m, 2h or 7d", 2)
    return float(found[1]) * UNITS[found[2]]


async def _ask(where: Reach, **question: Any) -> Any:
    async with where.operator() as operator:
        return await operator.ask(**question)


def _lines(found: dict[str, Any]) -> Iterator[str]:
    if found["open"]:
        yield "the cluster is open: no token is needed"
    for token in found["tokens"]:
        until = f"until {time_text(token['expires_us'])}" if token["expires_us"] else "for ever"
        limits = [*token["tags"], *[f"{prefix}*" for prefix in token["prefixes"]]]
        only = f", only {', '.join(limits)}" if limits else ""
        yield f"{token['name']}  {', '.join(token['scopes'])}{only}  {until}"
