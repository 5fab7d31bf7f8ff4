from hansard.phaser import Settings
from hansard.phaser.backlog import Backlog
from hansard.phaser.event import Submit
from tests.phaser.joined import FAR, batch

LENGTH = batch(0).length


def numbered(number: int, deadline_us: int = FAR, epoch: int = 0) -> Submit:
    return Submit(number, batch(0), deadline_us, epoch)


def test_first_in_first_out() -> None:
    backlog = Backlog(Settings())
    for number in range(3):
        assert backlog.put(numbered(number), 0)
    assert [backlog.take().submit.id for _ in range(3)] == [0, 1, 2]
    assert backlog.byte_count == 0


def test_it_holds_a_bounded_number() -> None:
    backlog = Backlog(Settings(backlog_count_max=2))
    assert [backlog.put(numbered(number), 0) for number in range(3)] == [True, True, False]
    backlog.take()
    assert backlog.put(numbered(3), 0)


def test_it_holds_a_bounded_number_of_bytes() -> None:
    backlog = Backlog(Settings(backlog_bytes_max=2 * LENGTH))
    assert [backlog.put(numbered(number), 0) for number in range(3)] == [True, True, False]
    assert backlog.byte_count == 2 * LENGTH


def test_patience_ends_before_a_later_deadline_and_not_after_an_earlier_one() -> None:
    backlog = Backlog(Settings(patience_us=10))
    backlog.put(numbered(0, deadline_us=FAR), 100)
    backlog.put(numbered(1, deadline_us=105), 100)
    assert [submit.id for submit in backlog.take_expired(104)] == []
    assert [submit.id for submit in backlog.take_expired(105)] == [1]
    assert [submit.id for submit in backlog.take_expired(110)] == [0]
    assert (len(backlog), backlog.byte_count) == (0, 0)


def test_what_was_sent_for_a_later_government_stays_and_keeps_its_order() -> None:
    backlog = Backlog(Settings())
    for number, epoch in enumerate((0, 5, 4, 6)):
        backlog.put(numbered(number, epoch=epoch), 0)
    assert [submit.id for submit in backlog.take_meant_for(4)] == [0, 2]
    assert [waiting.submit.id for waiting in backlog.queue] == [1, 3]
    assert backlog.byte_count == 2 * LENGTH


def test_pressure_is_told_when_it_is_half_full_and_taken_back_at_a_quarter() -> None:
    backlog = Backlog(Settings(backlog_count_max=8))
    told = []
    for number in range(6):
        backlog.put(numbered(number), 0)
        told.append(backlog.pressure_changed())
    assert told == [False, False, False, False, True, False]
    told = []
    for _ in range(6):
        backlog.take()
        told.append(backlog.pressure_changed())
    assert told == [False, False, False, True, False, False]
