"""Participants whose disks are full as long as a file says so: no file grows, and there is no room for a new one's
content. What is there can be written over, as on a real disk."""

from collections.abc import Sequence
from pathlib import Path

from hansard.server import start
from hansard.server.start import Plan
from hansard.storage.disk import Buffer, File, RealDisk, RealFile
from hansard.storage.errors import DiskFull
from tests.cluster import company


def flag(directory: Path) -> Path:
    """Of the participant in this directory."""
    return directory.parent / f"{directory.name}.full"


class CrampedFile(RealFile):
    __slots__ = ("_flag",)

    def __init__(self, descriptor: int, path: str, flag: Path) -> None:
        super().__init__(descriptor, path)
        self._flag = flag

    def write(self, position: int, chunks: Sequence[Buffer]) -> None:
        length = sum(memoryview(chunk).nbytes for chunk in chunks)
        if self._flag.exists() and position + length > self.size():
            raise DiskFull(self._path, length)
        super().write(position, chunks)


class CrampedDisk(RealDisk):
    def open(self, path: str, *, create: bool = False, read_only: bool = False) -> File:
        opened = super().open(path, create=create, read_only=read_only)
        assert isinstance(opened, RealFile)
        return CrampedFile(opened._descriptor, opened._path, flag(self._root))

    def free_bytes(self) -> int:
        return 0 if flag(self._root).exists() else super().free_bytes()


def participant(plan: Plan, err: Path) -> None:
    """In the new process."""
    vars(start)["RealDisk"] = CrampedDisk
    company.participant(plan, err)
