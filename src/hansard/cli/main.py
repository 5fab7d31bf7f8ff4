"""The command `hansard`."""

import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from hansard import __version__

from . import certs, changes, holds, log, looking, orders, pipeline, tokens
from .bench import bench
from .dev import dev
from .doctor import doctor
from .failure import Commands
from .recover import recover
from .skeleton import skeleton
from .start import start
from .transfer import dump, load

app = typer.Typer(
    name="hansard",
    cls=Commands,
    help="Hansard, a replicated change log.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
RUNNING, CHANGES, LOOKING, OPERATING = "Running", "Changes", "Looking", "Operating"
PIPELINE, ALONE = "On Spark", "Without a cluster"

app.command(rich_help_panel=RUNNING)(dev)
app.command(rich_help_panel=RUNNING)(start)
app.add_typer(certs.app, name="certs", rich_help_panel=RUNNING)
app.command(rich_help_panel=RUNNING)(recover)
app.command(rich_help_panel=CHANGES)(changes.submit)
app.command(rich_help_panel=CHANGES)(changes.read)
app.command(rich_help_panel=CHANGES)(changes.tail)
app.command(rich_help_panel=CHANGES)(bench)
app.command(rich_help_panel=LOOKING)(looking.status)
app.command(rich_help_panel=LOOKING)(looking.table)
app.command(rich_help_panel=LOOKING)(looking.buckets)
app.command(rich_help_panel=LOOKING)(doctor)
app.command(rich_help_panel=OPERATING)(orders.drain)
app.command(rich_help_panel=OPERATING)(orders.undrain)
app.command(rich_help_panel=OPERATING)(orders.move)
app.command(rich_help_panel=OPERATING)(orders.release)
app.command(rich_help_panel=OPERATING)(orders.double)
app.command(rich_help_panel=OPERATING)(orders.pause)
app.command(rich_help_panel=OPERATING)(orders.resume)
app.command(rich_help_panel=OPERATING)(orders.leave)
app.add_typer(holds.app, name="holds", rich_help_panel=OPERATING)
app.command(rich_help_panel=OPERATING)(dump)
app.command(rich_help_panel=OPERATING)(load)
app.add_typer(tokens.app, name="tokens", rich_help_panel=OPERATING)
app.add_typer(pipeline.app, name="pipeline", rich_help_panel=PIPELINE)
app.add_typer(log.app, name="log", rich_help_panel=ALONE)
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
