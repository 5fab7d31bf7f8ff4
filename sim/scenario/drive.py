"""A participant's disk, as far as a phaser knows it: a log, a note and some documents.

Writes are seen at once and are safe once synced, in order. A crash leaves what was synced and a chosen prefix of the
writes that were not.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from hansard.batch import Batch
from hansard.phaser import Recovered
from hansard.phaser.effect import Cut, Discard, Keep, Note, Persist, Put, Reset, Write
from hansard.phaser.recovered import replay_from


@dataclass(frozen=True, slots=True)
class Copy:
    """What a disk holds of the bucket at one moment."""

    note: bytes = b""
    documents: tuple[tuple[str, bytes], ...] = ()
    start: int = 0
    batches: tuple[Batch, ...] = ()

    @property
    def end(self) -> int:
        return self.batches[-1].header.end_offset if self.batches else self.start

    def after(self, write: Write) -> "Copy":
        match write:
            case Put():
                assert write.batch.header.base_offset == self.end, "the log has a hole"
                return replace(self, batches=(*self.batches, write.batch))
            case Cut():
                kept = tuple([batch for batch in self.batches if batch.header.end_offset <= write.end])
                cut = replace(self, batches=kept)
                assert cut.end == write.end, "a cut within a batch"
                return cut
            case Reset():
                return replace(self, start=write.start, batches=())
            case Note():
                return replace(self, note=write.content)
            case Keep():
                return replace(self, documents=(*self._without(write.name), (write.name, write.content)))
            case Discard():
                return replace(self, documents=self._without(write.name))
            case _:
                assert_never(write)

    def _without(self, name: str) -> tuple[tuple[str, bytes], ...]:
        return tuple([document for document in self.documents if document[0] != name])

    def trimmed(self, start: int) -> "Copy":
        kept = tuple([batch for batch in self.batches if batch.header.base_offset >= start])
        trimmed = replace(self, start=start, batches=kept)
        assert trimmed.end == self.end and (not kept or kept[0].header.base_offset == start), "trimmed within a batch"
        return trimmed

    def recovered(self) -> Recovered:
        documents = dict(self.documents)
        return Recovered(
            note=self.note,
            documents=documents,
            start=self.start,
            end=self.end,
            timestamp=self.batches[-1].header.last_timestamp if self.batches else 0,
            batches=[batch for batch in self.batches if batch.header.base_offset >= replay_from(documents)],
        )


@dataclass(slots=True)
class Drive:
    latest: Copy = field(default_factory=Copy)
    """With everything that was written."""
    synced: Copy = field(default_factory=Copy)
    unsynced: list[Persist] = field(default_factory=list)
    sync_us: int = 2_000
    busy_until_us: int = 0
    stalled: bool = False
    stalls: int = 0
    """How often it has stalled: what was on its way before takes its time anew."""

    def write(self, persist: Persist) -> None:
        for write in persist.writes:
            self.latest = self.latest.after(write)
        self.unsynced.append(persist)

    def sync(self) -> Persist:
        """The oldest of what was not synced is safe now."""
        persist = self.unsynced.pop(0)
        for write in persist.writes:
            self.synced = self.synced.after(write)
        return persist

    @property
    def unsynced_count(self) -> int:
        return sum(len(persist.writes) for persist in self.unsynced)

    def crash(self, kept_writes: int) -> None:
        """Lose all but so many of the writes that were not synced."""
        writes: Sequence[Write] = [write for persist in self.unsynced for write in persist.writes]
        for write in writes[:kept_writes]:
            self.synced = self.synced.after(write)
        self.latest = self.synced
        self.unsynced.clear()
        self.busy_until_us = 0

    def trim(self, start: int) -> None:
        self.latest, self.synced = self.latest.trimmed(start), self.synced.trimmed(start)
