"""The way to a fault, for people: what happened, one step a line, and where it left those that it made a difference to.

States do not say who is who, so it is found out again on the way: whoever is at the first place in the beginning is
called by the first name for good.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise, permutations

from hansard.consensus.cluster import NodeId
from hansard.consensus.content import Proposal
from hansard.consensus.message import Append, Message, Offer, PreVote, Vote
from hansard.consensus.role import Role

from .catalogue import Move
from .choices import Cause
from .explorer import Exploration
from .history import tag_of
from .stances import Landing
from .system import State, System
from .world import number_of

Cast = tuple[NodeId, ...]
"""Who is at each place."""

CRASHES = "crashes, and comes back"


def timeline(exploration: Exploration) -> list[str]:
    system, way = exploration.system, exploration.way
    cast = system.names
    lines: list[str] = []
    for number, (before, after) in enumerate(pairwise(way), start=1):
        told = [(what, known) for what, state, known in steps(system, before, cast) if state == after]
        what, known = told[0]
        lines.append(f"{number:3}  {what}")
        lines += [f"       {line}" for line in _differences(system, (before, cast), (after, known))]
        cast = known
    return [*lines, f"     fault: {exploration.fault}"]


def steps(system: System, state: State, cast: Cast) -> Iterator[tuple[str, State, Cast]]:
    """Everything that can happen next: what, the state afterwards, and who is where in it."""
    stances, views, number, toll = system.unpacked(state)
    control, tolls, chooser = system.controls[number], system.tolls, system.chooser
    for place, stance in enumerate(stances):
        name = cast[place]
        people = [cast[at] for at in system.views.views[place][views[place]]]
        impatient = tolls.impatient[toll][place]
        told = toll if tolls.timeouts(toll, place) else impatient
        several: list[tuple[str, Cause, Move, int, int]] = []
        several += [("", cause, move, number, toll) for cause, move in chooser.free(stance)]
        several += [("loses its patience, and ", *step, number, impatient) for step in chooser.impatient(stance)]
        several += [("had asked, and ", *step, number, told) for step in chooser.told(stance)]
        for which, move in chooser.offers(stance):
            if which <= control.proposals + 1:
                after = system.control_of(control._replace(proposals=max(which, control.proposals)))
                several.append(("", f"takes proposal {which}", move, after, toll))
        for reason, cause, move, control_after, toll_after in several:
            if toll_after >= 0:
                what = f"{name} {reason}{_worded(system, cause, people)}"
                for end, landing, price in _landings(system, stance, move, toll_after):
                    yield what + end, *_seated(system, state, cast, (place, landing), (control_after, price))
        if tolls.crashed[toll] >= 0:
            inbox = system.stances.stances[stance].inbox
            for crash in system.catalogue.crashes_at(system.stances.stances[stance].participant):
                landing = system.stances.landing(*crash, inbox)
                yield (
                    f"{name} {CRASHES}",
                    *_seated(system, state, cast, (place, landing), (number, tolls.crashed[toll])),
                )


def _landings(system: System, stance: int, move: Move, toll: int) -> Iterator[tuple[str, Landing, int]]:
    """With what is to be said of it, and the toll."""
    inbox = system.stances.stances[stance].inbox
    yield "", system.stances.landing(move.participant, move.words, inbox), toll
    if system.tolls.crashed[toll] >= 0:
        for crash in move.crashes:
            yield f"; while it writes, it {CRASHES}", system.stances.landing(*crash, inbox), system.tolls.crashed[toll]


def _seated(
    system: System, state: State, cast: Cast, step: tuple[int, Landing], left: tuple[int, int]
) -> tuple[State, Cast]:
    """The state after a step of who is at a place, at a control and a toll, and who is where in it."""
    stances, views, _, _ = system.unpacked(state)
    control, toll = left
    stances, views = system.settled(stances, views, *step)
    after = system.packed(stances, views, control, toll)
    for order in permutations(range(len(stances))):
        if system.seated(stances, views, order, system.unpacked(after)[2], toll) == after:
            return after, tuple([cast[place] for place in order])
    raise AssertionError("whoever there was is there")


def _differences(system: System, before: tuple[State, Cast], after: tuple[State, Cast]) -> list[str]:
    """Who is not as before, and how it is now."""
    were, are = [dict(zip(cast, _standing(system, state, cast), strict=True)) for state, cast in (before, after)]
    return [f"{name} {are[name]}" for name in sorted(are) if are[name] != were[name]]


def _standing(system: System, state: State, cast: Cast) -> list[str]:
    """Everybody in a line."""
    stances, views, _, _ = system.unpacked(state)
    found = []
    for place, stance in enumerate(stances):
        participant = system.catalogue.participants[system.stances.stances[stance].participant]
        core, platter = participant.core, participant.drive.platter
        people = [cast[at] for at in system.views.views[place][views[place]]]
        part = {Role.LEADER: "leads", Role.CANDIDATE: "asks to be elected after", Role.FOLLOWER: "waits in"}[core.role]
        if core.role is Role.FOLLOWER and core.leader:
            part = f"follows {_called(system, core.leader, people)} in"
        vote = f", voted for {_called(system, core.vote.node, people)}" if core.vote is not None else ""
        log = " ".join(["{}:{}".format(*tag_of(entry)) for entry in core.log.entries])
        found.append(
            f"{part} term {core.term}{vote}; log [{log}], on disk {len(platter.entries)}, "
            f"committed {core.committed - core.log.start}"
        )
    return found


def _called(system: System, name: NodeId, people: Sequence[NodeId]) -> NodeId:
    return people[system.names.index(name)]


def _worded(system: System, cause: Cause, people: Sequence[NodeId]) -> str:
    if isinstance(cause, str):
        return cause
    sender, _, message = system.catalogue.letters[cause]
    anybody = isinstance(message, (PreVote, Vote)) and not system.world.exact
    return f"hears from {'somebody' if anybody else _called(system, sender, people)}: {worded(message)}"


def worded(message: Message) -> str:
    """A message in a line."""
    words = [type(message).__name__]
    for field in message.__struct_fields__:
        value = getattr(message, field)
        if isinstance(message, Append) and field == "entries":
            value = " ".join(["{}:{}".format(*tag_of(entry)) for entry in value]) or "none"
        if isinstance(message, Offer) and field == "contents":
            value = " ".join([str(number_of(each)) for each in message.contents if isinstance(each, Proposal)])
        words.append(f"{field}={value}")
    return " ".join(words)
