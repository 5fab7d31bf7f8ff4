"""The disk of a participant as a plain model: writes are synced in their order, some time later."""

from collections import deque
from collections.abc import Iterable
from typing import assert_never

from hansard.consensus.content import Entry
from hansard.consensus.effect import Cut, Discard, Keep, Note, Persist, Put, Reset, Trim, Write
from hansard.consensus.recovered import Recovered


class Disk:
    """A crash leaves any prefix of the writes that were under way."""

    def __init__(self, writes: Iterable[Write] = ()) -> None:
        self.start = 0
        self.entries: list[Entry] = []
        self.note = b""
        self.documents: dict[str, bytes] = {}
        self.under_way: deque[tuple[int, Write]] = deque()
        for write in writes:
            self.apply(write)

    def write(self, persist: Persist) -> None:
        self.under_way += [(persist.ticket, write) for write in persist.writes]

    def sync(self, ticket: int) -> None:
        while self.under_way and self.under_way[0][0] <= ticket:
            self.apply(self.under_way.popleft()[1])

    def crash(self, kept: int) -> None:
        """That many of the writes that were under way are there all the same."""
        for _, write in list(self.under_way)[:kept]:
            self.apply(write)
        self.under_way.clear()

    def recovered(self) -> Recovered:
        documents = self.documents.copy()
        return Recovered(note=self.note, documents=documents, start=self.start, entries=tuple(self.entries))

    def apply(self, write: Write) -> None:
        match write:
            case Put():
                assert write.start == self.start + len(self.entries), "a log has no holes"
                self.entries += write.entries
            case Cut():
                assert self.start <= write.end <= self.start + len(self.entries), "a log is cut within itself"
                del self.entries[write.end - self.start :]
            case Reset():
                self.entries, self.start = [], write.start
            case Trim():
                assert self.start <= write.start <= self.start + len(self.entries)
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
