"""What a store has: its buckets in memory, the journal and the manifest that say the same on disk, and filing, which
turns the one into the other.

Three locks, always taken in this order: maintenance (filing, cutting, dropping), the journal, what is in memory.
"""

from collections.abc import Collection
from copy import copy
from threading import Lock

from msgspec.structs import replace

from . import ballast
from . import manifest as manifests
from .bucket import BucketLog
from .documents import Documents
from .errors import Corrupt, DiskFull, ReadOnly, StoreFailed, SyncFailed
from .filing import file_entries
from .identity import Identity
from .journal import HEADER_BYTES, Journal
from .manifest import BucketEntry, Manifest, index_path, segment_path
from .record import Moment
from .recovery import Recovery
from .settings import StoreSettings
from .shelf import Shelf


class Stock:
    """Invariant: a bucket in memory is what the manifest and the journal say of it, and that is on disk but for what is
    placed and not settled (intake.py)."""

    def __init__(self, shelf: Shelf, settings: StoreSettings, identity: Identity, manifest: Manifest) -> None:
        self.shelf = shelf
        self.settings = settings
        self.identity = identity
        self.journal = Journal(shelf.disk, settings.journal_file_bytes)
        recovery = Recovery(shelf.disk, manifest)
        recovery.run(self.journal, manifest.journal, read_only=shelf.read_only)
        self.logs: dict[int, BucketLog] = recovery.logs
        self.damage: list[Corrupt] = recovery.damage
        """What recovery found in the journal."""
        ended = {bucket: moment for bucket, moment in recovery.dropped.items() if bucket not in recovery.forked}
        self._documents = Documents(shelf.disk, ended, recovery.forked, read_only=shelf.read_only)
        self._linked: set[tuple[int, int]] = recovery.linked
        """Bucket and number of segments that forks in the part of the journal name which is not filed."""
        self._inherited_bytes = recovery.inherited_bytes
        """Of that part, what forks have in their tails too: it is filed once for each."""
        self._dropped: dict[int, Moment] = {}
        """Buckets that the part of the journal which is not filed drops, and when."""
        self.manifest = manifest
        """As it is on disk, but without what readers held of buckets that were dropped since."""
        for bucket, moment in recovery.dropped.items():
            self._let_go(bucket, moment)
        self.full: DiskFull | None = None
        """Set while the disk has no room: the store takes nothing, and serves what it has."""
        self._failed: str | None = None
        self._writing_at_all = Writing(self)
        self._maintenance = Lock()
        self._journal_lock = Lock()

    def log(self, bucket: int) -> BucketLog:
        with self.shelf.lock:
            return self.logs.get(bucket) or BucketLog(BucketEntry(bucket))

    def _let_go(self, bucket: int, dropped: Moment) -> None:
        self._dropped[bucket] = dropped
        holds = tuple(hold for hold in self.manifest.holds if hold.bucket != bucket)
        self.manifest = replace(self.manifest, holds=holds)

    # Filing.

    @property
    def filing_due(self) -> bool:
        journal = self.journal
        return self.settings.filing_due(journal.unfiled_bytes + self._inherited_bytes, journal.unfiled_records)

    @property
    def _filing_overdue(self) -> bool:
        journal = self.journal
        return self.settings.filing_overdue(journal.unfiled_bytes + self._inherited_bytes, journal.unfiled_records)

    def file(self) -> None:
        """Copy the journal into segments. Appends and reads go on meanwhile."""
        with self._writing(), self._maintenance:
            self._file()

    def _make_room(self) -> None:
        """Appends that come faster than filing wait for it here."""
        if self._filing_overdue:
            self.file()

    def _tidy(self) -> None:
        """File what was cut, so that its space is free. If that fails, the cut is in the journal, which is enough."""
        try:
            self._file()
        except DiskFull as error:
            self.full = copy(error)
        except Corrupt:  # in another bucket: whoever files next is told
            pass

    def _file(self, *, give_up_damaged: bool = False) -> None:
        with self.shelf.lock:
            doubts = [log.doubt or log.lost_note for _, log in sorted(self.logs.items())]
        for doubt in doubts:
            if doubt is not None:  # filing would let go of the journal file that shows it
                raise copy(doubt)
        with self._journal_lock:
            if self.journal.current.end > HEADER_BYTES:
                self.journal.begin_file()
            number = self.journal.current.number
            with self.shelf.lock:
                logs = [log for _, log in sorted(self.logs.items())]
                filed = [replace(log.filed, note=log.note, forked=None) for log in logs]
                plans = [(log, entry, log.entries_below(number)) for log, entry in zip(logs, filed, strict=True)]
        next_segment, entries, known = self.manifest.next_segment, [], self.segments()
        for _, entry, tail in plans:
            entry, next_segment = file_entries(
                self.shelf.disk, self.settings, entry, tail, next_segment, give_up_damaged=give_up_damaged
            )
            entries.append(entry)
        self._save(Manifest(number, next_segment, tuple(entries), self.manifest.holds))
        self._dropped.clear()
        self._linked.clear()
        self._inherited_bytes = 0
        with self._journal_lock, self.shelf.lock:
            for (log, _, tail), entry in zip(plans, entries, strict=True):
                log.take_filed(entry, len(tail))
            self.journal.release(number)
        with self._journal_lock:
            self.journal.remove_surplus()
        self._remove(known - self.segments())
        ballast.take(self.shelf.disk)

    def _save(self, manifest: Manifest) -> None:
        manifests.save(self.shelf.disk, manifest)
        self.manifest = manifest

    def segments(self) -> set[tuple[int, int]]:
        """Bucket and number of those that the manifest or the journal names: what is in no other file is not needed."""
        return self._linked.union((entry.bucket, part.id) for entry in self.manifest.buckets for part in entry.segments)

    def _is_named(self, bucket: int, segment_id: int) -> bool:
        return (bucket, segment_id) in self._linked or any(
            segment_id == segment.id
            for entry in self.manifest.buckets
            if entry.bucket == bucket
            for segment in entry.segments
        )

    def _remove(self, segments: Collection[tuple[int, int]]) -> None:
        """The files of segments that are named no longer. If a crash leaves some, opening removes them."""
        for segment in sorted(segments):
            for path in (segment_path(*segment), index_path(*segment)):
                if self.shelf.disk.exists(path):
                    self.shelf.disk.remove(path)

    # Failing and closing.

    def _writing(self) -> "Writing":
        return self._writing_at_all

    def begin_writing(self) -> None:
        if self.shelf.read_only:
            raise ReadOnly
        if self._failed is not None:
            raise StoreFailed(self._failed)

    def end_writing(self, error: BaseException | None) -> None:
        """Turns a full disk into a state that is left when there is room, and a failed sync into one that is not."""
        match error:
            case DiskFull():
                self.full = copy(error)  # without its traceback, which holds on to what could not be stored
            case SyncFailed():
                self._failed = str(error)
            case OSError():
                self._failed = str(error)
                raise StoreFailed(self._failed) from error
            case _:
                pass

    def close(self) -> None:
        """After a failure the directory stays locked: only a new process may trust what it reads from it."""
        with self._maintenance, self._journal_lock:
            self.journal.close()
            if self._failed is None:
                self.shelf.disk.unlock()


class Writing:
    """What every write is done under. Any number of threads may be in it; the locks are another matter."""

    __slots__ = ("_stock",)

    def __init__(self, stock: Stock) -> None:
        self._stock = stock

    def __enter__(self) -> None:
        self._stock.begin_writing()

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if error is not None:
            self._stock.end_writing(error)
