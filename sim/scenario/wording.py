"""How messages, entries and answers are put into words for a trace."""

from typing import assert_never

from hansard.batch import Batch
from hansard.phaser.decree import decree_in
from hansard.phaser.government import Government, Term, epoch_of, line, reign_of
from hansard.phaser.message import (
    Acknowledge,
    Append,
    Commit,
    Confirm,
    Confirmed,
    Estranged,
    Message,
    Part,
    PartKept,
    Refuse,
    Wedge,
    Wedged,
)
from hansard.phaser.outcome import (
    Broken,
    Busy,
    Expired,
    Gap,
    Importing,
    Invalid,
    Misplaced,
    NotLeader,
    Outcome,
    ReadFrom,
    ReadOnly,
    ReadOutcome,
    Repeated,
    Stored,
    Unknown,
)


def epoch(term: Term) -> str:
    reign = f" reign {reign_of(term)}" if reign_of(term) else ""
    return f"epoch {epoch_of(term)}{reign}"


def changes(batch: Batch) -> list[str]:
    """As they were submitted: key=value."""
    return [
        f"{(key or b'').decode()}={(value or b'').decode(errors='replace')}"
        for key, value in zip(batch.keys(), batch.values(), strict=True)
    ]


def entry(batch: Batch) -> str:
    decree = decree_in(batch)
    first, last = batch.header.base_offset, batch.header.end_offset - 1
    place = f"entry {first}" if first == last else f"entries {first}-{last}"
    if decree is None:
        return f"{place} ({' '.join(changes(batch))})"
    return f"{place} ({government(decree.government, expanded=decree.expanded)})"


def government(edict: Government, *, expanded: bool) -> str:
    everybody = " ".join(line(edict, expanded=expanded))
    return f"{'expanded ' if expanded else ''}government {edict.epoch}: {everybody}"


def message(said: Message) -> str:
    match said:
        case Wedge():
            return f"follow {epoch(said.term)}; my log is {said.start} to {said.end}"
        case Wedged():
            return _wedged(said)
        case Append():
            return f"{entry(said.batch)}; committed {said.committed}"
        case Commit():
            return f"committed {said.committed}"
        case Acknowledge():
            missing = f"; go on from {said.end}" if said.missing else ""
            return f"acknowledges {max(said.through, 0)}{missing}"
        case Estranged():
            return f"knows no leader in {epoch(said.term)}"
        case Refuse():
            return f"refuses {epoch(said.term)}, promised {epoch(said.newer)}"
        case Confirm():
            return f"still {epoch(said.term)}? (round {said.round})"
        case Confirmed():
            return f"still {epoch(said.term)} (round {said.round})"
        case Part():
            number, whole = said.number + 1, said.collection
            return f"part {number} of {whole.total} of the state at {whole.offset}, log from {whole.start}"
        case PartKept():
            return f"has {said.parts} of {said.collection.total} parts of the state at {said.collection.offset}"
        case _:
            assert_never(said)


def _wedged(said: Wedged) -> str:
    if said.collection is not None:
        return f"follows {epoch(said.term)}; has {said.parts} of {said.collection.total} parts of a state"
    if said.end is None:
        return f"follows {epoch(said.term)}; has nothing in common"
    stateless = "" if said.stated else ", without a state"
    return f"follows {epoch(said.term)}; ends at {said.end}{stateless}"


def outcome(answer: Outcome | ReadOutcome) -> str:
    match answer:
        case Stored():
            repeated = f", the first {answer.repeated} were there" if answer.repeated else ""
            return f"stored at {answer.receipt.offset}{repeated}"
        case Repeated():
            return "repeated" if answer.receipt is None else f"repeated at {answer.receipt.offset}"
        case Unknown():
            return "unknown"
        case Gap():
            return f"gap, expects previous {answer.expected}"
        case Broken():
            return "broken"
        case Invalid():
            return "invalid"
        case Expired():
            return "expired"
        case Busy():
            return "busy"
        case ReadOnly():
            return f"read-only, {answer.node}: {answer.reason}"
        case Importing():
            return "importing"
        case Misplaced():
            return f"misplaced, {answer.buckets} buckets"
        case NotLeader():
            who = answer.leader if answer.leader is not None else "somebody"
            return f"not leader, {who} leads epoch {answer.epoch}"
        case ReadFrom():
            return str(answer.committed)
        case _:
            assert_never(answer)
