"""`hansard pipeline report`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .failure import fail
from .output import json_line, size_text, write_lines
from .reach import AsJson, At, Profile, reach
from .sparking import LOCAL, Master, source_of, sparking

if TYPE_CHECKING:
    from datetime import datetime

    from rich.console import Console

    from hansard.pipeline.report import Report, Volume

USAGE = 2
Time = Annotated[str, typer.Option(metavar="TIME", help="Such as 2026-03-01T12:00:00Z.", show_default=False)]


def report(
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page with plots there.", show_default=False)
    ] = None,
    archive: Annotated[
        str, typer.Option(metavar="ARCHIVE", help="Count what is archived, too.", show_default=False)
    ] = "",
    since: Time = "",
    until: Time = "",
    prefix: Annotated[str, typer.Option(metavar="PREFIX", help="Tags that begin so name a tenant.")] = "tenant:",
    limit: Annotated[int, typer.Option(metavar="N", min=1, max=1000, help="So many keys and tags.")] = 20,
    at: At = None,
    profile: Profile = None,
    master: Master = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Show who uses the log, how much, when, and where: by tenant, tag, key and bucket, and how far holds are behind.

    The page opens in any browser, without a network.
    """
    where = reach(at, profile)
    begin, end = _time("--since", since), _time("--until", until)
    if html is not None and not html.parent.is_dir():
        raise fail(f"{html}: there is no folder {html.parent}", USAGE)
    with sparking(master) as (spark, shown):
        from hansard.pipeline.manifest import ArchiveError  # noqa: PLC0415
        from hansard.pipeline.report import Reporter  # noqa: PLC0415
        from hansard.pipeline.report_page import page  # noqa: PLC0415

        job = Reporter(
            spark,
            source_of(where),
            archive,
            begin,
            end,
            prefix,
            limit,
            reached=lambda step: shown.say(f"report: {step}"),
        )
        try:
            made = job.run()
        except ArchiveError as error:
            raise fail(str(error)) from error
    if html is not None:
        html.write_text(page(made))
    if as_json:
        write_lines([json_line(made)])
    else:
        _show(made)
        if html is not None:
            write_lines([f"{html} opens in any browser"])


def _time(option: str, text: str) -> "datetime | None":
    from datetime import datetime  # noqa: PLC0415

    if not text:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        time = None
    if time is None or time.tzinfo is None:
        raise fail(f"{option} {text!r} is no time with a zone, such as 2026-03-01T12:00:00Z", USAGE)
    return time


def _show(made: "Report") -> None:
    from rich.console import Console  # noqa: PLC0415

    console = Console(highlight=False)
    span = f", {made.first} to {made.last}" if made.first else ""
    said = f"log {made.log}: {made.changes:,} changes, {size_text(made.bytes)}{span}"
    console.print(said, markup=False, soft_wrap=True)
    _table(console, "tenant", made.tenants)
    _table(console, "key", made.keys)
    _table(console, "tag", made.tags)
    _table(console, "bucket", made.buckets)
    console.print(f"the largest bucket has {made.skew:.2f} times the mean", markup=False)
    for lag in made.holds:
        console.print(f"hold {lag.name} is {lag.changes:,} changes behind, until {lag.expires}", markup=False)


def _table(console: "Console", what: str, volumes: "Sequence[Volume]") -> None:
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    if not volumes:
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(what, overflow="fold")
    for name in ("changes", "bytes", "deletions", *(["keys"] if volumes[0].keys is not None else [])):
        table.add_column(name, justify="right")
    for each in volumes:
        known = [f"{each.keys:,}"] if each.keys is not None else []
        table.add_row(Text(each.name), f"{each.changes:,}", size_text(each.bytes), f"{each.deleted:,}", *known)
    console.print(table)
