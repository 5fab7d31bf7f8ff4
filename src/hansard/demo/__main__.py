"""The command: `python -m hansard.demo`."""

import argparse
import asyncio
import shutil
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console

from hansard.cli.developing import wait
from hansard.cli.local import NotStarted, are_free, told_to_end
from hansard.cli.reach import PORT

from .audit import Broken
from .tour import Tour


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m hansard.demo", description="Shows what Hansard does.")
    parser.add_argument("--once", action="store_true", help="end at the end, and leave nothing behind")
    parser.add_argument("--scene", type=float, default=3.0, metavar="SECONDS", help="how long to look on")
    parser.add_argument("--no-pipeline", action="store_true", help="without the last scene, which needs Spark and Java")
    arguments = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="hansard-demo-"))
    try:
        with told_to_end():
            console, pipeline = Console(highlight=False), not arguments.no_pipeline
            sys.exit(shown(console, directory, once=arguments.once, scene_s=arguments.scene, pipeline=pipeline))
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def shown(console: Console, directory: Path, *, once: bool, scene_s: float, pipeline: bool) -> int:
    """The exit code."""
    port = PORT if are_free(range(PORT, PORT + 3)) else None
    began_s = time.monotonic()
    tour = Tour(console, directory, port, scene_s)
    with tour.cluster:
        broken: list[BaseException] = []
        try:
            asyncio.run(tour.run(pipeline=pipeline))
        except* (Broken, NotStarted) as group:
            broken = _leaves(group)
        for error in broken:
            console.print(f"[bold red]{error}[/bold red]", soft_wrap=True)
        if broken:
            return 1
        console.print(f"That took {time.monotonic() - began_s:.0f} s.")
        if not once:
            leave_running(console, tour)
    return 0


def _leaves(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    found: list[BaseException] = []
    for error in group.exceptions:
        found += _leaves(error) if isinstance(error, BaseExceptionGroup) else [error]
    return found


def leave_running(console: Console, tour: Tour) -> None:
    addresses = ",".join(child.address for child in tour.cluster.children.values() if child.runs)
    console.print("[bold]The cluster goes on until Ctrl-C. Try in another shell:[/bold]")
    for line in (
        f"export HANSARD_ADDRESSES={addresses}",
        ".venv/bin/hansard status --watch",
        ".venv/bin/hansard tail --tag tenant:umbrella",
        '.venv/bin/hansard submit user:17 \'{"plan": "pro"}\' --tag tenant:acme',
        ".venv/bin/hansard doctor",
    ):
        console.print(f"   {line}", markup=False, soft_wrap=True)
    if tour.report is not None:
        console.print(f"and open {tour.report.as_uri()} in a browser.", markup=False, soft_wrap=True)
    console.print("docs/start.md is five minutes with a cluster of your own.")
    wait(tour.cluster)


if __name__ == "__main__":
    main()
