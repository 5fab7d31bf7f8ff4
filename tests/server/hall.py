"""A shortcut at work in a running loop, with its journal, on a real disk that says who has written; and a kernel whose
syncs the test holds."""

import asyncio
import errno
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import current_thread
from typing import Any, Final, Self

from hansard.server.journal import Job, Journal, Search
from hansard.server.shortcut import SMALL_BYTES_MAX, Shortcut
from hansard.storage.disk import Buffer, Disk, File, RealDisk
from hansard.storage.errors import SyncFailed
from hansard.storage.settings import StoreSettings
from hansard.storage.store import Store, open_store
from hansard.storage.write import Write
from sim.history import IDENTITY

from .office import LARGE
from .trio import until

TOO_MUCH: Final = SMALL_BYTES_MAX + 1
"""More bytes than the loop writes itself."""
THREAD: Final = "hansard-journal"


class WatchedDisk(RealDisk):
    """Knows which thread wrote to the journal, and can be told what happens to a write."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.writers: list[str] = []
        """One for each write, in order."""
        self.failure: OSError | None = None
        """What comes of writing to the journal."""
        self.fails_to_sync = False
        """What comes of syncing it."""

    def open(self, path: str, *, create: bool = False, read_only: bool = False) -> File:
        file = super().open(path, create=create, read_only=read_only)
        return _WatchedFile(self, file) if path.endswith(".journal") else file


class _WatchedFile:
    def __init__(self, disk: WatchedDisk, file: File) -> None:
        self._disk, self._file = disk, file
        self.read, self.allocate, self.truncate = file.read, file.allocate, file.truncate
        self.size, self.close, self.descriptor = file.size, file.close, file.descriptor

    def sync(self) -> None:
        if self._disk.fails_to_sync:
            raise SyncFailed("the journal")
        self._file.sync()

    def write(self, position: int, chunks: Sequence[Buffer]) -> None:
        if self._disk.failure is not None:
            raise self._disk.failure
        self._disk.writers.append(current_thread().name)
        self._file.write(position, chunks)


class HeldSyncs:
    """In place of the kernel: a sync is done when the test says so, or when it is waited for."""

    def __init__(self, sync: Callable[[int], OSError | None] | None = None) -> None:
        self.descriptor = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self.begun: list[int] = []
        """The descriptors of all that was begun, in order."""
        self.refusal: OSError | None = None
        """Nothing can be begun any more."""
        self.failure: OSError | None = None
        """What comes of a sync."""
        self.is_held = True
        self.is_closed = False
        self.waited = 0
        self._under_way: int | None = None
        self._is_over = False
        self._sync = sync

    @classmethod
    def at_once(cls, sync: Callable[[int], OSError | None] | None = None) -> Self:
        made = cls(sync)
        made.is_held = False
        return made

    def begin(self, file: int) -> None:
        assert self._under_way is None, "one at a time"
        if self.refusal is not None:
            raise self.refusal
        self._under_way = file
        self.begun.append(file)
        if not self.is_held:
            self.let_go()

    def let_go(self) -> None:
        assert self._under_way is not None
        if self._sync is not None:
            self.failure = self._sync(self._under_way)
        self._is_over = True
        os.eventfd_write(self.descriptor, 1)

    def done(self, *, wait: bool = False) -> bool:
        if wait and not self._is_over:
            self.waited += 1
            self.let_go()
        if not self._is_over:
            return False
        self._is_over, self._under_way = False, None
        os.eventfd_read(self.descriptor)
        if self.failure is not None:
            raise self.failure
        return True

    def close(self) -> None:
        if not self.is_closed:
            self.is_closed = True
            os.close(self.descriptor)


class Hall:
    """Tickets are numbers that rise with each job, whoever waits for it. To be made in a running loop."""

    def __init__(self, disk: Disk, settings: StoreSettings = LARGE) -> None:
        loop, self._disk = asyncio.get_running_loop(), disk
        self.store: Store = open_store(disk, create=IDENTITY, settings=settings)
        self.persisted: list[dict[Any, int]] = []
        self.failures: list[BaseException] = []
        self.then: Callable[[], None] = lambda: None
        """Called whenever something is persisted."""
        self.journal = Journal(self.store, loop.call_soon_threadsafe, self._persisted, self.failures.append)
        self.way = Shortcut(self.store, self.journal, self._persisted, self.failures.append, loop)
        self.last = 0

    def _persisted(self, tickets: dict[Any, int]) -> None:
        self.persisted.append(tickets)
        self.then()

    def job(self, *writes: Write, length: int = 0) -> Job:
        self.last += 1
        return Job(writes[0].bucket, self.last, writes, length)

    def put(self, *writes: Write, length: int = 0) -> None:
        """As one turn."""
        self.way.put([self.job(*writes, length=length)])

    def search(self, offset: int, bucket: int = 0) -> tuple[Search, list[int]]:
        """The base offsets of what is found will be in the list."""
        found: list[int] = []
        return Search(
            bucket, offset, 1 << 20, lambda _, batches: found.extend([batch.header.base_offset for batch in batches])
        ), found

    async def all_persisted(self) -> None:
        await until(lambda: self.failures != [] or (self.is_persisted(self.last) and not self.journal.handed))
        assert not self.failures

    def is_persisted(self, ticket: int) -> bool:
        return any(ticket in group.values() for group in self.persisted)

    def in_order(self) -> bool:
        """Whether no ticket was persisted before one that is lower."""
        highest = 0
        for group in filter(None, self.persisted):
            if min(group.values()) <= highest:
                return False
            highest = max(group.values())
        return True

    async def stop(self, *, abandon: bool = False) -> None:
        """As a node stops; what the threads say at their end is heard."""
        self.way.close(abandon=abandon)
        end = self.journal.abandon if abandon else self.journal.stop
        await asyncio.get_running_loop().run_in_executor(None, end)
        await asyncio.sleep(0)
        self.store.close()
        self._disk.unlock()  # a store that has failed leaves that to the end of its process


def broken() -> OSError:
    return OSError(errno.EIO, "the disk is broken")
