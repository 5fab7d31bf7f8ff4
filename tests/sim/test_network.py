"""Virtual time, and the network that runs on it."""

from random import Random

import pytest

from hansard.phaser.message import Estranged
from sim.world.clock import Clock
from sim.world.network import Conditions, Letter, Network

# The clock.


def test_actions_are_done_in_the_order_of_their_times_and_then_of_their_planning() -> None:
    clock, done = Clock(), list[str]()
    for delay_us, name in ((20, "d"), (10, "b"), (20, "e"), (0, "a"), (10, "c")):
        clock.after(delay_us, lambda name=name: done.append(name))  # type: ignore[misc]
    clock.run_until(20)
    assert done == ["a", "b", "c", "d", "e"]


def test_an_action_sees_its_own_time_and_may_plan_more_for_it() -> None:
    clock, seen = Clock(), list[tuple[str, int]]()

    def first() -> None:
        seen.append(("first", clock.now_us))
        clock.after(0, lambda: seen.append(("third", clock.now_us)))

    clock.after(10, first)
    clock.after(10, lambda: seen.append(("second", clock.now_us)))
    clock.run_until(50)
    assert seen == [("first", 10), ("second", 10), ("third", 10)]


def test_the_clock_stops_where_it_was_told_to_and_goes_on_from_there() -> None:
    clock, seen = Clock(), list[int]()
    clock.after(30, lambda: seen.append(clock.now_us))
    clock.run_until(29)
    assert clock.now_us == 29 and seen == []
    clock.run_until(40)
    assert clock.now_us == 40 and seen == [30]


# The network.


class Wire:
    """A network with nobody at its ends, and what came there."""

    def __init__(self, seed: int = 1) -> None:
        self.clock = Clock()
        self.network = Network(self.clock, Random(seed), self._deliver, self._connected)
        self.came: list[tuple[str, int, int]] = []
        """Where, which, and when."""
        self.told: list[tuple[str, str]] = []

    def _deliver(self, to: str, letter: Letter) -> None:
        assert isinstance(letter.message, Estranged)
        self.came.append((to, letter.message.term, self.clock.now_us))

    def _connected(self, here: str, there: str) -> None:
        self.told.append((here, there))

    def send(self, sender: str, to: str, *numbers: int) -> None:
        for number in numbers:
            self.network.send(sender, to, Letter(f"{sender}1", f"{to}1", Estranged(number)))

    def run(self) -> None:
        self.clock.run_until(self.clock.now_us + 10_000_000)

    def at(self, to: str) -> list[int]:
        return [number for there, number, _ in self.came if there == to]


@pytest.fixture
def wire() -> Wire:
    return Wire()


MANY = range(100)


def test_ordered_links_keep_the_order(wire: Wire) -> None:
    for number in MANY:
        wire.send("a", "b", number)
        wire.clock.run_until(wire.clock.now_us + 10)
    wire.run()
    assert wire.at("b") == list(MANY)


def test_on_links_without_order_messages_overtake_each_other_and_none_is_lost(wire: Wire) -> None:
    wire.network.conditions.ordered = False
    wire.send("a", "b", *MANY)
    wire.run()
    assert wire.at("b") != list(MANY)
    assert sorted(wire.at("b")) == list(MANY)


def test_a_message_takes_at_least_the_delay_and_at_most_the_jitter_more(wire: Wire) -> None:
    wire.network.conditions = Conditions(delay_us=1000, jitter_us=500, ordered=False)
    wire.send("a", "b", *MANY)
    wire.run()
    times = [at for _, _, at in wire.came]
    assert min(times) >= 1000 and max(times) <= 1500
    assert len(set(times)) > 10


def test_a_loss_is_silent_and_as_frequent_as_the_conditions_say(wire: Wire) -> None:
    wire.network.conditions.loss = 0.3
    wire.send("a", "b", *range(1000))
    wire.run()
    assert 600 < len(wire.came) < 800
    assert wire.told == []


def test_a_message_comes_twice_as_often_as_the_conditions_say(wire: Wire) -> None:
    wire.network.conditions.double = 0.2
    wire.send("a", "b", *range(1000))
    wire.run()
    assert 1100 < len(wire.came) < 1300
    assert set(wire.at("b")) == set(range(1000))


def test_a_cut_in_one_direction_leaves_the_other(wire: Wire) -> None:
    wire.network.cut("a", "b")
    wire.send("a", "b", 1)
    wire.send("b", "a", 2)
    wire.send("a", "c", 3)
    wire.run()
    assert (wire.at("b"), wire.at("a"), wire.at("c")) == ([], [2], [3])


def test_a_cut_loses_what_is_under_way_and_what_is_sent_into_it_for_good(wire: Wire) -> None:
    wire.send("a", "b", 1)
    wire.network.cut("a", "b")
    wire.send("a", "b", 2)
    wire.run()
    wire.network.mend("a", "b")
    wire.send("a", "b", 3)
    wire.run()
    assert wire.at("b") == [3]


def test_what_is_sent_into_a_cut_is_lost_even_if_the_cut_is_mended_before_it_would_have_come(wire: Wire) -> None:
    wire.network.cut("a", "b")
    wire.send("a", "b", 1)
    wire.network.mend("a", "b")
    wire.run()
    assert wire.at("b") == []


def test_a_link_that_was_cut_twice_is_mended_when_both_cuts_are(wire: Wire) -> None:
    wire.network.cut("a", "b")
    wire.network.cut("a", "b")
    wire.network.mend("a", "b")
    wire.send("a", "b", 1)
    wire.run()
    wire.network.mend("a", "b")
    wire.send("a", "b", 2)
    wire.run()
    assert wire.at("b") == [2]


def test_a_reset_loses_what_is_under_way_both_ways_and_both_ends_are_told(wire: Wire) -> None:
    wire.send("a", "b", 1)
    wire.send("b", "a", 2)
    wire.send("a", "c", 3)
    wire.network.reset("b", "a")
    wire.send("a", "b", 4)
    wire.send("b", "a", 5)
    wire.run()
    assert (wire.at("b"), wire.at("a"), wire.at("c")) == ([4], [5], [3])
    assert sorted(wire.told) == [("a", "b"), ("b", "a")]


def test_a_slow_link_is_slow_in_its_direction_only(wire: Wire) -> None:
    wire.network.slow["a", "b"] = 50_000
    wire.send("a", "b", 1)
    wire.send("b", "a", 2)
    wire.run()
    times = {number: at for _, number, at in wire.came}
    assert times[1] >= 50_000
    assert times[2] < 1000


def test_an_ordered_link_keeps_its_order_when_it_becomes_quick_again(wire: Wire) -> None:
    wire.network.slow["a", "b"] = 50_000
    wire.send("a", "b", 1)
    del wire.network.slow["a", "b"]
    wire.send("a", "b", 2)
    wire.run()
    assert wire.at("b") == [1, 2]


def test_a_healed_network_loses_nothing_and_is_in_order(wire: Wire) -> None:
    network = wire.network
    network.conditions = Conditions(loss=0.5, double=0.5, ordered=False)
    network.cut("a", "b")
    network.slow["a", "b"] = 1_000_000
    network.heal()
    wire.send("a", "b", *MANY)
    wire.run()
    assert wire.at("b") == list(MANY)
    assert wire.came[-1][2] < 1000
