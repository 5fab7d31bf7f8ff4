from hansard.phaser import Settings
from hansard.phaser.effect import Pressure
from hansard.phaser.event import Appointed, Paused, Received, Submit, Tick, Trimmed
from hansard.phaser.government import Government, NodeId, Shape, first_term
from hansard.phaser.lineage import Run
from hansard.phaser.message import Collection, Estranged, Part, Refuse, Wedge
from hansard.phaser.outcome import Expired, NotLeader, Receipt, Repeated, Stored
from tests.phaser.joined import FAR, Joined, batch, formed, series_of, submit

T1, T2 = first_term(1), first_term(2)


def three(shape: Shape, epoch: int = 1, leader: NodeId = "a") -> Government:
    return Government(epoch, leader, ("a", "b", "c"), shape=shape)


# Appointments and refusals.


def test_an_older_appointment_changes_nothing(shape: Shape) -> None:
    joined = formed(three(shape, 2))
    joined.appoint(three(shape, 1, "b"))
    assert joined.phasers["a"].leading is not None
    assert {joined.phasers[node].term for node in "abc"} == {T2}


def test_the_same_appointment_again_changes_nothing(shape: Shape) -> None:
    joined = formed(three(shape))
    before = joined.phasers["a"].leading
    joined.appoint(three(shape))
    assert joined.phasers["a"].leading is before
    assert {joined.phasers[node].term for node in "abc"} == {T1}


def test_an_appointment_wedges_at_once_whoever_hears_of_it(shape: Shape) -> None:
    """Before its leader is heard of, and whether this one has a part in it or not."""
    joined = formed(three(shape))
    joined.appoint(Government(2, "c", ("c",), shape=shape), "b")
    assert joined.phasers["b"].following is None and joined.phasers["b"].term == T2
    joined.happen("a", submit(1, 0))
    assert not joined.answers or not isinstance(joined.answers[1], Stored)


def test_the_promise_is_kept_across_a_restart(shape: Shape) -> None:
    joined = formed(three(shape))
    joined.appoint(three(shape, 2, "b"), "c")
    joined.crash("c")
    joined.restart("c")
    assert joined.phasers["c"].term == T2
    late = joined.messages(Wedge)[0]
    joined.happen("c", Received("a", late))
    assert joined.messages(Refuse, "c")[-1] == Refuse(T1, T2)


def test_a_refused_leader_steps_down_and_names_no_leader_that_it_does_not_know(shape: Shape) -> None:
    joined = formed(three(shape))
    joined.happen("a", Received("b", Refuse(T1, T2)))
    assert joined.phasers["a"].leading is None and joined.phasers["a"].term == T2
    joined.happen("a", Submit(1, batch(0), FAR))
    assert not joined.answers, "it waits for the news"
    joined.appoint(three(shape, 2, "b"), "a")
    assert joined.answers == {1: NotLeader("b", 2)}


def test_an_old_refusal_deposes_nobody(shape: Shape) -> None:
    joined = formed(three(shape, 2))
    joined.happen("a", Received("b", Refuse(T1, T2)))
    assert joined.phasers["a"].leading is not None


def test_a_refused_leader_may_be_appointed_to_that_very_epoch(shape: Shape) -> None:
    joined = formed(three(shape))
    joined.happen("a", Received("b", Refuse(T1, T2)))
    joined.appoint(three(shape, 2))
    joined.happen("a", submit(1, 0))
    assert isinstance(joined.answers[1], Stored)


def test_a_copy_that_was_left_out_asks_for_nothing(shape: Shape) -> None:
    joined = formed(three(shape))
    joined.sent.clear()
    joined.appoint(Government(2, "b", ("b", "c"), shape=shape))
    joined.tick()
    assert not joined.messages(Estranged, "a")


def test_a_member_asks_for_its_leader_until_it_hears_of_it(shape: Shape) -> None:
    joined = Joined("c")
    joined.appoint(three(shape))
    joined.tick()
    joined.tick()
    asked = {to for _, to, message in joined.sent if isinstance(message, Estranged)}
    assert len(joined.messages(Estranged)) == 3
    assert asked == {"a" if shape is Shape.STAR else "b"}


def test_messages_of_unknown_terms_are_answered_and_change_nothing(shape: Shape) -> None:
    joined = Joined("b")
    wedge = Wedge(T2, three(shape, 2), False, 0, 0, ())
    joined.happen("b", Received("a", wedge))
    before = joined.phasers["b"].following
    joined.happen("b", Received("c", Estranged(T1)), Received("c", Refuse(T1, T1)), Tick())
    assert joined.phasers["b"].following is before


# Submissions that come to somebody who does not lead.


def test_a_member_names_its_leader(shape: Shape) -> None:
    joined = formed(three(shape))
    joined.happen("b", submit(1, 0))
    assert joined.answers == {1: NotLeader("a", 1)}


def test_who_does_not_lead_yet_keeps_a_submission_for_a_while(shape: Shape) -> None:
    joined = formed(three(shape))
    joined.happen("b", Submit(1, batch(0), FAR, epoch=2), Submit(2, batch(0, 8), FAR, epoch=3))
    assert not joined.answers
    joined.appoint(three(shape, 2, "b"))
    assert joined.answers[1] == Stored(Receipt(2, 1))
    assert joined.answers[2] == Stored(Receipt(3, 1)), "it leads, so it is as good as any"


def test_who_never_comes_to_lead_gives_it_back_as_expired(shape: Shape) -> None:
    joined = formed(three(shape), Settings(patience_us=3_000_000))
    joined.happen("b", Submit(1, batch(0), FAR, epoch=2))
    joined.tick(2)
    assert not joined.answers
    joined.tick(2)
    assert joined.answers == {1: Expired()}


def test_submissions_wait_while_the_bucket_changes_hands(shape: Shape) -> None:
    joined = formed(three(shape))
    joined.lose = lambda sender, to, message: True
    joined.appoint(three(shape, 2, "b"))
    joined.happen("b", submit(1, 0))
    joined.lose = lambda sender, to, message: False
    joined.tick()
    assert isinstance(joined.answers[1], Stored)


def test_those_who_submit_are_told_to_hold_back_and_to_go_on() -> None:
    joined = formed(Government(1, "a", ("a",)), Settings(backlog_count_max=4))
    joined.happen("a", Paused(True), *[submit(number, 0, 10 + number) for number in range(3)])
    joined.happen("a", Paused(False))
    told = [effect.high for effect in joined.effects["a"] if isinstance(effect, Pressure)]
    assert told == [True, False]


# Through changes of hands.


def test_a_stream_goes_on_through_every_change_of_hands(shape: Shape) -> None:
    joined = formed(three(shape))
    number = 0
    for epoch in range(2, 9):
        leader = "abc"[epoch % 3]
        joined.appoint(three(shape, epoch, leader))
        for _ in range(3):
            joined.happen(leader, submit(2 * number, number), submit(2 * number + 1, number))
            assert isinstance(joined.answers[2 * number], Stored)
            assert isinstance(joined.answers[2 * number + 1], Repeated)
            number += 1
    assert series_of(joined.disks["a"].log) == series_of(joined.disks["c"].log) == list(range(number))
    images = [joined.phasers[node].ledger.streams.image() for node in "abc"]
    assert images[0] == images[1] == images[2]


def test_any_survivor_has_all_that_was_acknowledged(shape: Shape) -> None:
    for survivor in "abc":
        joined = formed(three(shape))
        for number in range(4):
            joined.happen("a", submit(number, number))
        for node in "abc":
            joined.crash(node)
        joined.restart(survivor)
        joined.appoint(Government(2, survivor, (survivor,), shape=shape))
        assert series_of(joined.disks[survivor].log) == [0, 1, 2, 3]
        joined.happen(survivor, submit(10, 3))
        assert joined.answers[10] == Repeated(Receipt(4, 1))


def test_retention_may_drop_what_is_committed_and_no_restart_needs() -> None:
    joined = formed(Government(1, "a", ("a",)), Settings(checkpoint_batches=4))
    phaser = joined.phasers["a"]
    joined.happen("a", submit(1, 0))
    assert phaser.droppable == 0, "a restart would begin at the beginning"
    for number in range(1, 6):
        joined.happen("a", submit(number + 1, number))
    droppable = phaser.droppable
    assert 0 < droppable <= phaser.ledger.committed
    joined.happen("a", Trimmed(joined.disks["a"].trim(droppable)))
    joined.crash("a")
    joined.restart("a")
    joined.happen("a", Appointed(Government(1, "a", ("a",))))
    joined.happen("a", submit(20, 0), submit(21, 6))
    assert isinstance(joined.answers[20], Repeated) and isinstance(joined.answers[21], Stored)


def test_what_retention_did_to_a_log_that_was_thrown_away_meanwhile_is_no_news() -> None:
    """c was left out for a while, and begins anew with a log that begins later."""
    joined = formed(Government(1, "a", ("a", "b", "c")), Settings(part_bytes=30, checkpoint_batches=1))
    for number in range(4):
        joined.happen("a", submit(number, number))
    joined.appoint(Government(2, "a", ("a", "b")), "a", "b")
    for number in range(4, 12):
        joined.happen("a", submit(number, number))
    joined.happen("a", Trimmed(joined.disks["a"].trim(joined.phasers["a"].droppable)))
    joined.lose = lambda sender, to, message: isinstance(message, Part)
    joined.appoint(Government(3, "a", ("a", "b"), ("c",)))
    phaser, part = joined.phasers["c"], joined.messages(Part, "a", "c")[0]
    dropped = joined.disks["c"].trim(phaser.droppable)
    assert 0 < dropped < part.collection.start
    joined.happen("c", Received("a", part), Trimmed(dropped))
    assert phaser.ledger.start == joined.disks["c"].current.start == part.collection.start
    joined.lose = lambda sender, to, message: False
    joined.tick()
    assert phaser.ledger.committed == joined.phasers["a"].ledger.committed
    joined.happen("c", Trimmed(dropped))
    assert phaser.ledger.start == part.collection.start


def test_nor_is_it_news_where_the_log_begins_anew_before_that() -> None:
    joined = Joined("c")
    government = Government(1, "a", ("a",), ("c",))
    joined.happen("c", Received("a", Wedge(T1, government, False, 4, 10, (Run(T1, 0),))))
    part = Part(T1, Collection(10, 4, T1, 3, 0), 0, b"state")
    joined.happen("c", Received("a", part), Trimmed(8))
    assert joined.phasers["c"].ledger.start == joined.disks["c"].current.start == 4
