"""The real storage on the simulated disk, as the disk of a participant.

A model goes along with it. After a crash at any operation of the disk the store must have what the model had synced,
and some prefix of what was under way after it; whatever else it finds is a violation.
"""

from random import Random
from typing import Final

from hansard.consensus.disk import recovered, translated
from hansard.consensus.effect import Write
from hansard.consensus.recovered import Recovered
from hansard.storage.identity import Identity
from hansard.storage.settings import StoreSettings
from hansard.storage.store import Store, open_store
from sim.disk import SimDisk
from sim.oracles.oracle import Violation

from .vault import Image, Vault, pieces

BUCKET: Final = 0
SETTINGS: Final = StoreSettings(
    journal_file_bytes=16 << 10, unfiled_bytes_max=24 << 10, segment_bytes=8 << 10, block_bytes=1 << 10
)


class StoreVault(Vault):
    def __init__(self) -> None:
        super().__init__(lazy=True)  # the model keeps what the store has not dropped yet
        self.disk = SimDisk()
        self.store = self._open(create=True)

    def _open(self, *, create: bool = False) -> Store:
        return open_store(self.disk, create=Identity("simulated") if create else None, settings=SETTINGS)

    def sync(self, ticket: int) -> None:
        self._do([write for number, writes in self.pending if number <= ticket for write in writes])
        super().sync(ticket)
        if self.store.filing_due:
            self.store.file()

    def _do(self, writes: list[Write]) -> None:
        self.store.write([each for write in writes for each in translated(BUCKET, write)])

    def crash(self, random: Random) -> int:
        """At some operation of what was under way, or before or after all of it."""
        under_way = [write for _, writes in self.pending for write in writes]
        before = self.disk.operation_count
        self._do(under_way)
        self.disk = self.disk.crashed(random.randint(before, self.disk.operation_count), random)
        self.store = self._open()
        found, lost = recovered(self.store, BUCKET), pieces(under_way)
        while not _is_of(found, self.synced):
            if not lost:
                end = found.start + len(found.entries)
                raise Violation("what is synced is durable", f"the disk has {found.start} to {end} after a crash")
            self.synced.apply(lost.pop(0))
        self.pending.clear()
        self.synced.forget(found.start)
        return len(lost)

    def recover(self) -> Recovered:
        return recovered(self.store, BUCKET)


def _is_of(found: Recovered, image: Image) -> bool:
    """Whether a store has what the image has; of what it may drop, it may have dropped any part."""
    if (found.note, found.documents) != (image.note, image.documents):
        return False
    if not image.start <= found.start <= max(image.trimmed, image.start):
        return False
    return list(found.entries) == image.entries[found.start - image.start :]
