"""The store: all the buckets of one directory, under one journal.

    identity.json         whose directory it is             (identity.py)
    manifest              which segments each bucket has    (manifest.py)
    journal/NN.journal    what is not in segments yet       (journal.py, record.py)
    buckets/BBBBB/*.segment, *.index                        (segment.py, index.py)

A change's way: `append` puts a batch into the journal and syncs; from then on it is read from there. `file` copies
what has gathered into segments and gives the journal's files free. Each is called from any thread; three locks, always
taken in this order, keep them apart: maintenance (filing, cutting, dropping), the journal, what is in memory.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from copy import copy
from threading import Lock

from msgspec.structs import replace

from hansard.batch import Batch

from . import ballast, reading
from . import identity as identities
from . import manifest as manifests
from .bucket import BucketLog
from .disk import Disk
from .errors import Corrupt, DiskFull, NoStore, ReadOnly, StorageError, StoreFailed, SyncFailed, Trimmed
from .filing import cut_back, file_entries
from .identity import Identity
from .journal import FOLDER, HEADER_BYTES, Journal
from .manifest import BucketEntry, Hold, Manifest, index_path, segment_path
from .reading import Page, Query
from .record import Kind, Record
from .recovery import Recovery, has_journal_content
from .repair import DoesNotFit, overwrite
from .retention import Retention, droppable, held_from
from .salvage import without_damage
from .settings import StoreSettings
from .shelf import Shelf

ROOM_BYTES = 1 << 20
"""A full disk counts as having room again when it has this much more than an append needs."""


class Store:
    """Made by `open_store`. Invariant: a bucket in memory is what the manifest and the journal on disk say of it."""

    def __init__(self, shelf: Shelf, settings: StoreSettings, identity: Identity, manifest: Manifest) -> None:
        self.shelf = shelf
        self.settings = settings
        self.identity = identity
        self.journal = Journal(shelf.disk, settings.journal_file_bytes)
        self.manifest = manifest
        """As it is on disk."""
        recovery = Recovery(shelf.disk, manifest)
        recovery.run(self.journal, manifest.journal, read_only=shelf.read_only)
        self.logs: dict[int, BucketLog] = recovery.logs
        self.damage: list[Corrupt] = recovery.damage
        """What recovery found in the journal."""
        self.full: DiskFull | None = None
        """Set while the disk has no room: the store takes nothing, and serves what it has."""
        self._failed: str | None = None
        self._maintenance = Lock()
        self._journal_lock = Lock()
        self._unfiled_records = sum(len(log.tail) for log in self.logs.values())

    # Reading.

    def buckets(self) -> list[int]:
        with self.shelf.lock:
            return sorted(self.logs)

    def bounds(self, bucket: int) -> tuple[int, int]:
        """The first offset that is retained, and the first that is not there yet."""
        with self.shelf.lock:
            log = self.logs.get(bucket)
            return (log.start, log.end) if log else (0, 0)

    def log(self, bucket: int) -> BucketLog:
        with self.shelf.lock:
            return self.logs.get(bucket) or BucketLog(BucketEntry(bucket))

    def read(self, bucket: int, query: Query) -> Page:
        return reading.read(self.shelf, self.log(bucket), query)

    def scan(self, bucket: int, query: Query) -> Iterator[Batch]:
        return reading.scan(self.shelf, self.log(bucket), query)

    def offset_since(self, bucket: int, timestamp: int) -> int:
        """The first offset whose change is not before a time; the end of the log if there is none."""
        return reading.offset_since(self.shelf, self.log(bucket), timestamp)

    # Writing.

    def append(self, batches: Sequence[tuple[int, Batch]]) -> None:
        """Batches with their buckets: all of them on disk when this returns, with one sync. After an error other than
        SyncFailed none of them is there."""
        with self._writing():
            self._make_room()
            with self._journal_lock:
                records = self._records(batches)
                needed = sum(record.length for record in records) + ROOM_BYTES
                if self.full is not None and self.shelf.disk.free_bytes() < needed:
                    raise copy(self.full)
                placed = self.journal.write(records)
                file = self.journal.current
                with self.shelf.lock:
                    for record in placed:
                        log = self.logs.setdefault(record.bucket, BucketLog(BucketEntry(record.bucket)))
                        log.append(record, file)
                    self._unfiled_records += len(placed)
                    self.full = None

    def _records(self, batches: Sequence[tuple[int, Batch]]) -> list[Record]:
        """Checked against the logs, and against each other."""
        ends: dict[int, tuple[int, int, int]] = {}
        records: list[Record] = []
        for bucket, batch in batches:
            log, header = self.log(bucket), batch.header
            if log.doubt is not None:
                raise copy(log.doubt)
            end, epoch, timestamp = ends.get(bucket) or (log.end, log.epoch, log.timestamp)
            log.check_next(end, epoch, timestamp, header)
            records.append(Record(Kind.BATCH, bucket, end, header.end_offset, 0, batch.length, 0, batch))
            ends[bucket] = (header.end_offset, header.epoch, header.last_timestamp)
        return records

    def truncate_after(self, bucket: int, offset: int) -> None:
        """Unroll everything after an offset (-1: everything); on disk when this returns."""
        end = offset + 1
        with self._writing(), self._maintenance:
            log = self.log(bucket)
            if end >= log.end and log.doubt is None:
                return
            end = min(end, log.end)
            filed = cut_back(self.shelf.disk, log.filed, end) if end < log.filed.end else log.filed
            trial = BucketLog(filed)
            trial.tail = list(log.tail)
            trial.truncate_tail(end)
            with self._journal_lock:
                self.journal.write([Record(Kind.TRUNCATE, bucket, log.end, trial.end, 0, 0, 0)])
                with self.shelf.lock:
                    cut = filed is not log.filed
                    log.filed, log.tail, log.doubt = trial.filed, trial.tail, None
            if cut:
                try:
                    self._file()
                except DiskFull as error:  # the cut is in the journal, and that is enough
                    self.full = copy(error)
                except Corrupt:  # in another bucket: whoever files next is told
                    pass

    # Maintenance.

    @property
    def filing_due(self) -> bool:
        return self.settings.filing_due(self.journal.unfiled_bytes, self._unfiled_records)

    def _make_room(self) -> None:
        """Appends that come faster than filing wait for it here."""
        if self.settings.filing_overdue(self.journal.unfiled_bytes, self._unfiled_records):
            self.file()

    def file(self) -> None:
        """Copy the journal into segments. Appends and reads go on meanwhile."""
        with self._writing(), self._maintenance:
            self._file()

    def retain(self, keep: Mapping[int, Retention], now: int) -> None:
        """Drop what each bucket's retention and its holders no longer want; `now` in microseconds since 1970.

        First of what is filed, so that a full disk gets room; then the rest is filed and looked at too."""
        with self._writing(), self._maintenance:
            self._drop(keep, now)
            self._file()
            self._drop(keep, now)

    def _drop(self, keep: Mapping[int, Retention], now: int) -> None:
        previous, entries = self.manifest, []
        holds = tuple(hold for hold in previous.holds if hold.expires_at > now)
        for entry in previous.buckets:
            # A cut that is in the journal alone is not in the manifest yet: such a bucket waits for its next filing.
            if entry.bucket in keep and entry == self.log(entry.bucket).filed:
                held = held_from(holds, entry.bucket, now)
                drop = droppable(entry.segments, keep[entry.bucket], now, held)
                if drop:
                    entry = replace(entry, start=entry.segments[drop - 1].end, segments=entry.segments[drop:])
            entries.append(entry)
        thinned = replace(previous, buckets=tuple(entries), holds=holds)
        if thinned == previous:
            return
        try:
            self._save(thinned)
        except DiskFull:  # dropping makes room, but writing down what is dropped needs some first
            ballast.drop(self.shelf.disk)
            self._save(thinned)
        with self.shelf.lock:
            for before, entry in zip(previous.buckets, entries, strict=True):
                if entry is not before:
                    self.logs[entry.bucket].take_filed(entry, 0)
        self._remove_unlisted(_segments(previous))

    def repair(self, damage: Corrupt, copy: Sequence[Batch]) -> None:
        """Overwrite what is damaged with batches from another copy of the bucket."""
        if damage.bucket is None:
            raise DoesNotFit("it is not known which bucket is damaged")
        with self._writing(), self._maintenance:
            overwrite(self.shelf.disk, self.log(damage.bucket), damage, copy)

    def give_up(self, damage: Sequence[Corrupt]) -> None:
        """Go on without what a scrub found to be damaged, where there is no copy of it. The offsets stay taken; those
        that damage hides at the end of a bucket may be given out again."""
        paths = {found.path for found in damage}
        with self._writing(), self._maintenance:
            with self.shelf.lock:
                for log in self.logs.values():
                    log.doubt = None
            self._file(give_up_damaged=True)
            entries, next_segment, known = [], self.manifest.next_segment, _segments(self.manifest)
            for entry in self.manifest.buckets:
                entry, next_segment = without_damage(self.shelf.disk, self.settings, entry, paths, next_segment)
                entries.append(entry)
            self._save(replace(self.manifest, buckets=tuple(entries), next_segment=next_segment))
            with self.shelf.lock:
                for entry in entries:
                    self.logs[entry.bucket].take_filed(entry, 0)
            self._remove_unlisted(known)
            self.damage = []

    def hold(self, hold: Hold) -> None:
        """Keep retention from dropping what a reader still wants; the same name again moves its hold."""
        with self._writing(), self._maintenance:
            start, _ = self.bounds(hold.bucket)
            if hold.offset < start:
                raise Trimmed(hold.bucket, hold.offset, start)
            others = [other for other in self.manifest.holds if (other.name, other.bucket) != (hold.name, hold.bucket)]
            self._save(replace(self.manifest, holds=(*others, hold)))

    def release(self, name: str) -> None:
        with self._writing(), self._maintenance:
            left = tuple(hold for hold in self.manifest.holds if hold.name != name)
            self._save(replace(self.manifest, holds=left))

    def _file(self, *, give_up_damaged: bool = False) -> None:
        with self.shelf.lock:
            doubts = [log.doubt for _, log in sorted(self.logs.items()) if log.doubt is not None]
        if doubts:  # filing would let go of the journal file that shows it
            raise copy(doubts[0])
        with self._journal_lock:
            if self.journal.current.end > HEADER_BYTES:
                self.journal.begin_file()
            number = self.journal.current.number
        with self.shelf.lock:
            plans = [(log, log.filed, log.entries_below(number)) for _, log in sorted(self.logs.items())]
        next_segment, entries, known = self.manifest.next_segment, [], _segments(self.manifest)
        for _, filed, tail in plans:
            entry, next_segment = file_entries(
                self.shelf.disk, self.settings, filed, tail, next_segment, give_up_damaged=give_up_damaged
            )
            entries.append(entry)
        self._save(Manifest(number, next_segment, tuple(entries), self.manifest.holds))
        with self._journal_lock, self.shelf.lock:
            for (log, _, tail), entry in zip(plans, entries, strict=True):
                log.take_filed(entry, len(tail))
            self._unfiled_records = sum(len(log.tail) for log in self.logs.values())
            self.journal.release(number)
        with self._journal_lock:
            self.journal.remove_surplus()
        self._remove_unlisted(known)
        ballast.take(self.shelf.disk)

    def _save(self, manifest: Manifest) -> None:
        manifests.save(self.shelf.disk, manifest)
        self.manifest = manifest

    def _remove_unlisted(self, known: set[tuple[int, int]]) -> None:
        """The files of segments that the manifest no longer names. If a crash leaves some, opening removes them."""
        for bucket, segment_id in sorted(known - _segments(self.manifest)):
            for path in (segment_path(bucket, segment_id), index_path(bucket, segment_id)):
                if self.shelf.disk.exists(path):
                    self.shelf.disk.remove(path)

    # Failing and closing.

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Turns a full disk into a state that is left when there is room, and a failed sync into one that is not."""
        if self.shelf.read_only:
            raise ReadOnly
        if self._failed is not None:
            raise StoreFailed(self._failed)
        try:
            yield
        except DiskFull as error:
            self.full = copy(error)  # without its traceback, which holds on to what could not be stored
            raise
        except StorageError as error:
            if isinstance(error, SyncFailed):
                self._failed = str(error)
            raise
        except OSError as error:
            self._failed = str(error)
            raise StoreFailed(self._failed) from error

    def close(self) -> None:
        """After a failure the directory stays locked: only a new process may trust what it reads from it."""
        with self._maintenance, self._journal_lock:
            self.journal.close()
            if self._failed is None:
                self.shelf.disk.unlock()


def _segments(manifest: Manifest) -> set[tuple[int, int]]:
    return {(entry.bucket, segment.id) for entry in manifest.buckets for segment in entry.segments}


def open_store(
    disk: Disk,
    *,
    create: Identity | None = None,
    expect: Identity | None = None,
    read_only: bool = False,
    settings: StoreSettings | None = None,
) -> Store:
    """The store in a directory; made there first if `create` is given and there is none."""
    settings = settings or StoreSettings()
    if create is not None and not read_only:
        disk.make_folder("")
    disk.lock(shared=read_only)
    with ExitStack() as undo:
        undo.callback(disk.unlock)
        identity = identities.read(disk)
        if identity is None:
            if create is None or read_only:
                raise NoStore("there is no log in this directory")
            identity = _create(disk, create)
        elif not read_only:  # names that a killed process left unsynced must last before anything is built on them
            for folder in ("", FOLDER):
                if disk.exists(folder):
                    disk.sync_folder(folder)
        if expect is not None:
            identities.check(identity, expect)
        manifest = manifests.load(disk) or _first_manifest(disk, settings, read_only=read_only)
        if not read_only:
            _remove_leftovers(disk, manifest)
        store = Store(Shelf(disk, settings.block_bytes, read_only=read_only), settings, identity, manifest)
        undo.pop_all()
        return store


def _create(disk: Disk, identity: Identity) -> Identity:
    ours = {FOLDER, "buckets", f"{identities.PATH}.new"}
    others = [name for name in disk.list("") if name not in ours]
    if others or has_journal_content(disk):
        raise NoStore(f"the directory holds no log, and is not empty ({', '.join(others) or FOLDER})")
    identities.write(disk, identity)
    return identity


def _first_manifest(disk: Disk, settings: StoreSettings, *, read_only: bool) -> Manifest:
    """For a directory that is new, or whose making was interrupted. One with content has lost its manifest."""
    if read_only or has_journal_content(disk) or disk.list("buckets"):
        raise Corrupt(manifests.PATH, 0, None, "it is missing, and so is the knowledge of what the segments hold")
    for folder in (FOLDER, "buckets"):
        disk.make_folder(folder)
    for name in disk.list(FOLDER):
        disk.remove(f"{FOLDER}/{name}")
    journal = Journal(disk, settings.journal_file_bytes)
    journal.begin_file()
    journal.close()
    ballast.take(disk)
    manifest = Manifest(journal=1, next_segment=1)
    manifests.save(disk, manifest)
    return manifest


def _remove_leftovers(disk: Disk, manifest: Manifest) -> None:
    """Files that a crash left and no bucket lists: unfinished filings, dropped segments."""
    listed = {
        path
        for entry in manifest.buckets
        for segment in entry.segments
        for path in (segment_path(entry.bucket, segment.id), index_path(entry.bucket, segment.id))
    }
    for folder in disk.list("buckets"):
        for name in disk.list(f"buckets/{folder}"):
            if f"buckets/{folder}/{name}" not in listed:
                disk.remove(f"buckets/{folder}/{name}")
