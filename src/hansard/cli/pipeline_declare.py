"""`hansard pipeline declare`."""

from pathlib import Path
from typing import Annotated

import typer

from .failure import fail
from .output import json_line, write_lines
from .reach import AsJson, At, Profile, reach


def declare(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Where it goes; made if it is not there.", show_default=False)
    ],
    tenants: Annotated[
        str, typer.Option(metavar="PREFIX", help="Tags that begin so are tenants, each with its latest values.")
    ] = "tenant:",
    at: At = None,
    profile: Profile = None,
    as_json: AsJson = False,
) -> None:
    """Write a declarative pipeline for "spark-pipelines run".

    Its tables are all changes, appended exactly once, and the latest value of each tenant's keys. What are
    printed are the two commands that bring them up to date, one after the other; run them as often as you like, and
    change the tables as you like. It needs pip install "hansard[pipelines]". A token is not written down: it is read
    from HANSARD_TOKEN.
    """
    where = reach(at, profile)
    try:
        from hansard.pipeline.declare import NotDeclared  # noqa: PLC0415
        from hansard.pipeline.declare import declare as write  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise fail(f'it needs Apache Spark ({error}): pip install "hansard[pipelines]"') from error
    try:
        done = write(folder, where.addresses, tenants=tenants, ca=where.ca)
    except (NotDeclared, OSError) as error:
        raise fail(str(error)) from error
    write_lines([json_line({"folder": str(done.folder), "commands": done.commands}) if as_json else str(done)])
