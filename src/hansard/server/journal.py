"""The thread that writes and syncs.

The loop hands over what its turns want written; the thread takes all that has gathered, writes it with one sync, and
tells the loop. While it syncs, the next group gathers. Nothing is ever done in another order than it was handed over.

A full disk is waited for: nothing is acknowledged meanwhile, and everything goes on when there is room. So is damage
that keeps something from being written, or the journal from being filed, until it is mended or given up. Any other
failure ends the participant: whether the data is on disk is then unknown, and only a new process may look.
"""

import logging
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from itertools import groupby
from queue import Empty, SimpleQueue
from threading import Event, Thread
from time import perf_counter
from typing import Any, Final, TypeAlias

from msgspec import Struct

from hansard.batch import Batch
from hansard.storage.errors import Corrupt, DiskFull, Trimmed
from hansard.storage.filer import Filer
from hansard.storage.store import Store
from hansard.storage.write import Append, Drop, Note, Write

log = logging.getLogger(__name__)

FULL_RETRY_S: Final = 0.25
IDLE_S: Final = 0.05
GROUP_BYTES_MAX: Final = 8 << 20
"""A group beyond this is written before more is taken: a sync of everything would keep the first ones waiting."""


class Job(Struct, frozen=True, gc=False):
    """What one turn wants written for one who waits for it, and knows it as `ticket`."""

    waiter: Hashable
    """A bucket, say; None where nobody waits."""
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


class Errand(Struct, frozen=True, gc=False):
    """Anything else to be done with the store, by the thread that reads, once all that was handed over before is
    written."""

    work: Callable[[Store], Any]
    done: Callable[[Any], None]
    """Called in the loop, with what came of it."""


Item: TypeAlias = Job | Search | Errand


class Journal:
    """`call` hands a call over to the loop, from any thread. There `failed` is called when there is no going on, `met`
    when there is damage in the way (without it, that is a failure like any other), and `hindered` when nothing can be
    written for a reason, and when it can again (an empty one)."""

    def __init__(
        self,
        store: Store,
        call: Callable[..., object],
        persisted: Callable[[dict[Any, int]], None],
        failed: Callable[[BaseException], None],
        met: Callable[[Corrupt], None] | None = None,
        hindered: Callable[[str], None] | None = None,
    ) -> None:
        self._store = store
        self._hindered = hindered
        self._met = met
        self._given_up: set[int] = set()
        """Buckets whose damaged copies are to be dropped: what was to be written to them before does not matter."""
        self._filer = Filer(store)
        self._call = call
        self._persisted = persisted
        self._failed = failed
        self._unfiled: tuple[int | None, str, int] | None = None
        """The damage that filing has met, as it was said."""
        self._queue: SimpleQueue[Item | None] = SimpleQueue()
        self._searches: SimpleQueue[Search | Errand | None] = SimpleQueue()
        self.handed = 0
        """Of what was handed over, how much the loop has not heard of again."""
        self.synced: tuple[int, float] = (0, 0.0)
        """How often anything was written and synced, and how many seconds that took. Only the loop counts."""
        self._stopping = Event()
        self._abandoned = False
        self._threads = [
            Thread(target=self._run, args=(self._write_on,), name="hansard-journal", daemon=True),
            Thread(target=self._run, args=(self._search_on,), name="hansard-reader", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def put(self, items: Sequence[Item]) -> None:
        self.handed += len(items)
        for item in items:
            self._queue.put(item)

    def vouch(self) -> None:
        """Somebody else has written, and has nothing more to write for now."""
        self.put([Errand(Store.vouch, _nothing)])

    def note(self, seconds: float) -> None:
        """Something was written and synced."""
        self.synced = (self.synced[0] + 1, self.synced[1] + seconds)
        self._filer.look()

    @property
    def is_hindered(self) -> bool:
        """There is something that only the thread knows how to go on with."""
        return self._filer.failure is not None

    def read(self, errand: Errand) -> None:
        """Of what is written already; it does not wait for anything that is not."""
        self._searches.put(errand)

    def give_up(self, bucket: int) -> None:
        """A damaged copy will be dropped. If it is in the way of what comes before that, it goes at once."""
        self._given_up.add(bucket)

    def resume(self) -> None:
        """Something is mended, or gone: what it was in the way of may go on."""
        self._unfiled = None
        self._filer.resume()

    def stop(self) -> None:
        """Everything that was handed over is written first, unless the disk is full."""
        self._stopping.set()
        self._queue.put(None)
        for thread in self._threads:
            thread.join()
        self._filer.stop()

    def abandon(self) -> None:
        """What was handed over and is not written yet never is, as when a process is killed."""
        self._abandoned = True
        self.stop()

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
            if self._abandoned:
                return
            spent_s = self._write_all(jobs) if jobs else 0.0
            for search in searches:
                self._searches.put(search)
            if jobs or searches:  # right before this thread waits again: the loop needs the interpreter to hear it
                tickets = {job.waiter: job.ticket for job in jobs if job.waiter is not None}
                self._call(self._done, len(jobs) + len(searches), tickets, spent_s)
        self._store.vouch()

    def _write_all(self, jobs: Sequence[Job]) -> float:
        self._check_filing()
        begun = perf_counter()
        for run in runs([write for job in jobs for write in job.writes]):
            self._write(run)
        return perf_counter() - begun

    def _done(self, count: int, tickets: dict[Any, int], spent_s: float) -> None:
        """In the loop."""
        self.handed -= count
        if spent_s:
            self.note(spent_s)
        if tickets:
            self._persisted(tickets)

    def _gathered(self) -> tuple[list[Job], list[Search | Errand], bool]:
        """At least one, and all that is there besides; and whether there will be more."""
        jobs: list[Job] = []
        searches: list[Search | Errand] = []
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

    def _next(self) -> Item | None:
        """The next item. What was written is vouched for when nothing comes for a while: those who wait to hear that it
        is written come first, and the next write would say it anyway."""
        try:
            return self._queue.get(timeout=IDLE_S)
        except Empty:
            self._store.vouch()
            return self._queue.get()

    def _check_filing(self) -> None:
        """Damage that filing has met is in nobody's way before too much is unfiled."""
        try:
            self._filer.check()
        except Corrupt as damage:
            place = (damage.bucket, damage.path, damage.position)
            if place != self._unfiled:
                self._unfiled = place
                self._meet(damage)

    def _meet(self, damage: Corrupt) -> None:
        if self._met is None:
            raise damage
        self._call(self._met, damage)

    def _write(self, run: Sequence[Write]) -> None:
        """All of it or nothing, so that it may be tried again."""
        reason = ""
        while True:
            try:
                self._store.write(run, vouch=False)
            except DiskFull as error:
                reason = self._hinder(f"it is full: {error}", reason)
                if self._stopping.wait(FULL_RETRY_S):
                    raise
            except Corrupt as damage:
                self._meet(damage)
                reason = self._hinder(f"damage is in the way: {damage}", reason)
                if self._stopping.wait(FULL_RETRY_S):
                    raise
                run = self._without_given_up(run)
            else:
                self._given_up.difference_update([write.bucket for write in run if isinstance(write, Drop)])
                self._hinder("", reason)
                return

    def _hinder(self, reason: str, before: str) -> str:
        """Said once. What comes in its way later is the same to those who wait."""
        if bool(reason) == bool(before):
            return before
        if self._hindered is not None:
            self._call(self._hindered, reason)
        elif reason:
            log.error("nothing can be written to the disk, and nothing is acknowledged: %s", reason)
        else:
            log.warning("the disk can be written to again: going on")
        return reason

    def _without_given_up(self, run: Sequence[Write]) -> Sequence[Write]:
        """Damaged copies that are to be dropped go before what they are in the way of."""
        given_up = sorted(self._given_up)
        if given_up:
            with suppress(DiskFull):
                self._store.write([Drop(bucket) for bucket in given_up], vouch=False)
        return [write for write in run if isinstance(write, Drop) or write.bucket not in given_up]

    def _search_on(self) -> None:
        while (search := self._searches.get()) is not None:
            if isinstance(search, Errand):
                self._call(search.done, search.work(self._store))
            else:
                batches, start = read(self._store, search.bucket, search.offset, search.bytes_max)
                self._call(search.found, start, batches)


def _nothing(_: object) -> None:
    pass


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


def read(store: Store, bucket: int, offset: int, bytes_max: int) -> tuple[list[Batch], int]:
    """What is retained of it, and where that begins."""
    while True:
        start, end = store.bounds(bucket)
        first = max(offset, start)
        try:
            return store.batches(bucket, first, bytes_max) if first < end else [], start
        except Trimmed:  # between the two looks; the next one sees where it begins now
            continue
