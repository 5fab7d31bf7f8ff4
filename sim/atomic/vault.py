"""The disk of a participant as the atomic log sees it: writes that are synced in order, some time later, or lost in a
crash."""

from collections import deque
from collections.abc import Iterable
from random import Random
from typing import assert_never

from hansard.consensus.content import Entry
from hansard.consensus.effect import Cut, Discard, Keep, Note, Put, Reset, Trim, Write
from hansard.consensus.recovered import NoteContent, Recovered, decode_note


class Image:
    """What a disk holds."""

    __slots__ = ("documents", "entries", "note", "start", "trimmed")

    def __init__(self) -> None:
        self.start = 0
        self.entries: list[Entry] = []
        self.note = b""
        self.documents: dict[str, bytes] = {}
        self.trimmed = 0
        """Nothing before it is needed any more."""

    @property
    def end(self) -> int:
        return self.start + len(self.entries)

    def apply(self, write: Write) -> None:
        match write:
            case Put():
                assert write.start == self.end, "a log has no holes"
                self.entries += write.entries
            case Cut():
                assert self.start <= write.end <= self.end, "a log is cut within itself"
                del self.entries[write.end - self.start :]
            case Reset():
                self.entries.clear()
                self.start = self.trimmed = write.start
            case Trim():
                assert write.start <= self.end, "what is not there yet is needed"
                self.trimmed = max(self.trimmed, write.start)
            case Note():
                self.note = write.content
            case Keep():
                self.documents[write.name] = write.content
            case Discard():
                self.documents.pop(write.name, None)
            case _:
                assert_never(write)

    def forget(self, start: int) -> None:
        """What is before an index goes."""
        if start > self.start:
            del self.entries[: start - self.start]
            self.start = start


class Vault:
    def __init__(self, *, lazy: bool) -> None:
        self.lazy = lazy
        """What may be dropped goes when the disk is crashed, if it is not kept even then."""
        self.synced = Image()
        self.pending: deque[tuple[int, tuple[Write, ...]]] = deque()

    def write(self, ticket: int, writes: tuple[Write, ...]) -> None:
        """Begin to write."""
        self.pending.append((ticket, writes))

    def sync(self, ticket: int) -> None:
        """Everything up to this ticket is on disk."""
        pending, apply = self.pending, self.synced.apply
        while pending and pending[0][0] <= ticket:
            for write in pending.popleft()[1]:
                apply(write)
        if not self.lazy:
            self.synced.forget(self.synced.trimmed)

    def crash(self, random: Random) -> int:
        """Lose what is not on disk, all of it or a part: a log that is written to may end in any place. Says how many
        writes were lost."""
        unsynced = pieces([write for _, writes in self.pending for write in writes])
        kept = random.randint(0, len(unsynced))
        for write in unsynced[:kept]:
            self.synced.apply(write)
        self.pending.clear()
        if random.random() < 0.5:
            self.synced.forget(self.synced.trimmed)
        return len(unsynced) - kept

    def recover(self) -> Recovered:
        image = self.synced
        return Recovered(
            note=image.note, documents=image.documents.copy(), start=image.start, entries=tuple(image.entries)
        )

    @property
    def note(self) -> NoteContent:
        """As it would be found after a crash now, at the least."""
        return decode_note(self.synced.note)


def pieces(writes: Iterable[Write]) -> list[Write]:
    """What a crash cannot leave a part of."""
    found: list[Write] = []
    for write in writes:
        if isinstance(write, Put):
            found += [Put(index, (entry,)) for index, entry in enumerate(write.entries, write.start)]
        else:
            found.append(write)
    return found
