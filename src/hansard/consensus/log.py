"""The log as far as memory has it, which is all of it that is not compacted, and who votes by it.

    0 ........ start ............... end
    forgotten       entries in memory

Invariant: `councils` are the Council entries in memory, in order; `_base` is who voted before the first of them.
"""

from collections.abc import Sequence

from .cluster import Peer
from .content import Arrive, Council, Entry, Proposal


class Log:
    __slots__ = ("_base", "councils", "entries", "start", "start_term")

    def __init__(self, start: int, start_term: int, voters: tuple[Peer, ...]) -> None:
        self.start = start
        self.start_term = start_term
        """Of the entry before the first."""
        self.entries: list[Entry] = []
        self._base = voters
        self.councils: list[tuple[int, tuple[Peer, ...]]] = []
        """With their indexes."""

    @property
    def end(self) -> int:
        return self.start + len(self.entries)

    @property
    def last_term(self) -> int:
        return self.entries[-1].term if self.entries else self.start_term

    @property
    def voters(self) -> tuple[Peer, ...]:
        """By the latest council, committed or not."""
        return self.councils[-1][1] if self.councils else self._base

    def voters_before(self, end: int) -> tuple[Peer, ...]:
        """By the entries before an index."""
        voters = self._base
        for index, council in self.councils:
            if index < end:
                voters = council
        return voters

    def may_vote(self, peer: Peer, committed: int) -> bool:
        """By the last council that is committed, or by any later one: each of them may turn out to count."""
        if peer in self.voters or peer in self.voters_before(committed):
            return True
        return any(peer in voters for index, voters in self.councils if index >= committed)

    def term_before(self, end: int) -> int | None:
        """Of the entry before an index; None if it is not known any more, or not there yet."""
        if end == self.start:
            return self.start_term
        place = end - self.start - 1
        return self.entries[place].term if 0 <= place < len(self.entries) else None

    def entry(self, index: int) -> Entry:
        assert self.start <= index < self.end
        return self.entries[index - self.start]

    def append(self, entries: Sequence[Entry]) -> None:
        for index, entry in enumerate(entries, self.end):
            if isinstance(entry.content, Council):
                self.councils.append((index, entry.content.voters))
        self.entries += entries

    def cut(self, end: int) -> None:
        assert self.start <= end <= self.end
        del self.entries[end - self.start :]
        while self.councils and self.councils[-1][0] >= end:
            self.councils.pop()

    def trim(self, start: int) -> None:
        """Forget what is before an index."""
        term = self.term_before(start)
        assert term is not None and start <= self.end
        self._base = self.voters_before(start)
        self.councils = [(index, voters) for index, voters in self.councils if index >= start]
        del self.entries[: start - self.start]
        self.start, self.start_term = start, term

    def piece(self, start: int, entries_max: int, bytes_max: int) -> tuple[Entry, ...]:
        """Entries from an index on, at least one if there is one."""
        place = start - self.start
        assert place >= 0
        found: list[Entry] = []
        length = 0
        for entry in self.entries[place : place + entries_max]:
            length += size(entry)
            if found and length > bytes_max:
                break
            found.append(entry)
        return tuple(found)


def size(entry: Entry) -> int:
    """About what it takes in a message."""
    match entry.content:
        case Proposal():
            return 64 + len(entry.content.content)
        case Arrive():
            return 128 + len(entry.content.inventory)
        case _:
            return 128
