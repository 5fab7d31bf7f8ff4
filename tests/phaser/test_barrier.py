from hansard.phaser import Settings
from hansard.phaser.event import Read
from hansard.phaser.government import Government, NodeId, Shape
from hansard.phaser.message import Confirm, Confirmed, Message
from hansard.phaser.outcome import Busy, Expired, NotLeader, ReadFrom
from tests.phaser.joined import FAR, formed, submit


def three(shape: Shape) -> Government:
    return Government(1, "a", ("a", "b", "c"), shape=shape)


def test_a_read_is_answered_from_what_was_committed_when_all_had_confirmed(shape: Shape) -> None:
    joined = formed(three(shape))
    joined.happen("a", submit(1, 0))
    joined.happen("a", Read(1, FAR))
    assert joined.reads == {1: ReadFrom(2)}


def test_a_lone_leader_answers_at_once() -> None:
    joined = formed(Government(1, "a", ("a",)))
    joined.happen("a", Read(1, FAR))
    assert joined.reads == {1: ReadFrom(1)}


def test_a_read_is_not_answered_while_one_member_is_silent(shape: Shape) -> None:
    joined = formed(three(shape))
    joined.lose = lambda sender, to, message: sender == "c" and isinstance(message, Confirmed)
    joined.happen("a", Read(1, FAR))
    joined.tick()
    assert not joined.reads


def test_a_read_joins_the_next_round_and_never_the_one_under_way(shape: Shape) -> None:
    """A member may have confirmed that one before the read was asked for."""
    joined = formed(three(shape))
    held: list[tuple[NodeId, NodeId, Message]] = []

    def hold(sender: NodeId, to: NodeId, message: Message) -> bool:
        held.append((sender, to, message))
        return isinstance(message, Confirmed) and to == "a"

    joined.lose = hold
    joined.happen("a", Read(1, FAR))
    rounds = {message.round for message in joined.messages(Confirm, "a")}
    joined.happen("a", Read(2, FAR), Read(3, FAR))
    assert {message.round for message in joined.messages(Confirm, "a")} == rounds, "no other round meanwhile"
    joined.lose = lambda sender, to, message: isinstance(message, Confirm) and message.round not in rounds
    joined.tick()
    assert list(joined.reads) == [1]
    joined.lose = lambda sender, to, message: False
    joined.tick()
    assert list(joined.reads) == [1, 2, 3]


def test_a_stale_leader_cannot_answer_a_read(shape: Shape) -> None:
    joined = formed(three(shape))
    joined.lose = lambda sender, to, message: "a" in (sender, to)
    joined.appoint(Government(2, "b", ("b", "c"), shape=shape), "b", "c")
    joined.happen("b", submit(1, 0))
    assert 1 in joined.answers
    joined.happen("a", Read(1, FAR))
    joined.tick()
    assert not joined.reads
    joined.lose = lambda sender, to, message: False
    joined.tick()
    assert joined.reads == {1: NotLeader(None, 2)}


def test_a_read_that_waits_when_the_leader_is_deposed_is_sent_to_the_next(shape: Shape) -> None:
    joined = formed(three(shape))
    joined.lose = lambda sender, to, message: isinstance(message, Confirm)
    joined.happen("a", Read(1, FAR))
    joined.appoint(Government(2, "b", ("b", "c"), shape=shape))
    assert joined.reads == {1: NotLeader("b", 2)}


def test_a_read_waits_until_the_government_has_opened(shape: Shape) -> None:
    joined = formed(three(shape))
    joined.happen("a", submit(1, 0))
    joined.accepting = False
    joined.appoint(Government(2, "b", ("a", "b", "c"), shape=shape))
    joined.happen("b", Read(1, FAR))
    assert not joined.reads
    joined.accepting = True
    joined.restart("b")
    joined.appoint(Government(2, "b", ("a", "b", "c"), shape=shape), "b")
    joined.happen("b", Read(2, FAR))
    outcome = joined.reads[2]
    assert isinstance(outcome, ReadFrom) and outcome.committed >= 2


def test_a_lost_confirm_is_asked_again_while_batches_flow(shape: Shape) -> None:
    joined = formed(three(shape))
    joined.lose = lambda sender, to, message: isinstance(message, Confirm)
    joined.happen("a", Read(1, FAR))
    joined.lose = lambda sender, to, message: False
    for number in range(10):
        joined.happen("a", submit(number, number))
        joined.tick(0.1)
    assert isinstance(joined.reads[1], ReadFrom)


def test_a_read_past_its_deadline_has_expired(shape: Shape) -> None:
    joined = formed(three(shape))
    joined.lose = lambda sender, to, message: isinstance(message, Confirm)
    joined.happen("a", Read(1, 500_000), Read(2, FAR))
    joined.tick()
    assert joined.reads == {1: Expired()}
    joined.happen("a", Read(3, 1_000_000))
    assert joined.reads[3] == Expired()


def test_a_bounded_number_of_reads_waits(shape: Shape) -> None:
    joined = formed(three(shape), Settings(backlog_count_max=2))
    joined.lose = lambda sender, to, message: isinstance(message, Confirm)
    joined.happen("a", Read(1, FAR), Read(2, FAR), Read(3, FAR))
    assert joined.reads == {3: Busy()}


def test_a_member_sends_reads_to_its_leader(shape: Shape) -> None:
    joined = formed(three(shape))
    joined.happen("b", Read(1, FAR))
    assert joined.reads == {1: NotLeader("a", 1)}
