"""Group commit without a thread of its own: whoever finds nobody committing does it, for all that are waiting.

Each caller queues a ticket. If nobody is committing it takes the queue (up to a limit), makes one batch of all the
single changes, stores the group with one sync, answers every ticket, and tells the first that came meanwhile that it is
its turn. The others wait for their answer. So a lone caller pays one sync for each append, and a crowd shares them.

Invariants: a ticket is in the queue or in the group being committed, until it is answered or withdrawn; at most one
caller commits; if nobody does and the queue is not empty, its first ticket has been told so.
"""

import copy
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Lock, get_ident
from typing import Final, NamedTuple

from hansard.batch import Batch, BatchError, Flag, build
from hansard.batch.errors import BadInput
from hansard.bookmark import LogError
from hansard.storage.errors import OutOfOrder, StorageError
from hansard.storage.store import Store

from .changes import CheckedChange
from .errors import Unsettled, UsedFromInside
from .interrupts import HeldInterrupts
from .places import BUCKET
from .receipts import Receipts, Run

GROUP_BYTES_MAX: Final = 8 << 20
"""A group that would be larger leaves the rest to the next one."""

SLEEP_S_MAX: Final = 0.5
"""How late Ctrl-C may be, at worst."""

EPOCH: Final = 0
"""A log in one process has one government for ever."""

Failure = StorageError | BatchError | LogError
Answer = Receipts | Failure


Watch = Callable[[int], bytes | None]
"""Asked by the one who commits, after the group was handed on and before anyone is answered: what came of the change at
this offset?"""


class Ticket:
    """One caller's submission and the way back to it. None in `mail` says that it is this caller's turn to commit."""

    __slots__ = ("answer", "content", "mail", "result", "watch")

    def __init__(self, content: CheckedChange | Batch, watch: Watch | None = None) -> None:
        self.content = content
        self.watch = watch
        self.result: bytes | None = None
        self.mail: SimpleQueue[Answer | None] = SimpleQueue()
        self.answer: Answer | None = None

    @property
    def byte_count(self) -> int:
        return self.content.byte_count if isinstance(self.content, CheckedChange) else self.content.length

    def wait(self) -> None:
        """Until there is mail; but not for ever, for Python does not wake a thread that a signal met just as it was
        about to fall asleep."""
        with suppress(Empty):
            self.mail.get(timeout=SLEEP_S_MAX)

    def settle(self, answer: Answer) -> None:
        self.answer = answer
        self.mail.put(answer)

    def receipts(self) -> Receipts:
        assert self.answer is not None
        if isinstance(self.answer, Receipts):
            return self.answer
        if isinstance(self.answer, BatchError):  # nobody else's: changes are checked before they join a group
            raise self.answer
        # Each caller raises an error of its own: one shared by threads would gather all their tracebacks.
        raise copy.copy(self.answer) from self.answer


class Placement(NamedTuple):
    """A batch with its place in the log, and whose changes it holds, in order."""

    tickets: list[Ticket]
    batch: Batch


class Committer:
    def __init__(self, store: Store, clock_ns: Callable[[], int], after: Callable[[Sequence[Batch]], None]) -> None:
        """`after` is called with a group when it is stored, before anyone is answered."""
        self._store = store
        self._clock_ns = clock_ns
        self._after = after
        self._lock = Lock()
        self._queue: deque[Ticket] = deque()
        self._committing = False
        self._handing_on = 0
        """The thread that tells others of a group which it has committed: it cannot commit another one meanwhile."""
        self._broken: Unsettled | None = None
        """Set when a commit was cut short: what is on disk may be more than what is known here."""
        log = store.log(BUCKET)
        self._end, self._timestamp = log.end, log.timestamp

    def submit(self, content: CheckedChange | Batch, hold: HeldInterrupts) -> Receipts:
        """Returns when it is on disk. `hold` is the caller's: Ctrl-C gets through while it waits, and only then."""
        return self._submit(Ticket(content), hold)

    def submit_watched(self, change: CheckedChange, hold: HeldInterrupts, watch: Watch) -> bytes | None:
        """The same for one change, and what came of it."""
        ticket = Ticket(change, watch)
        self._submit(ticket, hold)
        return ticket.result

    def _submit(self, ticket: Ticket, hold: HeldInterrupts) -> Receipts:
        if self._handing_on == get_ident():
            raise UsedFromInside("")
        with self._lock:
            self._queue.append(ticket)
        try:
            while ticket.answer is None:
                if not self._commit_next():
                    hold.exposed(ticket.wait)
        finally:
            if ticket.answer is None:
                self._withdraw(ticket)
        return ticket.receipts()

    def _withdraw(self, ticket: Ticket) -> None:
        """For a caller that was interrupted. If its turn had come, it is the next one's; if somebody is committing
        its ticket right now, that goes on."""
        with self._lock:
            if ticket in self._queue:
                self._queue.remove(ticket)
            self._call_next()

    def _call_next(self) -> None:
        if self._queue and not self._committing:
            self._queue[0].mail.put(None)

    def _commit_next(self) -> bool:
        """Commits what is queued; False if somebody else is committing."""
        with self._lock:
            if self._committing or not self._queue:
                return False
            self._committing = True
            group = self._take_group()
        try:
            self._commit(group)
        finally:
            with self._lock:
                self._committing = False
                self._call_next()
        return True

    def _take_group(self) -> list[Ticket]:
        group = [self._queue.popleft()]
        byte_count = group[0].byte_count
        while self._queue and byte_count + self._queue[0].byte_count <= GROUP_BYTES_MAX:
            byte_count += self._queue[0].byte_count
            group.append(self._queue.popleft())
        return group

    def _commit(self, group: list[Ticket]) -> None:
        """Stores a group and answers every ticket of it, whatever happens."""
        failure: Failure | None = self._broken or Unsettled()
        try:
            if self._broken is None:
                placements = self._placements(group)
                if placements:
                    self._store.append([(BUCKET, placement.batch) for placement in placements])
                    self._grow(placements)
                failure = None
        except (StorageError, BatchError) as error:
            failure = error
        finally:
            if isinstance(failure, Unsettled):
                self._broken = failure
            for ticket in group:
                if ticket.answer is None:
                    assert failure is not None
                    ticket.settle(failure)

    def _placements(self, group: list[Ticket]) -> list[Placement]:
        """The group's changes in batches, stamped with epoch, offsets and time. Tickets whose times do not fit are
        answered here, and the rest goes on without them."""
        now = self._clock_ns() // 1_000
        singles = [(ticket, ticket.content) for ticket in group if isinstance(ticket.content, CheckedChange)]
        unplaced = [([ticket], ticket.content) for ticket in group if isinstance(ticket.content, Batch)]
        if singles:
            changes = [change for _, change in singles]
            keys, values, tags, _ = zip(*changes, strict=True)
            unplaced.insert(0, ([ticket for ticket, _ in singles], build(keys, values, tags)))
        placements: list[Placement] = []
        end, last = self._end, self._timestamp
        for tickets, batch in unplaced:
            if batch.header.flags & Flag.TIMESTAMPS:
                problem = _misplaced_times(batch, last, now)
                if problem is not None:
                    tickets[0].settle(problem)
                    continue
                batch = batch.placed(epoch=EPOCH, base_offset=end)
            else:
                batch = batch.stamped(epoch=EPOCH, base_offset=end, timestamp=max(now, last))
            placements.append(Placement(tickets, batch))
            end, last = batch.header.end_offset, batch.header.last_timestamp
        return placements

    def _grow(self, placements: list[Placement]) -> None:
        header = placements[-1].batch.header
        self._end, self._timestamp = header.end_offset, header.last_timestamp
        self._handing_on = get_ident()
        try:
            self._after([placement.batch for placement in placements])
        finally:
            self._handing_on = 0
        for tickets, batch in placements:
            base, timestamp = batch.header.base_offset, batch.header.first_timestamp
            if isinstance(tickets[0].content, CheckedChange):
                for place, ticket in enumerate(tickets):
                    if ticket.watch is not None:
                        ticket.result = ticket.watch(base + place)
                    ticket.settle(Receipts([Run(base + place, 1, timestamp)]))
            else:
                times = tuple(batch.timestamps.tolist()) if batch.header.flags & Flag.TIMESTAMPS else None
                tickets[0].settle(Receipts([Run(base, len(batch), timestamp, times)]))


def _misplaced_times(batch: Batch, last: int, now: int) -> Failure | None:
    """Why changes that bring their own times cannot be appended; None if they can."""
    header = batch.header
    if header.first_timestamp < last:
        return OutOfOrder(BUCKET, "timestamp", header.first_timestamp, last)
    if header.last_timestamp > now:
        return BadInput("timestamp", "is in the future, and every later change would have to be at least as late")
    return None
