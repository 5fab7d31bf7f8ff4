"""Small worlds in all their states: nothing goes wrong in any of them, and enough happens.

They are the quickest ones; `make exhaustive` goes through all.
"""

from functools import cache

import pytest
from msgspec.structs import replace

from hansard.phaser.event import Appointed
from hansard.phaser.government import Shape
from sim.exhaustive.explorer import Exploration, explore
from sim.exhaustive.properties import Checker
from sim.exhaustive.snapshot import copied
from sim.exhaustive.system import State
from sim.exhaustive.timeline import timeline
from sim.exhaustive.world import shaped
from sim.exhaustive.worlds import WORLDS

QUICK = (
    ("pair-once", Shape.STAR),
    ("alone-once", Shape.CHAIN),
    ("read", Shape.STAR),
    ("read", Shape.CHAIN),
    ("read-twice", Shape.STAR),
    ("remnant", Shape.STAR),
)


@cache
def explored(name: str, shape: Shape, *, lean: bool | None = None) -> Exploration:
    world = shaped(WORLDS[name], shape)
    return explore(world if lean is None else replace(world, lean=lean))


@pytest.mark.parametrize(("name", "shape"), QUICK, ids=[f"{name}-{shape}" for name, shape in QUICK])
def test_nothing_goes_wrong_in_any_state(name: str, shape: Shape) -> None:
    exploration = explored(name, shape)
    assert not exploration.fault, "\n".join(timeline(exploration))
    assert exploration.complete
    assert not exploration.never(), "it happened nowhere, so nothing was tried"


def test_all_worlds_can_begin() -> None:
    for world in WORLDS.values():
        for shape in Shape:
            exploration = explore(shaped(world, shape), states_max=50)
            assert exploration.states >= 50 and not exploration.fault


def test_what_lean_worlds_leave_out_leads_nowhere_else() -> None:
    """The disks of all, what each has answered for, and what the atomic log has: an exact world has no combination of
    them that the lean one lacks."""
    exact = combinations(explored("pair-once", Shape.STAR))
    assert exact <= combinations(explored("pair-once", Shape.STAR, lean=True))


def combinations(exploration: Exploration) -> set[object]:
    system = exploration.system
    catalogue = system.catalogue
    found: set[object] = set()
    for state in exploration.reached_from:
        stances, control = system.unpacked(state)
        parts: list[object] = [system.controls[control]]
        for number in stances:
            stance, participant = catalogue.stances[number], catalogue.participant_in(number)
            settled = tuple(
                [catalogue.entries[bit] for bit in range(len(catalogue.entries)) if stance.settled >> bit & 1]
            )
            platter = participant.drive.platter
            log = tuple([(batch.header.epoch, batch.header.base_offset) for batch in platter.batches])
            parts.append((log, platter.note, settled, participant.phaser.ledger.committed))
        found.add(tuple(parts))
    return found


def test_a_copy_is_alike_and_goes_its_own_way() -> None:
    catalogue = explored("read", Shape.CHAIN).system.catalogue
    describer = catalogue.describer
    government = replace(WORLDS["read"].governments[0], epoch=9, leader="b", members=("b",))
    for participant in catalogue.participants[::7]:
        before = describer.content(participant.phaser)
        twin = copied(participant.phaser, {})
        assert describer.content(twin) == before
        twin.turn([Appointed(government)], 0, 1)
        assert describer.content(participant.phaser) == before != describer.content(twin)


class AnythingStored(Checker):
    """Takes the first acknowledged change for a fault."""

    def fault_in(self, state: State) -> str:
        stances, _ = self._system.unpacked(state)
        entries = self._system.catalogue.entries
        settled = self._system.answered_for(stances)
        return "stored" if any(settled >> number & 1 and entries[number].changes[0][0] for number in range(99)) else ""


def test_the_shortest_way_to_a_fault_is_told() -> None:
    world = shaped(WORLDS["alone-once"], Shape.CHAIN)
    exploration = explore(replace(world, governments=world.governments[:1]), checked_by=AnythingStored)
    told = timeline(exploration)
    steps = [line.split(maxsplit=1)[1] for line in told[:-1:2]]
    assert steps[0] == "a gets series 1 of connection 1"
    assert "b hears from a: Append term=1.0" in steps[1]
    assert told[-1].strip() == "fault: stored"
    assert len(steps) == len(exploration.way()) - 1
