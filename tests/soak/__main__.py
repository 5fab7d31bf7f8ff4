"""`python -m tests.soak`: the soak test, as long as you like."""

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

from tests.soak.soak import Soak

TELL_S = 15.0


async def told(soak: Soak) -> None:
    """Now and then how far it is."""
    began_s, running = time.monotonic(), asyncio.create_task(soak.run())
    while not running.done():
        await asyncio.wait([running], timeout=TELL_S)
        events = ", ".join(f"{what} {count}" for what, count in soak.happened.items())
        sys.stdout.write(f"{time.monotonic() - began_s:5.0f} s  {soak.audit.count:,} acknowledged; {events}\n")
        sys.stdout.flush()
    await running


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hansard-soak-") as directory:
        asyncio.run(told(Soak(Path(directory), arguments.seconds, arguments.seed)))
    sys.stdout.write("nothing is lost, doubled or reordered\n")


if __name__ == "__main__":
    main()
