"""A simulated disk whose files have descriptors, so that a store can place what the test has synced later; and lives in
which some of what is written goes that way."""

import errno
from collections.abc import Sequence
from random import Random
from threading import RLock
from typing import NamedTuple

from hansard.storage.disk import File
from hansard.storage.intake import Unsettled
from hansard.storage.settings import StoreSettings
from hansard.storage.store import Store, open_store
from hansard.storage.write import Append, Grouped, Note, Write
from sim.disk import SimDisk, SimFile
from sim.history import IDENTITY, History, Moment, after
from sim.platter import Operation, Platter, Sync
from sim.refusing import RefusingDisk
from tests.storage.stores import batch_at, reopen

ROOMY = StoreSettings()
"""One file of the journal is enough, and nothing is ever filed unasked."""


class _DescribedFile(SimFile):
    __slots__ = ()

    @property
    def descriptor(self) -> int:
        return self._inode


class _DescribedDisk(SimDisk):
    def open(self, path: str, *, create: bool = False, read_only: bool = False) -> File:
        super().open(path, create=create, read_only=read_only)
        return _DescribedFile(self, self._inode(path), path, read_only)


class PlacingDisk(RefusingDisk, _DescribedDisk):
    """A descriptor is the number of the file. Threads may write to it while another one looks what a crash leaves."""

    def __init__(self, *, platter: Platter | None = None) -> None:
        self._guard = RLock()
        super().__init__(platter=platter)

    def record(self, operation: Operation) -> None:
        with self._guard:
            super().record(operation)

    def crashed(self, at: int, random: Random) -> SimDisk:
        with self._guard:
            return super().crashed(at, random)

    def sync(self, descriptor: int) -> OSError | None:
        """What the kernel does, and what it says."""
        failed = self.next_sync_fails()
        self.record(Sync(descriptor, failed))
        return OSError(errno.EIO, "the sync failed") if failed else None

    def again(self) -> "PlacingDisk":
        """As the next process finds it."""
        return PlacingDisk(platter=self.restarted(self.operation_count)._platter)


def roomy_store(disk: SimDisk) -> Store:
    return open_store(disk, create=IDENTITY, settings=ROOMY)


def at(offset: int, *, bucket: int = 0) -> Append:
    return Append(bucket, batch_at(offset))


def nothing(_descriptor: int) -> None:
    """The test has it synced later."""


def descriptor_of(unsettled: Unsettled) -> int:
    descriptor = unsettled.placed.file.file.descriptor
    assert descriptor is not None
    return descriptor


def placed(store: Store, *run: Grouped) -> Unsettled:
    unsettled = store.place(run, nothing)
    assert unsettled is not None
    return unsettled


def finish(disk: PlacingDisk, store: Store, unsettled: Unsettled) -> None:
    store.settle(unsettled, disk.sync(descriptor_of(unsettled)))


def left_by_crashes(disk: SimDisk, draws: int, operation: int | None = None) -> list[Store]:
    """What is found after a crash just after an operation, or now; no crash may look like damage."""
    operation = disk.operation_count if operation is None else operation
    found = [reopen(disk.crashed(operation, Random(f"{operation} {draw}"))) for draw in range(draws)]
    assert not [store.damage for store in found if store.damage]
    return found


class _Placed(NamedTuple):
    unsettled: Unsettled
    moment: int
    """The place of the last moment that it makes."""


class PlacingHistory(History):
    """Appends and notes are mostly placed, and settled some time later, in any order, while others are written, and the
    journal is filed. Whatever else is written waits for them, as a shortcut has it: a document says nothing of the
    journal, and would be there without what was placed before it; so would what is retained."""

    def __init__(self, disk: PlacingDisk, random: Random, *, forks: bool = False) -> None:
        self._own_disk = disk
        self._unsettled: list[_Placed] = []
        super().__init__(disk, random, forks=forks)

    def live(self, steps: int) -> None:
        for _ in range(steps):
            super().live(1)
            if self._unsettled and self._random.random() < 0.1:
                self.file()
            while self._unsettled and self._random.random() < 0.4:
                self.settle()

    def settle(self) -> None:
        """What one sync covers is all that was placed before it, in whatever order that is heard of."""
        self._unsettled.sort(key=lambda _: self._random.random())
        unsettled, place = self._unsettled.pop()
        failure = self._own_disk.sync(descriptor_of(unsettled))
        self.store.settle(unsettled, failure)
        self.moments[place] = self.moments[place]._replace(acknowledged=self.disk.operation_count)
        self._count("settled")

    def _write(self, writes: Sequence[Write]) -> None:
        run = [write for write in writes if isinstance(write, (Append, Note))]
        if len(run) < len(writes):
            self._settle_all()
        begun = self.disk.operation_count
        alone = len(run) < len(writes) or self._random.random() < 0.2
        if alone or (unsettled := self.store.place(run, nothing)) is None:
            self._count("written among placed" if self._unsettled else "written")
            super()._write(writes)
            return
        for write in run:
            self._held = list(after(self._content(), write))
            self.moments.append(Moment(begun, None, self._content()))
        self._count("placed twice" if self._unsettled else "placed")
        self._unsettled.append(_Placed(unsettled, len(self.moments) - 1))

    def _trim(self, bucket: int) -> None:
        self._settle_all()
        super()._trim(bucket)

    def retain(self) -> None:
        self._settle_all()
        super().retain()

    def _settle_all(self) -> None:
        while self._unsettled:
            self.settle()

    def file(self) -> None:
        self._count("filed among placed" if self._unsettled else "filed alone")
        super().file()

    def reopen(self) -> None:
        """The process that comes next settles nothing."""
        self._unsettled.clear()
        super().reopen()
