"""The edict of the simulated world: whom it appoints, what it accepts, and who may go."""

from random import Random

import pytest

from hansard.phaser.effect import Achievement
from hansard.phaser.government import Shape
from sim.world.edict import Acceptance, Appointment, Departure, Edict

OPENED, EXPANDED = Achievement.OPENED, Achievement.EXPANDED


def edict(*members: str, spares: tuple[str, ...] = (), opened: bool = True) -> Edict:
    made = Edict(members, Shape.CHAIN, 1000, lambda: None)
    for spare in spares:
        made.arrive(spare)
    if opened:
        made.report(OPENED, 1)
    return made


def test_the_first_government_is_of_all_members_and_led_by_the_first() -> None:
    government = edict("a1", "b1", opened=False).newest
    assert (government.epoch, government.leader, government.members) == (1, "a1", ("a1", "b1"))
    assert (government.shape, government.memory_us) == (Shape.CHAIN, 1000)


def test_every_fact_is_told() -> None:
    told: list[int] = []
    made = Edict(("a1", "b1"), Shape.STAR, 1000, lambda: told.append(1))
    made.report(OPENED, 1)
    assert made.depart("b1")
    assert len(told) == len(made.facts) == 4
    assert made.facts[1:3] == [Acceptance(OPENED, 1), Departure("b1")]
    assert made.facts[3] == Appointment(made.newest)


@pytest.mark.parametrize(("leader", "members"), [("c1", ("c1", "a1")), ("b1", ("b1", "a1")), ("a1", ("a1", "d1"))])
def test_it_appoints_nobody_but_living_full_members(leader: str, members: tuple[str, ...]) -> None:
    made = edict("a1", "b1", "e1", spares=("c1",))
    assert made.depart("b1")
    with pytest.raises(AssertionError):
        made.appoint(leader, members)


def test_a_switch_appoints_living_full_members_whatever_it_draws() -> None:
    leaders: set[str] = set()
    sizes: set[int] = set()
    for seed in range(50):
        made = edict("a1", "b1", "c1", "d1")
        assert made.depart("d1")
        made.switch(Random(seed), contract=True)
        assert set(made.newest.members) <= {"a1", "b1", "c1"}
        leaders.add(made.newest.leader)
        sizes.add(len(made.newest.members))
    assert leaders == {"a1", "b1", "c1"}
    assert sizes == {2, 3}


def test_who_is_left_out_of_a_government_is_a_spare() -> None:
    made = edict("a1", "b1", "c1")
    made.appoint("a1", ("a1", "c1"))
    assert made.spares == ["b1"]
    assert " ".join(made.full) == "a1 b1 c1"  # until that one has opened
    made.report(OPENED, 2)
    assert " ".join(made.full) == "a1 c1"


def test_those_who_are_left_out_together_are_spares_in_an_order_that_is_always_the_same() -> None:
    made = edict("f1", "e1", "d1", "c1", "b1", "a1")
    made.appoint("d1", ("d1",))
    assert made.spares == ["a1", "b1", "c1", "e1", "f1"]


def test_a_report_is_accepted_once() -> None:
    made = edict("a1", "b1", opened=False)
    made.report(OPENED, 1)
    made.report(OPENED, 1)
    assert made.opened == 1
    assert made.facts.count(Acceptance(OPENED, 1)) == 1


def test_a_report_for_an_epoch_that_is_not_the_newest_is_not_accepted() -> None:
    made = edict("a1", "b1", opened=False)
    made.appoint("b1", ("b1",))
    made.report(OPENED, 1)
    made.report(OPENED, 3)
    assert made.opened == 0
    assert made.full == ("a1", "b1")
    assert not [fact for fact in made.facts if isinstance(fact, Acceptance)]


def test_an_expansion_makes_newcomers_full_when_it_is_reported() -> None:
    made = edict("a1", "b1", spares=("c1", "d1", "e1"))
    assert made.expand(Random(0), 2)
    assert made.newest.members == ("a1", "b1") and made.newest.newcomers == ("c1", "d1")
    assert made.spares == ["e1"]
    made.report(OPENED, 2)
    assert " ".join(made.full) == "a1 b1"
    made.report(EXPANDED, 2)
    assert " ".join(made.full) == "a1 b1 c1 d1"


def test_an_expansion_before_its_government_has_opened_is_not_accepted() -> None:
    made = edict("a1", spares=("b1",))
    assert made.expand(Random(0))
    made.report(EXPANDED, 2)
    assert made.full == ("a1",)
    assert Acceptance(EXPANDED, 2) not in made.facts


def test_without_spares_there_is_no_expansion() -> None:
    made = edict("a1", "b1")
    assert not made.expand(Random(0))
    assert made.newest.epoch == 1


def test_whoever_departs_is_replaced_by_a_government_of_the_others() -> None:
    made = edict("a1", "b1", "c1")
    assert made.depart("a1")
    assert made.newest.epoch == 2
    assert made.newest.leader == "b1" and made.newest.members == ("b1", "c1")
    assert not made.depart("a1")


def test_the_departure_of_the_last_that_has_everything_is_refused() -> None:
    made = edict("a1", "b1", spares=("c1",))
    assert made.depart("a1")
    facts = made.facts.copy()
    assert not made.depart("b1")
    assert made.facts == facts and made.living == ("b1",)


def test_a_newcomer_that_is_not_full_does_not_let_the_last_one_go() -> None:
    made = edict("a1", spares=("b1",))
    assert made.expand(Random(0))
    made.report(OPENED, 2)
    assert not made.depart("a1")
    made.report(EXPANDED, 2)
    assert made.depart("a1")
    assert made.newest.leader == "b1"


def test_a_spare_that_departs_is_no_spare_any_more() -> None:
    made = edict("a1", "b1", spares=("c1", "d1"))
    assert made.depart("c1")
    assert made.spares == ["d1"]
    assert made.newest.epoch == 1


def test_an_acclimation_that_another_government_ends_was_interrupted() -> None:
    made = edict("a1", spares=("b1", "c1"))
    assert made.expand(Random(0))
    assert made.interrupted == 0
    made.report(OPENED, 2)
    made.appoint("a1", ("a1",))
    assert made.interrupted == 1
    assert made.spares == ["c1", "b1"]
    made.report(OPENED, 3)
    assert made.expand(Random(0))
    made.report(OPENED, 4)
    made.report(EXPANDED, 4)
    made.appoint("c1", ("c1", "a1"))
    assert made.interrupted == 1


def test_settling_makes_newcomers_members_and_fills_up_to_the_size() -> None:
    made = edict("a1", spares=("b1", "c1"))
    while made.settle(2):
        newest = made.newest.epoch
        made.report(OPENED, newest)
        if made.newest.newcomers:
            made.report(EXPANDED, newest)
    assert made.newest.members == ("a1", "b1")
    assert not made.newest.newcomers
    assert made.spares == ["c1"]


def test_settling_waits_for_a_government_to_open() -> None:
    made = edict("a1", spares=("b1",), opened=False)
    assert not made.settle(2)
    made.report(OPENED, 1)
    assert made.settle(2)
    assert made.newest.newcomers == ("b1",)
