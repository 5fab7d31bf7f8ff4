"""Where a leader takes submissions: judges them against the streams, makes batches of them, and answers when those are
committed.

Small submissions that wait together become one batch. A submission is journalled whole or not at all, apart from
changes at its beginning that were stored before.
"""

from collections import deque
from heapq import heapify, heappop, heappush
from typing import Final, assert_never

from msgspec import Struct

from hansard.batch import CHANGES_MAX, Batch, Flag, bucket_mask, merge, select

from .backlog import Backlog
from .effect import Answer, Effect
from .event import Submit
from .government import NodeId, Term
from .ledger import Ledger
from .outcome import (
    Broken,
    Busy,
    Expired,
    Gap,
    Invalid,
    Misplaced,
    NotLeader,
    Outcome,
    ReadOnly,
    Receipt,
    Refusal,
    Repeated,
    Stored,
    Unknown,
)
from .settings import Settings
from .streams import NO_CONNECTION, Early, Forgotten, Fresh, Known, last_series

MERGED_BYTES_MAX: Final = 8 << 10
"""Larger submissions stay the batches that they are."""
NOT_A_CLIENTS: Final = Flag.INTERNAL | Flag.OFFSETS | Flag.TIMESTAMPS | Flag.CONNECTIONS
_REFUSED: Final = (Early, Forgotten)


class Pending(Struct, frozen=True, gc=False):
    """An answer that is true once everything before `end` is committed."""

    id: int
    end: int
    deadline_us: int
    outcome: Stored | Repeated
    count: int = 0
    """Of the changes that are stored, from its receipt's offset on."""


class Group:
    """Submissions that will be one batch."""

    __slots__ = ("batches", "byte_count", "change_count", "connections", "submissions")

    def __init__(self) -> None:
        self.submissions: list[tuple[Submit, int]] = []
        """With the number of changes that were left out as repeated."""
        self.batches: list[Batch] = []
        self.byte_count = 0
        self.change_count = 0
        self.connections: set[int] = set()
        """Whose changes are in it: more of theirs can only be judged once these are in the log."""


class Desk:
    __slots__ = (
        "backlog",
        "bucket",
        "buckets",
        "effects",
        "hindrance",
        "late",
        "ledger",
        "paused",
        "pending",
        "repetitions",
        "settings",
    )

    def __init__(self, bucket: int, buckets: int, ledger: Ledger, effects: list[Effect], settings: Settings) -> None:
        self.bucket = bucket
        self.buckets = buckets
        self.ledger = ledger
        self.effects = effects
        self.settings = settings
        self.backlog = Backlog(settings)
        self.pending: deque[Pending] = deque()
        """Journalled, in the order of the log."""
        self.repetitions: list[tuple[int, int, Pending]] = []
        """Of what is journalled: a heap, because they come in any order."""
        self.late: tuple[Submit, Batch] | None = None
        """What went the short way in this turn, until its second half."""
        self.paused = False
        self.hindrance: ReadOnly | None = None
        """Why nothing is taken: it could not be written everywhere."""

    def answer(self, submission_id: int, outcome: Outcome) -> None:
        self.effects.append(Answer(submission_id, outcome))

    def put(self, submit: Submit, now_us: int) -> None:
        """Into the backlog, from where it is taken when there is room."""
        flags = submit.batch.header.flags
        if flags & NOT_A_CLIENTS or not submit.batch.header.change_count:
            self.answer(submit.id, Invalid("only a leader writes places, times and several clients into a batch"))
        elif submit.deadline_us <= now_us:
            self.answer(submit.id, Expired())
        elif self.hindrance is not None:
            self.answer(submit.id, self.hindrance)
        elif not self.backlog.put(submit, now_us):
            self.answer(submit.id, Busy())

    def hinder(self, hindrance: ReadOnly | None) -> None:
        """What waits has no place in the log yet, and is certainly not stored."""
        self.hindrance = hindrance
        while hindrance is not None and self.backlog.queue:
            self.answer(self.backlog.take().submit.id, hindrance)

    # From the backlog into the log.

    def drain(self, term: Term, now_us: int, wall_us: int) -> None:
        """Take what waits, as long as the bytes that are not committed stay within bounds."""
        backlog, ledger, settings = self.backlog, self.ledger, self.settings
        group = Group()
        while backlog.queue and not self.paused:
            if ledger.uncommitted_bytes + group.byte_count >= settings.flight_bytes_max:
                break
            waiting = backlog.take()
            submit = waiting.submit
            if waiting.until_us <= now_us:
                self.answer(submit.id, Expired())
                continue
            known = submit.batch.header.connection in group.connections or (
                submit.continues is not None and submit.continues.connection in group.connections
            )
            small = submit.batch.length <= MERGED_BYTES_MAX and not submit.batch.header.flags & Flag.COMPRESSED
            full = (
                group.byte_count + submit.batch.length > settings.merge_bytes
                or group.change_count + len(submit.batch) > CHANGES_MAX
            )
            if group.batches and (full or not small or known):
                self._append(group, term, wall_us)
                group = Group()
            self._admit(submit, group)
            if group.batches and not small:
                self._append(group, term, wall_us)
                group = Group()
        if group.batches:
            self._append(group, term, wall_us)

    def _admit(self, submit: Submit, group: Group) -> None:
        batch, repeated = submit.batch, 0
        if submit.buckets != self.buckets and not self._own(submit):
            self.answer(submit.id, Misplaced(self.buckets))
            return
        connection = batch.header.connection
        if connection != NO_CONNECTION:
            verdict = self._judge(submit)
            match verdict:
                case Fresh():
                    if verdict.after >= batch.header.first_series:
                        batch = select(batch, batch.series > verdict.after)
                        repeated = len(submit.batch) - len(batch)
                case Known():
                    self._await(Pending(submit.id, verdict.end, submit.deadline_us, Repeated(verdict.receipt)))
                    return
                case _:
                    self.answer(submit.id, verdict)
                    return
            group.connections.add(connection)
        group.submissions.append((submit, repeated))
        group.batches.append(batch)
        group.byte_count += batch.length
        group.change_count += len(batch)

    def _own(self, submit: Submit) -> bool:
        """Whether what was cut for another number of buckets may be taken as it is. A stream is cut as the buckets are:
        what it names as its previous series may be in another one by now, and of a finer cut than ours several chains
        would be judged as one."""
        batch = submit.batch
        streamed = batch.header.connection != NO_CONNECTION
        return not streamed and bool(bucket_mask(batch, self.bucket, self.buckets).all())

    def _judge(self, submit: Submit) -> Fresh | Known | Refusal:
        streams, header = self.ledger.streams, submit.batch.header
        continues = submit.continues
        if continues is not None and streams.last(header.connection) is None:
            refusal = streams.judge_continuation(continues.connection, continues.previous)
            if refusal is not None:
                return _as_outcome(refusal)
        verdict = streams.judge(
            header.connection, header.first_series, last_series(submit.batch), header.previous_series
        )
        return _as_outcome(verdict) if isinstance(verdict, _REFUSED) else verdict

    def _append(self, group: Group, term: Term, wall_us: int) -> None:
        ledger = self.ledger
        batch = merge(group.batches).stamped(
            epoch=term, base_offset=ledger.end, timestamp=max(wall_us, ledger.timestamp)
        )
        offset, timestamp = batch.header.base_offset, batch.header.first_timestamp
        if batch.header.flags & Flag.OFFSETS:  # the rest of a submission, behind the places of what was left out
            offset = int(batch.offsets[0])
        ledger.append(batch)
        for (submit, repeated), part in zip(group.submissions, group.batches, strict=True):
            stored = Stored(Receipt(offset, timestamp), repeated)
            count = part.header.change_count
            self.pending.append(Pending(submit.id, ledger.end, submit.deadline_us, stored, count))
            offset += count

    def catch_up(self) -> None:
        """What went the short way waits for its commit like all others."""
        if self.late is not None:
            (submit, batch), self.late = self.late, None
            header = batch.header
            stored = Stored(Receipt(header.base_offset, header.first_timestamp), 0)
            self.pending.append(Pending(submit.id, header.end_offset, submit.deadline_us, stored, header.change_count))

    # Answers.

    def _await(self, pending: Pending) -> None:
        """A repetition waits for the commit of the first copy."""
        if pending.end <= self.ledger.committed:
            self.answer(pending.id, pending.outcome)
        elif len(self.repetitions) >= self.settings.backlog_count_max:
            self.answer(pending.id, Busy())
        else:
            heappush(self.repetitions, (pending.end, pending.id, pending))

    def settle(self) -> None:
        """Answer all that is committed."""
        pending, committed, hosts = self.pending, self.ledger.committed, self.ledger.derived.hosts
        while pending and pending[0].end <= committed:
            done = pending.popleft()
            self.effects.append(Answer(done.id, self._with_results(done) if hosts else done.outcome))
        while self.repetitions and self.repetitions[0][0] <= committed:
            _, _, done = heappop(self.repetitions)
            self.answer(done.id, done.outcome)

    def _with_results(self, done: Pending) -> Outcome:
        """It was settled just now, and so are the results of its changes."""
        outcome, derived = done.outcome, self.ledger.derived
        if not isinstance(outcome, Stored):
            return outcome
        first = outcome.receipt.offset
        results = tuple([derived.results.get(offset) for offset in range(first, first + done.count)])
        return Stored(outcome.receipt, outcome.repeated, results)

    def expire(self, now_us: int) -> None:
        """In the backlog: certainly not stored. In the log, and not committed: nobody can say yet."""
        for submit in self.backlog.take_expired(now_us):
            self.answer(submit.id, Expired())
        if any(pending.deadline_us <= now_us for pending in self.pending):
            for pending in self.pending:
                if pending.deadline_us <= now_us:
                    self.answer(pending.id, Unknown())
            self.pending = deque([pending for pending in self.pending if pending.deadline_us > now_us])
        if any(repetition.deadline_us <= now_us for _, _, repetition in self.repetitions):
            for _, _, repetition in self.repetitions:
                if repetition.deadline_us <= now_us:
                    self.answer(repetition.id, Unknown())
            self.repetitions = [entry for entry in self.repetitions if entry[2].deadline_us > now_us]
            heapify(self.repetitions)

    def hand_over(self, leader: NodeId | None, epoch: int) -> None:
        """Another one leads. What waited goes there; what was journalled may or may not be in its log."""
        for pending in (*self.pending, *[repetition for _, _, repetition in self.repetitions]):
            self.answer(pending.id, Unknown())
        self.pending.clear()
        self.repetitions.clear()
        for submit in self.backlog.take_meant_for(epoch):
            self.answer(submit.id, NotLeader(leader, epoch))

    def doubled(self, buckets: int) -> None:
        """There are more buckets: what does not belong here any more is sent back to be cut anew. Of what is journalled
        and not committed we can only answer for our own."""
        assert buckets >= self.buckets
        self.buckets = buckets
        ends = {batch.header.end_offset: batch for batch in self.ledger.tail.values()} if self.pending else {}
        for pending in [*self.pending, *[repetition for _, _, repetition in self.repetitions]]:
            if not self._answers_for(pending, ends.get(pending.end)):
                self.answer(pending.id, Unknown())
        self.pending = deque([kept for kept in self.pending if self._answers_for(kept, ends.get(kept.end))])
        self.repetitions.clear()

    def _answers_for(self, pending: Pending, batch: Batch | None) -> bool:
        if batch is None or not isinstance(pending.outcome, Stored):
            return False
        first = pending.outcome.receipt.offset
        its = (batch.offsets >= first) & (batch.offsets < first + pending.count)
        return bool(bucket_mask(batch, self.bucket, self.buckets)[its].all())


def _as_outcome(verdict: Early | Forgotten) -> Gap | Broken:
    match verdict:
        case Early():
            return Gap(verdict.expected)
        case Forgotten():
            return Broken()
        case _:
            assert_never(verdict)
