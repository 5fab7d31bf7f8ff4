"""What a phaser finds on its disk when it starts, and what it leaves there."""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
from msgspec import Struct

from hansard.batch import Batch

from .decree import Decree
from .government import NO_TERM, Term
from .lineage import Run
from .message import Collection
from .streams import Image

STATE: Final = "state"
"""The name of the document with the state at an offset."""


def part_name(collection: Collection, number: int) -> str:
    return f"part-{collection.crc:08x}-{number:06d}"


class NoteContent(Struct, frozen=True, array_like=True):
    promised: Term = NO_TERM
    """No earlier term will be followed."""
    runs: tuple[Run, ...] = ()
    """Of the log; those that begin at or after its end are void."""
    collection: Collection | None = None


class State(Struct, frozen=True, array_like=True):
    """All that is derived from the log up to an offset that was committed."""

    offset: int
    timestamp: int
    """No entry from here on has a lower one."""
    decree: Decree | None
    streams: Image


class Recovered(Struct, frozen=True, kw_only=True):
    """A copy of the bucket as its disk has it. A new one has the defaults."""

    note: bytes = b""
    documents: Mapping[str, bytes] = {}
    """All that were kept and not discarded, by name."""
    start: int = 0
    end: int = 0
    timestamp: int = 0
    """Of the last entry."""
    batches: Iterable[Batch] = ()
    """From `replay_from` on."""


def decode_note(content: bytes) -> NoteContent:
    return msgspec.msgpack.decode(content, type=NoteContent) if content else NoteContent()


def encode(document: NoteContent | State) -> bytes:
    return msgspec.msgpack.encode(document)


def decode_state(content: bytes) -> State:
    return msgspec.msgpack.decode(content, type=State)


def replay_from(documents: Mapping[str, bytes]) -> int:
    """The offset from which on a starting phaser wants to see the batches of its log again."""
    return decode_state(documents[STATE]).offset if STATE in documents else 0
