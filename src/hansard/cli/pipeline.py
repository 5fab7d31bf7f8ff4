"""`hansard pipeline`: the jobs on Spark. Each has a module of its own beside this one, and is put into the group here.

What they share is here: the options, how a session is started, and what is said where Spark is not installed.
"""

from typing import TYPE_CHECKING, Annotated

import typer

from .failure import fail

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Archive, check and restore the log, on Apache Spark."
)

Master = Annotated[
    str,
    typer.Option(
        metavar="MASTER", help='Where Spark runs: "local[*]" is this process, else any master that Spark knows.'
    ),
]
LOCAL = "local[*]"


def started(master: str) -> "SparkSession":
    """A session; ends the command where there is no Spark, and says what to install."""
    try:
        from hansard.pipeline.session import session  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] not in ("pyspark", "py4j", "pandas"):
            raise
        raise fail('the pipeline needs Apache Spark: pip install "hansard[spark]", and Java 17 or 21') from error
    from pyspark.errors import PySparkException  # noqa: PLC0415

    try:
        return session(master)
    except (PySparkException, OSError, RuntimeError) as error:
        raise fail(f"Spark does not start on {master}: {error}; it needs Java 17 or 21") from error
