"""Events, messages and states of nodes in words, for timelines."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from hansard.consensus.content import Content, Proposal
from hansard.consensus.message import Append, Envelope, Offer
from hansard.distributor.command import decode
from hansard.participant.effect import Committed, Effect, Persist, Send
from hansard.participant.event import Event, Fetched, Loaded, Persisted, Received, Submit, Tick
from hansard.participant.message import Atomic, Bucketed, Hop, Message
from hansard.phaser.government import epoch_of
from hansard.phaser.phaser import Phaser
from sim.atomic import words as atomic
from sim.world import words as bucket

if TYPE_CHECKING:
    from .node import Node


def content_words(content: Content) -> str:
    if isinstance(content, Proposal):
        number = f"{content.session}.{content.number}"
        return f"{decode(content.content)} ({content.proposer.node} {number})"
    return atomic.content_words(content)


def message_words(message: Message) -> str:
    match message:
        case Atomic(envelope=Envelope(message=Append() as append)):
            entries = "; ".join([f"{entry.term}: {content_words(entry.content)}" for entry in append.entries])
            return f"Append [{append.term}] {append.start}, committed {append.committed}, {entries or 'nothing'}"
        case Atomic(envelope=Envelope(message=Offer() as offer)):
            return f"Offer {'; '.join(map(content_words, offer.contents))}"
        case Atomic():
            return atomic.message_words(message.envelope.message)
        case Bucketed():
            return f"bucket {message.bucket} to {message.to}: {bucket.message_words(message.message)}"
        case Hop():
            place = f"{message.origin} {message.number}, hop {message.hops}, version {message.version}"
            return f"Hop to bucket {message.bucket}, from {place}"
        case _:
            return str(message)


def event_words(event: Event) -> str:
    match event:
        case Received():
            return f"{event.sender}: {message_words(event.message)}"
        case Submit():
            values = b" ".join(value or b"-" for value in event.batch.values()).decode()
            return f"submission {event.id} to bucket {event.bucket}: {values}"
        case Loaded():
            return f"loaded bucket {event.bucket} up to {event.recovered.end}"
        case Fetched():
            return f"fetched {len(event.batches)} batches of bucket {event.bucket} for {event.to}"
        case _:
            return str(event)


def effect_words(effect: Effect) -> str:
    if isinstance(effect, Send):
        return f"> {effect.to}@{effect.address}: {message_words(effect.message)}"
    return str(effect)


def phaser_words(number: int, phaser: Phaser | None) -> str:
    if phaser is None:
        return f"{number}: loading"
    ledger, term = phaser.ledger, phaser.term
    role = "wedged"
    if phaser.leading is not None:
        role = f"leads ({phaser.leading.phase.name.lower()})"
    elif phaser.following is not None:
        role = "follows"
    place = f"committed {ledger.committed} synced {ledger.synced} end {ledger.end}"
    return f"{number}: {phaser.me} {role} epoch {epoch_of(term)}, {place}"


def describe(node: "Node") -> str:
    if node.core is None:
        return f"{node.name} is down{' for good' * node.down_for_good}"
    consensus, core = node.core.consensus, node.core
    role = f"{consensus.role} in {consensus.term}, {consensus.leader or 'nobody'} leads"
    place = f"committed {consensus.committed} synced {consensus.synced} end {consensus.log.end}"
    voters = " ".join([voter.node for voter in consensus.voters])
    buckets = "; ".join([phaser_words(number, copy.phaser) for number, copy in core.copies.running.items()])
    who = f"{core.here.member or node.name}, version {core.distributor.version}"
    return f"{who}: {role}, {place}, voters {voters}; {buckets or 'no buckets'}"


def lines(node: "Node", events: Iterable[Event], effects: Iterable[Effect]) -> list[str]:
    """What a turn looks like from outside; waiting and ticking left out."""
    found = [f"{node.name} < {event_words(one)}" for one in events if not isinstance(one, Tick | Persisted)]
    shown = [one for one in effects if not isinstance(one, Persist | Committed)]
    found += [f"{node.name} {effect_words(one)}" for one in shown]
    if found:
        found.append("    " + describe(node))
    return found
