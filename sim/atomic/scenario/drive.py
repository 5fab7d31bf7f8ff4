"""A participant's disk, as far as the atomic log knows it.

Writes are safe once synced, in order. A crash leaves what was synced and a chosen prefix of the rest, of which each
entry counts as a write of its own.
"""

from dataclasses import dataclass, field

from hansard.consensus.effect import Cut, Persist, Put, Reset, Write
from hansard.consensus.recovered import NoteContent, Recovered, decode_note
from sim.atomic.vault import Image


@dataclass(slots=True)
class Drive:
    synced: Image = field(default_factory=Image)
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
            self.synced.apply(write)

    def sync(self) -> Persist:
        """The oldest of what was not synced is safe now."""
        persist = self.unsynced.pop(0)
        self.write_at_once(persist.writes)
        self.synced.drop()
        return persist

    def unsynced_writes(self) -> list[Write]:
        return [one for persist in self.unsynced for write in persist.writes for one in _single(write)]

    def crash(self, kept_writes: int) -> None:
        """Lose all but so many of the writes that were not synced."""
        self.write_at_once(tuple(self.unsynced_writes()[:kept_writes]))
        self.unsynced.clear()
        self.busy_until_us = 0

    def wipe(self) -> None:
        self.synced = Image()

    @property
    def note(self) -> NoteContent:
        return decode_note(self.synced.note)

    def recovered(self) -> Recovered:
        image = self.synced
        return Recovered(
            note=image.note, documents=dict(image.documents), start=image.start, entries=tuple(image.entries)
        )


def _single(write: Write) -> list[Write]:
    if isinstance(write, Put):
        return [Put(index, (entry,)) for index, entry in enumerate(write.entries, write.start)]
    return [write]
