"""`hansard pipeline archive`."""

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .output import json_line, size_text, write_lines
from .reach import AsJson, At, Profile, reach
from .sparking import LOCAL, Master, Root, source_of, sparking

if TYPE_CHECKING:
    from hansard.pipeline.archive import Archiver, Went


def archive(
    root: Root,
    once: Annotated[bool, typer.Option("--once", help="End when all is archived that there is now.")] = False,
    every_s: Annotated[float, typer.Option("--every", metavar="SECONDS", help="How often to look for more.")] = 60.0,
    hold: Annotated[
        str, typer.Option(metavar="NAME", help="Of the hold in the cluster.  [default: made from ARCHIVE]")
    ] = "",
    hold_days: Annotated[
        float, typer.Option(metavar="DAYS", help="Keep what is not archived for so long after the last run.")
    ] = 7.0,
    compact: Annotated[
        bool, typer.Option("--compact/--no-compact", help="Merge small files, and remove what does not count.")
    ] = True,
    at: At = None,
    profile: Profile = None,
    master: Master = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Write what is new in the log to Parquet files, for as long as it runs.

    Each change is in the archive once, whatever happens to this command: start it again, and it goes on. What is not
    archived yet is held in the cluster, so its retention can be short. hansard.pipeline.read() reads archive and
    cluster as one.
    """
    where = reach(at, profile)
    with sparking(master) as (spark, shown):
        from hansard.pipeline.archive import Archiver  # noqa: PLC0415

        def reached(step: str) -> None:
            shown.say(f"archiving: {step}")

        archiver = Archiver(spark, source_of(where), root, hold, hold_days * 86_400, reached=reached)
        while True:
            began_s = time.monotonic()
            went = archiver.catch_up()
            told = {"merged": 0, "removed": 0}
            if compact:
                shown.say("merging small files")
                told = _tidied(archiver)
            if went.rows or once:
                write_lines([json_line(_json(archiver, went) | told) if as_json else _line(archiver, went)])
            if once:
                return
            shown.say("waiting for more")
            time.sleep(max(0.0, every_s - (time.monotonic() - began_s)))


def _tidied(archiver: "Archiver") -> dict[str, int]:
    from hansard.pipeline.compaction import compact, sweep  # noqa: PLC0415

    merged, _ = compact(archiver.spark, archiver.folder)
    return {"merged": merged, "removed": sweep(archiver.folder)}


def _json(archiver: "Archiver", went: "Went") -> dict[str, Any]:
    return {
        "archive": archiver.folder.root,
        "log": went.catalog.log,
        "manifest": went.catalog.number,
        "bookmark": str(went.catalog.until),
        "hold": archiver.hold_name,
        "archived": went.rows,
        "changes": went.catalog.rows,
        "files": len(went.catalog.files),
        "bytes": went.catalog.byte_count,
    }


def _line(archiver: "Archiver", went: "Went") -> str:
    has = f"{went.catalog.rows:,} changes, {size_text(went.catalog.byte_count)}"
    return f"{went.rows:,} changes archived; {archiver.folder.root} has {has}"
