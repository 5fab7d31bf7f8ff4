"""What a simulated disk holds: as its users see it, and as much of it as is certainly durable.

Between the two lie the pending changes. `sim.crash` decides which of them a crash leaves; a platter only
keeps account. It is a pure function of the operations applied to it, and forks in the time it takes to copy
a list of names: a file is copied when one of the forks changes it, not before.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple, TypeAlias, assert_never

from sim.pages import Pages


@dataclass(frozen=True, slots=True)
class Create:
    path: str
    inode: int


@dataclass(frozen=True, slots=True)
class Link:
    """A further name of a file. It may survive a crash that the name which it was made from does not."""

    path: str
    inode: int


@dataclass(frozen=True, slots=True)
class Rename:
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Remove:
    path: str


@dataclass(frozen=True, slots=True)
class Write:
    inode: int
    position: int
    data: bytes

    @property
    def end(self) -> int:
        return self.position + len(self.data)


@dataclass(frozen=True, slots=True)
class Truncate:
    inode: int
    length: int


@dataclass(frozen=True, slots=True)
class Flip:
    """Bits that rot in place, on the disk and in memory at once."""

    inode: int
    position: int
    mask: int


@dataclass(frozen=True, slots=True)
class Sync:
    inode: int
    failed: bool


@dataclass(frozen=True, slots=True)
class MakeFolder:
    path: str


@dataclass(frozen=True, slots=True)
class SyncFolder:
    path: str
    failed: bool


Naming: TypeAlias = Create | Link | Rename | Remove
Change: TypeAlias = Write | Truncate | Flip
Operation: TypeAlias = Naming | Change | Sync | MakeFolder | SyncFolder


class Standing(Enum):
    """How far a pending change of a file's bytes has come."""

    UNSYNCED = auto()
    FORSAKEN = auto()  # its sync failed, so that the system takes it for written: no later sync covers it
    SETTLED = auto()  # durable, but waiting here because a forsaken change comes before it


class PendingChange(NamedTuple):
    number: int
    change: Change
    standing: Standing


class PendingNaming(NamedTuple):
    number: int
    naming: Naming
    awaiting: tuple[str, ...]  # the folders whose sync it still needs


@dataclass(slots=True)
class Content:
    """One file's bytes. Applying `pending` to `durable`, all of it and in order, gives `seen`."""

    seen: Pages
    durable: Pages
    pending: list[PendingChange]

    def copy(self) -> "Content":
        return Content(self.seen.copy(), self.durable.copy(), self.pending.copy())

    def settle(self) -> None:
        """A sync succeeded."""
        self._promote(Standing.SETTLED)
        if all(entry.standing is Standing.SETTLED for entry in self.pending):
            for entry in self.pending:
                apply_change(self.durable, entry.change)
            self.pending.clear()

    def forsake(self) -> None:
        """A sync failed."""
        self._promote(Standing.FORSAKEN)

    def _promote(self, standing: Standing) -> None:
        self.pending[:] = [
            entry._replace(standing=standing) if entry.standing is Standing.UNSYNCED else entry
            for entry in self.pending
        ]


@dataclass(slots=True)
class Platter:
    """All files and folders. `operation_count` numbers the operations, and so the pending ones."""

    folders: dict[str, None] = field(default_factory=lambda: {"": None})
    names: dict[str, int] = field(default_factory=dict)
    durable_names: dict[str, int] = field(default_factory=dict)
    pending_names: list[PendingNaming] = field(default_factory=list)
    contents: dict[int, Content] = field(default_factory=dict)
    operation_count: int = 0
    _own: set[int] = field(default_factory=set)  # contents that no other platter shares; never iterated

    def fork(self) -> "Platter":
        """A second platter in the same state, which goes its own way."""
        self._own.clear()
        return Platter(
            self.folders.copy(),
            self.names.copy(),
            self.durable_names.copy(),
            self.pending_names.copy(),
            self.contents.copy(),
            self.operation_count,
        )

    def apply(self, operation: Operation) -> None:
        self.operation_count += 1
        match operation:
            case Write() | Truncate() | Flip():
                self._change(operation)
            case Sync(inode, failed):
                content = self._own_content(inode)
                if failed:
                    content.forsake()
                else:
                    content.settle()
            case Create() | Link() | Rename() | Remove():
                if isinstance(operation, Create):
                    self.contents[operation.inode] = Content(Pages(), Pages(), [])
                    self._own.add(operation.inode)
                apply_naming(self.names, operation)
                awaiting = tuple(dict.fromkeys(folder_of(path) for path in paths_of(operation)))
                self.pending_names.append(PendingNaming(self.operation_count, operation, awaiting))
            case MakeFolder(path):
                for folder in (*parents_of(path), path):
                    self.folders[folder] = None
            case SyncFolder(path, failed):
                if not failed:
                    self._settle_names(path)
            case _:
                assert_never(operation)

    def _change(self, change: Change) -> None:
        content = self._own_content(change.inode)
        apply_change(content.seen, change)
        if not isinstance(change, Flip):
            content.pending.append(PendingChange(self.operation_count, change, Standing.UNSYNCED))
        elif content.pending:
            content.pending.append(PendingChange(self.operation_count, change, Standing.SETTLED))
        else:
            apply_change(content.durable, change)

    def _own_content(self, inode: int) -> Content:
        if inode not in self._own:
            self.contents[inode] = self.contents[inode].copy()
            self._own.add(inode)
        return self.contents[inode]

    def _settle_names(self, folder: str) -> None:
        """Make durable what awaited only this folder, and whatever came before it on the same names."""
        waiting = [
            entry._replace(awaiting=tuple(other for other in entry.awaiting if other != folder))
            for entry in self.pending_names
        ]
        settled_paths: set[str] = set()
        settled_numbers: set[int] = set()
        for entry in reversed(waiting):
            paths = paths_of(entry.naming)
            if not entry.awaiting or not settled_paths.isdisjoint(paths):
                settled_paths.update(paths)
                settled_numbers.add(entry.number)
        for entry in waiting:
            if entry.number in settled_numbers:
                apply_naming(self.durable_names, entry.naming)
        self.pending_names = [entry for entry in waiting if entry.number not in settled_numbers]


def apply_change(pages: Pages, change: Change) -> None:
    match change:
        case Write(_, position, data):
            pages.write(position, data)
        case Truncate(_, length):
            pages.resize(length)
        case Flip(_, position, mask):
            # Bytes that a crash took away cannot rot.
            if position < len(pages):
                pages.flip(position, mask)
        case _:
            assert_never(change)


def apply_naming(names: dict[str, int], naming: Naming) -> None:
    match naming:
        case Create(path, inode) | Link(path, inode):
            assert path not in names
            names[path] = inode
        case Rename(source, target):
            names[target] = names.pop(source)
        case Remove(path):
            del names[path]
        case _:
            assert_never(naming)


def paths_of(naming: Naming) -> tuple[str, ...]:
    return (naming.source, naming.target) if isinstance(naming, Rename) else (naming.path,)


def folder_of(path: str) -> str:
    return path.rpartition("/")[0]


def parents_of(path: str) -> Iterable[str]:
    parts = path.split("/")
    return ("/".join(parts[:count]) for count in range(1, len(parts)))
