"""`hansard certs`: the certificates of a cluster."""

from pathlib import Path
from typing import Annotated

import typer

from .failure import fail

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Make certificates for a cluster.")


@app.command()
def make(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Where they are written.", show_default=False)],
    name: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[=HOST,...]",
            help="A participant, and the hosts at which it is reached; may be repeated.",
            show_default=False,
        ),
    ] = None,
    client: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SCOPES:NAME",
            help="A client and what it may do: read:NAME, submit:NAME, admin:NAME, read+submit:NAME.",
            show_default=False,
        ),
    ] = None,
    days: Annotated[int, typer.Option(metavar="N", min=1, max=3650, help="How long they are good.")] = 365,
) -> None:
    """Make an authority and a certificate for each participant and client.

    The authority is DIR/ca.pem with its key DIR/ca.key; one that is there already is used. Each participant gets
    DIR/NAME.pem and DIR/NAME.key, and needs these two and ca.pem. Clients need ca.pem; one that shows a certificate of
    its own, DIR/SCOPES-NAME.pem, needs no token.

    Nothing that is there is written over. Keep ca.key to yourself: whoever has it can make participants.
    """
    from hansard.server.authority import Wanted, make  # noqa: PLC0415
    from hansard.server.grant import is_clients_name  # noqa: PLC0415
    from hansard.server.plan import NAME  # noqa: PLC0415

    from .output import write_lines  # noqa: PLC0415

    wanted = []
    for text in name or ():
        node, _, hosts = text.partition("=")
        if NAME.fullmatch(node) is None or node in ("ca", "localhost") or not hosts.isascii():
            raise fail(
                f"{text!r} is no NAME or NAME=HOST,HOST: letters, digits, and . _ - between them; not ca or localhost",
                2,
            )
        wanted.append(Wanted(node, tuple(host for host in hosts.replace(",", " ").split())))
    for text in client or ():
        if not is_clients_name(text):
            raise fail(f"{text!r} is no SCOPES:NAME, such as read:NAME, submit:NAME, admin:NAME, read+submit:NAME", 2)
        wanted.append(Wanted(text, is_client=True))
    if not wanted:
        raise fail("nobody is named: give --name NAME or --client SCOPES:NAME", 2)
    if len({each.stem for each in wanted}) < len(wanted):
        raise fail("a name is given twice", 2)
    write_lines(f"wrote {path}" for path in make(directory, wanted, days))
