"""Events, messages and states in words, for timelines."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from hansard.consensus.content import Begin, Content, Council, Depart, Proposal
from hansard.consensus.effect import AnswerRead, Applied, Departing, Effect, Led, Restored, Send, Settled
from hansard.consensus.event import Event, Persisted, Received, Tick
from hansard.consensus.message import Append, Message, Offer, Part

if TYPE_CHECKING:
    from .participant import Participant


def content_words(content: Content) -> str:
    match content:
        case Begin():
            return "begin"
        case Council():
            return f"council {' '.join([voter.node for voter in content.voters])}"
        case Depart():
            return f"depart {content.peer.node}"
        case Proposal():
            number = f"{content.session}.{content.number}"
            return f"{content.content[:12].decode()} ({content.proposer.node} {number})"
        case _:
            return str(content)


def message_words(message: Message) -> str:
    name = type(message).__name__
    match message:
        case Append():
            entries = "; ".join([f"{entry.term}: {content_words(entry.content)}" for entry in message.entries])
            place = f"{message.start} after {message.previous_term}, committed {message.committed}"
            return f"{name} [{message.term}] {place}, round {message.round}, {entries or 'nothing'}"
        case Offer():
            return f"{name}{' passed on' * message.passed} {'; '.join(map(content_words, message.contents))}"
        case Part():
            collection = message.collection
            return f"{name} [{message.term}] {message.number} of {collection.total} at {collection.end}"
        case _:
            fields = [field for field in message.__struct_fields__ if field != "content"]
            return f"{name} {', '.join([f'{field} {getattr(message, field)}' for field in fields])}"


def event_words(event: Event) -> str:
    if isinstance(event, Received):
        sender = event.envelope.sender
        return f"{sender.node}/{sender.life % 1000}: {message_words(event.envelope.message)}"
    return str(event)


def describe(participant: "Participant") -> str:
    consensus = participant.consensus
    if consensus is None:
        return f"{participant.name} is down"
    log = consensus.log
    voters = " ".join([f"{voter.node}/{voter.life % 1000}" for voter in consensus.voters])
    place = f"start {log.start} committed {consensus.committed} synced {consensus.synced} end {log.end}"
    life = f"{participant.name}/{consensus.peer.life % 1000}"
    roster = " ".join(consensus.roster.participants)
    role = f"{consensus.role} in {consensus.term}, {consensus.leader or 'nobody'} leads"
    return f"{life} {role}: {place}; {voters} of {roster}"


def lines(participant: "Participant", events: Iterable[Event], effects: Iterable[Effect]) -> list[str]:
    """What a turn looks like from outside; waiting and ticking left out."""
    name = participant.name
    found = [f"{name} < {event_words(event)}" for event in events if not isinstance(event, Tick | Persisted)]
    for effect in effects:
        match effect:
            case Send():
                found.append(f"{name} > {effect.to}@{effect.address}: {message_words(effect.envelope.message)}")
            case Applied():
                found.append(f"{name} applies {effect.index}: {content_words(effect.entry.content)}: {effect.fact}")
            case Restored() | Settled() | AnswerRead() | Led() | Departing():
                found.append(f"{name} {effect}")
            case _:
                pass
    if found:
        found.append("    " + describe(participant))
    return found
