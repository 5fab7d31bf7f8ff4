"""A folder of a disk as a disk of its own: a store in it is one part of a larger directory.

The lock of the whole is the business of whoever has the disk; it covers the folder. What is locked here only keeps two
users of the same `Folder` apart, and tells afterwards whether one of them ended as it should.
"""

from .disk import Disk, File, Names
from .errors import DirectoryLocked


class Folder:
    def __init__(self, disk: Disk, path: str) -> None:
        assert path
        self._disk = disk
        self._path = path
        self._locks: list[bool] = []

    @property
    def is_locked(self) -> bool:
        """A store that has failed never unlocks it."""
        return bool(self._locks)

    def _at(self, path: str) -> str:
        return f"{self._path}/{path}" if path else self._path

    def open(self, path: str, *, create: bool = False, read_only: bool = False) -> File:
        return self._disk.open(self._at(path), create=create, read_only=read_only)

    def exists(self, path: str) -> bool:
        return self._disk.exists(self._at(path))

    def list(self, folder: str) -> Names:
        return self._disk.list(self._at(folder))

    def make_folder(self, path: str) -> None:
        self._disk.make_folder(self._at(path))

    def remove(self, path: str) -> None:
        self._disk.remove(self._at(path))

    def rename(self, source: str, target: str) -> None:
        self._disk.rename(self._at(source), self._at(target))

    def link(self, source: str, target: str) -> None:
        self._disk.link(self._at(source), self._at(target))

    def sync_folder(self, path: str) -> None:
        self._disk.sync_folder(self._at(path))

    def lock(self, *, shared: bool) -> None:
        if self._locks and not (shared and all(self._locks)):
            raise DirectoryLocked(self._path, None)
        self._locks.append(shared)

    def unlock(self) -> None:
        if self._locks:
            self._locks.pop()

    def free_bytes(self) -> int:
        return self._disk.free_bytes()
