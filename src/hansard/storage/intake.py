"""Appends and notes on their way into the journal: written and synced in one go, or written now and settled once
somebody has synced them.
"""

import sys
from collections.abc import Callable, Sequence
from copy import copy
from typing import Final, NamedTuple

from .bucket import BucketLog
from .errors import Corrupt, DiskFull, SyncFailed
from .journal import JournalFile, Placed
from .manifest import BucketEntry
from .record import RECORD_BYTES, Kind, Record
from .stock import Stock
from .write import Grouped, records_of

ROOM_BYTES: Final = 1 << 20
"""A full disk counts as having room again when it has this much more than an append needs."""
NOTE: Final = Kind.NOTE
"""By this name: by the class's it takes longer."""


class Unsettled(NamedTuple):
    """What is written, and on disk once its file is synced."""

    placed: Placed
    trouble: OSError | None
    """Why no sync could be begun, if none could."""


class Intake(Stock):
    def vouch(self) -> None:
        """Makes sure that damage to what was written last will not be taken for a write that a crash has torn."""
        with self._writing(), self._journal_lock:
            self.journal.vouch()

    def _write_run(self, run: Sequence[Grouped]) -> None:
        if not run:
            return
        self._make_room()
        with self._journal_lock:
            records = records_of(run, self._found)
            self._check_room(sum(record.length for record in records))
            self._take_in(self.journal.write(records), self.journal.current)

    def _check_room(self, byte_count: int) -> None:
        if self.full is not None and self.shelf.disk.free_bytes() < byte_count + ROOM_BYTES:
            raise copy(self.full)

    def _found(self, bucket: int) -> BucketLog:
        """To be called under the journal's lock: so what it ends with does not change meanwhile."""
        return self.logs.get(bucket) or BucketLog(BucketEntry(bucket))

    def _take_in(self, placed: Sequence[Record], file: JournalFile) -> None:
        with self.shelf.lock:
            for record in placed:
                log = self.logs.get(record.bucket) or self._made(record.bucket)
                if record.kind == NOTE:
                    log.take_note(record.content)
                else:
                    log.append(record, file)
            self.full = None

    def _made(self, bucket: int) -> BucketLog:
        """The bucket's log, which is there from now on. To be called under the lock."""
        log = self.logs.get(bucket)
        if log is None:
            log = self.logs[bucket] = BucketLog(BucketEntry(bucket))
        return log

    # In two steps, for who must not wait.

    def place(
        self, run: Sequence[Grouped], begin: Callable[[int], None], bytes_max: int = sys.maxsize
    ) -> Unsettled | None:
        """Written, and `begin` called to have its file's descriptor synced; whoever calls this settles it then. None,
        and nothing is written, where it is too long, or anything would have to be waited for or is in the way; `write`
        knows then what to do. Nothing but what can be placed may be written before it is settled: a document could be
        on disk without it.

        It can be read from now on, so whoever reads has to know what counts. It is not held back until it is synced,
        because filing may begin before: that syncs the journal's file, and goes by what is in memory."""
        if self.full is not None or self._filing_overdue or not self._journal_lock.acquire(False):
            return None
        try:
            self.begin_writing()
            journal = self.journal
            target = journal.files[-1]
            descriptor, start = target.file.descriptor, target.end
            records = records_of(run, self._found, start)
            end = records[-1].position + RECORD_BYTES + records[-1].length if records else start
            if descriptor is None or end - start > bytes_max or not journal.has_place(end):
                return None
            placed = journal.place(records)
            trouble = None
            try:
                begin(descriptor)
            except OSError as error:
                trouble = error
            self._take_in(placed.records, target)
            return Unsettled(placed, trouble)
        except (Corrupt, DiskFull) as error:
            self.end_writing(error)
            return None
        except (SyncFailed, OSError) as error:
            self.end_writing(error)
            raise
        finally:
            self._journal_lock.release()

    def sync(self, unsettled: Unsettled) -> None:
        """Here and now, where nobody else does; it is still to be settled."""
        with self._writing():
            unsettled.placed.file.file.sync()

    def settle(self, unsettled: Unsettled, failure: OSError | None = None) -> None:
        """It is synced; or that has failed, and raises SyncFailed: nothing is written any more. StoreFailed where
        somebody else has met a failure: nobody knows then what that was about."""
        if failure is None and self._failed is None:
            unsettled.placed.settle()
            return
        with self._writing():
            raise SyncFailed(unsettled.placed.file.path) from failure
