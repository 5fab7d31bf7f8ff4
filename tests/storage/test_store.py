"""What a store does when nothing goes wrong."""

from pathlib import Path
from threading import Thread

import pytest

from hansard.batch import build
from hansard.storage.disk import RealDisk
from hansard.storage.errors import (
    Corrupt,
    DirectoryLocked,
    FormatMismatch,
    IdentityMismatch,
    NoStore,
    OutOfOrder,
    ReadOnly,
)
from hansard.storage.identity import Identity
from hansard.storage.index import fingerprint
from hansard.storage.reading import Query
from hansard.storage.store import open_store
from sim.disk import SimDisk
from sim.history import SETTINGS
from tests.storage.stores import batch_at, fill, new_store, offsets, reopen, segment_files


def test_what_is_appended_is_read_in_order_from_journal_and_segments_alike() -> None:
    store = new_store()
    fill(store, 0, 300)
    assert store.log(0).filed.segments and store.log(0).tail, "the test wants both"
    assert offsets(store) == list(range(300))


def test_a_reopened_store_holds_the_same() -> None:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 200)
    fill(store, 0, 50, bucket=7)
    store.close()
    store = reopen(disk)
    assert store.buckets() == [0, 7]
    assert offsets(store) == list(range(200)) and offsets(store, bucket=7) == list(range(50))
    fill(store, 200, 210)
    assert store.bounds(0) == (0, 210)


def test_an_unknown_bucket_is_empty() -> None:
    store = new_store()
    assert store.bounds(5) == (0, 0) and offsets(store, bucket=5) == []
    page = store.read(5, Query())
    assert page.at_start and page.at_end


def test_the_batches_that_come_back_are_the_very_bytes_that_went_in() -> None:
    store = new_store()
    batch = batch_at(0, 20).compressed()
    store.append([(0, batch)])
    assert store.read(0, Query()).batches[0].to_bytes() == batch.to_bytes()
    store.file()
    assert store.read(0, Query()).batches[0].to_bytes() == batch.to_bytes()


def test_offsets_may_leave_gaps_but_nothing_goes_back() -> None:
    store = new_store()
    store.append([(0, batch_at(10, 5, epoch=3, time=1000))])
    store.append([(0, batch_at(100, 5, epoch=3, time=1000))])
    assert store.bounds(0) == (0, 105)
    assert offsets(store, Query(first=20)) == [100, 101, 102, 103, 104]
    for wrong in (batch_at(104, epoch=3, time=1000), batch_at(105, epoch=2, time=1000), batch_at(105, epoch=3, time=9)):
        with pytest.raises(OutOfOrder):
            store.append([(0, wrong)])
    with pytest.raises(OutOfOrder):  # also within one group, and then none of it is stored
        store.append([(0, batch_at(105, 5, epoch=3, time=1000)), (0, batch_at(109, epoch=3, time=1000))])
    assert store.bounds(0) == (0, 105)


@pytest.mark.parametrize("filed", [True, False])
def test_pages_are_limited_by_changes_and_bytes_and_miss_nothing(filed: bool) -> None:
    store = new_store()
    fill(store, 0, 90, by=9)
    if filed:
        store.file()
    for limits in (
        Query(changes_max=1),
        Query(changes_max=7),
        Query(bytes_max=400),
        Query(bytes_max=1, changes_max=50),
    ):
        query, seen = limits, list[int]()
        while True:
            page = store.read(0, query)
            assert page.change_count <= query.changes_max
            assert page.change_count == 1 or sum(batch.length for batch in page.batches) <= 3 * query.bytes_max
            seen += [change.offset for change in page.changes()]
            assert page.at_start == (page.first == 0)
            if page.at_end:
                break
            query = query._replace(first=page.end)
        assert seen == list(range(90)), limits


def test_a_descending_page_begins_with_the_newest_change() -> None:
    store = new_store()
    fill(store, 0, 300)
    page = store.read(0, Query(descending=True, changes_max=5))
    assert [change.offset for change in page.changes()] == [299, 298, 297, 296, 295]
    assert page.at_end and not page.at_start
    page = store.read(0, Query(descending=True, changes_max=5, end=page.first))
    assert [change.offset for change in page.changes()] == [294, 293, 292, 291, 290]


def test_a_scan_takes_as_many_changes_as_it_is_told_or_all() -> None:
    store = new_store()
    fill(store, 0, 300)
    assert len(offsets(store)) == 300
    assert offsets(store, Query(changes_max=100)) == list(range(100))


def test_a_read_between_two_offsets_gives_just_those() -> None:
    store = new_store()
    fill(store, 0, 300)
    for first, end in ((0, 1), (5, 20), (149, 151), (299, 300), (100, 100), (200, 100)):
        assert offsets(store, Query(first=first, end=end)) == list(range(first, end))
        down = store.read(0, Query(first=first, end=end, descending=True))
        assert [change.offset for change in down.changes()] == list(reversed(range(first, end)))


@pytest.mark.parametrize("descending", [False, True])
def test_tags_filter_by_any_and_by_all(descending: bool) -> None:
    store = new_store()
    fill(store, 0, 300)
    cases = {
        (b"ten",): range(0, 300, 10),
        (b"odd",): range(1, 300, 2),
        (b"ten", b"odd"): sorted({*range(0, 300, 10), *range(1, 300, 2)}),
        (b"absent",): [],
    }
    for tags, expected in cases.items():
        got = [
            change.offset
            for batch in store.scan(0, Query(tags=frozenset(tags), descending=descending))
            for change in batch.changes()
        ]
        assert sorted(got) == list(expected)
    both = Query(tags=frozenset([b"ten", b"even"]), every=True)
    assert offsets(store, both) == list(range(0, 300, 10))
    assert offsets(store, both._replace(tags=frozenset([b"ten", b"odd"]))) == []


@pytest.mark.parametrize("descending", [False, True])
def test_what_a_filter_leaves_is_gathered_within_an_epoch_and_not_across(descending: bool) -> None:
    """By its epoch a bucket that was split tells whether a batch may have others' changes in it."""
    store = new_store()
    for base, epoch in ((0, 1), (4, 1), (8, 2), (12, 3), (16, 3)):
        store.append([(0, batch_at(base, 4, epoch=epoch))])
    found = store.read(0, Query(tags=frozenset([b"even"]), descending=descending)).batches
    shown = sorted((batch.header.epoch, [change.offset for change in batch.changes()]) for batch in found)
    assert shown == [(1, [0, 2, 4, 6]), (2, [8, 10]), (3, [12, 14, 16, 18])]


def test_a_tagged_read_fetches_only_blocks_that_can_match() -> None:
    disk = SimDisk()
    store = new_store(disk)
    for base in range(0, 400, 4):
        tags = [["needle"] if base == 200 and place == 2 else ["hay"] for place in range(4)]
        batch = build(["k"] * 4, ["v" * 300] * 4, tags)
        store.append([(0, batch.stamped(epoch=1, base_offset=base, timestamp=base))])
    store.file()
    hits = [
        store.shelf.index(0, segment).blocks_with([fingerprint(b"needle")], every=False)
        for segment in store.log(0).filed.segments
    ]
    assert sum(len(found) for found in hits) == 1
    page = store.read(0, Query(tags=frozenset([b"needle"])))
    assert [change.offset for change in page.changes()] == [202]
    assert page.at_end, "what the index skips is settled too"


def test_a_time_finds_the_first_change_not_before_it() -> None:
    store = new_store()
    fill(store, 0, 300)
    for time, offset in ((0, 0), (1, 3), (30, 3), (31, 6), (1500, 150), (2970, 297), (2971, 300)):
        assert store.offset_since(0, time) == offset, time


def test_internal_batches_are_never_shown() -> None:
    store = new_store()
    fill(store, 0, 6)
    store.append([(0, batch_at(6, 2).marked_internal())])
    fill(store, 8, 10)
    assert offsets(store) == [0, 1, 2, 3, 4, 5, 8, 9]
    page = store.read(0, Query(descending=True, changes_max=3))
    assert [change.offset for change in page.changes()] == [9, 8, 5]


def test_reads_go_on_while_appends_and_filing_do(tmp_path: Path) -> None:
    store = open_store(RealDisk(tmp_path), create=Identity("x"), settings=SETTINGS)
    problems: list[str] = []

    def follow() -> None:
        while store.bounds(0)[1] < 600:
            end = store.bounds(0)[1]
            seen = offsets(store, Query(end=end))
            if seen != list(range(end)):
                problems.append(f"{len(seen)} of {end}")

    readers = [Thread(target=follow) for _ in range(2)]
    for reader in readers:
        reader.start()
    fill(store, 0, 600)
    for reader in readers:
        reader.join()
    assert not problems
    assert len(store.log(0).filed.segments) > 10, "the test wants filing"


def test_a_directory_is_locked_against_a_second_process() -> None:
    disk = SimDisk()
    store = new_store(disk)
    with pytest.raises(DirectoryLocked):
        reopen(disk)
    store.close()
    first, second = reopen(disk, read_only=True), reopen(disk, read_only=True)
    with pytest.raises(DirectoryLocked):
        reopen(disk)
    first.close()
    second.close()
    reopen(disk).close()


def test_a_read_only_store_changes_nothing() -> None:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 100)
    store.close()
    for path in segment_files(disk, ".index"):
        disk.remove(path)
    before = disk.operation_count
    store = reopen(disk, read_only=True)
    assert offsets(store) == list(range(100))
    with pytest.raises(ReadOnly):
        fill(store, 100, 101)
    store.close()
    assert disk.operation_count == before


def test_another_log_cluster_or_node_is_refused() -> None:
    disk = SimDisk()
    new_store(disk).close()
    for wrong in (Identity("another"), Identity("a log", "another"), Identity("a log", "a cluster", "another")):
        with pytest.raises(IdentityMismatch, match="another"):
            open_store(disk, expect=wrong)
    open_store(disk, expect=Identity("a log", "a cluster", "a node")).close()


def test_another_format_is_refused() -> None:
    disk = SimDisk()
    new_store(disk).close()
    file = disk.open("identity.json")
    text = file.read(0, file.size())
    file.write(0, [text.replace(b'"format": 1', b'"format": 2')])
    with pytest.raises(FormatMismatch, match="format 2"):
        reopen(disk)


def test_a_directory_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("mine")
    with pytest.raises(NoStore, match=r"precious\.txt"):
        open_store(RealDisk(tmp_path), create=Identity("x"))
    with pytest.raises(NoStore):
        open_store(RealDisk(tmp_path))
    assert (tmp_path / "precious.txt").read_text() == "mine"


def test_a_lost_manifest_is_damage_and_nothing_is_made_anew_over_the_data() -> None:
    disk = SimDisk()
    store = new_store(disk)
    fill(store, 0, 10)
    store.close()
    disk.remove("manifest")
    with pytest.raises(Corrupt, match="manifest"):
        open_store(disk, create=Identity("x"))


def test_a_log_that_began_later_can_be_read_from_the_first_offset() -> None:
    store = new_store()
    store.append([(0, batch_at(50, 5))])
    page = store.read(0, Query(first=0))
    assert [change.offset for change in page.changes()] == [50, 51, 52, 53, 54]
    assert page.at_start and page.at_end
