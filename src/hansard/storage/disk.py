"""The seam between storage and the operating system: a `Disk` of files, real here, simulated in `sim.disk`.

Paths are relative and posix, such as "journal/00.journal"; "" is the root. What is durable, and when:

- the bytes and the size of a file, when `File.sync` returns;
- its name, and every link, rename and removal, when `Disk.sync_folder` of the folder returns (of both folders for a
  rename between two, of the new name's for a link); syncing a file does not make its name durable;
- a folder, when `make_folder` returns.

Whatever is not durable may be lost by a crash of the machine, in any combination and in parts. Only missing
files, a full disk, a failed sync and a held lock are named errors; any other OSError passes through.
"""

import errno
import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol, TypeAlias

from hansard.storage.errors import DirectoryLocked, DiskFull, SyncFailed

Buffer: TypeAlias = bytes | bytearray | memoryview
Names: TypeAlias = list[str]  # inside a class with a method `list`, that word no longer means the type

FULL_DISK = (errno.ENOSPC, errno.EDQUOT)
IOV_MAX = 1024
LOCK_NAME = "lock"
ZEROS = bytes(1 << 20)


class File(Protocol):
    """An open file. It goes on working when its path is renamed or removed."""

    def read(self, position: int, length: int) -> bytes:
        """`length` bytes; fewer only at the end of the file."""

    def write(self, position: int, chunks: Sequence[Buffer]) -> None:
        """All chunks, one after the other from `position`. After `DiskFull` a part of them may be there."""

    def allocate(self, length: int) -> None:
        """Grow to at least `length` bytes with zeros that are really written; does not sync.

        Overwriting written space leaves fdatasync no metadata to write, which a hole or fallocate would.
        """

    def truncate(self, length: int) -> None:
        """Cut, or grow with a hole, to exactly `length` bytes."""

    def sync(self) -> None:
        """Make bytes and size durable, or raise `SyncFailed`."""

    @property
    def descriptor(self) -> int | None:
        """By which the operating system knows it, for who has it synced in another way; None if that is not to be."""

    def size(self) -> int: ...

    def close(self) -> None:
        """Closing twice is harmless. Does not sync."""


class Disk(Protocol):
    """The files below one root directory, of which the file "lock" belongs to the disk itself."""

    def open(self, path: str, *, create: bool = False, read_only: bool = False) -> File:
        """FileNotFoundError if it is missing, unless `create`; what is there is kept. Creates no folders."""

    def exists(self, path: str) -> bool: ...

    def list(self, folder: str) -> Names:
        """The names in the folder, sorted; none if the folder is missing."""

    def make_folder(self, path: str) -> None:
        """The folder and its parents, durable on return; nothing happens if it is there."""

    def remove(self, path: str) -> None:
        """A file; FileNotFoundError if it is missing."""

    def rename(self, source: str, target: str) -> None:
        """A file, replacing any other at the target: whoever looks finds one of the two, whole. If both are names of
        one file, nothing happens."""

    def link(self, source: str, target: str) -> None:
        """A second name for a file, which lasts as long as it has any; FileExistsError if the target is there."""

    def sync_folder(self, path: str) -> None:
        """Make creations, links, renames and removals in the folder durable, or raise `SyncFailed`."""

    def lock(self, *, shared: bool) -> None:
        """Hold the root against others (all others, or exclusive ones), or raise `DirectoryLocked`."""

    def unlock(self) -> None:
        """Give up the lock taken last; harmless if there is none."""

    def free_bytes(self) -> int: ...


class RealFile:
    """A file descriptor. Reads, writes and syncs carry their position and may run in different threads."""

    __slots__ = ("_descriptor", "_path", "_second")

    def __init__(self, descriptor: int, path: str) -> None:
        self._descriptor = descriptor
        self._second: int | None = None
        """For others' syncs, once somebody wants it."""
        self._path = path

    def read(self, position: int, length: int) -> bytes:
        data = os.pread(self._descriptor, length, position)
        if len(data) == length or not data:
            return data
        pieces = [data]
        missing = length - len(data)
        while missing:
            piece = os.pread(self._descriptor, missing, position + length - missing)
            if not piece:
                break
            pieces.append(piece)
            missing -= len(piece)
        return b"".join(pieces)

    def write(self, position: int, chunks: Sequence[Buffer]) -> None:
        if len(chunks) <= IOV_MAX:
            length = 0
            for chunk in chunks:
                length += chunk.nbytes if type(chunk) is memoryview else len(chunk)
            try:
                written = os.pwritev(self._descriptor, chunks, position)
            except OSError:
                written = -1
            if written == length:
                return  # or else all is written again from its beginning
        views = [memoryview(chunk).cast("B") for chunk in chunks if len(chunk)]
        first = 0  # the first view that is not yet written to its end
        while first < len(views):
            try:
                written = os.pwritev(self._descriptor, views[first : first + IOV_MAX], position)
            except OSError as error:
                if error.errno in FULL_DISK:
                    raise DiskFull(self._path, sum(memoryview(chunk).nbytes for chunk in chunks)) from error
                raise
            if written == 0:
                raise OSError(errno.EIO, "a write made no progress", self._path)
            position += written
            while first < len(views) and written >= len(views[first]):
                written -= len(views[first])
                first += 1
            if written:
                views[first] = views[first][written:]

    def allocate(self, length: int) -> None:
        position = self.size()
        while position < length:
            piece = memoryview(ZEROS)[: length - position]
            self.write(position, [piece])
            position += len(piece)

    def truncate(self, length: int) -> None:
        os.ftruncate(self._descriptor, length)

    def sync(self) -> None:
        try:
            os.fdatasync(self._descriptor)
        except OSError as error:
            raise SyncFailed(self._path) from error

    @property
    def descriptor(self) -> int | None:
        """One of its own: the system tells of a failed write once for each time that a file was opened, so that neither
        their sync nor ours takes from the other one what it has to hear."""
        if self._second is None and self._descriptor >= 0:
            with suppress(OSError):  # without /proc, or any more files, it is not to be
                self._second = os.open(f"/proc/self/fd/{self._descriptor}", os.O_RDONLY | os.O_CLOEXEC)
        return self._second

    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def close(self) -> None:
        # The number may soon belong to another file: forget it before anything can go wrong.
        descriptor, self._descriptor = self._descriptor, -1
        second, self._second = self._second, None
        if descriptor >= 0:
            os.close(descriptor)
        if second is not None:
            os.close(second)


class RealDisk:
    """The directory `root` of the machine's file system; `make_folder("")` creates it."""

    file: type[RealFile] = RealFile
    """What its files are."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._locks: list[int] = []  # descriptors of the lock file: one exclusive, or any number shared

    def open(self, path: str, *, create: bool = False, read_only: bool = False) -> File:
        flags = (os.O_RDONLY if read_only else os.O_RDWR) | (os.O_CREAT if create else 0)
        full_path = str(self._root / path)
        with _naming_full_disk(full_path, 0):
            return self.file(os.open(full_path, flags, 0o666), full_path)

    def exists(self, path: str) -> bool:
        return (self._root / path).exists()

    def list(self, folder: str) -> Names:
        try:
            names = sorted(os.listdir(self._root / folder))
        except FileNotFoundError:
            return []
        return names if folder else [name for name in names if name != LOCK_NAME]

    def make_folder(self, path: str) -> None:
        # A folder that is there is synced too: the process that made it may have died before its sync.
        last = self._root / path
        below_root_or_missing = (
            folder for folder in (last, *last.parents) if self._root in folder.parents or not folder.is_dir()
        )
        for folder in reversed([*below_root_or_missing]):
            with _naming_full_disk(str(folder), 0):
                folder.mkdir(exist_ok=True)
            _sync_directory(folder.parent)

    def remove(self, path: str) -> None:
        os.unlink(self._root / path)

    def rename(self, source: str, target: str) -> None:
        with _naming_full_disk(str(self._root / target), 0):
            os.replace(self._root / source, self._root / target)

    def link(self, source: str, target: str) -> None:
        with _naming_full_disk(str(self._root / target), 0):
            os.link(self._root / source, self._root / target)

    def sync_folder(self, path: str) -> None:
        _sync_directory(self._root / path)

    def lock(self, *, shared: bool) -> None:
        descriptor = self._open_lock_shared() if shared else self._open_lock_exclusive()
        if descriptor is None:
            return
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _lock_holder(descriptor)
            os.close(descriptor)
            raise DirectoryLocked(str(self._root), holder) from None
        except OSError:
            os.close(descriptor)
            raise
        self._locks.append(descriptor)
        if not shared:
            # A fixed width needs no truncation. A full disk may refuse it: the lock holds without the number.
            with suppress(OSError):
                os.pwrite(descriptor, b"%20d\n" % os.getpid(), 0)

    def _open_lock_exclusive(self) -> int:
        return os.open(self._root / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o666)

    def _open_lock_shared(self) -> int | None:
        """None where the lock file is missing and cannot be made: a writer would have made it."""
        with suppress(FileNotFoundError):
            return os.open(self._root / LOCK_NAME, os.O_RDONLY)
        try:
            return os.open(self._root / LOCK_NAME, os.O_RDONLY | os.O_CREAT, 0o666)
        except OSError as error:
            if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
                return None
            raise

    def unlock(self) -> None:
        if self._locks:
            os.close(self._locks.pop())

    def free_bytes(self) -> int:
        status = os.statvfs(self._root)
        return status.f_bavail * status.f_frsize


@contextmanager
def _naming_full_disk(path: str, wanted_bytes: int) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in FULL_DISK:
            raise DiskFull(path, wanted_bytes) from error
        raise


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        raise SyncFailed(str(path)) from error
    finally:
        os.close(descriptor)


def _lock_holder(descriptor: int) -> int | None:
    """The process that the lock file names, if its lock is exclusive: shared holders leave no name, and what
    the file says then is left over from an earlier one. That a shared lock can be had tells them apart."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        written = os.pread(descriptor, 32, 0).strip()
        return int(written) if written.isdigit() else None
    return None
