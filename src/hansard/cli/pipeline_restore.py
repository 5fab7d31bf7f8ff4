"""`hansard pipeline restore`."""

from typing import Annotated

import typer

from .output import json_line, write_lines
from .reach import AsJson, At, Profile, reach
from .sparking import LOCAL, Master, Root, source_of, sparking


def restore(
    root: Root,
    until: Annotated[
        str | None,
        typer.Option(
            metavar="PLACE", help="Not further than this bookmark, or time (2026-03-01T12:00:00Z).", show_default=False
        ),
    ] = None,
    at: At = None,
    profile: Profile = None,
    master: Master = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Bring the log of an archive to an empty cluster.

    The cluster was founded to take it: "hansard start --found --importing LOG", with as many buckets as the log had, or
    twice as many. Offsets, times and series stay what they were, and every bookmark stays good. The cluster opens when
    everything is there. If it is interrupted, start it again.
    """
    where = reach(at, profile)
    with sparking(master) as (spark, shown):
        shown.say("restoring")
        from hansard.pipeline.restore import Restorer  # noqa: PLC0415

        went = Restorer(spark, source_of(where), root, until, lambda step: shown.say(f"restoring: {step}")).restore()
        done = {"archive": root, "log": went.log, "buckets": went.buckets, "changes": went.rows}
        done |= {"bookmark": str(went.until), "was_there": went.was_there}
        text = f"{went.rows:,} changes are in {went.buckets} buckets of log {went.log}; it is open"
        if went.was_there:
            text = f"log {went.log} is open and has all of it already"
        write_lines([json_line(done) if as_json else text])
