"""The real storage on the simulated disk, as a phaser's disk.

A model goes along with it. After a crash at any operation of the disk the store must have what the model had synced,
and some prefix of what was under way after it; whatever else it finds is a violation.
"""

from random import Random
from typing import Final

from hansard.batch import Batch
from hansard.phaser.effect import Write
from hansard.phaser.recovered import Recovered, Standing
from hansard.server.disk import translated
from hansard.storage.identity import Identity
from hansard.storage.manifest import Hold
from hansard.storage.retention import Retention
from hansard.storage.settings import StoreSettings
from hansard.storage.store import Store, open_store
from sim.disk import SimDisk
from sim.oracles import Violation

from .vault import Image, ModelVault

BUCKET: Final = 3
SETTINGS: Final = StoreSettings(
    journal_file_bytes=16 << 10, unfiled_bytes_max=24 << 10, segment_bytes=8 << 10, block_bytes=1 << 10
)
FOREVER_US: Final = 1 << 62


class StoreVault:
    def __init__(self) -> None:
        self.model = ModelVault()
        self.disk = SimDisk()
        self.store = self._open(create=True)

    def _open(self, *, create: bool = False) -> Store:
        return open_store(self.disk, create=Identity("simulated") if create else None, settings=SETTINGS)

    def write(self, ticket: int, writes: tuple[Write, ...]) -> None:
        self.model.write(ticket, writes)

    def sync(self, ticket: int) -> None:
        writes = [write for number, group in self.model.pending if number <= ticket for write in group]
        self._do(writes)
        self.model.sync(ticket)
        if self.store.filing_due:
            self.store.file()

    def _do(self, writes: list[Write]) -> None:
        self.store.write([translated(BUCKET, write) for write in writes])

    def crash(self, random: Random) -> None:
        """At some operation of what was under way, or before or after all of it."""
        under_way = [write for _, group in self.model.pending for write in group]
        before = self.disk.operation_count
        self._do(under_way)
        self.disk = self.disk.crashed(random.randint(before, self.disk.operation_count), random)
        self.store = self._open()
        image = self.model.synced.copy()
        while not self._has(image):
            if not under_way:
                raise Violation("acknowledged is durable", f"the disk has {self.store.bounds(BUCKET)} after a crash")
            image.apply(under_way.pop(0))
        self.model.synced, self.model.current = image, image.copy()
        self.model.pending.clear()

    def _has(self, image: Image) -> bool:
        store = self.store
        documents = {name: store.document(BUCKET, name) for name in store.documents(BUCKET)}
        if (store.bounds(BUCKET), store.note(BUCKET), documents) != (
            (image.start, image.end),
            image.note,
            image.documents,
        ):
            return False
        stored = store.batches(BUCKET, image.start, 1 << 40) if image.batches else []
        return [batch.header for batch in stored] == [batch.header for batch in image.batches]

    def recover(self) -> Recovered:
        return self.model.recover()

    def fetch(self, offset: int, bytes_max: int) -> list[Batch]:
        return self.model.fetch(offset, bytes_max)

    @property
    def start(self) -> int:
        return self.model.start

    def trim(self, offset: int) -> int:
        """Whole segments go, so it may be less than what was asked for."""
        if self.model.pending:
            return self.start
        self.store.hold(Hold("phaser", BUCKET, max(offset, self.start), FOREVER_US))
        self.store.retain({BUCKET: Retention(change_count=0)}, 0)
        start = self.model.trim(self.store.bounds(BUCKET)[0])
        assert start == self.store.bounds(BUCKET)[0]
        return start

    def synced_batches(self) -> list[Batch]:
        return self.model.synced_batches()

    def synced_standing(self) -> Standing:
        return self.model.synced_standing()
