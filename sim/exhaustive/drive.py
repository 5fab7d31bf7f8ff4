"""One participant's disk: what is on it for good, and the writes under way to it.

Writes arrive in order, a whole ticket at a time. A crash leaves those of the tickets that arrived, and any prefix of
the rest.
"""

from collections.abc import Sequence
from typing import assert_never

from msgspec import Struct

from hansard.batch import Batch
from hansard.phaser import Recovered
from hansard.phaser.effect import Cut, Discard, Keep, Note, Put, Reset, Write
from hansard.phaser.recovered import replay_from


class Platter(Struct, frozen=True):
    """The bucket as a disk has it."""

    start: int = 0
    batches: tuple[Batch, ...] = ()
    note: bytes = b""
    documents: tuple[tuple[str, bytes], ...] = ()
    """In the order of their names."""

    @property
    def end(self) -> int:
        return self.batches[-1].header.end_offset if self.batches else self.start

    def written(self, write: Write) -> "Platter":
        start, batches, note, documents = self.start, self.batches, self.note, dict(self.documents)
        match write:
            case Put():
                assert write.batch.header.base_offset == self.end, "a batch is put where the log ends"
                batches = (*batches, write.batch)
            case Cut():
                assert self.start <= write.end <= self.end, "a log is cut within itself"
                batches = tuple([batch for batch in batches if batch.header.base_offset < write.end])
                assert not batches or batches[-1].header.end_offset <= write.end, "a log is cut between batches"
            case Reset():
                start, batches = write.start, ()
            case Note():
                note = write.content
            case Keep():
                documents[write.name] = write.content
            case Discard():
                documents.pop(write.name, None)
            case _:
                assert_never(write)
        return Platter(start, batches, note, tuple(sorted(documents.items())))

    def recovered(self) -> Recovered:
        documents = dict(self.documents)
        since = replay_from(documents)
        return Recovered(
            note=self.note,
            documents=documents,
            start=self.start,
            end=self.end,
            timestamp=self.batches[-1].header.last_timestamp if self.batches else 0,
            batches=[batch for batch in self.batches if batch.header.end_offset > since],
        )


class Drive(Struct, frozen=True):
    """A disk with a queue before it."""

    platter: Platter = Platter()
    waiting: tuple[tuple[Write, ...], ...] = ()
    """The writes of each ticket that has not been persisted."""

    def persist(self, writes: tuple[Write, ...]) -> "Drive":
        return Drive(self.platter, (*self.waiting, writes))

    def persisted(self) -> "Drive":
        """The first ticket is on disk."""
        return Drive(all_written(self.platter, self.waiting[0]), self.waiting[1:])

    @property
    def unsynced(self) -> tuple[Write, ...]:
        return tuple([write for writes in self.waiting for write in writes])

    @property
    def seen(self) -> Platter:
        """What a reader of this disk sees: everything that was written, synced or not."""
        return all_written(self.platter, self.unsynced)

    def crashed(self, survivors: int) -> "Drive":
        """With so many of the writes that were under way."""
        return Drive(all_written(self.platter, self.unsynced[:survivors]))


def all_written(platter: Platter, writes: Sequence[Write]) -> Platter:
    for write in writes:
        platter = platter.written(write)
    return platter
