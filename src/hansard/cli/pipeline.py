"""`hansard pipeline`: the jobs on Spark. Each has a module of its own beside this one (`pipeline_archive.py` and so
on), and is put into the group here; what they share is in sparking.py. main.py takes the group with its first job."""

import typer

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Archive, check and restore the log, on Apache Spark."
)
