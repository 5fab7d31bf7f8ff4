"""Reads that wait: each is called once, for one reason."""

from random import Random
from typing import NamedTuple

from hansard.server.lounge import Lounge


class Guest(NamedTuple):
    bucket: int
    deadline_us: int
    name: int


def names(found: list[tuple[int, Guest]]) -> list[int]:
    return [guest.name for _, guest in found]


def test_all_of_a_bucket_are_called_in_order() -> None:
    lounge: Lounge[Guest] = Lounge()
    for name in range(4):
        lounge.enter(Guest(name % 2, 10, name))
    assert names(lounge.called(1)) == [1, 3] and lounge.called(1) == [] and len(lounge) == 2


def test_who_has_waited_long_enough_goes_and_who_has_left_is_not_called() -> None:
    lounge: Lounge[Guest] = Lounge()
    numbers = [lounge.enter(Guest(0, deadline, deadline)) for deadline in (5, 1, 3)]
    assert names(lounge.overdue(0)) == []
    left = lounge.leave(0, numbers[2])
    assert left is not None and left.name == 3 and lounge.leave(0, numbers[2]) is None
    assert names(lounge.overdue(5)) == [1, 5] and len(lounge) == 0


def test_those_of_buckets_that_are_elsewhere_are_told_apart() -> None:
    lounge: Lounge[Guest] = Lounge()
    for name in range(4):
        lounge.enter(Guest(name, 10, name))
    assert names(lounge.moved(lambda bucket: bucket < 2)) == [2, 3] and len(lounge) == 2


def test_memory_follows_those_who_are_there() -> None:
    """Deadlines of those who were called are forgotten, however far away they are."""
    lounge: Lounge[Guest] = Lounge()
    for name in range(50_000):
        lounge.enter(Guest(0, 1 << 60, name))
        lounge.called(0)
    assert len(lounge._due) < 2_000


def test_each_is_called_once_whatever_happens() -> None:
    random, lounge, now = Random(7), Lounge[Guest](), 0
    inside: dict[int, Guest] = {}
    for name in range(5_000):
        guest = Guest(random.randrange(8), now + random.randrange(50), name)
        inside[lounge.enter(guest)] = guest
        now += random.randrange(2)
        found = lounge.overdue(now)
        if random.random() < 0.1:
            found += lounge.called(random.randrange(8))
        if random.random() < 0.1 and inside:
            number = random.choice(list(inside))
            if number not in dict(found):
                left = lounge.leave(inside[number].bucket, number)
                assert left == inside.pop(number)
        for number, one in found:
            assert inside.pop(number) == one
        assert len(lounge) == len(inside) and all(one.deadline_us > now for one in inside.values())
