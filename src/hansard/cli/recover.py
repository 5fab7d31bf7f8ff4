"""`hansard recover`: the command line of it; what it does is in recovering.py."""

from typing import Annotated

import typer


def recover(
    directory: Annotated[
        str, typer.Argument(metavar="DIR", help="The directory of the participant that goes on.", show_default=False)
    ],
    survivors: Annotated[
        list[str] | None,
        typer.Argument(metavar="SURVIVOR_DIR", help="Directories of others, or copies of them.", show_default=False),
    ] = None,
    rejoin: Annotated[
        bool, typer.Option("--rejoin", help="Put DIR's atomic log aside, so that its participant joins anew.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Do it though nothing seems to be lost.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Make a new atomic log when most voters are lost for good.

    Run it once, on one of the survivors, while none of them is running; give it the directories of the others, or
    copies of them. It takes the copy that has come furthest, all of it, and makes the next incarnation of the cluster
    in DIR, with DIR's participant as its only voter. The old log is kept. It shows what it has found, what it will do
    and what nobody can know, and asks before anything is changed.

    On every other survivor run it with --rejoin: what they have is of the old incarnation, and nobody listens to that.
    """
    from . import recovering  # noqa: PLC0415

    if rejoin:
        recovering.rejoin(directory, survivors or [], force=force, yes=yes)
    else:
        recovering.recover(directory, survivors or [], force=force, yes=yes)
