"""A crash at every operation of a store's life, with many draws of what is lost, leaves what was acknowledged."""

import pytest

from sim.crashes import check_crash, crashes, lived

LIVES = 14
DRAWS = 1


@pytest.mark.parametrize("life", range(LIVES))
def test_no_crash_loses_what_was_acknowledged(life: int) -> None:
    history = lived(life)
    for crash in crashes(life, history, DRAWS):
        check_crash(history, crash)


def test_the_lives_were_eventful() -> None:
    """Otherwise the crashes above proved nothing."""
    histories = [lived(life) for life in range(LIVES)]
    counts: dict[str, int] = {}
    for history in histories:
        for name, count in history.counts.items():
            counts[name] = counts.get(name, 0) + count
    assert all(counts[name] >= LIVES / 2 for name in ("append", "truncate", "file", "retain", "hold", "reopen")), counts
    assert sum(history.disk.operation_count for history in histories) > 3000
    assert any(history.store.bounds(bucket)[0] > 0 for history in histories for bucket in range(3)), "nothing dropped"
    assert any(len(entry.segments) > 1 for history in histories for entry in history.store.manifest.buckets)
