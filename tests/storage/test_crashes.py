"""A crash at every operation of a store's life, with many draws of what is lost, leaves what was acknowledged."""

from random import Random

import pytest

from hansard.storage.retention import Retention
from sim.crashes import FORKING_LIVES, Crash, check_crash, crashes, lived
from sim.disk import SimDisk
from sim.history import SIGHTINGS
from tests.storage.stores import batch_at, fill, new_store, offsets, reopen

LIVES = 14
FORKING = range(FORKING_LIVES, FORKING_LIVES + 8)
DRAWS = 1


@pytest.mark.parametrize("life", range(LIVES))
def test_no_crash_loses_what_was_acknowledged(life: int) -> None:
    history = lived(life)
    for crash in crashes(life, history, DRAWS):
        check_crash(history, crash)


@pytest.mark.parametrize("life", FORKING)
def test_no_crash_loses_a_fork_or_what_it_shares(life: int) -> None:
    history = lived(life)
    for crash in crashes(life, history, DRAWS):
        check_crash(history, crash)


FAILED_ONCE = [
    Crash(3, 91, 1),  # leftovers were removed on the word of a manifest whose rename was not on disk yet
    Crash(4, 159, 2),  # retention put a segment back that a cut in the journal had shortened
    Crash(6, 5, 3),  # a directory was built on an identity whose name was not on disk yet
]


@pytest.mark.parametrize("crash", FAILED_ONCE, ids=str)
def test_crashes_that_failed_once_do_not_again(crash: Crash) -> None:
    check_crash(lived(crash.life), crash)


def test_what_is_acknowledged_after_a_kill_survives_a_power_cut_whatever_the_killed_process_left_unsynced() -> None:
    lived_disk = SimDisk()
    store = new_store(lived_disk)
    fill(store, 0, 60)
    store.retain({0: Retention(change_count=20)}, now=0)
    for at in range(lived_disk.operation_count + 1):
        disk = lived_disk.restarted(at)
        store = new_store(disk)
        found = offsets(store)
        end = store.bounds(0)[1]
        store.append([(0, batch_at(end, 3))])
        store.file()
        for draw in range(4):
            left = reopen(disk.crashed(disk.operation_count, Random(f"{at} {draw}")))
            assert offsets(left) == [*found, end, end + 1, end + 2], f"killed after operation {at}, draw {draw}"


def test_the_lives_were_eventful() -> None:
    """Otherwise the crashes above proved nothing."""
    histories = [lived(life) for life in range(LIVES)]
    counts: dict[str, int] = {}
    for history in histories:
        for name, count in history.counts.items():
            counts[name] = counts.get(name, 0) + count
    steps = ("append", "mix", "note", "keep", "reset", "drop", "truncate", "file", "retain", "hold", "reopen")
    assert all(counts[name] >= LIVES / 2 for name in steps), counts
    assert sum(history.disk.operation_count for history in histories) > 3000
    assert any(history.store.bounds(bucket)[0] > 0 for history in histories for bucket in range(3)), "nothing dropped"
    assert any(len(entry.segments) > 1 for history in histories for entry in history.store.manifest.buckets)


def test_the_lives_that_fork_were_eventful() -> None:
    """Forks of what was filed, of what was not, of what was cut or trimmed, of forks, and of what was dropped then."""
    seen: dict[str, int] = {}
    for life in FORKING:
        for name, count in lived(life).sightings.items():
            seen[name] = seen.get(name, 0) + count
    assert all(seen.get(name, 0) >= len(FORKING) / 2 for name in SIGHTINGS), seen
