"""Small worlds of the atomic log in all their states: nothing goes wrong in any of them, and enough happens.

They are the quickest ones; `make exhaustive` goes through the largest.
"""

from functools import cache
from itertools import permutations
from typing import Any

import pytest
from msgspec.structs import replace

from hansard.consensus.cluster import Peer
from hansard.consensus.event import Received
from hansard.consensus.message import Envelope
from sim.atomic.exhaustive.described import IGNORED, LEAN_IGNORED, Describer
from sim.atomic.exhaustive.explorer import Exploration, explore
from sim.atomic.exhaustive.history import tag_of
from sim.atomic.exhaustive.properties import Checker
from sim.atomic.exhaustive.renaming import Renaming
from sim.atomic.exhaustive.system import State, System
from sim.atomic.exhaustive.timeline import steps, timeline
from sim.atomic.exhaustive.world import CLUSTER, LIFE, World
from sim.atomic.exhaustive.worlds import LARGEST, WORLDS
from sim.exhaustive.snapshot import copied

QUICK = {"pair": 177, "pair-slow": 4_098, "first-slow": 12_189, "small": 5_599, "turnover": 4_595}
"""The worlds and their numbers of states."""

EXACT = (
    replace(WORLDS["pair-exact"], crashes_max=0, covering=False),
    replace(WORLDS["first-exact"], crashes_max=0, covering=False),
)


@cache
def explored(world: World) -> Exploration:
    return explore(world)


@pytest.mark.parametrize("name", QUICK)
def test_nothing_goes_wrong_in_any_state(name: str) -> None:
    exploration = explored(WORLDS[name])
    assert not exploration.fault, "\n".join(timeline(exploration))
    assert exploration.complete
    assert not exploration.never(), "it happened nowhere, so nothing was tried"


@pytest.mark.parametrize("name", QUICK)
def test_as_many_states_are_found_as_ever(name: str) -> None:
    """A change of the core may make other states. One that was not meant to, or of how they are told apart, may not."""
    assert explored(WORLDS[name]).states == QUICK[name]


def test_all_worlds_can_begin() -> None:
    for world in WORLDS.values():
        exploration = explore(world, states_max=20)
        assert exploration.states >= 20 and not exploration.fault and not exploration.complete


def test_the_largest_world_has_what_was_asked_for() -> None:
    world = WORLDS[LARGEST]
    assert (len(world.voters), world.terms_max, world.timeouts_max) == (3, 3, 2)
    assert (world.crashes_max, len(world.proposers)) == (1, 2)


# What the reductions leave out leads nowhere else.


def test_names_make_no_difference() -> None:
    world = replace(WORLDS["turnover"], terms_max=2, sometimes=())
    named, unnamed = explored(replace(world, symmetric=False)), explored(world)
    assert named.complete and unnamed.complete and not named.fault and not unnamed.fault
    assert named.states > 4 * unnamed.states
    assert situations(named) == situations(unnamed)


def test_states_at_higher_tolls_are_no_others() -> None:
    covering, each = explored(WORLDS["small"]), explored(replace(WORLDS["small"], covering=False, tried=False))
    assert covering.complete and each.complete and not covering.fault and not each.fault
    assert each.states > covering.states
    assert situations(covering) == situations(each)


@pytest.mark.parametrize("exact", EXACT, ids=lambda world: world.name)
def test_what_lean_worlds_leave_out_leads_nowhere_else(exact: World) -> None:
    """An exact world has no combination of disks and of what is known to be committed that the lean one lacks; but what
    is committed is always known as far as it can be in a lean one."""
    everything = explored(exact)
    assert everything.complete and not everything.fault
    lean = situations(explored(replace(exact, exact=False)))
    known = {(disks, history[:length]) for disks, history in lean for length in range(len(history) + 1)}
    assert situations(everything) <= known


Situation = tuple[tuple[object, ...], tuple[object, ...]]


def situations(exploration: Exploration) -> set[Situation]:
    """What the disks have together, and what was ever committed, whoever is who."""
    return {_situation(exploration.system, state) for state in exploration.seen}


def _situation(system: System, state: State) -> Situation:
    stances, views, control, _ = system.unpacked(state)
    platters = [
        system.catalogue.participants[system.stances.stances[stance].participant].drive.platter for stance in stances
    ]
    rows = []
    for order in permutations(range(len(stances))):
        row = []
        for place in order:
            note, vote = platters[place].note, -1
            if note.vote is not None:
                vote = order.index(system.views.views[place][views[place]][system.names.index(note.vote.node)])
            row.append((note.term, vote, tuple([tag_of(entry) for entry in platters[place].entries])))
        rows.append(tuple(row))
    return min(rows), tuple([committed.tag for committed in system.controls[control].history])


def test_the_core_does_the_same_whatever_the_names_are() -> None:
    """A step and then other names is the same as other names and then the step, one's own name included."""
    catalogue = explored(WORLDS["turnover"]).system.catalogue
    describer, names = Describer(IGNORED), catalogue.names
    compared = 0
    for number, participant in list(enumerate(catalogue.participants))[::11]:
        for letter in [letter for letter in catalogue.letters if letter.to == names[0]][number % 7 :: 7]:
            event = Received(Envelope(CLUSTER, Peer(letter.sender, LIFE), letter.sender, LIFE, letter.message))
            try:
                after, _ = participant.taking([event])
            except AssertionError:
                continue  # it cannot be heard here
            for others in permutations(names):
                renaming = Renaming(dict(zip(names, others, strict=True)))
                renamed, _ = renaming.renamed(participant).taking([renaming.renamed(event)])
                assert describer.content(renamed) == describer.content(renaming.renamed(after))
                compared += 1
    assert compared > 2_000


def test_what_makes_no_difference_is_there() -> None:
    """A field that was renamed would count without anybody noticing."""
    catalogue = explored(WORLDS["small"]).system.catalogue
    found: dict[type, Any] = {}
    for participant in catalogue.participants:
        _gather(participant, found, set())
    for kind, fields in LEAN_IGNORED.items():
        if kind in found:
            assert not [field for field in fields if not hasattr(found[kind], field)]
    assert len(set(LEAN_IGNORED) & set(found)) >= 9


def _gather(thing: object, found: dict[type, Any], seen: set[int]) -> None:
    """One thing of each class that is part of this one."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    found.setdefault(type(thing), thing)
    if isinstance(thing, dict):
        parts = [*thing.values()]
    elif isinstance(thing, (list, tuple)):
        parts = [*thing]
    else:
        fields = (
            *getattr(thing, "__struct_fields__", ()),
            *getattr(thing, "__slots__", ()),
            *getattr(thing, "__dict__", ()),
        )
        parts = [getattr(thing, field) for field in fields if type(thing).__module__.startswith(("hansard", "sim"))]
    for part in parts:
        _gather(part, found, seen)


def test_a_copy_is_alike_and_goes_its_own_way() -> None:
    catalogue = explored(WORLDS["small"]).system.catalogue
    describer = Describer(IGNORED)
    for participant in catalogue.participants[::9]:
        before = describer.content(participant.core)
        twin = copied(participant.core, {})
        assert describer.content(twin) == before
        twin.ledger.promise(9)
        twin.seat.follow_nobody(9)
        assert describer.content(participant.core) == before != describer.content(twin)


# When something is wrong.


class ProposalCommitted(Checker):
    """Takes the first proposal that is committed for a fault."""

    def fault_in(self, state: State) -> str:
        _, _, control, _ = self._system.unpacked(state)
        return "committed" if any(each.tag.proposal for each in self._system.controls[control].history) else ""


@pytest.mark.parametrize("symmetric", [True, False])
def test_the_shortest_way_to_a_fault_is_told(*, symmetric: bool) -> None:
    exploration = explore(replace(WORLDS["small"], symmetric=symmetric), checked_by=ProposalCommitted)
    told = timeline(exploration)
    what = told_steps(exploration)
    assert what[0] == "a loses its patience, and hears from somebody: PreVote term=1 granted=True"
    assert what[2] == "a hears from somebody: Vote term=1 granted=True"
    assert "a takes proposal 1" in what
    assert "hears from a: Append term=1 start=2 previous_term=1 entries=1:1" in what[-1]
    assert told[-1].strip() == "fault: committed"
    assert len(what) == len(exploration.way) - 1 == 6


def told_steps(exploration: Exploration) -> list[str]:
    return [line.split(maxsplit=1)[1] for line in timeline(exploration) if line[:4].strip()]


def test_a_way_can_be_gone_again() -> None:
    """In a world that has never been explored, by what was told of it alone."""
    exploration = explore(WORLDS["small"], checked_by=ProposalCommitted)
    system = System(WORLDS["small"])
    checker = ProposalCommitted(system)
    state, cast = system.start(), system.names
    for line in told_steps(exploration):
        assert not checker.fault_in(state)
        state, cast = next((after, known) for told, after, known in steps(system, state, cast) if told == line)
    assert checker.fault_in(state)


class Impatient(Checker):
    """Whoever waits for it has enough, after a while."""

    looks = 0

    def fault_in(self, state: State) -> str:
        self.looks += 1
        if self.looks > 100:
            raise KeyboardInterrupt
        return super().fault_in(state)


def test_an_interrupted_exploration_says_how_far_it_came() -> None:
    exploration = explore(WORLDS["small"], checked_by=Impatient)
    assert exploration.interrupted and not exploration.complete and not exploration.fault
    assert exploration.states > 100
