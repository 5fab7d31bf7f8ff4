"""A minute of it; `make soak` is ten. Everything that can happen to a cluster happens, and nobody loses anything."""

import asyncio
from pathlib import Path

import pytest

from hansard.demo.audit import Audit, Broken, Missing, Watch
from tests.soak.soak import Soak

SECONDS = 45


def test_nothing_is_lost_doubled_or_reordered_whatever_happens(tmp_path: Path) -> None:
    soak = Soak(tmp_path, SECONDS)
    asyncio.run(soak.run())
    assert soak.happened["killed"] >= 5 and soak.happened["doubled"] == 2 and soak.happened["drained"] == 1
    assert soak.happened["came again"] >= 5 and soak.audit.count > 1_000, soak.happened


@pytest.fixture
def audit() -> Audit:
    """Of a key whose number 2 was refused."""
    noted = Audit()
    for number in (0, 1, 3):
        noted.acknowledge("k", number)
    return noted


def test_a_reader_that_sees_all_misses_nothing(audit: Audit) -> None:
    watch = Watch(audit, "r")
    assert watch.behind() and watch.missing() == [Missing("k", 0), Missing("k", 1), Missing("k", 3)]
    for number in (0, 1, 3):
        watch.see("k", number)
    assert not watch.behind() and watch.missing() == [] and watch.count == 3


@pytest.mark.parametrize(
    ("numbers", "complaint"),
    [
        ([0, 0], "r sees k 0 twice: it has seen 0"),
        ([0, 1, 3, 1], "r sees k 1 twice: it has seen 3"),
        ([0, 3], "r has skipped k 1, which was acknowledged: it sees 3"),
        ([0, 1, 3, 2], "r sees k 2 after later ones: it has seen 3"),
    ],
)
def test_what_cannot_be_is_said_at_once(audit: Audit, numbers: list[int], complaint: str) -> None:
    watch = Watch(audit, "r")
    for number in numbers[:-1]:
        watch.see("k", number)
    with pytest.raises(Broken, match=complaint):
        watch.see("k", numbers[-1])


def test_what_was_passed_over_and_acknowledged_later_is_missing(audit: Audit) -> None:
    watch = Watch(audit, "r")
    for number in (0, 1, 3):
        watch.see("k", number)
    audit.acknowledge("k", 2)
    assert watch.missing() == [Missing("k", 2)]
