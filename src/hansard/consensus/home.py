"""The directory of a participant.

    lock               held by the process that uses the directory, whichever part of it
    participant.json   who it is, and in which folder its atomic log lies
    atomic/            the atomic log, a store of its own: agreeing does not wait behind data
    atomic-2/ ...      the one that took its place, after a recovery or a second joining; the one before is kept
    buckets/           the copies of buckets, another store

`participant.json` is apart from the data, so that a participant whose data is lost keeps its name. It is replaced as a
whole, and only what it names counts: another log is made beside the first and is complete, on disk, before it is named.
So a crash leaves the one or the other, and at worst a folder that nobody names.

To which cluster the directory belongs is said by the note in the atomic log and nowhere else: whoever joins learns it
from the others, and it must be on disk together with what is promised to them.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from itertools import count
from types import TracebackType
from typing import Final, Self

import msgspec
from crc32c import crc32c

from hansard.storage import document
from hansard.storage.disk import Disk
from hansard.storage.errors import FormatMismatch
from hansard.storage.folder import Folder
from hansard.storage.identity import Identity
from hansard.storage.settings import StoreSettings
from hansard.storage.store import Store, open_store

from .cluster import ClusterId, NodeId, Peer
from .disk import translated
from .effect import Write
from .errors import AlreadyThere, AnotherNode, DeedDamaged, Founded, NoHome, NotEmpty
from .recovered import founding

PATH: Final = "participant.json"
MOUNTED: Final = "lost+found"
"""What a file system of its own has from the first."""
FORMAT: Final = 1
FOLDER: Final = "atomic"
BUCKETS: Final = "buckets"
BUCKET: Final = 0
"""Of the store: the only one there."""
SETTINGS: Final = StoreSettings(
    journal_file_bytes=1 << 20, unfiled_bytes_max=4 << 20, unfiled_records_max=8_000, segment_bytes=1 << 20
)
"""Small files, so that what is trimmed goes soon: a long life takes about 10 MB beside what is in use."""


class Deed(msgspec.Struct, frozen=True):
    """What `participant.json` says."""

    node: NodeId
    atomic: str = ""
    """The folder; empty while the first one is being made."""
    founded: bool = False
    """It has founded its cluster, or made it anew, and joins no other."""
    format: int = FORMAT


class _Stored(Deed, frozen=True):
    checksum: str = ""


class Home:
    """A participant's directory, locked until it is closed. Made by `found`, `join`, `enter` and `look_into`."""

    def __init__(self, disk: Disk, *, read_only: bool = False, settings: StoreSettings = SETTINGS) -> None:
        self._disk = disk
        self._settings = settings
        self._read_only = read_only
        disk.lock(shared=read_only)
        with ExitStack() as undo:
            undo.callback(disk.unlock)
            deed = _read(disk)
            if not read_only:  # a killed process may have left its name unsynced: it must last before it is relied on
                disk.sync_folder("")
            undo.pop_all()
        self.deed = deed or Deed("")
        self._folder = Folder(disk, self.deed.atomic or FOLDER)
        self._buckets = Folder(disk, BUCKETS)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def node(self) -> NodeId:
        return self.deed.node

    def atomic(self, *, read_only: bool = False) -> Store:
        """The store of the atomic log."""
        expected = Identity(log_id=FOLDER, node_id=self.node)
        return open_store(
            self._folder, expect=expected, read_only=read_only or self._read_only, settings=self._settings
        )

    def buckets(self, settings: StoreSettings | None = None) -> Store:
        """The store of the copies of buckets. It is made here if there is none: whoever has lost it begins anew."""
        assert self.node and not self._read_only
        mine = Identity(log_id=BUCKETS, node_id=self.node)
        return open_store(self._buckets, create=mine, expect=mine, settings=settings)

    def replace(self, writes: Sequence[Write], *, founded: bool) -> str:
        """Another atomic log, of these writes, in place of the one that is there, which is kept. Its folder."""
        assert self.node and not self._read_only and not self._folder.is_locked
        names = (FOLDER if number == 1 else f"{FOLDER}-{number}" for number in count(1))
        name = next(name for name in names if not self._disk.exists(name))
        folder = Folder(self._disk, name)
        identity = Identity(log_id=FOLDER, node_id=self.node)
        store = open_store(folder, create=identity, settings=self._settings)
        try:
            store.write([each for write in writes for each in translated(BUCKET, write)])
        finally:
            store.close()
        self._save(Deed(self.node, name, founded))
        self._folder = folder
        return name

    def begin(self, node: NodeId) -> None:
        """Whose directory it is, before anything is made in it."""
        assert node
        if not self.node:
            others = strange(self._disk)
            if others:
                raise NotEmpty(others)
            self._save(Deed(node))
        elif self.node != node:
            raise AnotherNode(self.node, node)

    def _save(self, deed: Deed) -> None:
        stored = _Stored(**msgspec.structs.asdict(deed), checksum=_checksum(deed))
        document.replace(self._disk, PATH, msgspec.json.format(msgspec.json.encode(stored)) + b"\n")
        self.deed = deed

    def close(self) -> None:
        """After a failure of the store the directory stays locked: only a new process may trust what it reads."""
        if not self._folder.is_locked and not self._buckets.is_locked:
            self._disk.unlock()


def found(disk: Disk, node: NodeId, cluster: ClusterId, life: int, *, settings: StoreSettings = SETTINGS) -> Home:
    """A new cluster, in a directory that has no atomic log; its first participant may start now."""
    disk.make_folder("")
    with ExitStack() as undo:
        home = undo.enter_context(Home(disk, settings=settings))
        home.begin(node)
        if home.deed.atomic:
            raise AlreadyThere(node, home.deed.atomic)
        home.replace(founding(cluster, Peer(node, life)), founded=True)
        undo.pop_all()
        return home


def join(disk: Disk, node: NodeId, *, settings: StoreSettings = SETTINGS) -> Home:
    """An empty atomic log, to be filled by those whom the participant joins; the one that is there, if it has joined
    before."""
    disk.make_folder("")
    with ExitStack() as undo:
        home = undo.enter_context(Home(disk, settings=settings))
        home.begin(node)
        if home.deed.founded:
            raise Founded(node)
        if not home.deed.atomic:
            home.replace((), founded=False)
        undo.pop_all()
        return home


def enter(disk: Disk, node: NodeId = "", *, settings: StoreSettings = SETTINGS) -> Home:
    """The directory of a participant that has founded or joined; of this one, if a name is given."""
    return _entered(disk, node, read_only=False, settings=settings)


def look_into(disk: Disk, *, settings: StoreSettings = SETTINGS) -> Home:
    """The same, to read what is there. Nothing is changed, and others may look at the same time."""
    return _entered(disk, "", read_only=True, settings=settings)


def deed(disk: Disk) -> Deed | None:
    """Whose directory it is, as far as can be said without locking it; None if it is nobody's."""
    return _read(disk)


def strange(disk: Disk) -> tuple[str, ...]:
    """What is in a directory that is nobody's, and speaks against making it somebody's."""
    return tuple(name for name in disk.list("") if name not in (f"{PATH}.new", MOUNTED))


def _entered(disk: Disk, node: NodeId, *, read_only: bool, settings: StoreSettings) -> Home:
    if not disk.exists(PATH):  # before a lock is made in a directory that may be anybody's
        raise NoHome
    with ExitStack() as undo:
        home = undo.enter_context(Home(disk, read_only=read_only, settings=settings))
        if not home.deed.atomic:
            raise NoHome
        if node not in ("", home.node):
            raise AnotherNode(home.node, node)
        undo.pop_all()
        return home


def _checksum(deed: Deed) -> str:
    fields = (deed.node, deed.atomic, str(deed.founded), str(deed.format))
    return f"{crc32c(chr(0).join(fields).encode()):08x}"


def _read(disk: Disk) -> Deed | None:
    data = document.read(disk, PATH)
    if data is None:
        return None
    try:
        found = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
        version = msgspec.json.decode(found["format"], type=int)
        if version != FORMAT:
            raise FormatMismatch(PATH, version, FORMAT)
        stored = msgspec.json.decode(data, type=_Stored)
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError) as error:
        raise DeedDamaged(str(error)) from error
    deed = Deed(stored.node, stored.atomic, stored.founded, stored.format)
    if stored.checksum != _checksum(deed):
        raise DeedDamaged("its checksum does not match")
    return deed
