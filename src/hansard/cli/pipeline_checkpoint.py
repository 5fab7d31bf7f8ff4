"""`hansard pipeline checkpoint`."""

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .failure import fail
from .output import json_line, size_text, write_lines
from .reach import AsJson, At, Profile, reach
from .sparking import LOCAL, Master, source_of, sparking

if TYPE_CHECKING:
    from hansard.pipeline.checkpoint import Checkpointer, Went

USAGE = 2
BUSY = 3
Checkpoints = Annotated[
    str,
    typer.Argument(metavar="CHECKPOINTS", help="Their folder: any path that Spark reads.", show_default=False),
]


Tags = Annotated[
    list[str] | None, typer.Option("--tag", metavar="TAG", help="Of changes with this tag; may be repeated.")
]
Match = Annotated[str, typer.Option(metavar="any|all", help="Of several tags, any or all.")]
Each = Annotated[
    str, typer.Option(metavar="PREFIX", help="One of each tag that begins so, all in one run.", show_default=False)
]
Everything = Annotated[bool, typer.Option("--all", help="Of the whole log.", show_default=False)]
Name = Annotated[
    str, typer.Option(metavar="NAME", help="Who comes again under this name goes on at once.", show_default=False)
]
Lasts = Annotated[float, typer.Option("--overtake-after", metavar="SECONDS", help="Then others may do the same work.")]
Archive = Annotated[
    str, typer.Option(metavar="ARCHIVE", help="Has what the log does not retain any more.", show_default=False)
]
HoldDays = Annotated[float, typer.Option(metavar="DAYS", help="Retain what comes after it for so long; 0: not at all.")]
Keep = Annotated[int, typer.Option(metavar="N", min=1, help="So many of each stay.")]
KeepDays = Annotated[float, typer.Option(metavar="DAYS", min=0, help="And those that are younger.")]
GraceDays = Annotated[
    float, typer.Option(metavar="DAYS", min=0, help="And each for so long after that: somebody may be loading it.")
]
Every = Annotated[
    float, typer.Option("--every", metavar="SECONDS", help="Make another one every so often; 0: one, and end.")
]


def checkpoint(
    root: Checkpoints,
    tag: Tags = None,
    match: Match = "any",
    each: Each = "",
    everything: Everything = False,
    name: Name = "",
    lasts_s: Lasts = 3600.0,
    archive: Archive = "",
    hold_days: HoldDays = 7.0,
    keep: Keep = 2,
    keep_days: KeepDays = 0.0,
    grace_days: GraceDays = 1.0,
    every_s: Every = 0.0,
    at: At = None,
    profile: Profile = None,
    master: Master = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Make a checkpoint: the latest change of each key, for readers to start from.

    It goes on from the checkpoint before, so that it costs what has changed since. Several may run at once: records in
    the log say who works, and one that is dead or too slow is overtaken. Ends with exit code 3 where somebody else is
    at work. `client.bootstrap` loads the newest.
    """
    if (bool(tag), bool(each), everything).count(True) != 1:
        raise fail("a checkpoint is of --tag TAG, of --each PREFIX, or of --all: give one of them", USAGE)
    if match not in ("any", "all"):
        raise fail(f"--match is any or all, not {match!r}", USAGE)
    where = reach(at, profile)
    with sparking(master) as (spark, shown):
        from hansard.checkpoint import BadSubject, Subject  # noqa: PLC0415
        from hansard.pipeline.checkpoint import Checkpointer  # noqa: PLC0415
        from hansard.pipeline.expiry import Policy  # noqa: PLC0415

        try:
            subject = None if each else Subject.of(tag or (), "all" if match == "all" else "any")
        except BadSubject as error:
            raise fail(str(error), USAGE) from error
        job = Checkpointer(
            spark,
            source_of(where),
            root,
            subject=subject,
            prefix=each,
            name=name,
            lasts_s=lasts_s,
            archive=archive,
            hold_s=hold_days * 86_400,
            policy=Policy(keep, keep_days * 86_400, grace_days * 86_400),
            reached=lambda step: shown.say(f"checkpoint: {step}"),
        )
        while True:
            began_s = time.monotonic()
            went = _ran(job, patient=every_s > 0)
            if went is not None:
                write_lines([json_line(_json(each)) for each in went.made] if as_json else _lines(went))
            if not every_s:
                return
            shown.say("waiting for the next one")
            time.sleep(max(0.0, every_s - (time.monotonic() - began_s)))


def _ran(job: "Checkpointer", *, patient: bool) -> "Went | None":
    from hansard.pipeline.checkpoint import Busy, CheckpointError  # noqa: PLC0415

    try:
        return job.run()
    except Busy as error:
        if patient:
            return None
        raise fail(str(error), BUSY) from error
    except CheckpointError as error:
        raise fail(str(error)) from error


def _json(made: Any) -> dict[str, Any]:
    from hansard.checkpoint import Subject  # noqa: PLC0415

    subject, end = Subject.parse(made.subject), made.end
    return {
        "tags": list(subject.tags) if subject is not None else [],
        "match": subject.match if subject is not None else "any",
        "number": end.number,
        "bookmark": end.bookmark,
        "location": end.location,
        "layers": [{"path": layer.path, "rows": layer.rows, "deleted": layer.deleted} for layer in end.layers],
        "bytes": end.bytes,
        "ours": made.is_ours,
    }


def _lines(went: "Went") -> list[str]:
    from hansard.checkpoint import Subject  # noqa: PLC0415

    lines = []
    for made in went.made:
        end = made.end
        whose = "" if made.is_ours else f"; {end.who} was first, with the same"
        what = f"{end.rows:,} rows in {len(end.layers)} layers, {size_text(end.bytes)}{whose}"
        lines.append(f"checkpoint {end.number} of {Subject.parse(made.subject)}: {what}")
    return [*lines, f"read {went.changes:,} changes at the most; {went.removed} old layers removed"]
