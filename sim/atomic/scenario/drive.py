"""A participant's disk, as far as the atomic log knows it: a log, a note and some documents.

Writes are safe once synced, in order. A crash leaves what was synced and a chosen prefix of the rest, of which each
entry counts as a write of its own.
"""

from dataclasses import dataclass, field
from typing import assert_never

from hansard.consensus.content import Entry
from hansard.consensus.effect import Cut, Discard, Keep, Note, Persist, Put, Reset, Trim, Write
from hansard.consensus.recovered import NoteContent, Recovered, decode_note


@dataclass(slots=True)
class Copy:
    """What a disk holds of the atomic log at one moment."""

    note: bytes = b""
    documents: dict[str, bytes] = field(default_factory=dict)
    start: int = 0
    entries: list[Entry] = field(default_factory=list)

    @property
    def end(self) -> int:
        return self.start + len(self.entries)

    def take(self, write: Write) -> None:
        match write:
            case Put():
                assert write.start == self.end, "the log has a hole"
                self.entries += write.entries
            case Cut():
                assert self.start <= write.end <= self.end, "a cut outside of the log"
                del self.entries[write.end - self.start :]
            case Reset():
                self.start, self.entries = write.start, []
            case Trim():
                assert self.start <= write.start <= self.end, "trimmed outside of the log"
                del self.entries[: write.start - self.start]
                self.start = write.start
            case Note():
                self.note = write.content
            case Keep():
                self.documents[write.name] = write.content
            case Discard():
                self.documents.pop(write.name, None)
            case _:
                assert_never(write)


@dataclass(slots=True)
class Drive:
    synced: Copy = field(default_factory=Copy)
    unsynced: list[Persist] = field(default_factory=list)
    sync_us: int = 2_000
    busy_until_us: int = 0
    stalled: bool = False
    stalls: int = 0
    """How often it has stalled: what was on its way before takes its time anew."""

    def write(self, persist: Persist) -> None:
        self.unsynced.append(persist)

    @property
    def end(self) -> int:
        """Of the log, with everything that was written."""
        end = self.synced.end
        for write in self.unsynced_writes():
            match write:
                case Put():
                    end = write.start + len(write.entries)
                case Cut():
                    end = write.end
                case Reset():
                    end = write.start
                case _:
                    pass
        return end

    def write_at_once(self, writes: tuple[Write, ...]) -> None:
        """By somebody else than the participant, which is not there."""
        for write in writes:
            self.synced.take(write)

    def sync(self) -> Persist:
        """The oldest of what was not synced is safe now."""
        persist = self.unsynced.pop(0)
        self.write_at_once(persist.writes)
        return persist

    def unsynced_writes(self) -> list[Write]:
        return [one for persist in self.unsynced for write in persist.writes for one in _single(write)]

    def crash(self, kept_writes: int) -> None:
        """Lose all but so many of the writes that were not synced."""
        self.write_at_once(tuple(self.unsynced_writes()[:kept_writes]))
        self.unsynced.clear()
        self.busy_until_us = 0

    def wipe(self) -> None:
        self.synced = Copy()

    @property
    def note(self) -> NoteContent:
        return decode_note(self.synced.note)

    def recovered(self) -> Recovered:
        copy = self.synced
        return Recovered(note=copy.note, documents=dict(copy.documents), start=copy.start, entries=tuple(copy.entries))


def _single(write: Write) -> list[Write]:
    if isinstance(write, Put):
        return [Put(index, (entry,)) for index, entry in enumerate(write.entries, write.start)]
    return [write]
