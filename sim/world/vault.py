"""The disk of a participant as the phaser sees it: writes that are synced in order, some time later, or lost in a
crash.

`ModelVault` is a plain model, fast enough for thousands of seeds. `StoreVault` (store_vault.py) is the real storage on
the simulated disk, with everything that a crash can do to files.
"""

from bisect import bisect_left
from collections import deque
from random import Random
from typing import Protocol, assert_never

from hansard.batch import Batch
from hansard.phaser.effect import Cut, Discard, Keep, Note, Put, Reset, Write
from hansard.phaser.recovered import Recovered, Standing, replay_from, standing


class Vault(Protocol):
    def write(self, ticket: int, writes: tuple[Write, ...]) -> None:
        """Begin to write; what is written can be read at once."""

    def sync(self, ticket: int) -> None:
        """Everything up to this ticket is on disk."""

    def crash(self, random: Random) -> None:
        """Lose what is not on disk, all of it or a part."""

    def recover(self) -> Recovered: ...

    def fetch(self, offset: int, bytes_max: int) -> list[Batch]: ...

    @property
    def start(self) -> int:
        """Where the log begins."""

    def trim(self, offset: int) -> int:
        """Drop whole batches before an offset; where the log begins now."""

    def synced_batches(self) -> list[Batch]:
        """What would be there after a crash now, at the least."""

    def synced_standing(self) -> Standing:
        """What that would say of itself."""


class Image:
    """What a disk holds, or would hold once everything is synced."""

    __slots__ = ("batches", "documents", "note", "start")

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.start = 0
        self.note = b""
        self.documents: dict[str, bytes] = {}

    @property
    def end(self) -> int:
        return self.batches[-1].header.end_offset if self.batches else self.start

    def apply(self, write: Write) -> None:
        match write:
            case Put():
                assert write.batch.header.base_offset == self.end, "a log has no holes"
                self.batches.append(write.batch)
            case Cut():
                while self.batches and self.batches[-1].header.base_offset >= write.end:
                    self.batches.pop()
                assert self.end == write.end, "a cut is made between batches, within the log"
            case Reset():
                self.batches.clear()
                self.start = write.start
            case Note():
                self.note = write.content
            case Keep():
                self.documents[write.name] = write.content
            case Discard():
                self.documents.pop(write.name, None)
            case _:
                assert_never(write)

    def trim(self, offset: int) -> int:
        keep = next((n for n, b in enumerate(self.batches) if b.header.end_offset > offset), len(self.batches))
        if keep:
            self.start = self.batches[keep - 1].header.end_offset
            del self.batches[:keep]
        return self.start

    def standing(self) -> Standing:
        return standing(Recovered(note=self.note, documents=self.documents, start=self.start, end=self.end))

    def copy(self) -> "Image":
        other = Image()
        other.batches, other.start, other.note = self.batches.copy(), self.start, self.note
        other.documents = self.documents.copy()
        return other


class ModelVault:
    def __init__(self) -> None:
        self.synced = Image()
        self.current = Image()
        self.pending: deque[tuple[int, tuple[Write, ...]]] = deque()

    def write(self, ticket: int, writes: tuple[Write, ...]) -> None:
        self.pending.append((ticket, writes))
        for write in writes:
            self.current.apply(write)

    def sync(self, ticket: int) -> None:
        while self.pending and self.pending[0][0] <= ticket:
            _, writes = self.pending.popleft()
            for write in writes:
                self.synced.apply(write)

    def crash(self, random: Random) -> None:
        unsynced = [write for _, writes in self.pending for write in writes]
        for write in unsynced[: random.randint(0, len(unsynced))]:
            self.synced.apply(write)
        self.pending.clear()
        self.current = self.synced.copy()

    def recover(self) -> Recovered:
        image = self.current
        replay = replay_from(image.documents)
        return Recovered(
            note=image.note,
            documents=image.documents.copy(),
            start=image.start,
            end=image.end,
            timestamp=image.batches[-1].header.last_timestamp if image.batches else 0,
            batches=[batch for batch in image.batches if batch.header.base_offset >= replay],
        )

    def fetch(self, offset: int, bytes_max: int) -> list[Batch]:
        batches = self.current.batches
        place = bisect_left(batches, offset, key=lambda batch: batch.header.base_offset)
        found: list[Batch] = []
        while place < len(batches) and bytes_max > 0:
            found.append(batches[place])
            bytes_max -= batches[place].length
            place += 1
        return found

    @property
    def start(self) -> int:
        return self.current.start

    def trim(self, offset: int) -> int:
        if self.pending:
            return self.start
        start = self.current.trim(min(offset, self.synced.end))
        assert self.synced.trim(start) == start
        return start

    def synced_batches(self) -> list[Batch]:
        return self.synced.batches

    def synced_standing(self) -> Standing:
        return self.synced.standing()
