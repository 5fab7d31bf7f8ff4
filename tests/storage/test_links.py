"""What a crash does to links: each name is there or not by itself, and all of them are one file."""

from random import Random

from sim.disk import SimDisk

SEEDS = range(300)


def linked(*, synced: bool) -> SimDisk:
    """A file in one folder that is on disk, with a second name in another."""
    disk = SimDisk()
    for folder in ("one", "other"):
        disk.make_folder(folder)
    file = disk.open("one/a", create=True)
    file.write(0, [b"kept"])
    file.sync()
    disk.sync_folder("one")
    disk.link("one/a", "other/b")
    if synced:
        disk.sync_folder("other")
    return disk


def outcomes(disk: SimDisk) -> list[dict[str, bytes]]:
    return [disk.crashed(disk.operation_count, Random(seed)).files() for seed in SEEDS]


def test_a_link_whose_folder_is_not_synced_may_be_lost_and_the_file_is_not() -> None:
    found = outcomes(linked(synced=False))
    assert {"one/a": b"kept"} in found and {"one/a": b"kept", "other/b": b"kept"} in found
    assert all(files["one/a"] == b"kept" and files.get("other/b", b"kept") == b"kept" for files in found)


def test_a_link_whose_folder_is_synced_lasts_though_the_first_name_goes() -> None:
    disk = linked(synced=True)
    assert all(files == {"one/a": b"kept", "other/b": b"kept"} for files in outcomes(disk))
    disk.remove("one/a")
    found = outcomes(disk)
    assert {"other/b": b"kept"} in found and all(files["other/b"] == b"kept" for files in found)


def test_a_file_is_the_same_under_all_its_names_after_a_crash() -> None:
    disk = linked(synced=True)
    disk.open("one/a").write(2, [b"changed" * 700])
    found = outcomes(disk)
    assert all(files["one/a"] == files["other/b"] for files in found)
    assert len({files["one/a"] for files in found}) > 2
    after = disk.crashed(disk.operation_count, Random(0))
    after.open("other/b").write(0, [b"again"])
    assert after.files()["one/a"] == after.files()["other/b"]


def test_a_sync_through_one_name_is_one_of_the_file() -> None:
    disk = linked(synced=True)
    disk.open("one/a").write(4, [b" and more"])
    disk.open("other/b").sync()
    assert all(set(files.values()) == {b"kept and more"} for files in outcomes(disk))


def test_a_file_takes_its_space_once() -> None:
    disk = linked(synced=True)
    disk.capacity = 10
    assert disk.free_bytes() == 6
    disk.remove("one/a")
    assert disk.free_bytes() == 6
    disk.remove("other/b")
    assert disk.free_bytes() == 10
