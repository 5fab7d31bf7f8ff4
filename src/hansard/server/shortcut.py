"""The short way to the disk. What is small is written by the loop itself, at the end of its turn, and synced by the
kernel (syncs.py); the journal's thread has everything else.

Either way nothing overtakes anything. While a sync is under way, what comes waits for it, and goes together; while the
thread has something to do, everything goes through the thread. Writing itself only hands bytes to the system, which for
something small takes no longer than waking a thread does; whatever may take longer is for the thread: filing, a new
file of the journal, a disk without room, damage.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, Final, NamedTuple

from hansard.storage.errors import StorageError
from hansard.storage.intake import Unsettled
from hansard.storage.store import Store
from hansard.storage.write import Append, Note

from .journal import IDLE_S, Item, Job, Journal
from .syncs import Syncs

log = logging.getLogger(__name__)

SMALL_BYTES_MAX: Final = 48 << 10
"""Of what is written in the loop at once: to copy more would keep everybody waiting."""
RUNNABLE: Final = (Append, Note)


class Flight(NamedTuple):
    """A sync that is under way, and whose jobs it is for."""

    unsettled: Unsettled
    jobs: Sequence[Job]
    begun_s: float


class Shortcut:
    """All of it is called in the loop; without one, everything is left to the journal. `persisted` and `failed` are
    those of the journal."""

    def __init__(
        self,
        store: Store,
        journal: Journal,
        persisted: Callable[[dict[Any, int]], None],
        failed: Callable[[BaseException], None],
        loop: asyncio.AbstractEventLoop | None,
    ) -> None:
        self._store = store
        self._journal = journal
        self._persisted = persisted
        self._failed = failed
        self._loop = loop
        self._flight: Flight | None = None
        self._waiting: list[Item] = []
        self._is_over = False
        """Something has failed: what is put is ignored, as by a journal whose thread has ended."""
        self._vouching: asyncio.TimerHandle | None = None
        self._written_s = 0.0
        """When something was last written here that nobody has vouched for."""
        self._syncs = Syncs.made() if loop is not None else None
        if loop is not None and self._syncs is not None:
            loop.add_reader(self._syncs.descriptor, self._synced)

    def put(self, items: Sequence[Item]) -> None:
        """What a turn wants, in order."""
        if self._is_over:
            return
        if self._flight is not None:
            self._waiting += items
        elif self._journal.handed or not self._began(items):
            self._journal.put(items)

    def _began(self, items: Sequence[Item]) -> bool:
        """Whether it is written, and a sync of it is under way; or else there is no going on."""
        if self._syncs is None or self._journal.is_hindered:
            return False
        jobs: list[Job] = []
        run: list[Append | Note] = []
        length = 0
        for item in items:
            if not isinstance(item, Job):
                return False
            jobs.append(item)
            length += item.length
            for write in item.writes:
                if not isinstance(write, RUNNABLE):
                    return False
                run.append(write)
        if length > SMALL_BYTES_MAX:
            return False
        begun_s = perf_counter()
        try:
            unsettled = self._store.place(run, self._syncs.begin, SMALL_BYTES_MAX)
        except StorageError as error:  # nobody else would hear of it where this is called for what has waited
            self._end(error)
            return True
        if unsettled is None:
            return False
        self._flight = Flight(unsettled, jobs, begun_s)
        if unsettled.trouble is not None:
            self._do_without(unsettled)
        return True

    def _do_without(self, unsettled: Unsettled) -> None:
        """The kernel does not want to, which says nothing of what was written. It is synced here, this once; after that
        the thread has everything."""
        log.warning("the kernel does not sync by itself (%s): the journal's thread does from now on", unsettled.trouble)
        syncs = self._let_syncs_go()
        if syncs is not None:
            syncs.close()
        try:
            self._store.sync(unsettled)
        except StorageError as error:
            self._end(error)
        else:  # not before whatever was synced earlier is said to be
            assert self._loop is not None
            self._loop.call_soon(self._land_late, self._flight)

    def _land_late(self, flight: Flight | None) -> None:
        if flight is not None and self._flight is flight:
            self._land(None)

    def _let_syncs_go(self) -> Syncs | None:
        """They stay open for who still has to hear of one."""
        syncs, self._syncs = self._syncs, None
        if syncs is not None and self._loop is not None:
            self._loop.remove_reader(syncs.descriptor)
        return syncs

    def _synced(self) -> None:
        assert self._syncs is not None
        try:
            if not self._syncs.done():
                return
        except OSError as error:
            self._land(error)
        else:
            self._land(None)

    def _land(self, failure: OSError | None) -> None:
        flight, self._flight = self._flight, None
        assert flight is not None
        try:
            self._store.settle(flight.unsettled, failure)
        except StorageError as error:
            self._end(error)
            return
        waiting, self._waiting = self._waiting, []
        if waiting:
            self.put(waiting)
        tickets: dict[Any, int] = {}
        for job in flight.jobs:
            if job.waiter is not None:
                tickets[job.waiter] = job.ticket
        self._persisted(tickets)
        self._written_s = perf_counter()
        self._journal.note(self._written_s - flight.begun_s)
        if self._vouching is None and not self._is_over:
            self._vouch_later(IDLE_S)

    def _end(self, error: Exception) -> None:
        self._is_over = True
        self._flight = None
        self._waiting.clear()
        if self._vouching is not None:
            self._vouching.cancel()
        self._failed(error)

    # Vouching: when nothing more comes for a while.

    def _vouch_later(self, wait_s: float) -> None:
        assert self._loop is not None
        self._vouching = self._loop.call_later(wait_s, self._vouch)

    def _vouch(self) -> None:
        left_s = self._written_s + IDLE_S - perf_counter()
        if left_s > 0 or self._flight is not None:
            self._vouch_later(max(left_s, IDLE_S / 2))
        else:
            self._vouching = None
            if not self._journal.handed:
                self._journal.vouch()

    def close(self, *, abandon: bool = False) -> None:
        """What was put here is handed to the journal, unless it is to be lost; then the journal may be stopped."""
        syncs = self._let_syncs_go()
        if abandon:
            self._flight, self._waiting = None, []
        if self._flight is not None:
            try:
                if syncs is not None:  # or else it is synced already, and only to be said
                    syncs.done(wait=True)
            except OSError as error:
                self._land(error)
            else:
                self._land(None)
        if syncs is not None:
            syncs.close()
        if self._vouching is not None:
            self._vouching.cancel()
