"""Orders to a cluster: `hansard drain`, `undrain`, `move`, `release`, `double`, `pause`, `resume` and `configure`.

An order is in the atomic log when the command says so, and is carried out whatever becomes of the command: Ctrl-C ends
the waiting, not the order.
"""

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from .failure import INTERRUPTED, fail
from .output import json_line, write_lines
from .progress import Progress
from .reach import AsJson, At, Profile, Reach, reach

Node = Annotated[str, typer.Argument(metavar="NAME", help="The participant's name.", show_default=False)]
Number = Annotated[int, typer.Argument(metavar="BUCKET", min=0, help="The bucket's number.", show_default=False)]
NoWait = Annotated[bool, typer.Option("--no-wait", help="Return when it is ordered.", show_default=False)]


def drain(node: Node, at: At = None, profile: Profile = None, no_wait: NoWait = False, as_json: AsJson = False) -> None:
    """Move everything away from a participant.

    Leads go first, then copies, while clients notice nothing. It stays drained until "hansard undrain", and may be
    stopped for good once this returns.
    """
    _give(reach(at, profile), {"type": "drain", "node": node}, no_wait=no_wait, as_json=as_json)


def undrain(node: Node, at: At = None, profile: Profile = None, as_json: AsJson = False) -> None:
    """Let a drained participant have buckets again."""
    _give(reach(at, profile), {"type": "undrain", "node": node}, no_wait=True, as_json=as_json)


def move(
    bucket: Number,
    nodes: Annotated[list[str], typer.Argument(metavar="NAME...", help="Who is to have it; the first one leads.")],
    at: At = None,
    profile: Profile = None,
    no_wait: NoWait = False,
    as_json: AsJson = False,
) -> None:
    """Have a bucket at these participants.

    It stays there, whatever rebalancing would like, until "hansard release" or until one of them departs.
    """
    wish = {"type": "move", "bucket": bucket, "nodes": nodes}
    _give(reach(at, profile), wish, no_wait=no_wait, as_json=as_json)


def release(bucket: Number, at: At = None, profile: Profile = None, as_json: AsJson = False) -> None:
    """Let a bucket that was moved by hand be balanced like all others."""
    _give(reach(at, profile), {"type": "release", "bucket": bucket}, no_wait=True, as_json=as_json)


def double(
    to: Annotated[
        int | None, typer.Option(metavar="N", min=2, help="So many buckets; twice as many if not given.")
    ] = None,
    at: At = None,
    profile: Profile = None,
    no_wait: NoWait = False,
    as_json: AsJson = False,
) -> None:
    """Have twice as many buckets.

    Each is split in two while it goes on; bookmarks and clients stay good. It cannot be undone.
    """
    where = reach(at, profile)
    wanted = to or 2 * asyncio.run(_buckets(where))
    _give(where, {"type": "double", "to": wanted}, no_wait=no_wait, as_json=as_json)


def pause(at: At = None, profile: Profile = None, as_json: AsJson = False) -> None:
    """Stop rebalancing.

    Recovery, drains, doublings and moves by hand go on.
    """
    _give(reach(at, profile), {"type": "pause"}, no_wait=True, as_json=as_json)


def resume(at: At = None, profile: Profile = None, as_json: AsJson = False) -> None:
    """Go on with rebalancing."""
    _give(reach(at, profile), {"type": "resume"}, no_wait=True, as_json=as_json)


def leave(node: Node, at: At = None, profile: Profile = None, as_json: AsJson = False) -> None:
    """Give a participant up that is gone for good.

    It departs at once, and is not waited for. If it is alive it comes again by itself; "hansard drain" is the orderly
    way.
    """
    asyncio.run(_ask(reach(at, profile), ask="leave", node=node))
    write_lines([json_line({"node": node}) if as_json else f"{node} is given up"])


async def _ask(where: Reach, **question: Any) -> Any:
    async with where.operator() as operator:
        return await operator.ask(**question)


async def _buckets(where: Reach) -> int:
    return len((await _ask(where, ask="table"))["buckets"])


def _give(where: Reach, wish: Mapping[str, Any], *, no_wait: bool, as_json: bool) -> None:
    try:
        answer = asyncio.run(_ordered(where, wish, no_wait=no_wait))
    except KeyboardInterrupt:
        raise fail(f"not waited for; the order to {wish['type']} stands, and is carried out", INTERRUPTED) from None
    if as_json:
        write_lines([json_line(answer)])
    else:
        done = "done" if answer["standing"] == "done" else f"ordered as {answer['id']}, {answer['remaining']} to go"
        write_lines([f"{wish['type']}: {done}" + (f" ({answer['remark']})" if answer["remark"] else "")])


async def _ordered(where: Reach, wish: Mapping[str, Any], *, no_wait: bool) -> dict[str, Any]:
    remaining = 0
    with Progress(f"{wish['type']}", "buckets done", hidden=no_wait) as progress:

        def looked(to_go: int) -> None:
            nonlocal remaining
            progress.advance(max(0, remaining - to_go))
            remaining = to_go

        async with where.operator() as operator:
            return await operator.order(wish, wait_s=0.0 if no_wait else None, looked=looked)
