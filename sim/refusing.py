"""A disk on which any write may find no room, as on a copy-on-write file system, where even overwriting takes space."""

from collections.abc import Callable, Sequence

from hansard.storage.disk import Buffer, File
from hansard.storage.errors import DiskFull
from sim.disk import SimDisk

Refuse = Callable[[str, int, bytes], int | None]
"""Given path, position and data: how many bytes get through before there is no room; None lets the write pass."""


class RefusingDisk(SimDisk):
    refuse: Refuse | None = None
    on_open: Callable[[str], None] | None = None
    """Called with the path of each file that is opened: what happens elsewhere in that moment."""
    on_read: Callable[[str, int], None] | None = None
    """Called with path and length of each read."""
    open_count = 0
    """Files that are open now."""

    def open(self, path: str, *, create: bool = False, read_only: bool = False) -> File:
        if self.on_open is not None:
            self.on_open(path)
        self.open_count += 1
        return _RefusingFile(self, path, super().open(path, create=create, read_only=read_only))

    def crashed_again(self, crashed: SimDisk) -> "RefusingDisk":
        """What a crash or restart left, with the same refusals to come."""
        disk = RefusingDisk(platter=crashed._platter)
        disk.refuse = self.refuse
        return disk


class _RefusingFile:
    def __init__(self, disk: RefusingDisk, path: str, file: File) -> None:
        self._disk, self._path, self._file = disk, path, file
        self._is_open = True
        self.allocate, self.truncate, self.sync, self.size = file.allocate, file.truncate, file.sync, file.size
        self.descriptor = file.descriptor

    def read(self, position: int, length: int) -> bytes:
        if self._disk.on_read is not None:
            self._disk.on_read(self._path, length)
        return self._file.read(position, length)

    def write(self, position: int, chunks: Sequence[Buffer]) -> None:
        data = b"".join(chunks)
        through = None if self._disk.refuse is None else self._disk.refuse(self._path, position, data)
        if through is None:
            self._file.write(position, [data])
            return
        if through:
            self._file.write(position, [data[:through]])
        raise DiskFull(self._path, len(data))

    def close(self) -> None:
        self._disk.open_count -= self._is_open
        self._is_open = False
        self._file.close()
