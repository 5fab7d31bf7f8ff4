"""`hansard bench`: how fast a cluster takes changes."""

from typing import Annotated

import typer

from .reach import AsJson, At, Profile, reach


def bench(
    seconds: Annotated[float, typer.Option(metavar="N", min=0.1, help="How long.")] = 10.0,
    size: Annotated[int, typer.Option(metavar="BYTES", min=0, max=1 << 20, help="Of each value.")] = 256,
    batch: Annotated[int, typer.Option(metavar="N", min=1, max=10_000, help="Changes in one submission.")] = 1,
    window: Annotated[int, typer.Option(metavar="N", min=1, max=10_000, help="Submissions under way, a client.")] = 64,
    clients: Annotated[int, typer.Option(metavar="N", min=1, max=100, help="How many, in this process.")] = 1,
    keys: Annotated[int, typer.Option(metavar="N", min=1, help="Different keys.")] = 10_000,
    at: At = None,
    profile: Profile = None,
    as_json: AsJson = False,
) -> None:
    """Submit changes as fast as they are taken, and measure.

    They are real changes, tagged hansard:bench, and stay in the log. The load is made by this one process, which shares
    the machine with whatever else runs on it; a cluster may take more from several.
    """
    from . import measuring  # noqa: PLC0415

    load = measuring.Load(seconds, size, batch, window, clients, keys)
    measuring.bench(reach(at, profile), load, as_json=as_json)
