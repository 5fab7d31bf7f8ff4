"""The crash model: whatever may be lost is lost under some seed, and what is durable under none."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from random import Random

import pytest

from hansard.storage.errors import DiskFull, SyncFailed
from sim.disk import CHECKPOINT_OPERATIONS, SimDisk

SEEDS = range(1000)


def content(disk: SimDisk, path: str) -> bytes:
    file = disk.open(path, read_only=True)
    return file.read(0, file.size())


def durable(path: str, data: bytes) -> SimDisk:
    """A disk after four operations, none of which can be lost."""
    disk = SimDisk()
    disk.open(path, create=True).write(0, [data])
    disk.open(path).sync()
    disk.sync_folder("")
    return disk


def outcomes(disk: SimDisk, at: int | None = None) -> list[dict[str, bytes]]:
    """What is found after a crash, under each seed."""
    point = disk.operation_count if at is None else at
    return [disk.crashed(point, Random(seed)).files() for seed in SEEDS]


def workload(seed: int) -> tuple[SimDisk, list[tuple[int, dict[str, bytes]]]]:
    """A mixed run, and after which operation the disk was entirely durable, with its content then."""
    random, disk = Random(seed), SimDisk()
    disk.make_folder("folder")
    durable_at = [(disk.operation_count, disk.files())]
    for step in range(60):
        path = random.choice(("a", "b", "folder/c"))
        file = disk.open(path, create=True)
        match random.randrange(6):
            case 0 | 1 | 2:
                file.write(random.randrange(file.size() + 1), [random.randbytes(random.randrange(1, 3000))])
            case 3:
                file.truncate(random.randrange(file.size() + 1))
            case 4:
                disk.rename(path, f"{path}-{step % 3}")
            case _:
                disk.remove(path)
        if step % 7 == 6:
            for name in disk.files():
                disk.open(name).sync()
            disk.sync_folder("folder")
            disk.sync_folder("")
            durable_at.append((disk.operation_count, disk.files()))
    return disk, durable_at


def test_synced_bytes_under_a_synced_name_survive_every_crash() -> None:
    for seed in range(10):
        disk, durable_at = workload(seed)
        for at, expected in durable_at:
            for crash_seed in range(20):
                assert disk.crashed(at, Random(crash_seed)).files() == expected


def test_what_was_durable_stays_while_other_files_change() -> None:
    disk = durable("safe", b"s" * 5000)
    other = disk.open("other", create=True)
    for step in range(40):
        other.write(step * 700, [b"x" * 1000])
        if step % 5 == 0:
            disk.rename("other", "another")
            disk.rename("another", "other")
    start = disk.operation_count - 40
    for at in range(start, disk.operation_count + 1):
        for seed in range(10):
            assert content(disk.crashed(at, Random(seed)), "safe") == b"s" * 5000


def test_a_crash_after_the_last_sync_of_nothing_else_changes_nothing() -> None:
    disk = durable("a", b"kept")
    assert outcomes(disk) == [{"a": b"kept"}] * len(SEEDS)


def test_unsynced_overwrites_are_kept_lost_and_reordered() -> None:
    disk = durable("a", b"." * 2048)
    file = disk.open("a")
    for number in range(4):
        file.write(number * 512, [b"%d" % number * 512])
    disk.sync_folder("")  # so that the crash interrupts no write
    found = {bytes(result["a"][512 * number] for number in range(4)) for result in outcomes(disk)}
    assert found >= {b"0123", b"....", b"...3", b".123", b"0.2.", b"01.."}


def test_each_extreme_comes_often() -> None:
    disk = durable("a", b"." * 4)
    file = disk.open("a")
    for number in range(4):
        file.write(number, [b"%d" % number])
    disk.sync_folder("")
    found = [result["a"] for result in outcomes(disk)]
    for extreme in (b"0123", b"....", b"...3", b".123"):
        assert found.count(extreme) > len(SEEDS) / 20


def test_a_torn_write_keeps_any_of_its_sectors() -> None:
    disk = durable("a", b"." * 2048)
    disk.open("a").write(0, [b"x" * 2048])
    disk.sync_folder("")
    results = [result["a"] for result in outcomes(disk)]
    sectors = {bytes(result[512 * number] for number in range(4)) for result in results}
    assert sectors >= {b"xxxx", b"....", b"x...", b"xxx.", b"...x", b".xxx", b"x.x."}
    assert any(result.count(b"x") % 512 for result in results), "no sector in part"


def test_the_write_that_the_crash_interrupts_is_often_partial() -> None:
    disk = durable("a", b"." * 3000)
    disk.open("a").write(100, [b"x" * 2000])
    results = [result["a"] for result in outcomes(disk)]
    partial = [result for result in results if 0 < result.count(b"x") < 2000]
    assert len(partial) > len(SEEDS) / 4
    assert any(result.count(b"x") == 2000 for result in results)
    assert all(len(result) == 3000 and result[:100] + result[2100:] == b"." * 1000 for result in results)


def test_a_lost_extension_leaves_zeros_or_a_shorter_file() -> None:
    disk = durable("a", b"." * 600)
    file = disk.open("a")
    file.write(600, [b"x" * 600])
    file.write(1200, [b"y" * 600])
    disk.sync_folder("")
    results = [result["a"] for result in outcomes(disk)]
    assert all(result[:600] == b"." * 600 for result in results)
    old = b"." * 600
    for expected in (old, old + bytes(600), old + bytes(1200), old + bytes(600) + b"y" * 600):
        assert expected in results
    lengths = {len(result) for result in results}
    assert lengths - {600, 1200, 1800}, "no size in between"


def test_an_allocation_is_a_write_of_zeros() -> None:
    disk = durable("a", b".")
    disk.open("a").allocate(100_000)
    assert disk.operation_count == 4 + 1
    lengths = {len(result["a"]) for result in outcomes(disk)}
    assert lengths >= {1, 100_000}
    assert all(not any(result["a"][1:]) for result in outcomes(disk))


def test_an_unsynced_truncation_may_be_undone() -> None:
    disk = durable("a", b"x" * 1000)
    disk.open("a").truncate(10)
    assert {len(result["a"]) for result in outcomes(disk)} == {10, 1000}
    disk.open("a").sync()
    assert {len(result["a"]) for result in outcomes(disk)} == {10}


def test_a_synced_file_whose_name_is_not_synced_may_be_gone() -> None:
    disk = SimDisk()
    disk.open("a", create=True).write(0, [b"synced"])
    disk.open("a").sync()
    found = outcomes(disk)
    assert {} in found and {"a": b"synced"} in found
    assert all(result in ({}, {"a": b"synced"}) for result in found)
    disk.sync_folder("")
    assert all(result == {"a": b"synced"} for result in outcomes(disk))


def test_a_synced_name_may_be_of_an_empty_file() -> None:
    disk = SimDisk()
    disk.open("a", create=True).write(0, [b"unsynced"])
    disk.sync_folder("")
    assert {"a": b""} in outcomes(disk)


def test_an_unsynced_rename_happened_wholly_or_not_at_all() -> None:
    disk = durable("target", b"old")
    disk.open("new", create=True).write(0, [b"new"])
    disk.open("new").sync()
    disk.sync_folder("")
    disk.rename("new", "target")
    before, after = {"target": b"old", "new": b"new"}, {"target": b"new"}
    found = outcomes(disk)
    assert before in found and after in found
    assert all(result in (before, after) for result in found)
    disk.sync_folder("")
    assert all(result == after for result in outcomes(disk))


def test_a_rename_between_folders_needs_both_synced() -> None:
    disk = durable("a", b"kept")
    disk.make_folder("folder")
    disk.rename("a", "folder/b")
    before, after = {"a": b"kept"}, {"folder/b": b"kept"}
    for folder in ("", "folder"):
        found = outcomes(disk)
        assert before in found and after in found
        assert all(result in (before, after) for result in found)
        disk.sync_folder(folder)
    assert all(result == after for result in outcomes(disk))


def test_rotation_never_loses_both_names_of_a_file() -> None:
    disk = durable("current", b"1")
    disk.rename("current", "previous")
    disk.open("current", create=True).write(0, [b"2"])
    for result in outcomes(disk):
        assert result.get("previous", result.get("current")) == b"1"


def test_a_removed_file_may_be_back_until_its_folder_is_synced() -> None:
    disk = durable("a", b"kept")
    disk.remove("a")
    found = outcomes(disk)
    assert {} in found and {"a": b"kept"} in found
    disk.sync_folder("")
    assert all(result == {} for result in outcomes(disk))


def test_changes_of_names_reach_the_disk_in_any_order() -> None:
    disk = durable("a", b"")
    disk.open("b", create=True)
    disk.remove("a")
    names = {tuple(result) for result in outcomes(disk)}
    assert names == {("a",), ("a", "b"), (), ("b",)}


def test_folders_are_durable_at_once() -> None:
    disk = SimDisk()
    disk.make_folder("a/b")
    assert all(disk.crashed(1, Random(seed)).exists("a/b") for seed in SEEDS)
    assert not disk.crashed(0, Random(0)).exists("a")


def test_what_is_found_after_a_crash_is_durable_and_unlocked() -> None:
    disk, _ = workload(1)
    disk.lock(shared=False)
    found = disk.crashed(disk.operation_count // 2, Random(1))
    found.lock(shared=False)
    assert found.operation_count == 0
    assert outcomes(found) == [found.files()] * len(SEEDS)


def test_every_mutation_is_one_operation_and_nothing_else_is() -> None:
    disk = SimDisk()
    mutations: list[Callable[[], object]] = [
        lambda: disk.make_folder("f/g"),
        lambda: disk.open("f/a", create=True),
        lambda: disk.open("f/a").write(0, [b"x", b"y"]),
        lambda: disk.open("f/a").allocate(5000),
        lambda: disk.open("f/a").truncate(7),
        lambda: disk.open("f/a").sync(),
        lambda: disk.rename("f/a", "f/b"),
        lambda: disk.sync_folder("f"),
        lambda: disk.flip("f/b", 3, 1),
        lambda: disk.remove("f/b"),
    ]
    for count, mutation in enumerate(mutations, start=1):
        mutation()
        assert disk.operation_count == count
    disk.make_folder("f")
    disk.open("f/c", create=True)
    disk.open("f/c", create=True).allocate(0)
    disk.files()
    assert disk.operation_count == len(mutations) + 1


def test_the_past_is_found_as_it_was_whenever_it_is_asked_for() -> None:
    disk, _ = workload(2)
    last = disk.operation_count
    assert last > 3 * CHECKPOINT_OPERATIONS
    fresh = [workload(2)[0].restarted(at).files() for at in range(last, -1, -1)]
    disk.open("later", create=True).write(0, [b"x" * 5000])
    for found in (disk.restarted(last), disk.crashed(last, Random(0))):
        found.open("later", create=True).write(0, [b"y" * 5000])
    assert [disk.restarted(at).files() for at in range(last, -1, -1)] == fresh
    assert content(disk, "later") == b"x" * 5000


def test_disks_found_after_a_crash_or_a_restart_go_their_own_way() -> None:
    disk = durable("a", b"old")
    disk.open("a").write(0, [b"new"])
    disk.open("a").sync()
    found = [disk.restarted(disk.operation_count), disk.crashed(disk.operation_count, Random(0))]
    disk.open("a").write(0, [b"own"])
    assert [other.files() for other in found] == [{"a": b"new"}] * 2
    found[0].open("a").write(0, [b"her"])
    assert [disk.files(), found[1].files()] == [{"a": b"own"}, {"a": b"new"}]


def test_a_restart_shows_everything_and_keeps_it_in_doubt() -> None:
    disk = durable("a", b"old")
    disk.open("a").write(0, [b"new"])
    disk.open("b", create=True).write(0, [b"b"])
    found = disk.restarted(disk.operation_count)
    assert found.files() == {"a": b"new", "b": b"b"}
    results = outcomes(found)
    assert {"a": b"old"} in results and {"a": b"new", "b": b"b"} in results
    for path in ("a", "b"):
        found.open(path).sync()
    found.sync_folder("")
    assert outcomes(found) == [{"a": b"new", "b": b"b"}] * len(SEEDS)


def test_a_full_disk_keeps_a_part_and_says_so() -> None:
    disk = SimDisk(capacity=1000)
    file = disk.open("a", create=True)
    file.write(0, [b"x" * 900])
    assert disk.free_bytes() == 100
    with pytest.raises(DiskFull) as caught:
        file.write(900, [b"y" * 120])
    assert caught.value.wanted_bytes == 120
    assert content(disk, "a") == b"x" * 900 + b"y" * 60
    with pytest.raises(DiskFull):
        file.allocate(2000)
    assert disk.free_bytes() == 0


def test_a_full_disk_takes_overwrites_and_has_room_after_a_removal() -> None:
    disk = SimDisk(capacity=1000)
    file = disk.open("a", create=True)
    file.allocate(1000)
    file.write(500, [b"x" * 500])
    other = disk.open("b", create=True)
    with pytest.raises(DiskFull):
        other.write(0, [b"y"])
    assert other.size() == 0
    disk.remove("a")
    other.write(0, [b"y" * 1000])
    disk.capacity = None
    other.write(1000, [b"z"])


def test_a_failed_sync_leaves_its_data_readable_and_no_later_sync_covers_it() -> None:
    disk = durable("a", b"." * 2)
    file = disk.open("a")
    file.write(0, [b"x"])
    disk.fail_sync = disk.sync_count + 1
    with pytest.raises(SyncFailed):
        file.sync()
    file.write(1, [b"y"])
    file.sync()
    assert content(disk, "a") == b"xy"
    assert {result["a"] for result in outcomes(disk)} == {b".y", b"xy"}
    again = disk.restarted(disk.operation_count)
    again.open("a").sync()
    assert {result["a"] for result in outcomes(again)} == {b".y", b"xy"}
    again.open("a").write(0, [b"x"])
    again.open("a").sync()
    assert {result["a"] for result in outcomes(again)} == {b"xy"}


def test_a_failed_sync_of_a_folder_leaves_its_names_in_doubt() -> None:
    disk = SimDisk()
    disk.open("a", create=True)
    disk.fail_sync = 1
    with pytest.raises(SyncFailed):
        disk.sync_folder("")
    assert {tuple(result) for result in outcomes(disk)} == {(), ("a",)}


def test_flipped_bits_are_durable_from_then_on() -> None:
    disk = durable("a", b"\x00\x00")
    before = disk.operation_count
    disk.flip("a", 1, 0x81)
    assert content(disk, "a") == b"\x00\x81"
    assert {result["a"] for result in outcomes(disk)} == {b"\x00\x81"}
    assert {result["a"] for result in outcomes(disk, before)} == {b"\x00\x00"}
    disk.open("a").write(0, [b"\x01"])
    disk.flip("a", 1, 0x80)
    assert {result["a"] for result in outcomes(disk)} == {b"\x00\x01", b"\x01\x01"}


def fingerprint() -> str:
    """Of many crashes of one run: equal wherever and however often it is taken."""
    digest = hashlib.sha256()
    disk, _ = workload(3)
    for at in range(disk.operation_count + 1):
        digest.update(repr(disk.crashed(at, Random(at)).files()).encode())
    return digest.hexdigest()


def test_the_same_seed_gives_the_same_crash_in_every_process() -> None:
    program = "from tests.sim.test_disk import fingerprint; print(fingerprint())"
    for hash_seed in ("0", "1"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-c", program]
        run = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        assert run.stdout.strip() == fingerprint()
