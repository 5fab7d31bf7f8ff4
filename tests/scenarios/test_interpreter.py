"""The interpreter of scenarios: its disk, its choices, and the promise that it checks unasked."""

import pytest

from hansard.batch import build
from hansard.phaser.effect import Cut, Note, Persist, Put, Reset
from sim.scenario.chances import Chances
from sim.scenario.drive import Copy, Drive
from sim.scenario.language import PHASER
from sim.scenario.links import ways
from sim.scenario.promise import missing_from
from sim.scenario.transcript import ScenarioFailed, renewed
from sim.scenario.words import BadCommand, duration_us, words


def put(offset: int) -> Put:
    return Put(build(["k"], [str(offset)]).stamped(epoch=1, base_offset=offset, timestamp=1))


def test_a_crash_keeps_what_was_synced_and_a_prefix_of_the_rest() -> None:
    drive = Drive()
    drive.write(Persist(1, (Note(b"promise"), put(0))))
    drive.sync()
    drive.write(Persist(2, (put(1), put(2))))
    drive.write(Persist(3, (Cut(1), Note(b"another"))))
    assert drive.latest.end == 1 and drive.unsynced_count == 4
    drive.crash(2)
    assert drive.latest == drive.synced
    assert (drive.synced.end, drive.synced.note) == (3, b"promise")


def test_a_log_begins_anew_where_it_is_told() -> None:
    emptied = Copy().after(put(0)).after(Reset(7))
    assert (emptied.start, emptied.end) == (7, 7)


def test_every_combination_of_choices_is_played_once() -> None:
    chances = Chances()
    played = []
    going_on = True
    while going_on:
        first = chances.choose(1)
        played.append((first, chances.choose(2)) if first else (first,))
        going_on = chances.turn()
    assert played == [(0,), (1, 0), (1, 1), (1, 2)]


def test_a_failed_expectation_says_which_choice_it_was() -> None:
    text = """# A change that is on its way to the disk may be lost.
shapes: star
appoint 1 a: a
settle
submit a k=1
crash a keeping any
restart a
settle
expect a: not holds k=1
"""
    with pytest.raises(ScenarioFailed, match="line 9, star with 1"):
        renewed(text, PHASER)


def test_what_a_disk_lacks_is_missing_unless_retention_took_it() -> None:
    copy = Copy().after(put(0)).after(put(1))
    assert missing_from(copy, {0: "k=0", 1: "k=1"}) == []
    assert missing_from(copy, {1: "k=2", 2: "k=2"}) == ["k=2", "k=2"]
    assert missing_from(copy.trimmed(1), {0: "k=0"}) == []


def test_words_options_and_durations() -> None:
    said = words("a k=1 l=2 connection 7 deadline 2s", "connection", "deadline")
    assert (said.plain, said.number("connection", 0)) == (["a", "k=1", "l=2"], 7)
    assert said.duration_us("deadline", "1s") == 2_000_000
    assert duration_us("300ms") == 300_000
    for wrong in ("a connection", "a connection 7 k=1"):
        with pytest.raises(BadCommand):
            words(wrong, "connection")
    with pytest.raises(BadCommand):
        duration_us("5")


def test_a_way_is_one_direction_or_both() -> None:
    assert ways("a>b") == [("a", "b")]
    assert ways("a-b") == [("a", "b"), ("b", "a")]
    with pytest.raises(ValueError, match="no way"):
        ways("ab")
