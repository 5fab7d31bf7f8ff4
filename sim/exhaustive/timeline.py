"""The way to a fault, for people: what happened, one step a line, and where it left the participant it happened to."""

from collections.abc import Iterator
from itertools import pairwise

from hansard.batch import Batch
from hansard.phaser.government import Term, epoch_of, reign_of
from hansard.phaser.message import Message, Wedge

from .explorer import Exploration
from .participant import Participant
from .system import State, System


def timeline(exploration: Exploration) -> list[str]:
    system = exploration.system
    way = exploration.way()
    lines = []
    for number, (before, after) in enumerate(pairwise(way), start=1):
        name, what = next((step[:2] for step in _steps(system, before) if step[2] == after), ("?", "something happens"))
        lines.append(f"{number:3}  {name} {what}")
        if name in system.names:
            stances, _ = system.unpacked(after)
            lines.append(f"       {standing(system.catalogue.participant_in(stances[system.names.index(name)]))}")
    lines.append(f"     fault: {exploration.fault}")
    return lines


def _steps(system: System, state: State) -> Iterator[tuple[str, str, State]]:
    """Everything that can happen next: to whom, what, and the state afterwards."""
    stances, control = system.unpacked(state)
    catalogue = system.catalogue
    government = system.world.governments[: system.controls[control].appointed + 1][-1]
    for after in system.successors(state):
        if system.unpacked(after)[0] == stances and system.controls[system.unpacked(after)[1]].appointed > 1:
            members = ", ".join(government.members)
            yield "the atomic log", f"appoints {government.leader} to lead {members} in epoch {government.epoch}", after
    for place, name in enumerate(system.names):
        for what, stance, control_after in system.choices(place, stances[place], control):
            yield name, what, system.settled(stances, place, stance, control_after)
        for speaker, other in zip(system.names, stances, strict=True):
            letters = catalogue.stances[other].outbox & catalogue.addressed[name]
            for number in [number for number in range(letters.bit_length()) if letters >> number & 1]:
                after = system.settled(stances, place, catalogue.heard(stances[place], number), control)
                yield name, f"hears from {speaker}: {worded(catalogue.letters[number].message)}", after
        if len(system.controls[control].reads) < system.world.reads_max:
            stance, control_after = system.asked(stances, place, control)
            yield name, "is asked to read", system.settled(stances, place, stance, control_after)


def worded(message: Message) -> str:
    """A message in a line."""
    words = [type(message).__name__]
    for field in message.__struct_fields__:
        value = getattr(message, field)
        match field:
            case "term" | "previous_term" | "newer":
                value = _term(value)
            case "government":
                continue
            case "batch":
                value = _batch(value)
            case "runs":
                value = [f"{_term(run.term)} from {run.start}" for run in value]
            case _:
                pass
        words.append(f"{field}={value}")
    if isinstance(message, Wedge):
        words.append(f"members={','.join(message.government.members)}")
    return " ".join(words)


def standing(participant: Participant) -> str:
    """A participant in a line."""
    phaser, drive = participant.phaser, participant.drive
    ledger = phaser.ledger
    if phaser.leading is not None:
        part = f"leads {_term(phaser.term)}, {phaser.leading.phase.name.lower()}"
    elif phaser.following is not None:
        part = f"follows {_term(phaser.term)}"
    else:
        part = f"is wedged at {_term(phaser.term)}"
    log = " ".join([_batch(batch) for batch in drive.seen.batches])
    return (
        f"{participant.name} {part}; log [{log}], synced {ledger.synced}, committed {ledger.committed}, "
        f"{len(drive.unsynced)} writes under way"
    )


def _term(term: Term) -> str:
    return f"{epoch_of(term)}.{reign_of(term)}"


def _batch(batch: Batch) -> str:
    header = batch.header
    what = f"series {header.first_series}" if header.connection else "decree"
    return f"{header.base_offset}:{what}@{_term(header.epoch)}"
