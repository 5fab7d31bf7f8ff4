"""A journal at work on a simulated disk, with the test in place of the loop."""

from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Event, Semaphore
from time import monotonic
from typing import Final

from hansard.batch import Batch
from hansard.server.journal import Job, Journal, Search
from hansard.storage.settings import StoreSettings
from hansard.storage.store import Store, open_store
from hansard.storage.write import Append, Write
from sim.disk import SimDisk
from sim.history import IDENTITY
from sim.refusing import RefusingDisk
from tests.storage.stores import batch_at

PATIENCE_S: Final = 10.0
LARGE: Final = StoreSettings()
"""Nothing is filed meanwhile, so that the only syncs are those of the journal."""


def until(condition: Callable[[], bool]) -> None:
    deadline, pause = monotonic() + PATIENCE_S, Event()
    while not condition():
        assert monotonic() < deadline, "it never happened"
        pause.wait(0.001)


class SlowDisk(RefusingDisk):
    """Its syncs can be held up: `syncing` says that one has begun, and it ends when it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.syncing = Event()
        self._is_held = False
        self._leave = Semaphore(0)

    def hold(self) -> None:
        self.syncing.clear()
        self._is_held = True

    def let_one_go(self) -> None:
        """The next sync is held up again."""
        self.syncing.clear()
        self._leave.release()

    def let_go(self) -> None:
        self._is_held = False
        self._leave.release()

    def next_sync_fails(self) -> bool:
        if self._is_held:
            self.syncing.set()
            assert self._leave.acquire(timeout=PATIENCE_S)
        return super().next_sync_fails()


class Office:
    """A journal on a disk, and in place of the loop a list of calls, made when the test looks."""

    def __init__(self, disk: SimDisk, settings: StoreSettings = LARGE) -> None:
        self.disk = disk
        self.store: Store = open_store(disk, create=IDENTITY, settings=settings)
        self.persisted: list[dict[int, int]] = []
        self.failures: list[BaseException] = []
        self._calls: SimpleQueue[tuple[Callable[..., object], tuple[object, ...]]] = SimpleQueue()
        self.journal = Journal(self.store, self._call, self.persisted.append, self.failures.append)
        self._tickets: dict[int, int] = {}

    def _call(self, function: Callable[..., object], *arguments: object) -> None:
        self._calls.put((function, arguments))

    def look(self) -> None:
        """Do what the threads have handed over so far."""
        while True:
            try:
                function, arguments = self._calls.get_nowait()
            except Empty:
                return
            function(*arguments)

    def put(self, *writes: Write, length: int = 0) -> int:
        """As one turn of the bucket of the first; its ticket."""
        bucket = writes[0].bucket
        ticket = self._tickets[bucket] = self._tickets.get(bucket, 0) + 1
        self.journal.put([Job(bucket, ticket, writes, length)])
        return ticket

    def await_persisted(self, bucket: int, ticket: int) -> None:
        until(lambda: self.last_persisted(bucket) >= ticket)

    def last_persisted(self, bucket: int) -> int:
        self.look()
        return max((group.get(bucket, 0) for group in self.persisted), default=0)

    def await_failure(self) -> BaseException:
        until(lambda: self.look() or bool(self.failures))  # type: ignore[func-returns-value]
        (failure,) = self.failures
        return failure

    def search(self, offset: int, bytes_max: int = 1 << 20) -> list[tuple[int, list[Batch]]]:
        """What is found will be in the list, once."""
        found: list[tuple[int, list[Batch]]] = []
        self.journal.put([Search(0, offset, bytes_max, lambda start, batches: found.append((start, batches)))])
        return found

    def await_found(self, found: list[tuple[int, list[Batch]]]) -> tuple[int, list[int]]:
        """Where the log begins, and the base offsets of what was found."""
        until(lambda: self.look() or bool(found))  # type: ignore[func-returns-value]
        ((start, batches),) = found
        return start, [batch.header.base_offset for batch in batches]


def at(offset: int, *, bucket: int = 0) -> Append:
    return Append(bucket, batch_at(offset))


def found_again(disk: SimDisk) -> Store:
    """The store as the next process finds it."""
    return open_store(disk.restarted(disk.operation_count), settings=LARGE)
