"""What a phaser finds on its disk when it starts, and what it leaves there."""

from collections.abc import Collection as Several
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
from msgspec import Struct

from hansard.application import Image
from hansard.batch import Batch

from .decree import Decree
from .government import NO_TERM, Term, epoch_of
from .lineage import Run
from .message import Collection
from .streams import Image as Table

STATE: Final = "state"
"""The name of the document with the state at an offset."""


def part_name(collection: Collection, number: int) -> str:
    return f"part-{collection.crc:08x}-{number:06d}"


def parts_in(documents: Mapping[str, bytes], collection: Collection | None) -> list[bytes]:
    """Those of the snapshot that is being collected, as far as they follow each other."""
    parts: list[bytes] = []
    while collection is not None and (name := part_name(collection, len(parts))) in documents:
        parts.append(documents[name])
    return parts


def leftovers(documents: Mapping[str, bytes], collection: Collection | None, parts: int) -> list[str]:
    """What is neither the state nor one of so many parts."""
    wanted = [part_name(collection, number) for number in range(parts)] if collection is not None else []
    return [name for name in sorted(documents) if name != STATE and name not in wanted]


class Expansion(Struct, frozen=True, array_like=True, gc=False):
    """The entry by which a newcomer's copy counts, once its epoch is known to have expanded."""

    epoch: int
    end: int
    """Where it ends in the log; a log that ends before that does not have it."""


class NoteContent(Struct, frozen=True, array_like=True):
    promised: Term = NO_TERM
    """No earlier term will be followed."""
    runs: tuple[Run, ...] = ()
    """Of the log; those that begin at or after its end are void."""
    collection: Collection | None = None
    counted: int = 0
    """The last epoch in which this copy was appointed as one that counts: its leader, or a full member."""
    expansion: Expansion | None = None
    buckets: int = 1
    """How many there were when this was noted: a copy from before a split has the other half's changes too."""


class State(Struct, frozen=True, array_like=True):
    """All that is derived from the log up to an offset that was committed."""

    offset: int
    timestamp: int
    """No entry from here on has a lower one."""
    decree: Decree | None
    streams: Table = Table(0, ())
    """Of a state that was stored before applications were: since then this is one of the images."""
    images: tuple[Image, ...] = ()
    """By name: the streams, and each application."""


class _Place(Struct, frozen=True, array_like=True):
    """As much of a state as says where it is: all of it may be long."""

    offset: int


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


class Standing(Struct, frozen=True):
    """What a copy says of itself when its bucket has lost everybody: was it one of those who had to acknowledge?"""

    counted: int
    """The last epoch in which it was leader or full member, and so has all that was ever acknowledged up to it."""
    expanded: int
    """The last epoch in which it was a newcomer and has the expanded government in its log. The leader sends that entry
    on before its own disk has it, and after a crash may go on without: this counts only if the report came through."""
    end: int
    promised: int = 0
    """The last epoch that it has promised to follow: it will not follow an earlier one."""
    buckets: int = 1
    """How many there were when that was noted."""

    def suffices(self, epoch: int, *, expanded: bool) -> bool:
        """Whether it has all that was ever acknowledged, where this epoch was the last to open, and has expanded."""
        return self.counted >= epoch or (expanded and self.expanded >= epoch)


def standing(recovered: Recovered) -> Standing:
    """Of a copy as its disk has it, whose batches need not be there. Without its state it is of no use to anybody."""
    note, start, end = decode_note(recovered.note), recovered.start, recovered.end
    state_from = replay_from(recovered.documents)
    if begun(note.collection, start, end) or not start <= state_from <= end:
        return Standing(0, 0, end, epoch_of(note.promised), note.buckets)
    return Standing(note.counted, epoch_within(note.expansion, end), end, epoch_of(note.promised), note.buckets)


def epoch_within(expansion: Expansion | None, end: int) -> int:
    """The epoch that has expanded in a log that ends there; 0 if the entry is not in it."""
    return expansion.epoch if expansion is not None and expansion.end <= end else 0


def begun(collection: Collection | None, start: int, end: int) -> bool:
    """Whether the log was thrown away for this snapshot: the note may be older than that."""
    return collection is not None and start == end == collection.start


def dispensable(name: str, start: int) -> bool:
    """Whether a copy whose log begins there may go on without this document. Its state is derived from the log, and can
    be made anew where all of that is there; parts of a snapshot are sent again."""
    return name != STATE or start == 0


def decode_note(content: bytes) -> NoteContent:
    return msgspec.msgpack.decode(content, type=NoteContent) if content else NoteContent()


def encode(document: NoteContent | State) -> bytes:
    return msgspec.msgpack.encode(document)


def decode_state(content: bytes) -> State:
    return msgspec.msgpack.decode(content, type=State)


def replay_from(documents: Mapping[str, bytes], applications: Several[str] = ()) -> int:
    """The offset from which on a starting phaser wants to see the batches of its log again; all of them, where it has
    an application that was not there before."""
    if STATE not in documents:
        return 0
    if applications:
        stored = [image.name for image in decode_state(documents[STATE]).images]
        if any(name not in stored for name in applications):
            return 0
    return msgspec.msgpack.decode(documents[STATE], type=_Place).offset
