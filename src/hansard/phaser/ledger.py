"""This participant's copy of the bucket: its log as far as memory has to know it, and what is under way to its disk.
What is derived from the log is in derived.py, and goes with it.

    start ... committed ... synced ... end          committed <= synced <= end, once the copy has its state
                                 `-- on this disk, or under way to it

Writes gather during a turn and leave as one `Persist`; when it comes back as persisted, `synced`, `promised_synced` and
`counted_synced` follow. `tail` holds the batches that somebody may still have to be sent; others are on disk.
"""

from collections import OrderedDict, deque

from crc32c import crc32c

from hansard.batch import Batch

from .decree import Decree, decree_in
from .derived import Derived
from .effect import Committed as CommittedEffect
from .effect import Cut, Discard, Effect, Keep, Note, Persist, Put, Reset, Write
from .government import Term, epoch_of
from .lineage import Lineage
from .message import Collection, Part
from .recovered import (
    STATE,
    Expansion,
    NoteContent,
    Recovered,
    State,
    begun,
    decode_note,
    decode_state,
    encode,
    epoch_within,
    leftovers,
    part_name,
    parts_in,
    standing,
)
from .settings import Settings
from .snapshot import Snapshot, snapshot
from .streams import Streams
from .ticket import Ticket


class Ledger:
    __slots__ = (
        "buckets",
        "collection",
        "commit_known",
        "committed",
        "counted",
        "counted_synced",
        "derived",
        "effects",
        "expansion",
        "late",
        "lineage",
        "parts",
        "persisted_ticket",
        "promised",
        "promised_synced",
        "saved",
        "saved_synced",
        "settings",
        "snapshot",
        "synced",
        "tail",
        "tail_bytes",
        "ticket",
        "tickets",
        "timestamp",
        "uncommitted",
        "uncommitted_bytes",
        "unsettled",
        "writes",
    )

    def __init__(
        self,
        settings: Settings,
        effects: list[Effect],
        recovered: Recovered,
        buckets: int = 1,
        derived: Derived | None = None,
    ) -> None:
        note = decode_note(recovered.note)
        self.settings, self.buckets, self.effects = settings, buckets, effects
        self.promised = self.promised_synced = note.promised
        self.lineage = Lineage(recovered.start, recovered.end, note.runs)
        self.synced = recovered.end
        self.committed = recovered.start
        """Readers may see everything before it."""
        self.unsettled = False
        """More is committed by now than what is derived knows of: the turn is not finished."""
        self.commit_known = 0
        """What the leader says is committed; a copy that is behind does not have all of it."""
        self.timestamp = recovered.timestamp
        """Of the last entry, or a later one: no entry will have a lower one."""
        self.tail: OrderedDict[int, Batch] = OrderedDict()
        """By base offset, in order, without a hole up to the end."""
        self.tail_bytes = 0
        self.writes: list[Write] = []
        self.late: Batch | None = None
        """What is under way to the disk, and is no part of all this before the second half of the turn."""
        self.uncommitted: deque[tuple[int, int]] = deque()
        """Ends and lengths of the batches that were appended and are not committed."""
        self.uncommitted_bytes = 0
        self.ticket = self.persisted_ticket = 0
        self.tickets: deque[Ticket] = deque()
        self.derived = derived or Derived()
        self.saved = self.saved_synced = 0
        """The offset of the state that is on disk: a restart replays from there, so retention must not go beyond."""
        self.snapshot: Snapshot | None = None
        """The last one that was taken for another copy."""
        self.collection = note.collection if begun(note.collection, recovered.start, recovered.end) else None
        """The snapshot that is being collected, on a log that was thrown away for it: a note may be older than that."""
        self.parts = parts_in(recovered.documents, self.collection)
        found = standing(recovered)
        self.counted = self.counted_synced = found.counted
        """The last epoch from whose beginning this copy's acknowledgement counted."""
        self.expansion = note.expansion if found.expanded else None
        """The entry that let it count in a later epoch. It is in the log, and was noted before it was written."""
        self.writes += [Discard(name) for name in leftovers(recovered.documents, self.collection, len(self.parts))]
        self._replay(recovered)

    def _replay(self, recovered: Recovered) -> None:
        """A state that lies before the log begins is one that was to be replaced: nothing leads from it to the log."""
        content = recovered.documents.get(STATE)
        state = decode_state(content) if content is not None and self.collection is None else None
        if state is not None and state.offset >= recovered.start:
            self._install(state)
            self.saved = self.saved_synced = state.offset
        elif recovered.start == 0 and self.collection is None:
            self.derived.begin()
        for batch in recovered.batches:
            self.derived.append(batch)
        self._complete_if_whole()

    def _install(self, state: State) -> None:
        self.derived.install(state, self.start)
        self.timestamp = max(self.timestamp, state.timestamp)
        if state.offset <= self.end:
            self.committed = max(self.committed, state.offset)

    @property
    def start(self) -> int:
        return self.lineage.start

    @property
    def end(self) -> int:
        return self.lineage.end

    @property
    def stated(self) -> bool:
        """Whether the log reaches the state that this copy has, so that more can be derived from both."""
        return self.state_from is not None and self.end >= self.state_from

    @property
    def latest_decree(self) -> Decree | None:
        return self.derived.latest_decree

    @property
    def streams(self) -> Streams:
        return self.derived.streams

    @property
    def state_from(self) -> int | None:
        """What is derived from the log is complete from this offset on; None where the copy lacks a state."""
        return self.derived.state_from

    @property
    def purged(self) -> bool:
        """No application has anything of the other half of a split any more: the entry is settled from which on the log
        is this half's alone."""
        return not self.derived.hosts or self.derived.level >= self.buckets

    # Writing.

    def promise(self, term: Term, *, counts: bool) -> None:
        """`counts`: this copy is one of those that have to acknowledge all of the term."""
        assert term > self.promised
        self.promised = term
        self._note(counts=counts)

    def count(self) -> None:
        """The term was promised before it was known that this copy counts in it."""
        if self.counted < epoch_of(self.promised) and self.stated:
            self._note(counts=True)

    def append(self, batch: Batch) -> None:
        header = batch.header
        assert header.base_offset == self.end
        begun_run = self.lineage.append(header.epoch, header.end_offset)
        if self._expanded_by(batch) or begun_run:
            self._note()
        self.writes.append(Put(batch))
        self._keep(batch)

    def hasten(self, batch: Batch) -> None:
        """The same for what begins no run and is nothing special: it is written at once, `catch_up` does the rest."""
        assert self.late is None and not self.writes
        self.late, self.writes = batch, [Put(batch)]
        self.flush(batch.header.end_offset)

    def catch_up(self) -> None:
        batch, self.late = self.late, None
        assert batch is not None
        self.lineage.append(batch.header.epoch, batch.header.end_offset)
        self._keep(batch)

    def _keep(self, batch: Batch) -> None:
        header = batch.header
        self.tail[header.base_offset] = batch
        self.tail_bytes += batch.length
        self.uncommitted.append((header.end_offset, batch.length))
        self.uncommitted_bytes += batch.length
        self.timestamp = max(self.timestamp, header.last_timestamp)
        self.derived.append(batch)

    def _expanded_by(self, batch: Batch) -> bool:
        """Whether it is the entry from which on this copy, a newcomer in its epoch, has to acknowledge."""
        epoch = epoch_of(self.promised)
        if epoch == self.counted or epoch == epoch_within(self.expansion, self.end) or not self.stated:
            return False
        decree = decree_in(batch)
        expanded = decree is not None and decree.expanded and decree.government.epoch == epoch
        if expanded:
            self.expansion = Expansion(epoch, self.end)
        return expanded

    def cut(self, end: int) -> None:
        """Unroll everything from an offset on, and all that was derived from it."""
        assert end >= self.committed, "what is committed is never unrolled"
        if end == self.end:
            return
        if self.expansion is not None and self.expansion.end > end:
            self._count_no_more(self.counted)
        self.lineage.cut(end)
        self.writes.append(Cut(end))
        self.synced = min(self.synced, end)
        for ticket in self.tickets:
            ticket.end = min(ticket.end, end)
        self._shorten_tail(end)
        while self.uncommitted and self.uncommitted[-1][0] > end:
            self.uncommitted_bytes -= self.uncommitted.pop()[1]
        self.derived.cut(end)

    def _shorten_tail(self, end: int) -> None:
        for offset in [offset for offset in self.tail if offset >= end]:
            self.tail_bytes -= self.tail.pop(offset).length

    def _reset(self, start: int, term: Term) -> None:
        self.lineage.reset(start, term)
        self.writes.append(Reset(start))
        self.synced = self.committed = start
        for ticket in self.tickets:
            ticket.end, ticket.counted = start, 0
        self._shorten_tail(-1)
        self.uncommitted.clear()
        self.uncommitted_bytes = 0

    def _note(self, *, counts: bool = False) -> None:
        if counts and self.stated:
            self.counted, self.expansion = epoch_of(self.promised), None
        known = (self.promised, tuple(self.lineage.runs), self.collection, self.counted, self.expansion)
        self.writes.append(Note(encode(NoteContent(*known, self.buckets))))

    def _count_no_more(self, counted: int) -> None:
        """Noted before the entries go that it counted by: a crash in between leaves a copy that claims too little."""
        self.counted, self.counted_synced, self.expansion = counted, min(counted, self.counted_synced), None
        self._note()

    def flush(self, end: int | None = None) -> None:
        """At the end of a turn: all that was written in it, at once. The log ends there then."""
        if self.writes:
            self.ticket += 1
            end = self.end if end is None else end
            self.tickets.append(Ticket(self.ticket, end, self.promised, self.saved, self.counted))
            self.effects.append(Persist(self.ticket, tuple(self.writes)))
            self.writes = []

    def persisted(self, number: int) -> None:
        assert self.tickets and number <= self.tickets[-1].number
        while self.tickets and self.tickets[0].number <= number:
            ticket = self.tickets.popleft()
            self.synced, self.promised_synced, self.counted_synced = ticket.end, ticket.promised, ticket.counted
            self.persisted_ticket, self.saved_synced = ticket.number, ticket.saved

    @property
    def mark(self) -> int:
        """The ticket with which all that was written so far will be on disk."""
        return self.ticket + 1 if self.writes else self.ticket

    # Committing.

    def commit(self) -> None:
        """Show what is known to be committed, as far as it is on this disk."""
        known, uncommitted = self.commit_known, self.uncommitted
        while uncommitted and uncommitted[0][0] <= known:
            self.uncommitted_bytes -= uncommitted.popleft()[1]
        end = min(self.synced, known)
        if end <= self.committed or self.state_from is None or end < self.state_from:
            return
        if self.derived.hosts:  # what they say to it goes with the answers
            self.derived.settle(end)
        self.committed, self.unsettled = end, True
        self.effects.append(CommittedEffect(end))

    def settle(self) -> None:
        """What follows from all that is committed, and whether it is to be stored."""
        if not self.unsettled:
            return
        self.unsettled = False
        if not self.derived.hosts:
            self.derived.settle(self.committed)
        if self.derived.is_due(self.settings):
            self._checkpoint()

    def _checkpoint(self) -> None:
        self.saved = self.committed
        self.derived.stored()
        self.writes.append(Keep(STATE, encode(self.state())))

    def state(self) -> State:
        """All that is derived from the committed log."""
        assert self.state_from is not None and self.committed >= self.state_from
        return self.derived.state(self.committed, self.timestamp)

    def take_snapshot(self) -> Snapshot:
        """For a copy that begins anew. It is kept, in case its transfer is interrupted."""
        state, before = self.state(), self.lineage.term_before(self.start)
        self.snapshot = snapshot(state.offset, self.start, before, encode(state), self.settings.part_bytes)
        return self.snapshot

    def usable_snapshot(self, collection: Collection | None) -> Snapshot | None:
        """The one that a copy has parts of, if it can still go on with it here."""
        kept = self.snapshot
        usable = kept is not None and kept.collection == collection and kept.collection.start >= self.start
        return kept if usable else None

    @property
    def has_dispensable(self) -> bool:
        """Whether anything in memory is committed and on disk."""
        first = next(iter(self.tail), None)
        return first is not None and first < self.commit_known and first < self.synced

    def forget(self, needed: int) -> None:
        """Drop from memory what is committed and nobody needs; beyond a bound also what somebody does."""
        tail, done = self.tail, min(self.commit_known, self.synced)
        while tail:
            offset, batch = next(iter(tail.items()))
            end = batch.header.end_offset
            if end > done or (end > needed and self.tail_bytes <= self.settings.tail_bytes_max):
                break
            del tail[offset]
            self.tail_bytes -= batch.length

    # Getting the state from another copy.

    def collect(self, part: Part) -> None:
        """A part of a snapshot came. The first one of another snapshot throws away all that this copy had."""
        if part.collection != self.collection:
            assert part.number == 0
            self._begin(part.collection)
        if part.number == len(self.parts):
            self.parts.append(part.content)
            self.writes.append(Keep(part_name(part.collection, part.number), part.content))
            self._complete_if_whole()

    def _begin(self, collection: Collection) -> None:
        if self.counted or self.expansion is not None:
            self._count_no_more(0)
        self.writes.append(Discard(STATE))
        self._discard_parts()
        self.collection = collection
        self.derived.clear()
        self._reset(collection.start, collection.start_term)
        self._note()

    def _discard_parts(self) -> None:
        if self.collection is not None:
            self.writes += [Discard(part_name(self.collection, number)) for number in range(len(self.parts))]
        self.parts = []

    def _complete_if_whole(self) -> None:
        collection = self.collection
        if collection is None or len(self.parts) < collection.total:
            return
        content = b"".join(self.parts)
        if crc32c(content) != collection.crc:  # begun again from the first part
            self._discard_parts()
            return
        discards = [Discard(part_name(collection, number)) for number in range(len(self.parts))]
        self.collection, self.parts = None, []
        self.writes.append(Keep(STATE, content))
        self._note()
        self.writes += discards
        self._install(decode_state(content))
        self.saved = self.state_from or 0
