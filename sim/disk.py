"""A disk in memory that keeps a log of what was done to it, so that one run shows every crash in it.

A test runs its workload once, then asks for the disk as found after a crash at each point of the log, and
starts recovery on each. Everything is a function of the calls and of the `Random` passed in.
"""

import errno
from collections.abc import Sequence
from random import Random

from hansard.storage.disk import Buffer, File, Names
from hansard.storage.errors import DirectoryLocked, DiskFull, SyncFailed
from sim.crash import crash
from sim.pages import Pages
from sim.platter import (
    Create,
    Flip,
    Link,
    MakeFolder,
    Operation,
    Platter,
    Remove,
    Rename,
    Sync,
    SyncFolder,
    Truncate,
    Write,
    folder_of,
)

CHECKPOINT_OPERATIONS = 16
UNLIMITED_BYTES = 1 << 40


class SimDisk:
    """A `Disk` whose root exists, with faults to switch on.

    `log` holds every operation since the disk was made, numbered from 1. Faults may be set at any time:

    - `capacity`: the total bytes of all named files, each counted once; what would pass it is written in part and is
      `DiskFull`.
    - `fail_sync`: the ordinal, counted by `sync_count` from 1, of the sync of a file or folder that fails.
      What that file had unsynced stays readable and in doubt for ever, whatever is synced later; only writing
      it again helps. (Names are merely not yet durable.)
    """

    def __init__(self, *, capacity: int | None = None, platter: Platter | None = None) -> None:
        self.capacity = capacity
        self.fail_sync: int | None = None
        self.sync_count = 0
        self.log: list[Operation] = []
        self._platter = Platter() if platter is None else platter
        self._checkpoints = [self._platter.fork()]  # after each CHECKPOINT_OPERATIONS, made when asked for
        self._next_inode = max(self._platter.contents, default=0) + 1
        self._locks: list[bool] = []  # one exclusive (False), or any number shared (True)

    @property
    def operation_count(self) -> int:
        return len(self.log)

    def crashed(self, at: int, random: Random) -> "SimDisk":
        """The disk found after the machine crashed just after operation `at`; what it holds is durable."""
        return SimDisk(capacity=self.capacity, platter=crash(self._platter_at(at), random))

    def restarted(self, at: int) -> "SimDisk":
        """The disk found after the process died just after operation `at`: all of it is there.

        What was unsynced still is, so that a crash of the machine may yet take it.
        """
        return SimDisk(capacity=self.capacity, platter=self._platter_at(at))

    def flip(self, path: str, position: int, mask: int) -> None:
        """Flip the bits of `mask` in one byte, durably; counts as an operation."""
        inode = self._inode(path)
        assert position < self.size_of(inode) and 0 < mask < 256
        self.record(Flip(inode, position, mask))

    def open(self, path: str, *, create: bool = False, read_only: bool = False) -> File:
        if path in self._platter.folders:
            raise IsADirectoryError(errno.EISDIR, "is a folder", path)
        if create and path not in self._platter.names:
            self._require_folder(folder_of(path))
            self.record(Create(path, self._next_inode))
            self._next_inode += 1
        return SimFile(self, self._inode(path), path, read_only)

    def exists(self, path: str) -> bool:
        return path in self._platter.names or path in self._platter.folders

    def list(self, folder: str) -> Names:
        prefix = folder + "/" if folder else ""
        paths = [*self._platter.names, *(path for path in self._platter.folders if path)]
        below = (path.removeprefix(prefix) for path in paths if path.startswith(prefix))
        return sorted(name for name in below if "/" not in name)

    def make_folder(self, path: str) -> None:
        if path not in self._platter.folders:
            self.record(MakeFolder(path))

    def remove(self, path: str) -> None:
        self._inode(path)
        self.record(Remove(path))

    def rename(self, source: str, target: str) -> None:
        inode = self._inode(source)
        self._require_folder(folder_of(target))
        if self._platter.names.get(target) != inode:
            self.record(Rename(source, target))

    def link(self, source: str, target: str) -> None:
        inode = self._inode(source)
        self._require_folder(folder_of(target))
        if self.exists(target):
            raise FileExistsError(errno.EEXIST, "is there already", target)
        self.record(Link(target, inode))

    def sync_folder(self, path: str) -> None:
        self._require_folder(path)
        failed = self.next_sync_fails()
        self.record(SyncFolder(path, failed))
        if failed:
            raise SyncFailed(path)

    def lock(self, *, shared: bool) -> None:
        if self._locks and not (shared and all(self._locks)):
            raise DirectoryLocked("", None)
        self._locks.append(shared)

    def unlock(self) -> None:
        if self._locks:
            self._locks.pop()

    def free_bytes(self) -> int:
        capacity = UNLIMITED_BYTES if self.capacity is None else self.capacity
        return max(0, capacity - sum(self.size_of(inode) for inode in dict.fromkeys(self._platter.names.values())))

    def files(self) -> dict[str, bytes]:
        """All that is to be seen, by path."""
        inodes = sorted(self._platter.names.items())
        return {path: self.seen(inode).read(0, self.size_of(inode)) for path, inode in inodes}

    def record(self, operation: Operation) -> None:
        self.log.append(operation)
        self._platter.apply(operation)

    def seen(self, inode: int) -> Pages:
        return self._platter.contents[inode].seen

    def size_of(self, inode: int) -> int:
        return len(self.seen(inode))

    def end_max(self, inode: int) -> int:
        """How far the file can be written: within its size always, beyond it as far as there is room."""
        return UNLIMITED_BYTES if self.capacity is None else self.size_of(inode) + self.free_bytes()

    def next_sync_fails(self) -> bool:
        self.sync_count += 1
        return self.sync_count == self.fail_sync

    def _platter_at(self, at: int) -> Platter:
        """A fork of the platter after `at` operations, replayed from the checkpoint before it."""
        assert 0 <= at <= self.operation_count
        if at == self.operation_count:
            return self._platter.fork()
        index = at // CHECKPOINT_OPERATIONS
        while len(self._checkpoints) <= index:
            start = (len(self._checkpoints) - 1) * CHECKPOINT_OPERATIONS
            self._checkpoints.append(self._replayed(start, start + CHECKPOINT_OPERATIONS))
        return self._replayed(index * CHECKPOINT_OPERATIONS, at)

    def _replayed(self, start: int, end: int) -> Platter:
        platter = self._checkpoints[start // CHECKPOINT_OPERATIONS].fork()
        for operation in self.log[start:end]:
            platter.apply(operation)
        return platter

    def _inode(self, path: str) -> int:
        inode = self._platter.names.get(path)
        if inode is None:
            raise FileNotFoundError(errno.ENOENT, "no such file", path)
        return inode

    def _require_folder(self, path: str) -> None:
        if path not in self._platter.folders:
            raise FileNotFoundError(errno.ENOENT, "no such folder", path)


class SimFile:
    """An open file of a `SimDisk`, bound to its inode and not to its name."""

    __slots__ = ("_closed", "_disk", "_inode", "_path", "_read_only")

    def __init__(self, disk: SimDisk, inode: int, path: str, read_only: bool) -> None:
        self._disk = disk
        self._inode = inode
        self._path = path
        self._read_only = read_only
        self._closed = False

    def read(self, position: int, length: int) -> bytes:
        self._require_open()
        return self._disk.seen(self._inode).read(position, length)

    def write(self, position: int, chunks: Sequence[Buffer]) -> None:
        self._require_open(writing=True)
        data = b"".join(chunks)
        part = data
        end_max = self._disk.end_max(self._inode)
        if position + len(data) > end_max:
            part = data[: min(len(data) // 2, max(0, end_max - position))]
        if part:
            self._disk.record(Write(self._inode, position, part))
        if len(part) < len(data):
            raise DiskFull(self._path, len(data))

    def allocate(self, length: int) -> None:
        size = self.size()
        if length > size:
            self.write(size, [bytes(length - size)])

    def truncate(self, length: int) -> None:
        self._require_open(writing=True)
        self._disk.record(Truncate(self._inode, length))

    def sync(self) -> None:
        self._require_open()
        failed = self._disk.next_sync_fails()
        self._disk.record(Sync(self._inode, failed))
        if failed:
            raise SyncFailed(self._path)

    @property
    def descriptor(self) -> int | None:
        return None

    def size(self) -> int:
        self._require_open()
        return self._disk.size_of(self._inode)

    def close(self) -> None:
        self._closed = True

    def _require_open(self, *, writing: bool = False) -> None:
        if self._closed or (writing and self._read_only):
            raise OSError(errno.EBADF, "not open for this", self._path)
