"""What comes before it is known who may come in waits its time, in order, and not too much of it."""

from typing import Any

from hansard.batch import build
from hansard.server.porch import BYTES_MAX, REQUESTS_MAX, Porch
from hansard.wire import request as wire
from hansard.wire import submission


def read(id: int, wait_us: int = 0) -> wire.Read:
    return wire.Read(id, 0, 0, wait_us)


def test_each_goes_on_in_its_order_with_the_time_that_is_left() -> None:
    porch: Porch[str] = Porch()
    for who, id, deadline_us in (("a", 1, 900), ("b", 2, 700), ("a", 3, 500)):
        assert porch.enter(who, read(id), deadline_us)
    assert porch.enter("a", wire.Ask(4, b"{}"), 100)
    went: list[tuple[str, int, int]] = []
    porch.empty(600, lambda who, request: went.append((who, request.id, getattr(request, "wait_us", -1))))
    assert went == [("a", 1, 300), ("a", 3, 0), ("a", 4, -1), ("b", 2, 100)]
    assert not porch


def test_who_waits_too_long_is_told_and_who_has_gone_is_not() -> None:
    porch: Porch[str] = Porch()
    batch = build(["k"], ["v"])
    requests: list[Any] = [read(1), submission.Submit(2, 0, batch, 5), wire.Connect(3, 5), wire.Ask(4, b"{}"), read(5)]
    for request in requests:
        assert porch.enter("a", request, 100 if request.id < 5 else 900)
        assert porch.enter("gone", request, 100)
    porch.leave("gone")
    told: list[Any] = []
    porch.overdue(99, lambda _who, answer: told.append(answer))
    assert told == []
    porch.overdue(100, lambda _who, answer: told.append(answer))
    assert told[:3] == [submission.Expired(1), submission.Expired(2), wire.Connected(3, 0)]
    assert isinstance(told[3], wire.Refused) and len(told) == 4 and porch
    porch.overdue(900, lambda _who, answer: told.append(answer))
    assert told[4:] == [submission.Expired(5)] and not porch


def test_no_more_waits_than_there_is_room_for() -> None:
    porch: Porch[int] = Porch()
    large = build(["k"], [bytes(8 << 20)])
    there = [porch.enter(number, submission.Submit(1, 0, large, 5), 100) for number in range(10)]
    assert there == [True] * (BYTES_MAX // large.length) + [False] * (10 - BYTES_MAX // large.length)
    porch.leave(0)
    assert porch.enter(17, submission.Submit(1, 0, large, 5), 100)
    few: Porch[int] = Porch()
    assert all(few.enter(1, read(id), 100) for id in range(REQUESTS_MAX)) and not few.enter(2, read(1), 100)
    few.overdue(100, lambda _who, _answer: None)
    assert few.enter(2, read(1), 200)
