"""Whose directory it is: founding and joining, once and again, and another atomic log in place of the first."""

from pathlib import Path
from random import Random

import pytest

from hansard.consensus.cluster import ClusterId, Peer
from hansard.consensus.content import Begin, Council, Entry
from hansard.consensus.disk import recovered
from hansard.consensus.effect import Keep, Put
from hansard.consensus.errors import (
    AlreadyThere,
    AnotherNode,
    ConsensusError,
    DeedDamaged,
    Founded,
    NoHome,
    NotEmpty,
)
from hansard.consensus.home import BUCKET, PATH, Deed, Home, enter, found, join, look_into
from hansard.consensus.recovered import Recovered, decode_note, founding
from hansard.storage.disk import RealDisk
from hansard.storage.errors import DirectoryLocked, FormatMismatch, IdentityMismatch, NoStore, SyncFailed
from sim.disk import SimDisk
from tests.consensus.atomic import TINY, write

CLUSTER = ClusterId("7f3a")
LIFE = 11


def found_tiny(disk: SimDisk, node: str = "a") -> Home:
    return found(disk, node, CLUSTER, LIFE, settings=TINY)


def join_tiny(disk: SimDisk, node: str = "a") -> Home:
    return join(disk, node, settings=TINY)


def held(home: Home) -> Recovered:
    store = home.atomic()
    try:
        return recovered(store, BUCKET)
    finally:
        store.close()


FOUNDED = (Entry(0, Council((Peer("a", LIFE),))),)


def test_a_founder_has_a_log_that_says_that_it_alone_votes() -> None:
    disk = SimDisk()
    with found_tiny(disk) as home:
        assert home.deed == Deed("a", "atomic", founded=True)
    with enter(disk, "a", settings=TINY) as home:
        there = held(home)
    assert there.entries == FOUNDED and decode_note(there.note).cluster == CLUSTER
    assert decode_note(there.note).life == LIFE


def test_founding_where_there_is_an_atomic_log_is_refused() -> None:
    founded, joined = SimDisk(), SimDisk()
    found_tiny(founded).close()
    join_tiny(joined).close()
    for disk in (founded, joined):
        before = disk.files()
        with pytest.raises(AlreadyThere, match="start it"):
            found_tiny(disk)
        assert disk.files() == before
        enter(disk, settings=TINY).close()


def test_who_joins_has_an_empty_log_and_may_join_again() -> None:
    disk = SimDisk()
    with join_tiny(disk) as home:
        assert home.deed == Deed("a", "atomic", founded=False)
        assert held(home) == Recovered(entries=())
        store = home.atomic()
        write(store, Put(0, FOUNDED))
        store.close()
    with join_tiny(disk) as home:
        assert held(home).entries == FOUNDED, "what it has learnt meanwhile"


def test_who_has_founded_does_not_join() -> None:
    disk = SimDisk()
    found_tiny(disk).close()
    with pytest.raises(Founded, match="start it without joining"):
        join_tiny(disk)
    with enter(disk, settings=TINY) as home:
        assert held(home).entries == FOUNDED


def test_a_directory_is_one_participants() -> None:
    disk = SimDisk()
    join_tiny(disk).close()
    for attempt in (join_tiny, found_tiny, enter):
        with pytest.raises(AnotherNode, match="directory of a, not of b"):
            attempt(disk, "b")
    enter(disk, "a", settings=TINY).close()


def test_nobody_is_at_home_where_nothing_was_made(tmp_path: Path) -> None:
    for look in (enter, look_into):
        with pytest.raises(NoHome, match="found a cluster in it, or join one"):
            look(RealDisk(tmp_path / "no such"))
        with pytest.raises(NoHome):
            look(RealDisk(tmp_path))
    assert list(tmp_path.iterdir()) == [], "not even a lock"


@pytest.mark.parametrize("name", ["identity.json", "atomic/manifest"])
def test_a_directory_that_holds_something_is_not_taken(name: str) -> None:
    disk = SimDisk()
    disk.make_folder("atomic")
    disk.open(name, create=True)
    for attempt in (found_tiny, join_tiny):
        with pytest.raises(NotEmpty, match="atomic"):
            attempt(disk)
    assert not disk.exists(PATH)


def test_a_directory_in_use_is_refused(tmp_path: Path) -> None:
    with join(RealDisk(tmp_path), "a"):
        for look in (enter, look_into):
            with pytest.raises(DirectoryLocked):
                look(RealDisk(tmp_path))
    with look_into(RealDisk(tmp_path)), look_into(RealDisk(tmp_path)), pytest.raises(DirectoryLocked):
        enter(RealDisk(tmp_path))
    enter(RealDisk(tmp_path)).close()


def test_whoever_looks_changes_nothing() -> None:
    disk = SimDisk()
    found_tiny(disk).close()
    before = disk.operation_count
    with look_into(disk, settings=TINY) as home:
        assert held(home).entries == FOUNDED
    assert disk.operation_count == before


def test_a_lost_atomic_log_is_not_made_anew_in_silence(tmp_path: Path) -> None:
    join(RealDisk(tmp_path), "a").close()
    (tmp_path / "atomic").rename(tmp_path / "elsewhere")
    with join(RealDisk(tmp_path), "a") as home, pytest.raises(NoStore):
        home.atomic()


def test_the_atomic_log_of_another_is_noticed(tmp_path: Path) -> None:
    for node in ("a", "b"):
        join(RealDisk(tmp_path / node), node).close()
    (tmp_path / "a" / "atomic").rename(tmp_path / "a" / "own")
    (tmp_path / "b" / "atomic").rename(tmp_path / "a" / "atomic")
    with enter(RealDisk(tmp_path / "a")) as home, pytest.raises(IdentityMismatch):
        home.atomic()


def test_damage_to_the_name_is_noticed() -> None:
    disk = SimDisk()
    join_tiny(disk).close()
    content = disk.files()[PATH]
    disk.flip(PATH, content.index(b'"a"') + 1, 3)
    with pytest.raises(DeedDamaged, match="checksum"):
        enter(disk, settings=TINY)
    disk.flip(PATH, 0, 1)
    with pytest.raises(DeedDamaged):
        enter(disk, settings=TINY)


def test_another_format_is_refused() -> None:
    disk = SimDisk()
    join_tiny(disk).close()
    place = disk.files()[PATH].index(b'"format": 1') + len(b'"format": ')
    disk.flip(PATH, place, 3)
    with pytest.raises(FormatMismatch):
        enter(disk, settings=TINY)


def test_after_a_failure_of_the_store_the_directory_stays_locked() -> None:
    disk = SimDisk()
    home = join_tiny(disk)
    store = home.atomic()
    disk.fail_sync = disk.sync_count + 1
    with pytest.raises(SyncFailed):
        write(store, Put(0, FOUNDED))
    store.close()
    home.close()
    with pytest.raises(DirectoryLocked):
        enter(disk, settings=TINY)


# Another one instead.

OTHER = (Entry(3, Begin()), Entry(4, Begin()))


def test_another_log_takes_the_place_of_the_first_which_is_kept() -> None:
    disk = SimDisk()
    with found_tiny(disk) as home:
        before = {path: content for path, content in disk.files().items() if path.startswith("atomic/")}
        assert home.replace([Put(0, OTHER)], founded=False) == "atomic-2"
        assert held(home).entries == OTHER
        assert home.replace([], founded=False) == "atomic-3"
    with join_tiny(disk) as home:
        assert held(home).entries == ()
    assert {path: content for path, content in disk.files().items() if path.startswith("atomic/")} == before


def test_a_crash_while_founding_or_joining_leaves_it_done_or_to_be_done_again() -> None:
    for make, wanted in ((found_tiny, FOUNDED), (join_tiny, ())):
        lived = SimDisk()
        make(lived).close()
        for at in range(lived.operation_count + 1):
            disk = lived.crashed(at, Random(f"{make.__name__} {at}"))
            try:
                make(disk).close()
            except AlreadyThere:
                assert make is found_tiny and at > lived.operation_count / 2
            with enter(disk, "a", settings=TINY) as home:
                assert tuple(held(home).entries) == wanted, f"{make.__name__}, crash after operation {at}"


def test_a_crash_while_a_log_is_replaced_leaves_the_one_or_the_other() -> None:
    lived = SimDisk()
    home = found_tiny(lived)
    before = lived.operation_count
    home.replace([*founding(CLUSTER, Peer("a", 12)), Keep("state-of-old", bytes(5_000)), Put(1, OTHER)], founded=False)
    seen = set[int]()
    for at in range(before, lived.operation_count + 1):
        for draw in range(4):
            disk = lived.crashed(at, Random(f"{at} {draw}")) if draw else lived.restarted(at)
            with enter(disk, "a", settings=TINY) as found:
                there = held(found)
                seen.add(len(there.entries))
                if found.deed.founded:
                    assert there.entries == FOUNDED and not there.documents
                else:
                    assert there.entries[1:] == OTHER and "state-of-old" in there.documents
            # What was seen is there for good, whatever a killed process had not synced.
            with enter(disk.crashed(disk.operation_count, Random(draw)), settings=TINY) as again:
                assert again.deed == found.deed and held(again) == there
    assert seen == {1, 3}


@pytest.mark.parametrize("error", ConsensusError.__subclasses__(), ids=lambda error: error.__name__)
def test_every_error_is_in_the_tree(error: type[ConsensusError]) -> None:
    import hansard.consensus.errors as module  # noqa: PLC0415

    assert module.__doc__ is not None and f" {error.__name__} " in module.__doc__
