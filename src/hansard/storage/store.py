"""The store: all the buckets of one directory, under one journal.

    identity.json         whose directory it is             (identity.py)
    manifest              which segments each bucket has    (manifest.py)
    journal/NN.journal    what is not in segments yet       (journal.py, record.py)
    buckets/BBBBB/*.segment, *.index                        (segment.py, index.py)
    buckets/BBBBB/*.document                                (documents.py)

A change's way: `write` puts a batch into the journal and syncs; from then on it is read from there. `file` copies
what has gathered into segments and gives the journal's files free. Each is called from any thread; the locks that keep
them apart are in stock.py.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from copy import copy
from typing import assert_never

from msgspec.structs import replace

from hansard.batch import Batch

from . import ballast, fork, opening, reading
from . import identity as identities
from . import manifest as manifests
from .bucket import BucketLog
from .disk import Disk
from .errors import CannotFork, Corrupt, DiskFull, NoStore, Trimmed
from .filing import all_sealed, cut_back
from .identity import Identity
from .intake import Intake
from .manifest import BucketEntry, Hold
from .reading import Page, Query
from .record import Kind, Moment, Record
from .repair import DoesNotFit, overwrite
from .retention import Retention, droppable, held_from
from .salvage import without_damage
from .settings import StoreSettings
from .shelf import Shelf
from .write import Alteration, Append, Cut, Discard, Drop, Fork, Grouped, Keep, Note, Reset, Trim, Write


class Store(Intake):
    """Made by `open_store`."""

    # Reading.

    def buckets(self) -> list[int]:
        """Those that have anything: a log, even an empty one, a note, or a document."""
        with self.shelf.lock:
            return sorted(self._documents.buckets().union(self.logs))

    def bounds(self, bucket: int) -> tuple[int, int]:
        """The first offset that is retained, and the first that is not there yet."""
        with self.shelf.lock:
            log = self.logs.get(bucket)
            return (log.start, log.end) if log else (0, 0)

    def note(self, bucket: int) -> bytes:
        """The note written last; empty if there is none. Raises Corrupt while it is damaged, until another is written
        or the damage is given up: then it is the one before."""
        log = self.log(bucket)
        with self.shelf.lock:
            if log.lost_note is not None:
                raise copy(log.lost_note)
            return log.note

    def documents(self, bucket: int) -> list[str]:
        return self._documents.names(bucket)

    def document(self, bucket: int, name: str) -> bytes | None:
        """What was kept under a name; None if nothing is. Raises Corrupt where it is damaged."""
        return self._documents.read(bucket, name)

    def read(self, bucket: int, query: Query) -> Page:
        return reading.read(self.shelf, self.log(bucket), query)

    def scan(self, bucket: int, query: Query) -> Iterator[Batch]:
        return reading.scan(self.shelf, self.log(bucket), query)

    def batches(self, bucket: int, start: int, bytes_max: int) -> list[Batch]:
        """The stored batches as they are, internal ones too, from the one on that holds `start` or follows it: as many
        as `bytes_max` allows, and at least one if there is one."""
        return reading.batches(self.shelf, self.log(bucket), start, bytes_max)

    def offset_since(self, bucket: int, timestamp: int) -> int:
        """The first offset whose change is not before a time; the end of the log if there is none."""
        return reading.offset_since(self.shelf, self.log(bucket), timestamp)

    # Writing.

    def append(self, batches: Sequence[tuple[int, Batch]]) -> None:
        """Batches with their buckets: all of them on disk when this returns, with one sync. After an error other than
        SyncFailed none of them is there."""
        self.write([Append(bucket, batch) for bucket, batch in batches])

    def truncate_after(self, bucket: int, offset: int) -> None:
        """Unroll everything after an offset (-1: everything); on disk when this returns."""
        self.write([Cut(bucket, offset + 1)])

    def write(self, writes: Sequence[Write], *, vouch: bool = True) -> None:
        """All of it, strictly in order, on disk when this returns; appends and notes that follow each other with one
        sync. An error other than SyncFailed and StoreFailed undoes the run of those that it comes from, or the one
        other write, and nothing after it is done.

        Whoever has more to write soon, or somebody waiting for this, may `vouch` afterwards instead."""
        run: list[Grouped] = []
        with self._writing():
            for write in writes:
                if isinstance(write, (Append, Note)):
                    run.append(write)
                else:
                    self._write_run(run)
                    self._alter(write)
                    run = []
            self._write_run(run)
        if vouch:
            self.vouch()

    def _alter(self, write: Alteration) -> None:
        with self._maintenance:
            match write:
                case Cut(bucket, end):
                    self._cut(bucket, end)
                case Trim(bucket, start):
                    self._thin({bucket: Retention(before=start)}, now=0)  # without a clock no hold is over
                case Reset(bucket, start):
                    self._reset(bucket, start)
                case Keep(bucket, name, content):
                    with self._journal_lock:
                        moment = Moment(self.journal.current.number, self.journal.current.synced)
                    self._documents.keep(bucket, name, content, moment)
                case Discard(bucket, name):
                    self._documents.discard(bucket, name)
                case Drop(bucket):
                    self._drop(bucket)
                case Fork(bucket, source):
                    self._fork(bucket, source)
                case _:
                    assert_never(write)

    def _cut(self, bucket: int, end: int) -> None:
        log = self.log(bucket)
        if end >= log.end and log.doubt is None:
            return
        end = min(end, log.end)
        filed = cut_back(self.shelf.disk, log.filed, end) if end < log.filed.end else log.filed
        trial = BucketLog(filed)
        trial.tail = list(log.tail)
        trial.truncate_tail(end)
        with self._journal_lock:
            self._say(Kind.TRUNCATE, log, trial.end)
            with self.shelf.lock:
                cut = filed is not log.filed
                log.filed, log.tail, log.doubt = trial.filed, trial.tail, None
        if cut:
            self._tidy()

    def _reset(self, bucket: int, start: int) -> None:
        with self._journal_lock:
            self._say(Kind.RESET, self.log(bucket), start)
            with self.shelf.lock:
                log = self._made(bucket)
                obsolete = log.filed.segments
                log.reset(start)
        if obsolete:
            self._tidy()

    def _drop(self, bucket: int) -> None:
        held = any(hold.bucket == bucket for hold in self.manifest.holds)
        if bucket not in self.buckets() and not held:
            return
        with self._journal_lock:
            log = self.log(bucket)
            position = self._say(Kind.DROP, log, 0)
            with self.shelf.lock:
                self.logs.pop(bucket, None)
                self._let_go(bucket, Moment(self.journal.current.number, position))
                obsolete = log.filed.segments
                log.reset(0)  # for readers that are at it
        self._documents.drop(bucket)
        if obsolete:
            self._tidy()

    def _fork(self, bucket: int, source: int) -> None:
        self._check_fork(bucket, source)
        self._check_room(0)
        if self._filing_overdue:
            with suppress(Corrupt):  # of this or another bucket: whoever files next is told
                self._file()
        with self._journal_lock:
            drafted = Moment(self.journal.current.number, self.journal.current.synced)
        links = fork.segment_links(self.log(source).filed, bucket, self._is_named)
        links += self._documents.links(source, bucket, drafted)
        try:
            fork.link(self.shelf.disk, bucket, links)
            with self._journal_lock:
                self._check_fork(bucket, source)  # others may have written to it meanwhile
                self._say_fork(bucket, source, drafted)
        except (DiskFull, CannotFork):
            fork.unlink(self.shelf.disk, links)
            raise
        self._documents.adopt(bucket, drafted)

    def _say_fork(self, bucket: int, source: int, drafted: Moment) -> None:
        log = self.logs.get(source)
        record, origin = fork.record_of(log, (bucket, source), drafted)
        (placed,) = self.journal.write([record])
        moment = Moment(self.journal.current.number, placed.position)
        with self.shelf.lock:
            self.logs.pop(bucket, None)
            if log is not None and origin.filed is not None:
                log.filed = all_sealed(log.filed)
                self.logs[bucket] = log.fork(replace(origin.filed, forked=moment))
                self._linked.update((bucket, segment.id) for segment in origin.filed.segments)
                self._inherited_bytes += log.tail_bytes
            self.full = None

    def _check_fork(self, bucket: int, source: int) -> None:
        if source not in self.buckets():
            raise CannotFork(bucket, source, "there is nothing of that one")
        log = self.log(bucket)
        if log.end or log.note or log.lost_note or log.doubt or self.documents(bucket):
            raise CannotFork(bucket, source, "it is not empty")

    def _say(self, kind: Kind, log: BucketLog, after: int) -> int:
        """In the journal, on disk; the place of the record."""
        (placed,) = self.journal.write([Record(kind, log.bucket, log.end, after, 0, 0, 0, note_mark=log.note_mark)])
        return placed.position

    # Maintenance.

    def retain(self, keep: Mapping[int, Retention], now: int, *, file: bool = True) -> None:
        """Drop what each bucket's retention and its holders no longer want; `now` in microseconds since 1970.

        First of what is filed, so that a full disk gets room; then the rest is filed and looked at too."""
        with self._writing(), self._maintenance:
            self._thin(keep, now)
            if file:
                self._file()
                self._thin(keep, now)

    def _thin(self, keep: Mapping[int, Retention], now: int) -> None:
        previous, gone = self.manifest, set[tuple[int, int]]()
        holds = tuple(hold for hold in previous.holds if hold.expires_at > now)
        thinner: dict[int, BucketEntry] = {}
        for filed in self.thinnable(keep):
            bucket = filed.bucket
            drop = droppable(filed.segments, keep[bucket], now, held_from(holds, bucket, now))
            if drop:
                thinner[bucket] = replace(filed, start=filed.segments[drop - 1].end, segments=filed.segments[drop:])
                gone.update((bucket, segment.id) for segment in filed.segments[:drop])
        entries = {entry.bucket: entry for entry in previous.buckets} | thinner
        thinned = replace(previous, buckets=tuple(entry for _, entry in sorted(entries.items())), holds=holds)
        if thinned == previous:
            return
        try:
            self._save(thinned)
        except DiskFull:  # dropping makes room, but writing down what is dropped needs some first
            ballast.drop(self.shelf.disk)
            self._save(thinned)
        with self.shelf.lock:
            for bucket, entry in thinner.items():
                self.logs[bucket].take_filed(entry, 0)
        self._linked -= gone
        self._remove(gone)

    def thinnable(self, buckets: Collection[int]) -> list[BucketEntry]:
        """What is filed of those of these buckets whose segments may go at any time.

        A cut that is in the journal alone is not in the manifest: such a bucket waits for its next filing. A fork that
        is in the journal alone says there what is filed of it, and so need not wait."""
        listed = {entry.bucket: entry for entry in self.manifest.buckets}
        with self.shelf.lock:
            filed = [self.logs[bucket].filed for bucket in sorted(buckets) if bucket in self.logs]
        return [
            entry
            for entry in filed
            if (entry.forked is not None and entry.bucket not in listed)
            or (entry.bucket in listed and all_sealed(listed[entry.bucket]) == all_sealed(entry))
        ]

    def repair(self, damage: Corrupt, copy: Sequence[Batch]) -> None:
        """Overwrite what is damaged with batches from another copy of the bucket."""
        if damage.bucket is None:
            raise DoesNotFit("it is not known which bucket is damaged")
        with self._writing(), self._maintenance:
            overwrite(self.shelf.disk, self.log(damage.bucket), damage, copy)
            self.shelf.forget()  # an index that was made of it as it was lacks what is there again

    def give_up(self, damage: Sequence[Corrupt]) -> None:
        """Go on without what a scrub found to be damaged, where there is no copy of it. The offsets stay taken; those
        that damage hides at the end of a bucket may be given out again. Of a damaged note the one before is left."""
        paths = {found.path for found in damage}
        with self._writing(), self._maintenance:
            with self.shelf.lock:
                for log in self.logs.values():
                    log.settle()
            self._file(give_up_damaged=True)
            entries, next_segment, known = [], self.manifest.next_segment, self.segments()
            for entry in self.manifest.buckets:
                entry, next_segment = without_damage(self.shelf.disk, self.settings, entry, paths, next_segment)
                entries.append(entry)
            self._save(replace(self.manifest, buckets=tuple(entries), next_segment=next_segment))
            with self.shelf.lock:
                for entry in entries:
                    self.logs[entry.bucket].take_filed(entry, 0)
            self._remove(known - self.segments())
            self._documents.give_up(paths)
            self.damage = []

    def hold(self, hold: Hold) -> None:
        """Keep retention from dropping what a reader still wants; the same name again moves its hold."""
        with self._writing(), self._maintenance:
            start, _ = self.bounds(hold.bucket)
            if hold.offset < start:
                raise Trimmed(hold.bucket, hold.offset, start)
            if hold.bucket in self._dropped:  # in the journal, which must not take this hold for one from before
                self._file()
            others = [other for other in self.manifest.holds if (other.name, other.bucket) != (hold.name, hold.bucket)]
            self._save(replace(self.manifest, holds=(*others, hold)))

    def release(self, name: str) -> None:
        with self._writing(), self._maintenance:
            left = tuple(hold for hold in self.manifest.holds if hold.name != name)
            self._save(replace(self.manifest, holds=left))


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
            identity = opening.create(disk, create)
        elif not read_only:
            opening.sync_names(disk)
        if expect is not None:
            identities.check(identity, expect)
        manifest = manifests.load(disk) or opening.first_manifest(disk, settings, read_only=read_only)
        store = Store(Shelf(disk, settings.block_bytes, read_only=read_only), settings, identity, manifest)
        if not read_only and not store.damage:  # which may hide what they are of
            opening.remove_leftovers(disk, store.segments())
        undo.pop_all()
        return store
