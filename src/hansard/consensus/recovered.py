"""What is found on the disk when a participant starts, and what it leaves there."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from .cluster import NO_CLUSTER, ClusterId, Peer
from .content import Council, Entry
from .effect import Keep, Note, Put, Write
from .message import Collection
from .roster import Image

STATE: Final = "state"
"""The name of the document with the state at an index."""


def part_name(collection: Collection, number: int) -> str:
    return f"part-{collection.crc:08x}-{number:06d}"


class NoteContent(Struct, frozen=True, array_like=True):
    cluster: ClusterId = NO_CLUSTER
    life: int = 0
    session: int = 0
    """Of the process that wrote it last; each has the next one."""
    term: int = 0
    vote: Peer | None = None
    """Given in this term."""
    collection: Collection | None = None
    """The state that some parts have come of."""


class State(Struct, frozen=True, array_like=True):
    """All that follows from the log before an index that was committed."""

    end: int = 0
    term: int = 0
    """Of the entry before that."""
    voters: tuple[Peer, ...] = ()
    roster: Image = Image()
    image: bytes = b""
    """Of the machine."""


class Recovered(Struct, frozen=True, kw_only=True):
    """As the disk has it. An empty disk has the defaults."""

    note: bytes = b""
    documents: Mapping[str, bytes] = {}
    start: int = 0
    entries: Sequence[Entry] = ()
    """From there on; never from behind the state's end."""


def decode_note(content: bytes) -> NoteContent:
    return msgspec.msgpack.decode(content, type=NoteContent) if content else NoteContent()


def decode_state(content: bytes) -> State:
    return msgspec.msgpack.decode(content, type=State) if content else State()


def encode(document: NoteContent | State) -> bytes:
    return msgspec.msgpack.encode(document)


def founding(cluster: ClusterId, founder: Peer) -> tuple[Write, ...]:
    """What a founder writes to its empty disk: a log that says that it alone votes. Everything else is in the log."""
    first = Entry(0, Council((founder,)))
    return Note(encode(NoteContent(cluster=cluster, life=founder.life))), Put(0, (first,))


def refounding(cluster: ClusterId, founder: Peer, state: State) -> tuple[Write, ...]:
    """The same for a cluster that goes on from the state of one that has lost its majority, on an empty disk."""
    going_on = msgspec.structs.replace(state, voters=(founder,))
    note = NoteContent(cluster=cluster, life=founder.life, term=state.term)
    return Note(encode(note)), Keep(STATE, encode(going_on))
