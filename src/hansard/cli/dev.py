"""`hansard dev`: a cluster on this machine, in one command."""

from pathlib import Path
from typing import Annotated

import typer

from .reach import PORT, AsJson


def dev(
    participants: Annotated[
        int, typer.Option("--participants", "-n", metavar="N", min=1, max=26, help="How many.")
    ] = 3,
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Keep the data there; it is thrown away if not given.", show_default=False),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            metavar="PORT", min=1, max=65_000, help=f"The first one's port; {PORT} if it is free.", show_default=False
        ),
    ] = None,
    buckets: Annotated[int, typer.Option(metavar="N", min=1, help="Found with so many, a power of two.")] = 8,
    replication: Annotated[int, typer.Option(metavar="N", min=1, max=5, help="Copies of each bucket.")] = 3,
    shape: Annotated[str, typer.Option(metavar="SHAPE", help="star or chain.")] = "star",
    load: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Begin with the log of this dump.", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run a whole cluster on this machine, for trying things out.

    Its participants are processes of their own, on loopback addresses, and need no token; they speak HTTP, too. Their
    logs are beside their data. It says where they are when all of them take part, and stops them in order when it is
    told to stop, by Ctrl-C or SIGTERM; a second Ctrl-C kills them.

    With --data the next "hansard dev" of the same directory goes on with what is there.
    """
    from . import developing  # noqa: PLC0415

    developing.dev(participants, data, port, [buckets, replication], shape, load, as_json=as_json)
