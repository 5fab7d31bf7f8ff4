"""The thread that writes and syncs.

The loop hands over what its turns want written; the thread takes all that has gathered, writes it with one sync, and
tells the loop. While it syncs, the next group gathers. Nothing is ever done in another order than it was handed over.

A full disk is waited for: nothing is acknowledged meanwhile, and everything goes on when there is room. Any other
failure ends the participant: whether the data is on disk is then unknown, and only a new process may look.
"""

import logging
from collections.abc import Callable, Sequence
from itertools import groupby
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Final

from msgspec import Struct

from hansard.batch import Batch
from hansard.storage.errors import DiskFull, Trimmed
from hansard.storage.filer import Filer
from hansard.storage.store import Store
from hansard.storage.write import Append, Note, Write

log = logging.getLogger(__name__)

FULL_RETRY_S: Final = 0.25
IDLE_S: Final = 0.05
GROUP_BYTES_MAX: Final = 8 << 20
"""A group beyond this is written before more is taken: a sync of everything would keep the first ones waiting."""


class Job(Struct, frozen=True, gc=False):
    """What one turn of a bucket wants written; known to its phaser as `ticket`."""

    bucket: int
    ticket: int
    writes: Sequence[Write]
    length: int


class Search(Struct, frozen=True, gc=False):
    """Batches to be read once all that was handed over before is written."""

    bucket: int
    offset: int
    bytes_max: int
    found: Callable[[int, list[Batch]], None]
    """Called in the loop, with the first offset that is retained by then."""


class Journal:
    """`call` hands a call over to the loop, from any thread; `failed` is called there when there is no going on."""

    def __init__(
        self,
        store: Store,
        call: Callable[..., object],
        persisted: Callable[[dict[int, int]], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        self._store = store
        self._filer = Filer(store)
        self._call = call
        self._persisted = persisted
        self._failed = failed
        self._queue: SimpleQueue[Job | Search | None] = SimpleQueue()
        self._searches: SimpleQueue[Search | None] = SimpleQueue()
        self._stopping = Event()
        self._threads = [
            Thread(target=self._run, args=(self._write_on,), name="hansard-journal", daemon=True),
            Thread(target=self._run, args=(self._search_on,), name="hansard-reader", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def put(self, job: Job | Search) -> None:
        self._queue.put(job)

    def stop(self) -> None:
        """Everything that was handed over is written first, unless the disk is full."""
        self._stopping.set()
        self._queue.put(None)
        for thread in self._threads:
            thread.join()
        self._filer.stop()

    def _run(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # the thread's own end: the loop has to know, whatever it was
            self._stopping.set()
            self._call(self._failed, error)
        finally:
            self._searches.put(None)

    def _write_on(self) -> None:
        more = True
        while more:
            jobs, searches, more = self._gathered()
            if jobs:
                self._filer.check()
                for run in runs([write for job in jobs for write in job.writes]):
                    self._write(run)
                self._filer.look()
                # Right before this thread waits again: the loop needs the interpreter to hear it.
                self._call(self._persisted, {job.bucket: job.ticket for job in jobs})
            for search in searches:
                self._searches.put(search)
        self._store.vouch()

    def _gathered(self) -> tuple[list[Job], list[Search], bool]:
        """At least one, and all that is there besides; and whether there will be more."""
        jobs: list[Job] = []
        searches: list[Search] = []
        byte_count = 0
        item = self._next()
        while item is not None:
            if isinstance(item, Job):
                jobs.append(item)
                byte_count += item.length
            else:
                searches.append(item)
            if byte_count >= GROUP_BYTES_MAX:
                break
            try:
                item = self._queue.get_nowait()
            except Empty:
                break
        return jobs, searches, item is not None

    def _next(self) -> Job | Search | None:
        """The next item. What was written is vouched for when nothing comes for a while: those who wait to hear that it
        is written come first, and the next write would say it anyway."""
        try:
            return self._queue.get(timeout=IDLE_S)
        except Empty:
            self._store.vouch()
            return self._queue.get()

    def _write(self, run: Sequence[Write]) -> None:
        """All of it or nothing, so that it may be tried again."""
        said = False
        while True:
            try:
                self._store.write(run, vouch=False)
            except DiskFull as error:
                if not said:
                    log.error("%s: nothing is acknowledged until there is", error)
                    said = True
                if self._stopping.wait(FULL_RETRY_S):
                    raise
            else:
                if said:
                    log.warning("there is room on the disk again: going on")
                return

    def _search_on(self) -> None:
        while (search := self._searches.get()) is not None:
            batches, start = read(self._store, search)
            self._call(search.found, start, batches)


def runs(writes: Sequence[Write]) -> list[list[Write]]:
    """Writes that the store does with one sync, whole or not at all."""
    if all(isinstance(write, (Append, Note)) for write in writes):
        return [list(writes)]
    found: list[list[Write]] = []
    for grouped, run in groupby(writes, lambda write: isinstance(write, (Append, Note))):
        if grouped:
            found.append(list(run))
        else:
            found += [[write] for write in run]
    return found


def read(store: Store, search: Search) -> tuple[list[Batch], int]:
    """What is retained of it, and where that begins."""
    while True:
        start, end = store.bounds(search.bucket)
        offset = max(search.offset, start)
        try:
            return store.batches(search.bucket, offset, search.bytes_max) if offset < end else [], start
        except Trimmed:  # between the two looks; the next one sees where it begins now
            continue
