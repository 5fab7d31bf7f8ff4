"""How messages, entries and what follows from them are put into words for a trace.

A participant is called by its name in its first life, and gets a stroke for each further one: b, b', b''.
"""

from typing import assert_never

from hansard.consensus.cluster import ClusterId, Peer
from hansard.consensus.content import (
    Arrive,
    Arrived,
    Begin,
    Content,
    Council,
    Depart,
    Departed,
    Entry,
    Fact,
    Moved,
    Proposal,
    Proposed,
    Upgrade,
    Upgraded,
)
from hansard.consensus.message import (
    Abdicate,
    Append,
    Appended,
    Ask,
    Directions,
    Gone,
    Message,
    Offer,
    Part,
    PartKept,
    PreAsk,
    PreVote,
    ReadAsk,
    ReadAt,
    Vote,
)

LIVES = 1000
"""The n-th life of anybody is n thousand and a number that nobody else has."""


def peer(one: Peer) -> str:
    return one.node + "'" * (one.life // LIVES - 1)


def peers(all: tuple[Peer, ...]) -> str:
    return " ".join(sorted([peer(one) for one in all]))


def cluster(one: ClusterId) -> str:
    if not one.id:
        return "no cluster"
    return f"cluster {one.id}" if one.incarnation == 1 else f"cluster {one.id} incarnation {one.incarnation}"


def content(one: Content) -> str:
    match one:
        case Begin():
            return "begin"
        case Council():
            return f"council {peers(one.voters)}"
        case Arrive():
            zone = f" in {one.zone}" if one.zone else ""
            return f"{peer(one.peer)} arrives at {one.address}{zone}"
        case Depart():
            return f"{peer(one.peer)} departs"
        case Upgrade():
            return f"rules {one.rules}"
        case Proposal():
            return one.content.decode()
        case _:
            assert_never(one)


def entries(start: int, all: tuple[Entry, ...], term: int) -> str:
    """With the terms of those that are not of this one."""
    words = [
        f"{index} {content(entry.content)}{f' of term {entry.term}' if entry.term != term else ''}"
        for index, entry in enumerate(all, start)
    ]
    return ", ".join(words)


def fact(entry: Entry, what: Fact | None) -> str:
    """What an entry says, and what follows from it where that is not the same."""
    words = content(entry.content)
    match what:
        case None:
            return words if isinstance(entry.content, Begin | Council) else f"{words} (nothing follows)"
        case Arrived():
            return f"{words} as incarnation {what.incarnation}"
        case Moved():
            return f"{what.node} moves to {what.address}"
        case Departed() | Upgraded() | Proposed():
            return words
        case _:
            assert_never(what)


def message(said: Message) -> str:
    match said:
        case PreAsk():
            return f"would you vote for me in term {said.term}? log to {said.end} of term {said.last_term}"
        case PreVote():
            return f"would vote for you in term {said.term}" if said.granted else f"would not, is in term {said.term}"
        case Ask():
            wished = ", as the leader wishes" if said.abdicated else ""
            return f"vote for me in term {said.term}! log to {said.end} of term {said.last_term}{wished}"
        case Vote():
            return f"votes for you in term {said.term}" if said.granted else f"does not, is in term {said.term}"
        case Append():
            return _append(said)
        case Appended():
            missing = f"; that does not follow, go on from {said.end} of term {said.end_term}" if said.missing else ""
            return f"has {said.through} in term {said.term}{missing}{_round(said.round)}"
        case Part():
            return f"part {said.number + 1} of {_collection(said)}{_round(said.round)}"
        case PartKept():
            return f"has {said.parts} of {_collection(said)}{_round(said.round)}"
        case Abdicate():
            return f"lead instead of me, after term {said.term}"
        case Offer():
            passed = ", passed on" if said.passed else ""
            return f"offers {', '.join([content(one) for one in said.contents])}{passed}"
        case Directions():
            contacts = ", ".join([f"{node} at {address}" for node, address in said.contacts])
            refusal = f"; refused: {said.refusal}" if said.refusal else ""
            return f"{said.leader or 'nobody'} leads; there are {contacts or 'none'}{refusal}"
        case ReadAsk():
            return "how far must I be to read?"
        case ReadAt():
            return f"be at {said.end} to read"
        case Gone():
            return "that life of yours has ended"
        case _:
            assert_never(said)


def _append(said: Append) -> str:
    last = said.start + len(said.entries) - 1
    place = f"{said.start}" if last == said.start else f"{said.start}..{last}"
    place = place if said.entries else f"nothing at {said.start}"
    after = f" after term {said.previous_term}" if said.previous_term != said.term else ""
    held = f": {entries(said.start, said.entries, said.term)}" if said.entries else ""
    return f"append {place} of term {said.term}{after}, committed {said.committed}{_round(said.round)}{held}"


def _collection(said: Part | PartKept) -> str:
    return f"{said.collection.total} parts of the state at {said.collection.end}, term {said.term}"


def _round(number: int) -> str:
    return f", round {number}" if number else ""


def idle(said: Message) -> bool:
    """What is said all the time, and is told of only where it says something new."""
    return (isinstance(said, Append) and not said.entries) or isinstance(said, Appended)
