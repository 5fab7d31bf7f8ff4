"""What a client has submitted to one bucket and has no answer for: in which order it is sent, and what is known of it.

It does no IO. Each submission is in one of these states:

    waiting   never sent, and without numbers yet
    flight    sent over the connection that is open now; its answer is to come
    refused   answered, to be sent again: as soon as nothing is in flight any more
    again     to be sent again, before anything that waits
    (gone)    its callers have been told

                   take                      Stored, Repeated, or refused for good
    waiting ──────────────▶ flight ────────────────────────────────────────▶ gone
                            ▲    │ Busy, Expired, NotLeader, Unknown, Gap
                       take │    │ after one of these; connection lost
                            │    ▼
                          again ◀── refused

With a stream (a connection number), order is everything. The leader takes a batch only if it has the series before it,
so when one is refused, those behind it in flight are answered with Gap. Nothing is sent until all of them are answered,
or the connection is lost; then all go again, in order and with the same numbers. What is stored already is answered
as Repeated, so that repeating is safe.

Rules of a stream:

- **A series that was ever sent belongs to its change for good.** Numbers are given when a batch is sent for the first
  time, so one that is given up before has none, and the next one gets what would have been its.
- **What is certainly not stored is stepped over.** A batch that was refused in every attempt, and is given up or
  refused for good, is missing in the stream; whatever named it as its previous one now names the one before it. Its
  own series are not used again.
- **What may be stored is never stepped over.** When a batch is given up while an attempt is under way, or after one
  whose outcome is unknown, the stream *ends*: what waits is not sent any more, and its callers are told that it is not
  stored; what was sent before and is in doubt has an unknown outcome; what is in flight still gets the answer that
  comes, or an unknown outcome at its own deadline.
- **A Gap that is not our own doing is an error.** It is our own if something before it is unsettled, or was stepped
  over since it was sent.

Where batches have their caller's numbers nothing is stepped over (chain.py), and the caller learns of a gap.
Without a stream, nothing tells the leader that a batch came before. It is sent again only after it was certainly not
stored; when the connection is lost, what is in flight has an unknown outcome.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import chain
from typing import assert_never

from hansard.wire import submission as wire

from . import errors
from .chain import Chain
from .errors import NotStored, OutcomeUnknown
from .numbering import Numbering, Tally
from .receipts import Receipt, Receipts
from .settings import Settings
from .submission import NO_SERIES, Submission, in_order, numbered
from .window import Window


class Stream:
    """Invariants: every submission is in one place only; `flight`, `again` and `waiting` are in order, and everything
    in `again` was submitted before everything in `waiting`; nothing is sent while something is in `refused`."""

    def __init__(
        self,
        bucket: int,
        numbering: Numbering,
        settings: Settings,
        left: Callable[[int, int], None],
        tally: Tally | None = None,
        level: int = 1,
    ) -> None:
        self.bucket = bucket
        self.level = level
        """Batches are cut for it: all keys are the bucket's where there are so many."""
        self.connection = numbering.connection
        self.is_granted = False
        """The cluster gave the number, so nobody else has it: what is there was passed on twice, or is a name's."""
        self.split: Callable[[int], None] | None = None
        """Told that the bucket has another level by now; None where nobody can do anything about that."""
        self.ended: NotStored | None = None
        """Why nothing more can be submitted."""
        self.by_caller: bool | None = None
        """Whether the caller numbers the batches; None until the first one."""
        self.waiting: deque[Submission] = deque()
        self.again: deque[Submission] = deque()
        self._window = Window(settings)
        self.flight = self._window.flight
        """By the id of the attempt."""
        self.refused: list[Submission] = []
        self._settings = settings
        self._left = left
        """Told how many changes and bytes wait no longer."""
        self.numbering = numbering
        self._tally = tally or Tally()
        self.chain = Chain()
        self._last_series = NO_SERIES
        """The previous one of the batch that is numbered next."""

    def unsettled(self) -> Iterator[Submission]:
        """In no particular order."""
        return chain(self.flight.values(), self.refused, self.again, self.waiting)

    @property
    def is_idle(self) -> bool:
        return not (self.flight or self.waiting or self.again or self.refused)

    @property
    def has_more(self) -> bool:
        """Something could be sent if there were room."""
        return not self.refused and bool(self.again or self.waiting)

    # Sending.

    def put(self, submission: Submission) -> None:
        assert self.ended is None
        submission.order = next(self._tally.orders)
        if submission.numbered:
            self.chain.put(submission, self.unsettled())
        self.waiting.append(submission)

    def surrender(self) -> list[Submission]:
        """All that is not settled, in order, to be cut anew: from here on it is the caller's."""
        for submission in list(self.flight.values()):
            self._window.land(submission)
            submission.doubt = True
            self.refused.append(submission)
        return self._emptied()

    def _emptied(self) -> list[Submission]:
        """All that is not in flight, in order, and in no place any more."""
        for submission in self.waiting:
            self._left(submission.change_count, submission.weight)
        everything = in_order([*self.refused, *self.again, *self.waiting])
        self.refused, self.again, self.waiting = [], deque(), deque()
        return everything

    def begin_again(self, level: int, parts: Sequence[Submission], missing: Collection[int] = ()) -> None:
        """With what was cut for it, in order, at another level. What came before is settled, or missing."""
        assert self.is_idle
        self.level, self.chain = level, Chain(missing)
        if self.by_caller:
            for place, part in enumerate(parts):
                self.chain.put(part, parts[:place])
        self.again.extend(parts)
        numbers = [part.last for part in parts if part.numbered]
        self._last_series = numbers[-1] if numbers else NO_SERIES

    def take(self) -> list[Submission]:
        """What is to be sent now, within the window: from here on each is in flight, under its `sent_id`."""
        taken: list[Submission] = []
        under_way = self._window.change_count
        while self.has_more:
            source = self.again or self.waiting
            submission = source[0]
            gathers = source is self.waiting and len(source) == 1  # what something waits behind gets no larger
            if not self._window.admits(submission, under_way if gathers else 0):
                break
            source.popleft()
            if source is self.waiting:
                self._left(submission.change_count, submission.weight)
            self._number(submission)
            submission.sent_previous = submission.previous
            self._window.send(submission, next(self._tally.ids))
            taken.append(submission)
        return taken

    def _number(self, submission: Submission) -> None:
        batch = submission.built()
        submission.length = batch.length
        assert batch.header.connection in (0, self.connection), "numbers of another connection"
        if not self.connection or (self.by_caller and not submission.numbered):
            return
        if not submission.numbered:
            submission.numbered = True
            submission.first, submission.previous = self.numbering.take(submission.change_count), self._last_series
            submission.last = self._last_series = submission.first + submission.change_count - 1
        elif submission.previous == submission.sent_previous:
            return
        submission.batch = numbered(batch, self.connection, submission.first, submission.previous)

    # Answers. Those to attempts that were given up are late, and tell nobody anything.

    def answered(self, answer: wire.Answer) -> None:
        match answer:
            case wire.Stored(ids, offsets, timestamps):
                for sent_id, offset, timestamp in zip(ids, offsets, timestamps, strict=True):
                    self._stored(sent_id, offset, timestamp)
            case wire.StoredInPart(sent_id, repeated, offset, timestamp):
                self._stored(sent_id, offset, timestamp, repeated)
            case wire.Repeated(sent_id, known_offset, known_timestamp):
                self._repeated(sent_id, known_offset, known_timestamp)
            case wire.Unknown(sent_id):
                self._unknown(sent_id)
            case wire.Gap(sent_id, expected):
                self._gap(sent_id, expected)
            case wire.Broken(sent_id):
                self._broken(sent_id)
            case wire.Invalid(sent_id, reason):
                self._refuse(sent_id, errors.InvalidSubmission(reason))
            case wire.Misplaced(sent_id, buckets):
                self._misplaced(sent_id, buckets)
            case wire.Expired(sent_id):
                self.turned_away(sent_id, errors.DeadlinePassed(self._settings.timeout_s))
            case wire.Busy(sent_id):
                self.turned_away(sent_id, errors.Overloaded("the leader had no room for it until its deadline"))
            case wire.ReadOnly(sent_id, node, reason):
                self._hindered(sent_id, errors.NoRoom(node, reason))
            case wire.NotLeader(sent_id, _, _, _):
                self.turned_away(sent_id, errors.NotReachable("no participant said that it leads"))
            case _:
                assert_never(answer)

    def receipted(self, sent_id: int, receipts: Sequence[Receipt]) -> None:
        """Stored, with a receipt for each change: what was sent may be of several buckets."""
        if submission := self._landed(sent_id):
            self.chain.stored(submission)
            submission.callers.stored(receipts)

    def _stored(self, sent_id: int, offset: int, timestamp: int, repeated: int = 0) -> None:
        submission = self._landed(sent_id)
        if submission is None:
            return
        if repeated and self._is_strange(submission):
            submission.doubt = True
            self._give_up(submission, errors.ConnectionTaken(self.connection))
            return
        self.chain.stored(submission)
        submission.callers.stored(Receipts(self.bucket, submission.change_count, offset, timestamp, repeated))

    def _repeated(self, sent_id: int, offset: int | None, timestamp: int | None) -> None:
        submission = self._landed(sent_id)
        if submission is None:
            return
        if self._is_strange(submission):
            self._give_up(submission, errors.ConnectionTaken(self.connection))
            self.end("its number is somebody else's")
            return
        place = (None, None) if submission.is_sparse else (offset, timestamp)  # as a whole, or as this part: who knows
        self.chain.stored(submission)
        submission.callers.stored(Receipts(self.bucket, submission.change_count, *place))

    def _is_strange(self, submission: Submission) -> bool:
        """The bucket has something under our numbers though no attempt of ours can have stored it."""
        return not (submission.doubt or self.by_caller or self.is_granted)

    def _misplaced(self, sent_id: int, level: int) -> None:
        if self.split is None or self.ended is not None:
            self._refuse(sent_id, errors.BucketsChanged(level))
        elif level <= self.level:
            self.turned_away(sent_id, errors.NotReachable("who was asked has not heard of a split yet"))
        elif submission := self._landed(sent_id):
            self.refused.append(submission)
            self.split(level)

    def turned_away(self, sent_id: int, refusal: NotStored) -> None:
        """Certainly not stored by this attempt, and it may be tried again."""
        if submission := self._landed(sent_id):
            submission.refusal = refusal
            self._turn_back(submission)

    def _hindered(self, sent_id: int, refusal: NotStored) -> None:
        """It may take long until there is room, so whoever waits is told; unless an earlier attempt is in doubt."""
        submission = self.flight.get(sent_id)
        is_in_doubt = submission is not None and submission.doubt
        (self.turned_away if is_in_doubt else self._refuse)(sent_id, refusal)

    def _unknown(self, sent_id: int) -> None:
        """Journalled, and may yet turn up."""
        if submission := self._landed(sent_id):
            submission.doubt = True
            if self.connection:
                self._turn_back(submission)
            else:
                unknown = OutcomeUnknown("the leader changed, or not all members had stored it in time")
                submission.callers.failed(unknown)

    def _gap(self, sent_id: int, expected: int) -> None:
        submission = self._landed(sent_id)
        if submission is None:
            return
        stepped_over = submission.previous != submission.sent_previous
        if self.ended is not None or stepped_over or any(other.order < submission.order for other in self.unsettled()):
            self._turn_back(submission)
            return
        self._give_up(submission, errors.SeriesGap(expected))
        if not self.by_caller:
            self.end(f"the bucket has nothing of it after series {expected}")

    def _broken(self, sent_id: int) -> None:
        if submission := self._landed(sent_id):
            self._give_up(submission, errors.StreamBroken(self.connection))
            self.end("the bucket has forgotten it")

    def _refuse(self, sent_id: int, error: NotStored) -> None:
        """Certainly not stored by this attempt, and another would be of no use."""
        if submission := self._landed(sent_id):
            self._give_up(submission, error)

    def lost(self) -> None:
        """The connection is lost, and nobody will answer what is in flight."""
        for submission in list(self.flight.values()):
            self._window.land(submission)
            submission.doubt = True
            if self.connection:
                self._turn_back(submission)
            else:
                submission.callers.failed(OutcomeUnknown("the connection was lost before the answer came"))
        self.rewind()

    def rewind(self) -> None:
        """Everything in flight is answered: what was refused goes again, in order."""
        assert not self.flight
        self.again = deque(in_order([*self.refused, *self.again]))
        self.refused = []

    def _landed(self, sent_id: int) -> Submission | None:
        submission = self.flight.get(sent_id)
        if submission is not None:
            self._window.land(submission)
        return submission

    def _turn_back(self, submission: Submission) -> None:
        if self.ended is not None:
            self._give_up(submission, self.ended)
        else:
            self.refused.append(submission)

    # Giving up. A submission that comes here is in no place any more.

    def expire(self, now: float, absent: NotStored | None) -> None:
        """Those whose time is over. `absent` is said of what was never sent because nobody could be reached."""
        grace = self._settings.answer_grace_s
        for submission in in_order(list(self.unsettled())):
            until = submission.deadline + (0 if submission.sent_id is None else grace)
            if until > now:
                continue
            why = submission.refusal or absent or errors.DeadlinePassed(self._settings.timeout_s)
            if self._remove(submission):
                self._give_up(submission, why, f"no answer came within {self._settings.timeout_s:g} s")

    def close(self, error: NotStored) -> None:
        """Everybody is told, now."""
        self.ended = self.ended or error
        unknown = OutcomeUnknown("the client was closed before the answer came")
        for submission in in_order(list(self.unsettled())):
            self._remove(submission)
            submission.callers.failed(unknown if submission.doubt else error)

    def _remove(self, submission: Submission) -> bool:
        """From wherever it is; False where the end of the stream came first. Removed from flight it is in doubt."""
        if submission.sent_id is not None:
            self._window.land(submission)
            submission.doubt = True
            return True
        for place in (self.refused, self.again, self.waiting):
            if submission in place:
                place.remove(submission)
                if place is self.waiting:
                    self._left(submission.change_count, submission.weight)
                return True
        return False

    def _give_up(
        self, submission: Submission, error: NotStored, doubt: str = "an earlier attempt was not answered"
    ) -> None:
        if submission.doubt:
            unknown = OutcomeUnknown(doubt)
            unknown.__cause__ = error
            submission.callers.failed(unknown)
            if self.connection:
                self.end("it is not known whether an earlier change is stored")
            return
        submission.callers.failed(error)
        if self.by_caller:
            self.chain.missed(submission)
        elif submission.numbered:
            self._step_over(submission)

    def _step_over(self, missing: Submission) -> None:
        for submission in self.unsettled():
            if submission.numbered and submission.previous == missing.last:
                submission.previous = missing.previous
        if self._last_series == missing.last:
            self._last_series = missing.previous

    def end(self, why: str) -> None:
        if self.ended is not None:
            return
        self.ended = errors.StreamEnded(self.connection, why)
        for submission in self._emptied():
            unknown = OutcomeUnknown("an earlier attempt was not answered")
            unknown.__cause__ = self.ended
            submission.callers.failed(unknown if submission.doubt else self.ended)
