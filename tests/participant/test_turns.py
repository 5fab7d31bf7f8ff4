"""The two halves of a copy's turn: what is begun is finished before the next one begins, unless it is of no use."""

import pytest

from hansard.participant.copies import Copy
from hansard.participant.participant import Participant
from hansard.phaser import Phaser, hearing
from hansard.phaser.event import Tick
from tests.participant.test_government import formed


@pytest.fixture
def halves(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What phasers do from now on."""
    done: list[str] = []
    for name in ("begin", "finish"):
        original = getattr(Phaser, name)

        def watched(phaser: Phaser, *arguments: object, name: str = name, original: object = original) -> object:
            done.append(name)
            assert callable(original)
            return original(phaser, *arguments)

        monkeypatch.setattr(Phaser, name, watched)
    return done


def at_rest() -> tuple[Participant, Copy]:
    cluster = formed(3)
    cluster.run(2)
    core = cluster.core("a")
    return core, core.copies.running[0]


def test_a_turn_is_finished_before_the_next_one_begins(halves: list[str]) -> None:
    core, copy = at_rest()
    halves.clear()
    core.turns.begin(copy)
    core.turns.begin(copy)
    assert halves == ["begin", "finish", "begin"]
    core.turns.finish()
    core.turns.finish()
    assert halves == ["begin", "finish", "begin", "finish"]


def test_of_a_copy_that_is_stopped_nothing_more_is_done(halves: list[str]) -> None:
    core, copy = at_rest()
    halves.clear()
    core.turns.begin(copy)
    del core.copies.running[0]
    core.turns.finish()
    assert halves == ["begin"]


def test_a_node_finishes_what_it_has_begun(halves: list[str]) -> None:
    cluster = formed(3)
    cluster.run(2)
    assert halves.count("begin") == halves.count("finish") > 0
    core = cluster.core("a")
    halves.clear()
    core.copies.happen(0, Tick())
    core.begin((), core.here.now_us, 0)
    assert halves == ["begin"]
    core.finish()
    assert halves == ["begin", "finish"]


def test_a_turn_that_can_wait_is_left_and_goes_before_nothing(
    halves: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    core, copy = at_rest()
    monkeypatch.setattr(hearing, "patient", lambda phaser: True)
    halves.clear()
    core.turns.begin(copy)
    core.finish(patient=True)
    assert halves == ["begin"] and core.unfinished
    core.turns.begin(copy)
    assert halves == ["begin", "begin"], "the phaser itself knows what has to be finished first"
    monkeypatch.setattr(hearing, "patient", lambda phaser: False)
    core.finish(patient=True)
    assert halves == ["begin", "begin", "finish"] and not core.unfinished


def test_whoever_cannot_wait_finishes_all(halves: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    core, copy = at_rest()
    monkeypatch.setattr(hearing, "patient", lambda phaser: True)
    halves.clear()
    core.turns.begin(copy)
    core.finish()
    assert halves == ["begin", "finish"] and not core.unfinished


def test_a_copy_that_was_replaced_is_finished_before_the_other_begins(
    halves: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However patient it is: nobody else would."""
    core, copy = at_rest()
    monkeypatch.setattr(hearing, "patient", lambda phaser: True)
    other = Copy(copy.bucket, copy.generation + 1, copy.level, intact=True)
    other.phaser = copy.phaser
    halves.clear()
    core.turns.begin(copy)
    core.turns.begin(other)
    assert halves == ["begin", "finish", "begin"]
