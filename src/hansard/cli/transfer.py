"""`hansard dump` and `hansard load`: a whole small cluster to one file, and back. What they do is in carrying.py."""

from pathlib import Path
from typing import Annotated

import typer

from .reach import AsJson, At, Profile, reach

File = Annotated[Path, typer.Argument(metavar="FILE", help="The file.", show_default=False)]


def dump(file: File, at: At = None, profile: Profile = None, as_json: AsJson = False) -> None:
    """Write all that a cluster has to one file.

    That is every change that is retained, with its offset, time, connection and series; of each bucket all that was
    acknowledged when it was begun with. The cluster goes on meanwhile. Holds, tokens and settings are not in it.
    """
    from . import carrying  # noqa: PLC0415

    carrying.dump(reach(at, profile), file, as_json=as_json)


def load(file: File, at: At = None, profile: Profile = None, as_json: AsJson = False) -> None:
    """Bring the log of a file to an empty cluster.

    The cluster was founded to take it: "hansard start --found --importing LOG", with as many buckets as the log had, or
    twice as many; or by "hansard dev --load FILE", which does all of it. The log keeps its id, so every bookmark stays
    good. The cluster opens when everything is there. If it is interrupted, load it again.
    """
    from . import carrying  # noqa: PLC0415

    carrying.load(reach(at, profile), file, as_json=as_json)
