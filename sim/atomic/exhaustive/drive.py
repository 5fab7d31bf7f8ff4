"""One participant's disk: what is on it for good, and the writes under way to it.

Writes arrive in order, a whole ticket at a time. A crash leaves those of the tickets that arrived, and any prefix of
the rest, where each entry is a write of its own.
"""

from collections.abc import Sequence
from typing import assert_never

from msgspec import Struct

from hansard.consensus.content import Entry
from hansard.consensus.effect import Cut, Discard, Keep, Note, Put, Reset, Trim, Write
from hansard.consensus.recovered import NoteContent, Recovered, decode_note, encode

Done = Put | Cut | Reset | Trim | NoteContent | Keep | Discard
"""What is written, with the note as it reads."""


class Platter(Struct, frozen=True):
    """The log as a disk has it."""

    note: NoteContent
    start: int
    entries: tuple[Entry, ...] = ()
    documents: tuple[tuple[str, bytes], ...] = ()
    """In the order of their names."""

    @property
    def end(self) -> int:
        return self.start + len(self.entries)

    def written(self, write: Done) -> "Platter":
        note, start, entries, documents = self.note, self.start, self.entries, self.documents
        match write:
            case Put():
                assert write.start == self.end, "entries are put where the log ends"
                entries += write.entries
            case Cut():
                assert start <= write.end <= self.end, "a log is cut within itself"
                entries = entries[: write.end - start]
            case Reset():
                start, entries = write.start, ()
            case Trim():
                pass  # when it is dropped is the storage's affair
            case NoteContent():
                note = write
            case Keep():
                documents = tuple(sorted({**dict(documents), write.name: write.content}.items()))
            case Discard():
                documents = tuple([each for each in documents if each[0] != write.name])
            case _:
                assert_never(write)
        return Platter(note, start, entries, documents)

    def recovered(self) -> Recovered:
        return Recovered(
            note=encode(self.note), documents=dict(self.documents), start=self.start, entries=list(self.entries)
        )


class Drive(Struct, frozen=True):
    """A disk with a queue before it."""

    platter: Platter
    waiting: tuple[tuple[Done, ...], ...] = ()
    """The writes of each ticket that has not been persisted."""

    def persist(self, writes: tuple[Write, ...]) -> "Drive":
        return Drive(self.platter, (*self.waiting, _apart(writes)))

    def persisted(self) -> "Drive":
        """The first ticket is on disk."""
        return Drive(all_written(self.platter, self.waiting[0]), self.waiting[1:])

    @property
    def unsynced(self) -> tuple[Done, ...]:
        return tuple([write for writes in self.waiting for write in writes])

    @property
    def seen(self) -> Platter:
        """With everything that was written, synced or not."""
        return all_written(self.platter, self.unsynced)

    def crashed(self, survivors: int) -> "Drive":
        """With so many of the writes that were under way."""
        return Drive(all_written(self.platter, self.unsynced[:survivors]))


def all_written(platter: Platter, writes: Sequence[Done]) -> Platter:
    for write in writes:
        platter = platter.written(write)
    return platter


def _apart(writes: Sequence[Write]) -> tuple[Done, ...]:
    found: list[Done] = []
    for write in writes:
        if isinstance(write, Put):
            found += [Put(write.start + place, (entry,)) for place, entry in enumerate(write.entries)]
        elif isinstance(write, Note):
            found.append(decode_note(write.content))
        else:
            found.append(write)
    return tuple(found)
