"""`hansard pipeline`: the jobs on Spark. Each has a module of its own beside this one (`pipeline_archive.py` and so
on), and is put into the group here; what they share is in sparking.py."""

import typer

from .pipeline_archive import archive
from .pipeline_checkpoint import checkpoint
from .pipeline_declare import declare
from .pipeline_load import load
from .pipeline_report import report
from .pipeline_restore import restore
from .pipeline_verify import verify

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Archive, check, condense, count and restore the log, on Spark."
)
app.command()(archive)
app.command()(checkpoint)
app.command()(report)
app.command()(verify)
app.command()(restore)
app.command()(load)
app.command()(declare)
