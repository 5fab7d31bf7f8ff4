"""A turn has two halves: the first wants what somebody waits for, the second what a copy does for itself."""

from hansard.phaser import Settings
from hansard.phaser.effect import Answer, Committed, Keep, Persist, Send
from hansard.phaser.event import Received
from hansard.phaser.government import Government
from hansard.phaser.message import Acknowledge, Append, Commit
from hansard.phaser.outcome import Broken, Receipt, Stored
from tests.phaser.joined import Joined, formed, submit

BOTH = Government(1, "a", ("a", "b"), memory_us=1000)


def acknowledged(joined: Joined) -> Received:
    """What the member says last, which is lost."""
    return Received("b", joined.messages(Acknowledge, "b")[-1])


def deaf(government: Government = BOTH, settings: Settings | None = None) -> Joined:
    """A leader that hears no acknowledgement any more, with a submission that waits for one."""
    joined = formed(government, settings)
    joined.lose = lambda sender, to, message: isinstance(message, Acknowledge)
    joined.happen("a", submit(1, 0))
    assert not joined.answers
    return joined


def test_a_client_is_answered_before_the_members_hear_what_is_committed() -> None:
    joined = deaf()
    leader = joined.phasers["a"]
    first = leader.begin([acknowledged(joined)], 0, 1)
    assert [effect for effect in first if isinstance(effect, Answer)] == [Answer(1, Stored(Receipt(1, 1)))]
    assert not any(isinstance(effect, Send) for effect in first)
    second = leader.finish()
    assert [effect.message for effect in second if isinstance(effect, Send)] == [Commit(leader.term, 2)]


def test_a_member_writes_what_came_before_it_shows_what_is_committed_by_that() -> None:
    joined = deaf()
    joined.lose = lambda sender, to, message: isinstance(message, Append | Commit)
    joined.happen("a", acknowledged(joined))
    joined.happen("a", submit(2, 1))
    member = joined.phasers["b"]
    first = member.begin([Received("a", joined.messages(Append, "a")[-1])], 0, 1)
    assert [type(effect) for effect in first] == [Persist]
    assert [effect for effect in member.finish() if isinstance(effect, Committed)] == [Committed(2)]


def test_a_state_that_is_to_be_stored_keeps_nobody_waiting() -> None:
    joined = deaf(settings=Settings(checkpoint_batches=2))
    member = joined.phasers["b"]
    first = member.begin([Received("a", Commit(member.term, 2))], 0, 1)
    assert not any(isinstance(effect, Persist) for effect in first)
    (stored,) = [effect for effect in member.finish() if isinstance(effect, Persist)]
    assert [type(write) for write in stored.writes] == [Keep]


def test_what_comes_is_judged_by_all_that_is_committed_by_then() -> None:
    """The stream is forgotten by what is committed in the very turn in which more of it comes."""
    joined = formed(BOTH)
    joined.happen("a", submit(1, 0))
    joined.wall_us += 5000
    joined.lose = lambda sender, to, message: isinstance(message, Acknowledge)
    joined.happen("a", submit(2, 0, 8))
    joined.happen("a", acknowledged(joined), submit(3, 1))
    assert joined.answers == {1: Stored(Receipt(1, 1)), 2: Stored(Receipt(2, 5001)), 3: Broken()}
