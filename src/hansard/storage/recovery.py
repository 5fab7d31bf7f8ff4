"""Finding out, when a store is opened, what its journal says: the manifest, then the journal's records in order.

What is found at the very end, and no record vouches for, is written once more and synced before anybody may see it: it
may be in the operating system's memory only, perhaps because a sync failed, and what a reader has once seen must
not vanish with the next crash. (After a failed sync Linux takes the bytes for written: only writing them again helps.)
"""

from msgspec.structs import replace

from . import fork
from .bucket import BucketLog
from .disk import Disk
from .errors import Corrupt, NotABoundary
from .filing import all_sealed, cut_back
from .journal import FOLDER, HEADER_BYTES, Journal, JournalFile, live_files
from .manifest import BucketEntry, Manifest
from .record import NOTE_LOST, RECORD_BYTES, Gap, Kind, Moment, Record, Scan, Window, leftovers, scan


class Recovery:
    """The buckets as the journal leaves them, and the damage met on the way."""

    def __init__(self, disk: Disk, manifest: Manifest) -> None:
        self._disk = disk
        self.logs = {entry.bucket: BucketLog(entry) for entry in manifest.buckets if entry.forked is None}
        self.damage: list[Corrupt] = []
        self.dropped: dict[int, Moment] = {}
        """Buckets that the journal drops, and when: what was kept of them earlier is gone."""
        self.forked: dict[int, Moment] = {}
        """Buckets that the journal has made by a fork and not dropped since; and when that was drafted, if this can be
        read."""
        self.linked: set[tuple[int, int]] = set()
        """Bucket and number of segments that forks in the journal name: the journal cannot be read without them."""
        self.inherited_bytes = 0
        """What forks have in their tails of their sources."""
        self._trimmed = {entry.forked: entry for entry in manifest.buckets if entry.forked is not None}
        """What is filed of forks in the journal of which something was dropped since."""
        self._gap: tuple[JournalFile, Gap] | None = None
        self._suspects: set[int] = set()
        """Buckets of which no record has been seen since the last gap."""

    def run(self, journal: Journal, first: int, *, read_only: bool) -> None:
        live, free = live_files(self._disk, first, read_only=read_only)
        for place, (file, _) in enumerate(live):
            known_end = live[place + 1][1] if place + 1 < len(live) else None
            window = Window(file.file.read, file.file.size())
            found = scan(window, file.number, HEADER_BYTES, known_end)
            file.end = file.synced = found.end
            file.last_crc = found.last_crc
            file.record_count = sum(isinstance(item, Gap) or item.kind != Kind.MARK for item in found.items)
            if known_end is None and not read_only:
                _make_durable(file, found, window)
            journal.files.append(file)
            journal.unfiled_records += file.record_count
            for item in found.items:
                self._apply(item, file)
        for path, slot in free:
            if read_only:
                slot.close()
            else:
                journal.add_free(path, slot)
        if not read_only:
            journal.remove_surplus()
        self._doubt_suspects()

    def _apply(self, item: Record | Gap, file: JournalFile) -> None:
        if isinstance(item, Gap):
            self._gap, self._suspects = (file, item), set(self.logs)
            self.damage.append(Corrupt(file.path, item.position, item.length, "records cannot be read"))
            return
        if item.kind == Kind.MARK:
            return
        if item.kind == Kind.FORK:
            self._fork(item, file)
            return
        log = self._log(item.bucket)
        self._account_for_gap(log, item)
        match item.kind:
            case Kind.TRUNCATE:
                self._cut(log, item.after)
            case Kind.NOTE:
                self._note(log, item, file)
            case Kind.RESET:
                log.reset(item.after)
            case Kind.DROP:
                del self.logs[item.bucket]
                self.dropped[item.bucket] = Moment(file.number, item.position)
                self.forked.pop(item.bucket, None)
            case _:
                self._batch(log, item, file)

    def _log(self, bucket: int) -> BucketLog:
        log = self.logs.get(bucket)
        if log is None:
            log = self.logs[bucket] = BucketLog(BucketEntry(bucket))
        return log

    def _batch(self, log: BucketLog, item: Record, file: JournalFile) -> None:
        if item.problem:
            where = (file.path, item.position + RECORD_BYTES, item.length)
            lost = Corrupt(*where, item.problem, bucket=item.bucket, first=item.before, end=item.after)
            self.damage.append(lost)
        log.append(item, file, with_tags=False)

    def _note(self, log: BucketLog, item: Record, file: JournalFile) -> None:
        if item.problem:
            where = (file.path, item.position + RECORD_BYTES, item.length)
            self.damage.append(Corrupt(*where, item.problem, bucket=item.bucket))
            log.lose_note(self.damage[-1])
        else:
            log.take_note(item.content)

    def _fork(self, item: Record, file: JournalFile) -> None:
        """Whatever the bucket was, it is a fork now. Its tail is the source's, and so is what is wrong with it."""
        bucket, moment = item.bucket, Moment(file.number, item.position)
        where = (file.path, item.position + RECORD_BYTES, item.length)
        self.logs.pop(bucket, None)
        self._suspects.discard(bucket)
        self.forked[bucket] = moment
        if item.problem:
            self.damage.append(Corrupt(*where, item.problem, bucket=bucket, first=0, end=item.after))
            self._lose_tail(self._log(bucket), item, file)
            self.logs[bucket].lose_note(self.damage[-1])
            return
        origin = fork.origin_of(item)
        self.forked[bucket] = origin.drafted
        if origin.filed is None:
            return
        source = self._log(origin.source)
        if origin.in_doubt:
            self._suspects.add(bucket)
        else:
            self._account_for_gap(source, item._replace(before=item.after))
        source.filed = all_sealed(source.filed)
        trimmed = self._trimmed.get(moment)
        log = source.fork(trimmed or replace(origin.filed, forked=moment))
        if item.note_mark != NOTE_LOST:
            log.take_note(origin.filed.note)
        elif log.lost_note is None:
            log.lose_note(Corrupt(*where, "the note of the bucket that this is a fork of was lost", bucket=bucket))
        if log.filed.end != source.filed.end:  # damage hides what became of the source before, and so this tail
            self._lose_tail(log, item, file)
        self.logs[bucket] = log
        self.linked |= {(bucket, segment.id) for segment in log.filed.segments}
        self.inherited_bytes += log.tail_bytes

    def _lose_tail(self, log: BucketLog, item: Record, file: JournalFile) -> None:
        log.tail = []
        if item.after > log.end:
            log.append_damaged(item.after, file, item.position + RECORD_BYTES, item.length)

    def _account_for_gap(self, log: BucketLog, item: Record) -> None:
        """The first record of a bucket after a gap tells what of it was in there."""
        if self._gap is None or (log.bucket not in self._suspects and log.end):
            return
        self._suspects.discard(log.bucket)
        file, gap = self._gap
        if item.note_mark != log.note_mark and log.lost_note is None:
            reason = "the bucket's note was among records that cannot be read"
            log.lose_note(Corrupt(file.path, gap.position, gap.length, reason, bucket=log.bucket))
        if item.kind in {Kind.RESET, Kind.DROP}:  # nothing is left of the log, whatever it was
            return
        if item.before < log.end:  # a cut was in there
            try:
                self._cut(log, item.before)
            except NotABoundary as error:  # or a reset, and then the end of what is left is not what it was
                self._cut(log, error.first)
        if item.before > log.end:
            log.append_damaged(item.before, file, gap.position, gap.length)

    def _cut(self, log: BucketLog, end: int) -> None:
        if end < log.filed.end:
            log.filed = cut_back(self._disk, log.filed, end)
        log.truncate_tail(end)

    def _doubt_suspects(self) -> None:
        if self._gap is None:
            return
        file, gap = self._gap
        for bucket in sorted(self._suspects):
            log = self.logs[bucket]
            reason = "records that cannot be read may have been this bucket's last"
            log.doubt = Corrupt(file.path, gap.position, gap.length, reason, bucket=bucket, first=log.end)
            reason = "records that cannot be read may have held this bucket's note"
            log.lose_note(Corrupt(file.path, gap.position, gap.length, reason, bucket=bucket))


def _make_durable(file: JournalFile, found: Scan, window: Window) -> None:
    """The header and the records that nobody vouches for, written once more; and whole records that a crash left behind
    a torn one wiped out, lest they follow it again when it is written a second time."""
    file.file.write(0, [file.file.read(0, HEADER_BYTES)])
    file.file.write(found.synced, [file.file.read(found.synced, found.end - found.synced)])
    for position in leftovers(window, found.end, file.number):
        file.file.write(position, [bytes(RECORD_BYTES)])
    file.file.sync()


def has_journal_content(disk: Disk) -> bool:
    """Whether any journal file holds records: then a directory without a manifest has lost it."""
    for name in disk.list(FOLDER):
        file = disk.open(f"{FOLDER}/{name}", read_only=True)
        try:
            if file.size() > HEADER_BYTES and any(file.read(HEADER_BYTES, file.size())):
                return True
        finally:
            file.close()
    return False
