"""The command `hansard`."""

import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from hansard import __version__

from . import certs, log
from .failure import Commands
from .recover import recover
from .skeleton import skeleton
from .start import start

app = typer.Typer(
    name="hansard",
    cls=Commands,
    help="Hansard, a replicated change log.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
app.add_typer(log.app, name="log")
app.add_typer(certs.app, name="certs")
app.command()(start)
app.command()(recover)
app.command(hidden=True)(skeleton)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hansard {__version__}")
        raise typer.Exit


@app.callback()
def hansard(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Hansard, a replicated change log."""


def main() -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal that cannot show a letter gets its number
            stream.reconfigure(errors="backslashreplace")
    app()
