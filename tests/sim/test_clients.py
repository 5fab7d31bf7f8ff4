"""The clients of the simulated world keep the rules that real ones have to keep."""

from collections import Counter
from random import Random
from typing import cast

import pytest

from hansard.phaser.event import Continues, Submit
from hansard.phaser.outcome import Broken, Busy, Expired, Gap, NotLeader, Outcome, Receipt, Repeated, Stored, Unknown
from sim.world import world as real
from sim.world.client import TIMEOUT_US, WINDOW, Client, Stranger
from sim.world.clock import Clock

NEVER_ENDS = 1 << 40


class Chance(Random):
    """Recuts always or never; whatever else is drawn is drawn."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.fixed: float | None = None

    def random(self) -> float:
        return super().random() if self.fixed is None else self.fixed


class FakePlan:
    gap_us = 1000
    idle = False
    memory_us = 1_000_000


class FakeWorld:
    """Takes submissions, and answers none by itself."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.random = Chance(1)
        self.places = ["a", "b", "c"]
        self.plan = FakePlan()
        self.submitted: list[Submit] = []
        self.sent_to: list[str] = []
        self._connections = 0
        self._numbers = 0

    def connect(self) -> int:
        self._connections += 1
        return self._connections

    def next_number(self) -> int:
        self._numbers += 1
        return self._numbers

    def submit(self, client: Client | Stranger, submit: Submit) -> None:
        self.submitted.append(submit)
        self.sent_to.append(client.place)

    @property
    def cast(self) -> real.World:
        return cast(real.World, self)

    def client(self, range_end: int = NEVER_ENDS) -> Client:
        return Client(self.cast, 7, range_end)

    def taken(self) -> list[Submit]:
        """What was submitted since the last time."""
        submitted, self.submitted = self.submitted, []
        return submitted

    def until_retried(self) -> list[Submit]:
        self.clock.run_until(self.clock.now_us + 300_000)
        return self.taken()


@pytest.fixture
def world() -> FakeWorld:
    return FakeWorld()


def filled(world: FakeWorld, client: Client) -> list[Submit]:
    """A client that has submitted as much as it may, and produces no more."""
    client.produce()
    world.clock.run_until(TIMEOUT_US // 10)
    client.producing = False
    submitted = world.taken()
    assert len(submitted) == WINDOW
    return submitted


def values(submits: list[Submit]) -> list[bytes]:
    return [value for submit in submits for value in submit.batch.values() if value is not None]


def numbers(submit: Submit) -> tuple[int, list[int], int]:
    header = submit.batch.header
    return header.connection, submit.batch.series.tolist(), header.previous_series


def test_a_client_has_several_submissions_in_flight_and_each_names_the_series_before_it(world: FakeWorld) -> None:
    submitted = filled(world, world.client())
    previous = -1
    for submit in submitted:
        connection, series, named = numbers(submit)
        assert connection == 1 and named == previous < series[0]
        assert series == sorted(set(series))
        previous = series[-1]
    assert values(submitted) == [b"7:%d" % serial for serial in range(1, len(values(submitted)) + 1)]


def test_what_is_stored_makes_room_for_more(world: FakeWorld) -> None:
    client = world.client()
    submitted = filled(world, client)
    client.answered(submitted[0].id, Stored(Receipt(0, 1)))
    client.answered(submitted[1].id, Repeated(None))
    assert len(client.items) == WINDOW - 2
    client.producing = True
    client.produce()
    assert len(world.taken()) == 1


@pytest.mark.parametrize("outcome", [Unknown(), Gap(-1), Busy(), Expired(), NotLeader(None, 1)])
def test_what_is_not_stored_is_retried_with_all_after_it_in_order_and_with_the_same_numbers(
    world: FakeWorld, outcome: Outcome
) -> None:
    client = world.client()
    first, *rest = filled(world, client)
    client.answered(first.id, Stored(Receipt(0, 1)))
    world.random.fixed = 0.9
    client.answered(rest[1].id, outcome)
    client.answered(rest[0].id, outcome)
    again = world.until_retried()
    assert [numbers(submit) for submit in again] == [numbers(submit) for submit in rest]
    assert values(again) == values(rest)
    assert not {submit.id for submit in again} & {submit.id for submit in rest}


def test_what_is_not_answered_in_time_is_retried(world: FakeWorld) -> None:
    submitted = filled(world, world.client())
    world.random.fixed = 0.9
    world.clock.run_until(2 * TIMEOUT_US - 1)
    assert values(world.taken()) == values(submitted)


def test_nothing_new_overtakes_what_waits_to_be_retried(world: FakeWorld) -> None:
    client = world.client()
    client.produce()
    (first,) = world.taken()
    client.answered(first.id, Busy())
    world.clock.run_until(15_000)
    assert len(client.items) > 1
    assert world.taken() == []
    client.producing = False
    world.random.fixed = 0.9
    assert values(world.until_retried())[0] == b"7:1"


def test_answers_to_submissions_that_were_given_up_change_nothing(world: FakeWorld) -> None:
    client = world.client()
    submitted = filled(world, client)
    client.answered(submitted[0].id, Busy())
    world.until_retried()
    client.answered(submitted[1].id, Stored(Receipt(0, 1)))
    assert values(submitted)[: len(submitted[0].batch)] == client.items[0].values[: len(submitted[0].batch)]
    assert sum([len(item.values) for item in client.items]) == len(values(submitted))


def test_a_recut_joins_the_first_two_with_the_numbers_that_they_had(world: FakeWorld) -> None:
    client = world.client()
    one, two, *rest = filled(world, client)
    world.random.fixed = 0.0
    client.answered(one.id, Unknown())
    joined, *others = world.until_retried()
    assert values([joined]) == values([one, two])
    assert joined.batch.keys() == one.batch.keys() + two.batch.keys()
    assert numbers(joined) == (1, numbers(one)[1] + numbers(two)[1], -1)
    assert [numbers(submit) for submit in others] == [numbers(submit) for submit in rest]
    client.answered(joined.id, Stored(Receipt(0, 1)))
    assert len(client.items) == WINDOW - 2


def test_at_the_end_of_its_range_a_client_goes_on_under_a_connection_that_names_the_old_one(world: FakeWorld) -> None:
    client = world.client(range_end=14)
    by_connection: dict[int, list[Submit]] = {}
    client.produce()
    for _ in range(40):
        for submit in world.taken():
            by_connection.setdefault(submit.batch.header.connection, []).append(submit)
            client.answered(submit.id, Stored(Receipt(0, 1)))
        world.clock.run_until(world.clock.now_us + 1000)
    assert len(by_connection) > 3 and list(by_connection) == sorted(by_connection)
    assert by_connection[1][0].continues is None
    for old in list(by_connection)[:-1]:
        last, (first, *later) = by_connection[old][-1], by_connection[old + 1]
        assert numbers(last)[1][-1] < 14
        assert first.continues == Continues(old, numbers(last)[1][-1])
        assert numbers(first)[2] == -1
        assert all(submit.continues is None for submit in later)


def wrapping(world: FakeWorld, before: int) -> tuple[Client, list[Submit]]:
    """A client with a wrap among its submissions, so many of them before it. All are retried, and recut."""
    client = world.client(range_end=14)
    client.produce()
    while len(client.items) < WINDOW or client.items[before].continues is None:
        if len(client.items) == WINDOW:
            client.items.popleft()
        world.clock.run_until(world.clock.now_us + 1)
    client.producing = False
    world.taken()
    world.random.fixed = 0.0
    client.answered(next(number for number, item in client.asked.items() if item == client.items[0]), Busy())
    return client, world.until_retried()


def test_what_lies_on_both_sides_of_a_wrap_is_not_joined(world: FakeWorld) -> None:
    client, again = wrapping(world, 1)
    assert [submit.batch.header.connection for submit in again[:2]] == [1, 2]
    assert [values([submit]) for submit in again] == [item.values for item in client.items]


def test_what_is_joined_continues_what_the_first_of_it_did(world: FakeWorld) -> None:
    client, again = wrapping(world, 0)
    assert len(again) == WINDOW - 1
    assert again[0].continues is not None and again[0].continues.connection == 1
    assert again[0].continues == client.items[0].continues


def test_a_broken_stream_is_given_up_and_the_client_goes_on_under_a_new_connection(world: FakeWorld) -> None:
    client = world.client()
    submitted = filled(world, client)
    client.answered(submitted[0].id, Broken())
    assert not client.items
    client.answered(submitted[1].id, Busy())
    assert world.until_retried() == []
    client.producing = True
    client.produce()
    (first, *_) = world.taken()
    assert numbers(first)[0] == 2 and numbers(first)[2] == -1
    assert first.continues is None
    assert not set(values([first])) & set(values(submitted))


def test_a_client_follows_hints_to_the_leader_and_ignores_older_ones(world: FakeWorld) -> None:
    client = world.client()
    submitted = filled(world, client)
    world.random.fixed = 0.9
    client.answered(submitted[0].id, NotLeader("b1", 4))
    assert {submit.epoch for submit in world.until_retried()} == {4}
    assert world.sent_to[-1] == "b"
    client.answered(client.world.next_number() - 1, NotLeader("c1", 3))
    assert client.epoch == 4


# Strangers.


def stranger_answers(world: FakeWorld, outcome: Outcome) -> tuple[Counter[bytes], Stranger]:
    """How often each of many values was submitted, if this is always the first answer, and Stored the next."""
    stranger, tries = Stranger(world.cast, 100), Counter[bytes]()
    for _ in range(100):
        stranger.produce()
        stranger.producing = False
        world.clock.run_until(world.clock.now_us + 100_000)
        stranger.producing = True
        answer = outcome
        while submitted := world.taken():
            for submit in submitted:
                assert submit.batch.header.connection == 0
                tries.update(values([submit]))
                stranger.answered(submit.id, answer)
            answer = Stored(Receipt(0, 1))
    return tries, stranger


def test_a_stranger_never_repeats_what_may_be_stored(world: FakeWorld) -> None:
    tries, stranger = stranger_answers(world, Unknown())
    assert set(tries.values()) == {1}
    assert not stranger.refused


def test_what_a_stranger_is_refused_it_tries_again_or_remembers_as_refused(world: FakeWorld) -> None:
    tries, stranger = stranger_answers(world, Busy())
    assert set(tries.values()) == {1, 2}
    assert stranger.refused == {value for value, number in tries.items() if number == 1}
