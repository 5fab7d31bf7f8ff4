"""A store in a folder is as good as one on a disk of its own."""

from pathlib import Path
from random import Random

import pytest

from hansard.storage.disk import RealDisk
from hansard.storage.errors import DirectoryLocked, SyncFailed
from hansard.storage.folder import Folder
from hansard.storage.store import open_store
from hansard.storage.write import Keep, Note
from sim.disk import SimDisk
from sim.history import IDENTITY, SETTINGS
from tests.storage.stores import fill, offsets


def test_two_stores_on_one_disk_do_not_know_of_each_other() -> None:
    disk = SimDisk()
    for name in ("one", "other"):
        store = open_store(Folder(disk, name), create=IDENTITY, settings=SETTINGS)
        fill(store, 0, 90 if name == "one" else 30)
        store.write([Note(0, name.encode()), Keep(0, "document", name.encode())])
        store.file()
        store.close()
    assert all(path.startswith(("one/", "other/")) for path in disk.files())
    disk = disk.crashed(disk.operation_count, Random(0))
    for name, end in (("one", 90), ("other", 30)):
        store = open_store(Folder(disk, name), expect=IDENTITY, settings=SETTINGS)
        assert offsets(store) == list(range(end)) and store.note(0) == name.encode()
        assert store.document(0, "document") == name.encode()


def test_on_the_real_disk_too(tmp_path: Path) -> None:
    disk = RealDisk(tmp_path)
    store = open_store(Folder(disk, "deep/down"), create=IDENTITY, settings=SETTINGS)
    fill(store, 0, 60)
    store.file()
    store.close()
    assert (tmp_path / "deep" / "down" / "identity.json").exists() and disk.list("") == ["deep"]
    assert offsets(open_store(Folder(disk, "deep/down"), settings=SETTINGS)) == list(range(60))
    assert Folder(disk, "deep").free_bytes() > 0


def test_a_folder_has_one_writer_or_many_readers() -> None:
    folder = Folder(SimDisk(), "one")
    store = open_store(folder, create=IDENTITY, settings=SETTINGS)
    with pytest.raises(DirectoryLocked):
        open_store(folder, read_only=True, settings=SETTINGS)
    store.close()
    assert not folder.is_locked
    readers = [open_store(folder, read_only=True, settings=SETTINGS) for _ in range(2)]
    with pytest.raises(DirectoryLocked):
        open_store(folder, settings=SETTINGS)
    for reader in readers:
        reader.close()
    assert not folder.is_locked


def test_a_failed_store_leaves_its_folder_locked() -> None:
    disk = SimDisk()
    folder = Folder(disk, "one")
    store = open_store(folder, create=IDENTITY, settings=SETTINGS)
    disk.fail_sync = disk.sync_count + 1
    with pytest.raises(SyncFailed):
        fill(store, 0, 3)
    store.close()
    assert folder.is_locked
