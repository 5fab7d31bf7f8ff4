"""`hansard pipeline verify`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from .output import json_line, write_lines
from .reach import AsJson, At, Profile, reach
from .sparking import LOCAL, Master, source_of, sparking

if TYPE_CHECKING:
    from hansard.pipeline.verify import Verified


def verify(
    root: Annotated[
        str | None,
        typer.Argument(
            metavar="ARCHIVE", help="Its folder; without one only the cluster is looked at.", show_default=False
        ),
    ] = None,
    alone: Annotated[bool, typer.Option("--alone", help="Look at the archive by itself, without a cluster.")] = False,
    repair: Annotated[
        bool, typer.Option("--repair", help="Have damaged copies of participants mended, by what others have.")
    ] = False,
    checkpoints: Annotated[
        bool, typer.Option("--checkpoints", help="Look at the checkpoints, too: their files, and what they say.")
    ] = False,
    at: At = None,
    profile: Profile = None,
    master: Master = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Compare the participants' copies with each other, with an archive, and with checkpoints.

    Copies are compared by checksums, and change by change where those differ; an archive by its own checksums and with
    what the log still has: damage, what is missing, what is there twice, order, and whether each key is in its bucket.
    Of checkpoints the files are read back, and each key's value is compared with what archive and log say.
    What is found is printed, and the exit code is 1; 0 says that nothing is wrong.
    """
    if alone and (root is None or repair):
        raise typer.BadParameter("--alone is for an archive, and repairs nothing")
    with sparking(master) as (spark, shown):
        from hansard.pipeline.verify import Verifier  # noqa: PLC0415

        source = None if alone else source_of(reach(at, profile))
        found = Verifier(
            spark, source, root or "", repair, checkpoints, lambda step: shown.say(f"looking at {step}")
        ).verify()
    write_lines([json_line(_json(found))] if as_json else [*map(str, found.findings), _summary(found)])
    if found.findings:
        raise typer.Exit(1)


def _json(found: "Verified") -> dict[str, Any]:
    return {
        "findings": [finding._asdict() for finding in found.findings],
        "copies": found.copies,
        "files": found.files,
        "changes": found.rows,
        "mended": found.mended,
        "checkpoints": found.checkpoints,
    }


def _summary(found: "Verified") -> str:
    looked = f"{found.copies} copies of buckets, {found.files} files of an archive with {found.rows:,} changes"
    looked += f", {found.checkpoints} checkpoints" if found.checkpoints else ""
    mended = f"; {found.mended} places were mended" if found.mended else ""
    return f"{len(found.findings) or 'nothing'} found to be wrong in {looked}{mended}"
