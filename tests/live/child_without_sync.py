"""The child, with the bug that matters most: it syncs nothing whose path ends as told, and acknowledges all the same.

python -m tests.live.child_without_sync ENDING DIRECTORY SEED SUBMISSIONS
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path

from tests.live.child import run


def without(ending: str, sync: Callable[[int], None]) -> Callable[[int], None]:
    def sync_others(descriptor: int) -> None:
        if not str(Path(f"/proc/self/fd/{descriptor}").readlink()).endswith(ending):
            sync(descriptor)

    return sync_others


if __name__ == "__main__":
    for name in ("fsync", "fdatasync"):
        setattr(os, name, without(sys.argv[1], getattr(os, name)))
    run(Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
