"""Events and messages in words, for timelines."""

from hansard.phaser.event import Accepted, Appointed, Event, Fetched, Received, Submit
from hansard.phaser.government import epoch_of, reign_of
from hansard.phaser.message import Acknowledge, Append, Message


def term_words(term: int) -> str:
    return f"{epoch_of(term)}.{reign_of(term)}" if reign_of(term) else str(epoch_of(term))


def message_words(message: Message) -> str:
    name = type(message).__name__
    match message:
        case Append():
            header = message.batch.header
            what = f"{header.base_offset}..{header.end_offset - 1} of {term_words(header.epoch)}"
            what += f" after {message.previous_end}, committed {message.committed}"
        case Acknowledge():
            what = f"through {message.through}, ends at {message.end}{', something is missing' * message.missing}"
        case _:
            names = [field for field in message.__struct_fields__ if field not in ("term", "content", "government")]
            what = ", ".join(f"{field} {getattr(message, field)}" for field in names)
    return f"{name} [{term_words(message.term)}] {what}"


def event_words(event: Event) -> str:
    match event:
        case Received():
            return f"{event.sender}: {message_words(event.message)}"
        case Submit():
            header = event.batch.header
            values = b" ".join(value or b"-" for value in event.batch.values()).decode()
            numbers = f"connection {header.connection} series {header.first_series} after {header.previous_series}"
            return f"submission {event.id}: {values} ({numbers})"
        case Appointed():
            government = event.government
            newcomers = f" + {' '.join(government.newcomers)}" if government.newcomers else ""
            members = " ".join(government.members)
            return f"appointed: epoch {government.epoch} {government.leader} leads {members}{newcomers}"
        case Accepted():
            return f"accepted: {event.achievement} epoch {event.epoch}"
        case Fetched():
            return f"fetched {len(event.batches)} batches from {event.offset} for {event.to}"
        case _:
            return str(event)
