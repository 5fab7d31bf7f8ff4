"""`hansard submit`, `read` and `tail`: the changes of a cluster. What they do is in submitting.py and following.py."""

from typing import Annotated, Literal

import typer

from .reach import AsJson, At, Profile, reach

PLACE = "a bookmark, a time (RFC 3339), or how long ago (90s, 15m, 2h, 7d)"

Tags = Annotated[
    list[str] | None, typer.Option("--tag", metavar="TAG", help="A tag; may be repeated.", show_default=False)
]
Match = Annotated[Literal["any", "all"], typer.Option(help="Changes with any of the tags, or with all.")]
Key = Annotated[str | None, typer.Option(metavar="KEY", help="Changes of this key only.", show_default=False)]
Since = Annotated[str | None, typer.Option(metavar="PLACE", help=f"Where to begin: {PLACE}.", show_default=False)]
Timeout = Annotated[float, typer.Option(metavar="SECONDS", min=0.1, help="How long to try.")]


def submit(
    key: Annotated[str | None, typer.Argument(metavar="[KEY]", help="The key.", show_default=False)] = None,
    value: Annotated[
        str | None, typer.Argument(metavar="[VALUE]", help="The value; without one the key is deleted.")
    ] = None,
    tag: Tags = None,
    timeout: Timeout = 30.0,
    at: At = None,
    profile: Profile = None,
    as_json: AsJson = False,
) -> None:
    """Store changes, and print their receipts.

    With a KEY it is one change. Without any it is lines of JSON from stdin, an object to a line, with "key", "value"
    and "tags" as "hansard read --json" prints them; its other fields are ignored.

    A receipt is printed when a change is on the disks of all members of its bucket. What was sent and not answered is
    sent again until the time is over, and stored once.
    """
    from . import submitting  # noqa: PLC0415

    where = reach(at, profile)
    if key is not None or value is not None or tag:
        submitting.submit_one(where, key, value, tag or [], timeout, as_json=as_json)
    else:
        submitting.submit_lines(where, timeout, as_json=as_json)


def read(
    since: Since = None,
    until: Annotated[
        str | None, typer.Option(metavar="PLACE", help="Where to stop, not included.", show_default=False)
    ] = None,
    tag: Tags = None,
    match: Match = "any",
    key: Key = None,
    limit: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="At most this many changes.", show_default=False)
    ] = None,
    order: Annotated[Literal["asc", "desc"], typer.Option(help="Oldest or newest first.")] = "asc",
    bookmark: Annotated[
        bool, typer.Option("--bookmark", help="Print the place after the last one on stderr.", show_default=False)
    ] = False,
    at: At = None,
    profile: Profile = None,
    as_json: AsJson = False,
) -> None:
    """Print the changes that there are.

    All buckets are read as one log, by time. Values are cut to the width of a terminal; in a pipe they are whole.
    """
    from . import following  # noqa: PLC0415

    following.read(
        reach(at, profile),
        following.wish(since, until, tag, match, key),
        limit,
        order,
        print_bookmark=bookmark,
        as_json=as_json,
    )


def tail(
    since: Since = None,
    tag: Tags = None,
    match: Match = "any",
    key: Key = None,
    count: Annotated[int, typer.Option("-n", metavar="N", min=0, help="Begin with the last N changes.")] = 10,
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Go on where this name was last; keep the rest for it.", show_default=False),
    ] = None,
    at: At = None,
    profile: Profile = None,
    as_json: AsJson = False,
) -> None:
    """Print changes as they come, until Ctrl-C.

    It begins with the last few, or at --since. With --name it goes on after what was printed under that name before,
    and what comes after that is not dropped by retention.
    """
    from . import following  # noqa: PLC0415

    following.tail(reach(at, profile), following.wish(since, None, tag, match, key), count, name or "", as_json=as_json)
