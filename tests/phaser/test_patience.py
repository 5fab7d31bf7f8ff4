"""What is left of a turn can wait, where a leader has answered all: for the next submission, and for nothing else."""

import pytest

from hansard.phaser.effect import Answer, Persist, Send
from hansard.phaser.event import Submit, Tick
from hansard.phaser.government import Government
from hansard.phaser.hearing import awaited, idle, patient
from hansard.phaser.message import Acknowledge, Append, Commit
from hansard.phaser.outcome import Broken
from tests.phaser.joined import Joined, formed, submit
from tests.phaser.test_applications import add, counted
from tests.phaser.test_turn import BOTH, acknowledged, deaf


def answered(government: Government = BOTH) -> Joined:
    """A leader whose turn has answered the last client, and is not finished."""
    joined = deaf(government)
    assert any(isinstance(effect, Answer) for effect in joined.phasers["a"].begin([acknowledged(joined)], 0, 1))
    assert patient(joined.phasers["a"])
    return joined


def sent(effects: list[object]) -> list[object]:
    return [effect.message for effect in effects if isinstance(effect, Send)]


def test_the_next_submission_takes_the_commit_point_along() -> None:
    leader = answered().phasers["a"]
    first = leader.begin([submit(2, 1)], 0, 1)
    (message,) = sent([*first])
    assert isinstance(message, Append) and message.committed == 2
    assert [type(effect) for effect in first] == [Send, Persist]
    assert not leader.finish(), "it was told, and what is committed is settled"
    assert not leader.ledger.unsettled and leader.ledger.streams.settled[7].last == 0


def test_anything_else_finds_the_turn_finished() -> None:
    leader = answered().phasers["a"]
    assert sent([*leader.begin([Tick()], 0, 1)]) == [Commit(leader.term, 2)]
    assert not leader.ledger.unsettled and not leader.finish()


def test_it_is_finished_by_itself_just_as_well() -> None:
    leader = answered().phasers["a"]
    assert sent([*leader.finish()]) == [Commit(leader.term, 2)]
    assert not patient(leader)


def test_a_stream_that_is_about_to_be_forgotten_is_forgotten_before_it_is_judged() -> None:
    """Nobody is known a moment longer because a turn was put off."""
    joined = deaf()
    joined.wall_us += 5000
    joined.happen("a", submit(2, 0, 8))
    leader = joined.phasers["a"]
    leader.begin([acknowledged(joined)], 0, 6000)
    assert patient(leader)
    late = leader.begin([submit(3, 1)], 0, 6000)
    assert [effect for effect in late if isinstance(effect, Answer)] == [Answer(3, Broken())]


def test_who_waits_for_more_than_a_submission_is_neither_at_rest_nor_spared_a_turn() -> None:
    leader = answered().phasers["a"]
    assert not idle(leader) and not awaited(leader)


@pytest.mark.parametrize("more", [submit(9, 1), Tick()])
def test_who_has_more_to_answer_is_not_patient(more: Submit | Tick) -> None:
    joined = deaf()
    leader = joined.phasers["a"]
    leader.begin([acknowledged(joined), more], 0, 1)
    assert patient(leader) == isinstance(more, Tick)


def test_a_member_is_not_patient() -> None:
    joined = answered()
    member = joined.phasers["b"]
    member.begin([Tick()], 0, 1)
    assert not patient(member)


def test_applications_are_never_behind() -> None:
    joined = formed(BOTH, applications=counted)
    joined.lose = lambda sender, to, message: isinstance(message, Acknowledge)
    joined.happen("a", add(1, 0, (b"k", 1)))
    leader = joined.phasers["a"]
    leader.begin([acknowledged(joined)], 0, 1)
    assert leader.ledger.unsettled and not patient(leader)


def test_what_went_the_short_way_is_noted_before_anything_else_whoever_forgets_to() -> None:
    """Otherwise two batches would get one place."""
    leader = answered().phasers["a"]
    leader.finish()
    for number in (2, 3):
        (append,) = sent([*leader.begin([submit(number, number - 1)], 0, 1)])
        assert isinstance(append, Append) and append.batch.header.base_offset == number
