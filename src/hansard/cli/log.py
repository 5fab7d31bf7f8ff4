"""`hansard log ...`: a log in a directory, without a server."""

from typing import Annotated, Literal

import typer

app = typer.Typer(
    help="Append to, read and check a log in a directory.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

Directory = Annotated[str, typer.Argument(metavar="DIR", help="The log's directory.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, one object to a line.")]
Tags = Annotated[
    list[str] | None, typer.Option("--tag", metavar="TAG", help="Only changes with this tag; may be repeated.")
]
Match = Annotated[Literal["any", "all"], typer.Option("--match", help="Whether a change needs any or all of the tags.")]
Key = Annotated[str | None, typer.Option("--key", metavar="KEY", help="Only changes of this key.")]
PLACE = "a bookmark, an offset, or a time such as 2024-05-31T12:00:00Z"


@app.command()
def append(
    directory: Directory,
    key: Annotated[str | None, typer.Option(metavar="KEY", help="The change's key.")] = None,
    value: Annotated[
        str | None, typer.Option(metavar="VALUE", help="Its value; without it, the key is deleted.")
    ] = None,
    tag: Annotated[list[str] | None, typer.Option(metavar="TAG", help="A tag of the change; may be repeated.")] = None,
    as_json: AsJson = False,
) -> None:
    """Append one change, or one for each line of JSON on stdin.

    With --key, --value or --tag it is one change. Otherwise each line of stdin is an object with "key", "value" and
    "tags", all of which may be left out. A string stands for its UTF-8, {"base64": "..."} for any bytes, and any
    other JSON value for its own text. The output of "read --json" is understood: "offset" and "time" are ignored.

    A receipt is printed when a change is on disk. The log is made if there is none.
    """
    from . import appending  # noqa: PLC0415

    if key is not None or value is not None or tag:
        appending.append_one(directory, key, value, tag or [], as_json=as_json)
    else:
        appending.append_lines(directory, as_json=as_json)


@app.command()
def read(
    directory: Directory,
    since: Annotated[str | None, typer.Option(metavar="PLACE", help=f"Where to begin: {PLACE}.")] = None,
    until: Annotated[str | None, typer.Option(metavar="PLACE", help=f"Where to stop, not included: {PLACE}.")] = None,
    tag: Tags = None,
    match: Match = "any",
    key: Key = None,
    limit: Annotated[int | None, typer.Option(metavar="N", min=0, help="At most this many changes.")] = None,
    order: Annotated[Literal["asc", "desc"], typer.Option(help="Oldest or newest first.")] = "asc",
    as_json: AsJson = False,
) -> None:
    """Print changes.

    Values are cut to the width of a terminal; in a pipe they are whole. Bytes that are not UTF-8 are printed as
    {"base64": "..."} with --json, and else as escapes.
    """
    from . import reading  # noqa: PLC0415

    reading.read(
        directory,
        as_json=as_json,
        since=since,
        until=until,
        tags=tag,
        match=match,
        key=key,
        limit=limit,
        order=order,
    )


@app.command()
def tail(
    directory: Directory,
    count: Annotated[int, typer.Option("-n", metavar="N", min=1, help="How many.")] = 10,
    tag: Tags = None,
    match: Match = "any",
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Print the last changes, oldest first."""
    from . import reading  # noqa: PLC0415

    reading.tail(directory, count, as_json=as_json, tags=tag, match=match, key=key)


@app.command()
def info(directory: Directory, as_json: AsJson = False) -> None:
    """Show what the log holds, and how much."""
    from . import state  # noqa: PLC0415

    state.info(directory, as_json=as_json)


@app.command()
def verify(
    directory: Directory,
    deep: Annotated[bool, typer.Option("--deep", help="Look at every column and key hash too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Read everything and check its checksums.

    Damage is listed, and the exit code is 1 if there is any.
    """
    from . import state  # noqa: PLC0415

    state.verify(directory, deep=deep, as_json=as_json)


@app.command()
def repair(
    directory: Directory,
    give_up: Annotated[bool, typer.Option("--give-up", help="Go on without what is damaged; it is lost.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what is damaged, and let go of it if asked to.

    A log in one process has no second copy to repair from. Until what is damaged is given up, everything else can
    still be read, but a damaged journal stops the log from taking changes. The exit code is 1 while there is damage.
    """
    from . import state  # noqa: PLC0415

    state.repair(directory, give_up=give_up, as_json=as_json)


@app.command()
def dump(
    directory: Directory,
    changes: Annotated[bool, typer.Option("--changes", help="Print the changes of each batch too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print every batch and where it lies on disk.

    That is the file and position, offsets, times, size and tags; what is damaged is named, and makes the exit code 1.
    """
    from . import dumping  # noqa: PLC0415

    dumping.dump(directory, changes=changes, as_json=as_json)
