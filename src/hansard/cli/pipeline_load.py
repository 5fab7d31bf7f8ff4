"""`hansard pipeline load`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from .failure import fail
from .output import json_line, write_lines
from .reach import AsJson, At, Profile, Reach, reach
from .sparking import LOCAL, Master, source_of, sparking

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from hansard.pipeline.cargo import Cargo

USAGE = 2

Archive = Annotated[
    str | None,
    typer.Argument(
        metavar="ARCHIVE",
        help="Its folder; with --checkpoint: what has the records of a log that is gone.",
        show_default=False,
    ),
]
Checkpoint = Annotated[
    bool,
    typer.Option("--checkpoint", help="Load the newest checkpoint of --tag (of the whole log, if there is none)."),
]
Tags = Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="Changes with this tag; may be repeated.")]
Match = Annotated[str, typer.Option(metavar="any|all", help="Of several tags, any or all.")]
Since = Annotated[
    str | None,
    typer.Option(metavar="PLACE", help="Of an archive: from this bookmark, or time, on.", show_default=False),
]
Until = Annotated[
    str | None,
    typer.Option(
        metavar="PLACE", help="Not further than this bookmark, or time (2026-03-01T12:00:00Z).", show_default=False
    ),
]
Name = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Under which each change is stored once; made from the other options if not given.",
        show_default=False,
    ),
]
Of = Annotated[
    list[str] | None,
    typer.Option(
        "--of",
        metavar="HOST:PORT",
        help="A participant of the cluster whose checkpoint it is, if that is another one; may be repeated.",
        show_default=False,
    ),
]
Location = Annotated[
    str, typer.Option(metavar="PATH", help="Where the checkpoint's files are by now.", show_default=False)
]


def load(
    root: Archive = None,
    checkpoint: Checkpoint = False,
    tag: Tags = None,
    match: Match = "any",
    since: Since = None,
    until: Until = None,
    name: Name = "",
    of: Of = None,
    location: Location = "",
    at: At = None,
    profile: Profile = None,
    master: Master = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Bring an archive, or a checkpoint, to a cluster that goes on, as new changes.

    Keys, values, tags and the order of each key's changes stay what they were; offsets and times are new. What is there
    stays, and what comes is added to it. If it is interrupted, start it again: it goes on, and each change is stored
    once. To load the same a second time, give another --name.
    """
    if root is None and not checkpoint:
        raise fail("what is loaded is an ARCHIVE, or a --checkpoint: give one of them", USAGE)
    if match not in ("any", "all"):
        raise fail(f"--match is any or all, not {match!r}", USAGE)
    if checkpoint and since:
        raise fail("a checkpoint has the latest of each key, and no --since", USAGE)
    if not checkpoint and (of or location):
        raise fail("--of and --location are about a --checkpoint", USAGE)
    if root is not None and of:
        raise fail("the records of the checkpoint are in ARCHIVE, or in the cluster --of: give one of them", USAGE)
    tags, where = tuple(sorted(set(tag or ()))), reach(at, profile)
    words = _words(root, tags, match, since, until, of=of, checkpoint=checkpoint)
    with sparking(master) as (spark, shown):
        from hansard.bookmark import WrongLog  # noqa: PLC0415
        from hansard.pipeline.load import Loader, LoadError, name_for  # noqa: PLC0415
        from hansard.pipeline.manifest import ArchiveError  # noqa: PLC0415

        def settle() -> "Cargo":
            from hansard.pipeline import cargo  # noqa: PLC0415

            if not checkpoint:
                assert root is not None
                return cargo.of_archive(spark, root, since, until, tags, match)
            return _condensed(
                spark, root, where._replace(addresses=tuple(of)) if of else where, tags, match, until, location
            )

        job = Loader(
            spark,
            source_of(where),
            name or name_for(words),
            " ".join(words),
            settle,
            lambda step: shown.say(f"loading: {step}"),
        )
        try:
            went = job.load()
        except (LoadError, ArchiveError, WrongLog, ValueError) as error:
            raise fail(str(error)) from error
    done: dict[str, Any] = {"name": went.name, "changes": went.rows, "stored_now": went.ours}
    done |= {"bookmark": went.cargo.until, "batches": went.cargo.batches}
    text = f"{went.rows:,} changes are stored under the name {went.name}, {went.ours:,} of them now"
    write_lines([json_line(done) if as_json else text])


def _words(
    root: str | None,
    tags: tuple[str, ...],
    match: str,
    since: str | None,
    until: str | None,
    *,
    of: list[str] | None,
    checkpoint: bool,
) -> list[str]:
    """What is asked for, in one way."""
    words = ["a checkpoint" if checkpoint else "an archive", *([root] if root else []), *(["of", *of] if of else [])]
    words += [f"tag {tag}" for tag in tags] + ([f"match {match}"] if len(tags) > 1 else [])
    return [*words, *([f"since {since}"] if since else []), *([f"until {until}"] if until else [])]


def _condensed(
    spark: "SparkSession",
    root: str | None,
    where: Reach,
    tags: tuple[str, ...],
    match: str,
    until: str | None,
    location: str,
) -> "Cargo":
    from hansard.checkpoint import Subject  # noqa: PLC0415
    from hansard.pipeline import cargo  # noqa: PLC0415
    from hansard.pipeline.load import LoadError  # noqa: PLC0415

    subject = Subject.of(tags, "all" if match == "all" else "any")
    if root is not None:
        known = cargo.checkpoints_in(spark, root, subject)
    else:
        with source_of(where).client() as client:
            known = client.checkpoints(tags=subject.tags, match=subject.match, limit=cargo.CHECKPOINTS_MAX)
    found = cargo.newest(known, until)
    if found is None:
        what = f"there is no checkpoint of {subject}{' before that' if until and known else ''}"
        raise LoadError(f"{what}: hansard pipeline checkpoint makes one")
    return cargo.of_checkpoint(found, location)
