"""The contract of the seam, for the real disk and the simulated one alike, and what only a real one does."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from hansard.storage.disk import IOV_MAX, Buffer, Disk, RealDisk
from hansard.storage.errors import DirectoryLocked, DiskFull, StorageError, SyncFailed
from sim.disk import SimDisk


@pytest.fixture(params=["real", "simulated"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Disk:
    return RealDisk(tmp_path) if request.param == "real" else SimDisk()


def written(disk: Disk, path: str, data: bytes) -> None:
    file = disk.open(path, create=True)
    file.write(0, [data])
    file.close()


def content(disk: Disk, path: str) -> bytes:
    file = disk.open(path, read_only=True)
    data = file.read(0, file.size())
    file.close()
    return data


def test_chunks_of_every_kind_are_written_one_after_the_other(disk: Disk) -> None:
    file = disk.open("a", create=True)
    file.write(3, [b"one", b"", bytearray(b"two"), memoryview(b"three")])
    assert file.read(0, 100) == b"\0\0\0onetwothree"
    assert file.size() == 14


def test_a_view_counts_in_bytes_whatever_its_items(disk: Disk) -> None:
    file = disk.open("a", create=True)
    file.write(0, [memoryview(bytes(range(16))).cast("Q"), b"end"])
    assert file.read(0, 100) == bytes(range(16)) + b"end"


def test_more_chunks_than_one_call_takes_are_all_written(disk: Disk) -> None:
    chunks: list[Buffer] = [number.to_bytes(2) for number in range(2 * IOV_MAX + 7)]
    file = disk.open("a", create=True)
    file.write(1, chunks)
    assert file.read(1, 2 * len(chunks)) == b"".join(chunks)
    assert file.size() == 1 + 2 * len(chunks)


def test_writing_nothing_changes_nothing(disk: Disk) -> None:
    file = disk.open("a", create=True)
    file.write(10, [])
    file.write(10, [b"", bytearray()])
    assert file.size() == 0


def test_a_read_is_short_only_at_the_end(disk: Disk) -> None:
    file = disk.open("a", create=True)
    file.write(0, [b"0123456789"])
    assert file.read(2, 3) == b"234"
    assert file.read(8, 3) == b"89"
    assert file.read(10, 1) == b""
    assert file.read(99, 1) == b""


def test_allocation_adds_zeros_and_keeps_what_is_there(disk: Disk) -> None:
    file = disk.open("a", create=True)
    file.write(0, [b"kept"])
    file.allocate(2_500_000)
    assert file.size() == 2_500_000
    assert file.read(0, 2_500_000) == b"kept" + bytes(2_499_996)
    file.allocate(10)
    assert file.size() == 2_500_000


def test_truncation_cuts_and_grows(disk: Disk) -> None:
    file = disk.open("a", create=True)
    file.write(0, [b"0123456789"])
    file.truncate(4)
    file.truncate(6)
    assert file.read(0, 100) == b"0123\0\0"


def test_a_missing_file_is_created_only_when_asked(disk: Disk) -> None:
    with pytest.raises(FileNotFoundError):
        disk.open("a")
    assert not disk.exists("a")
    disk.open("a", create=True).close()
    assert disk.exists("a")
    assert content(disk, "a") == b""


def test_create_keeps_what_is_there(disk: Disk) -> None:
    written(disk, "a", b"kept")
    disk.open("a", create=True).close()
    assert content(disk, "a") == b"kept"


def test_opening_creates_no_folder(disk: Disk) -> None:
    with pytest.raises(FileNotFoundError):
        disk.open("folder/a", create=True)


def test_a_folder_is_no_file(disk: Disk) -> None:
    disk.make_folder("folder")
    with pytest.raises(IsADirectoryError):
        disk.open("folder")


def test_a_read_only_file_refuses_writes(disk: Disk) -> None:
    written(disk, "a", b"kept")
    file = disk.open("a", read_only=True)
    with pytest.raises(OSError, match="Errno 9"):
        file.write(0, [b"lost"])
    assert file.read(0, 4) == b"kept"


def test_a_closed_file_refuses_everything_but_closing(disk: Disk) -> None:
    file = disk.open("a", create=True)
    file.close()
    file.close()
    with pytest.raises(OSError, match="Errno 9"):
        file.read(0, 1)


def test_names_are_listed_sorted_with_folders_among_them(disk: Disk) -> None:
    disk.make_folder("b/deep/deeper")
    written(disk, "c", b"")
    written(disk, "a", b"")
    written(disk, "b/x", b"")
    assert disk.list("") == ["a", "b", "c"]
    assert disk.list("b") == ["deep", "x"]
    assert disk.list("b/deep/deeper") == []


def test_a_missing_folder_lists_nothing(disk: Disk) -> None:
    assert disk.list("missing") == []


def test_making_a_folder_that_is_there_is_harmless(disk: Disk) -> None:
    disk.make_folder("a/b")
    written(disk, "a/b/c", b"kept")
    disk.make_folder("a/b")
    disk.make_folder("")
    assert content(disk, "a/b/c") == b"kept"


def test_removal_takes_the_name_and_leaves_open_files_working(disk: Disk) -> None:
    written(disk, "a", b"old")
    file = disk.open("a")
    disk.remove("a")
    assert not disk.exists("a")
    file.write(3, [b" and new"])
    file.sync()
    assert file.read(0, 100) == b"old and new"
    with pytest.raises(FileNotFoundError):
        disk.remove("a")


def test_a_name_used_again_is_another_file(disk: Disk) -> None:
    written(disk, "a", b"old")
    old = disk.open("a")
    disk.remove("a")
    written(disk, "a", b"new")
    assert old.read(0, 100) == b"old"
    assert content(disk, "a") == b"new"


def test_a_rename_replaces_the_target_and_open_files_follow(disk: Disk) -> None:
    disk.make_folder("folder")
    written(disk, "a", b"new")
    written(disk, "folder/b", b"old")
    old, new = disk.open("folder/b"), disk.open("a")
    disk.rename("a", "folder/b")
    assert not disk.exists("a")
    assert old.read(0, 100) == b"old"
    new.write(3, [b"er"])
    assert content(disk, "folder/b") == b"newer"


def test_a_rename_needs_its_source_and_the_folder_of_its_target(disk: Disk) -> None:
    written(disk, "a", b"kept")
    with pytest.raises(FileNotFoundError):
        disk.rename("missing", "a")
    with pytest.raises(FileNotFoundError):
        disk.rename("a", "missing/a")
    disk.rename("a", "a")
    assert content(disk, "a") == b"kept"


def test_a_link_is_the_same_file_under_another_name(disk: Disk) -> None:
    disk.make_folder("folder")
    written(disk, "a", b"old")
    disk.link("a", "folder/b")
    disk.open("folder/b").write(3, [b" and new"])
    assert content(disk, "a") == content(disk, "folder/b") == b"old and new"
    disk.remove("a")
    assert not disk.exists("a") and content(disk, "folder/b") == b"old and new"


def test_a_link_needs_its_source_a_folder_and_a_free_name(disk: Disk) -> None:
    written(disk, "a", b"a")
    written(disk, "b", b"b")
    with pytest.raises(FileNotFoundError):
        disk.link("missing", "c")
    with pytest.raises(FileNotFoundError):
        disk.link("a", "missing/c")
    with pytest.raises(FileExistsError):
        disk.link("a", "b")
    assert content(disk, "b") == b"b" and disk.list("") == ["a", "b"]


def test_a_name_of_a_file_is_replaced_and_the_others_stay(disk: Disk) -> None:
    written(disk, "a", b"old")
    disk.link("a", "b")
    written(disk, "new", b"new")
    disk.rename("new", "a")
    assert content(disk, "a") == b"new" and content(disk, "b") == b"old"


def test_a_rename_between_two_names_of_one_file_does_nothing(disk: Disk) -> None:
    written(disk, "a", b"kept")
    disk.link("a", "b")
    disk.rename("a", "b")
    assert content(disk, "a") == content(disk, "b") == b"kept"


def test_syncing_a_missing_folder_is_an_error(disk: Disk) -> None:
    disk.sync_folder("")
    with pytest.raises(FileNotFoundError):
        disk.sync_folder("missing")


def test_an_exclusive_lock_keeps_everybody_else_out(disk: Disk) -> None:
    disk.lock(shared=False)
    for shared in (False, True):
        with pytest.raises(DirectoryLocked):
            disk.lock(shared=shared)
    disk.unlock()
    disk.lock(shared=False)


def test_shared_locks_share_and_keep_an_exclusive_one_out(disk: Disk) -> None:
    disk.lock(shared=True)
    disk.lock(shared=True)
    with pytest.raises(DirectoryLocked):
        disk.lock(shared=False)
    disk.unlock()
    with pytest.raises(DirectoryLocked):
        disk.lock(shared=False)
    disk.unlock()
    disk.unlock()
    disk.lock(shared=False)


def test_the_lock_is_not_among_the_names(disk: Disk) -> None:
    disk.lock(shared=False)
    assert disk.list("") == []


def test_there_is_room_on_a_new_disk(disk: Disk) -> None:
    assert disk.free_bytes() > 0


def test_errors_survive_pickling_and_say_what_happened() -> None:
    errors: list[StorageError] = [DiskFull("a", 7), SyncFailed("a"), DirectoryLocked("a", 42)]
    for error in errors:
        copy = pickle.loads(pickle.dumps(error))
        assert (type(copy), vars(copy), str(copy)) == (type(error), vars(error), str(error))
    assert str(DirectoryLocked("data", 42)) == "data is in use by process 42"
    assert str(DirectoryLocked("data", None)) == "data is in use by another process"


def test_a_real_root_is_made_with_its_parents(tmp_path: Path) -> None:
    disk = RealDisk(tmp_path / "new" / "root")
    assert not disk.exists("")
    disk.make_folder("")
    written(disk, "a", b"here")
    assert (tmp_path / "new" / "root" / "a").read_bytes() == b"here"


def test_a_real_file_in_the_way_of_a_folder_is_an_error(tmp_path: Path) -> None:
    disk = RealDisk(tmp_path)
    written(disk, "a", b"")
    with pytest.raises(FileExistsError):
        disk.make_folder("a")


def test_a_second_process_is_told_who_holds_the_directory(tmp_path: Path) -> None:
    disk = RealDisk(tmp_path)
    disk.lock(shared=False)
    attempt = (
        "import sys; from pathlib import Path\n"
        "from hansard.storage.disk import RealDisk\n"
        "from hansard.storage.errors import DirectoryLocked\n"
        "try: RealDisk(Path(sys.argv[1])).lock(shared=sys.argv[2] == 'shared')\n"
        "except DirectoryLocked as locked: print(locked.holder)\n"
        "else: print('had it')\n"
    )

    def outcome(kind: str) -> str:
        command = [sys.executable, "-c", attempt, str(tmp_path), kind]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    assert outcome("exclusive") == outcome("shared") == str(os.getpid())
    disk.unlock()
    assert outcome("exclusive") == "had it"


def test_shared_holders_are_not_blamed_on_an_earlier_exclusive_one(tmp_path: Path) -> None:
    earlier, reader, writer = RealDisk(tmp_path), RealDisk(tmp_path), RealDisk(tmp_path)
    earlier.lock(shared=False)
    earlier.unlock()
    reader.lock(shared=True)
    with pytest.raises(DirectoryLocked) as caught:
        writer.lock(shared=False)
    assert caught.value.holder is None
    reader.unlock()
    writer.lock(shared=False)


def test_a_directory_nobody_can_write_is_shared_without_a_lock() -> None:
    """Where the system shows its devices, not even root may create a file."""
    system = Path("/sys")
    if not system.is_dir():
        pytest.skip("needs a directory in which nobody may create a file")
    disk = RealDisk(system)
    disk.lock(shared=True)
    assert disk.list("")
    disk.unlock()
    with pytest.raises(OSError, match="lock"):
        disk.lock(shared=False)


def test_a_full_device_is_named() -> None:
    device = Path("/dev")
    if not (device / "full").exists():
        pytest.skip("needs the device that is always full")
    file = RealDisk(device).open("full")
    with pytest.raises(DiskFull) as caught:
        file.write(0, [b"four", b"more"])
    assert caught.value.wanted_bytes == 8
    file.close()


def test_what_cannot_be_synced_is_named(tmp_path: Path) -> None:
    """A pipe has nothing to sync to, which the system reports as an error."""
    os.mkfifo(tmp_path / "pipe")
    file = RealDisk(tmp_path).open("pipe")
    with pytest.raises(SyncFailed):
        file.sync()
    file.close()


def test_others_sync_a_file_by_a_descriptor_that_was_opened_for_them(tmp_path: Path) -> None:
    """One that was only doubled would share with ours what the system has told of failed writes."""
    path = tmp_path / "f"
    file = RealDisk(tmp_path).open("f", create=True)
    second = file.descriptor
    assert second is not None and file.descriptor == second
    file.write(0, [b"something"])
    os.fdatasync(second)
    os.lseek(second, 5, os.SEEK_SET)
    (other,) = [each for each in _open_now(path) if each != second]
    assert os.lseek(other, 0, os.SEEK_CUR) == 0, "each has a place of its own in it"
    file.close()
    assert not _open_now(path), "both are closed"


def _open_now(path: Path) -> list[int]:
    """The descriptors of this process that are open for a file."""
    return [int(link.name) for link in Path("/proc/self/fd").iterdir() if link.exists() and link.samefile(path)]
