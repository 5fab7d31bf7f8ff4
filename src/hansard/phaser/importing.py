"""Where a leader takes what is imported: batches of another log, as they are, in their places.

Offsets, times, connections and series stay what they were, so that every bookmark and every client's stream goes on
from where it was. A batch gets this leader's term and is appended where the log ends; offsets that are free before it
are covered by an entry that holds nothing. What is here already is left out, so whoever imports may begin again at any
time.

A log can be brought to more buckets than it had: each of them is sent all of the bucket that it was part of. What is
another one's is hollowed out (batch/hollow.py), and counts only for its client's stream.

Nothing that was imported is to be shown before the bucket opens, but it is committed as it comes, when everybody who
counts has it on disk: a long log would not fit into memory. No government has ever opened that could have acknowledged
anything else.
"""

from typing import Final

from msgspec import Struct

from hansard.batch import SPAN_MAX, Batch, Flag, LimitExceeded, bucket_mask, covering, hollow, since

from .desk import Desk
from .event import Import
from .government import Term, epoch_of
from .leader import Leader, Phase
from .outcome import Busy, Expired, Gap, Importing, Invalid, NotLeader, Receipt, Repeated, Stored, Unknown
from .streams import NO_SERIES, pieces

GAP_MAX: Final = 1 << 41
"""Offsets that may be left free before a batch: more than any bucket has ever had."""


class Pending(Struct, frozen=True, gc=False):
    """An answer that is true once everybody who counts has everything before `end`."""

    id: int
    end: int
    deadline_us: int
    outcome: Stored | Repeated


class Intake:
    __slots__ = ("_allowed", "_end", "desk", "pending", "term")

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self._allowed = False
        self._end = 0
        """Where it is over."""
        self.pending: list[Pending] = []
        self.term: Term = 0
        """In which they wait."""

    @property
    def allowed(self) -> bool:
        return self._allowed or self.desk.ledger.end < self._end

    def allow(self, allowed: bool, end: int) -> None:
        """Until it is over clients are sent away: their changes would take the places of what is still to come."""
        self._allowed, self._end = allowed, end
        while self.allowed and self.desk.backlog.queue:
            self.desk.answer(self.desk.backlog.take().submit.id, Importing())

    def take(self, event: Import, leading: Leader | None, now_us: int) -> None:
        desk, ledger, settings = self.desk, self.desk.ledger, self.desk.settings
        if leading is None:
            desk.answer(event.id, NotLeader(None, epoch_of(ledger.promised)))
        elif not self.allowed:
            desk.answer(event.id, Invalid("nothing is imported here: the bucket is open, or about to be"))
        elif event.deadline_us <= now_us:
            desk.answer(event.id, Expired())
        elif (
            leading.phase is not Phase.IMPORTING
            or ledger.uncommitted_bytes >= settings.flight_bytes_max
            or len(self.pending) >= settings.backlog_count_max
        ):
            desk.answer(event.id, Busy())
        elif event.follows > ledger.end:
            desk.answer(event.id, Gap(ledger.end))
        elif problem := self._problem(event):
            desk.answer(event.id, Invalid(problem))
        else:
            self._take(event, leading.term)

    def _problem(self, event: Import) -> str:
        """Why it cannot follow what is here; empty if it can, or is here already."""
        ledger, batch, header = self.desk.ledger, event.batch, event.batch.header
        if not 0 <= event.follows <= header.base_offset:
            return f"it begins at offset {header.base_offset}, and cannot follow what ends at {event.follows}"
        if header.flags & Flag.INTERNAL and header.change_count:
            return "what another cluster has noted for itself is not imported"
        if header.base_offset - ledger.end > GAP_MAX:
            return f"it begins at offset {header.base_offset}, and the log ends at {ledger.end}"
        offsets, times = batch.offsets, batch.timestamps
        if (offsets[1:] <= offsets[:-1]).any():
            return "its offsets go back"
        if (times[1:] < times[:-1]).any():
            return "its times go back"
        later = times[offsets >= ledger.end]
        if len(later) and later[0] < ledger.timestamp:
            return f"its times go back: it begins at {later[0]}, and the log has come to {ledger.timestamp}"
        return self._series_problem(batch)

    def _series_problem(self, batch: Batch) -> str:
        """A stream that goes back could never tell again what is a duplicate."""
        streams, end = self.desk.ledger.streams, self.desk.ledger.end
        lasts: dict[int, int] = {}
        for piece in pieces(batch):
            last = lasts.get(piece.connection, streams.last(piece.connection))
            if piece.offset >= end and piece.first <= (NO_SERIES if last is None else last):
                return f"connection {piece.connection} goes back from series {last} to {piece.first}"
            if piece.offset + piece.count > end:
                lasts[piece.connection] = piece.last
        return ""

    def _take(self, event: Import, term: Term) -> None:
        """What is new of it goes into the log."""
        ledger, batch = self.desk.ledger, event.batch.closed()
        end = batch.header.end_offset
        outcome: Stored | Repeated
        if end <= ledger.end:
            outcome = Repeated(_receipt(batch))
        else:
            count = len(batch)
            try:
                if batch.header.base_offset < ledger.end:
                    batch = since(batch, ledger.end)
            except LimitExceeded as error:
                self.desk.answer(event.id, Invalid(f"the part that is new cannot be a batch of its own: {error}"))
                return
            outcome = Stored(_receipt(batch), count - len(batch))
            self._append(batch, term)
        self.term = term
        self.pending.append(Pending(event.id, end, event.deadline_us, outcome))

    def _append(self, batch: Batch, term: Term) -> None:
        desk, ledger, base, end = self.desk, self.desk.ledger, batch.header.base_offset, batch.header.end_offset
        own = hollow(batch, bucket_mask(batch, desk.bucket, desk.buckets)) if len(batch) else batch
        self._cover(base if len(own) else end, term, 0 if len(own) else batch.header.last_timestamp)
        if len(own):
            ledger.append(own.placed(epoch=term, base_offset=base))

    def _cover(self, end: int, term: Term, timestamp: int) -> None:
        """Nothing lies there, and nothing will: who reads from there goes on after it."""
        ledger = self.desk.ledger
        while ledger.end < end:
            until = min(end, ledger.end + SPAN_MAX)
            ledger.append(covering(ledger.end, until, term, max(timestamp, ledger.timestamp)))

    def settle(self, leading: Leader | None, now_us: int) -> None:
        """Answer what everybody has, what takes too long, and, once somebody else leads, everything."""
        same = leading is not None and leading.term == self.term
        common = leading.common_end() if leading is not None and same else 0
        waiting: list[Pending] = []
        for pending in self.pending:
            if same and pending.end <= common:
                self.desk.answer(pending.id, pending.outcome)
            elif not same or pending.deadline_us <= now_us:
                self.desk.answer(pending.id, Unknown())
            else:
                waiting.append(pending)
        self.pending = waiting


def _receipt(batch: Batch) -> Receipt:
    header = batch.header
    return Receipt(int(batch.offsets[0]) if len(batch) else header.base_offset, header.first_timestamp)
