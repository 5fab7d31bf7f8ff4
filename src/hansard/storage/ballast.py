"""A little space that is taken beforehand, to be given back when the disk is full.

Retention makes room by dropping segments, but has to write a new manifest before it may: on a disk without a single
free block only space of our own helps. The file holds zeros, and nobody minds if it is missing.
"""

from typing import Final

from .disk import Disk
from .errors import DiskFull

PATH: Final = "ballast"
BALLAST_BYTES: Final = 256 << 10
"""Room for a manifest of some thousand segments."""


def take(disk: Disk) -> None:
    """Have the space, if there is room for it."""
    if disk.exists(PATH):
        return
    try:
        file = disk.open(PATH, create=True)
        try:
            file.allocate(BALLAST_BYTES)
        finally:
            file.close()
    except DiskFull:
        drop(disk)


def drop(disk: Disk) -> None:
    """Give it back."""
    if disk.exists(PATH):
        disk.remove(PATH)
