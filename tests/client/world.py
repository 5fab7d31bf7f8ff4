"""A stream and its leader in all the orders that a seed can think of, without sockets or clocks.

Messages lie on connections until the leader takes them. One that was lost is not gone: what was on it may be taken much
later, after the client has sent everything again. The leader refuses at random, stores and says that it does not know,
or hangs up. At the end every claim that was made to a caller is held against what the bucket has.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from random import Random

from hansard.batch import Batch, build
from hansard.client import ClientError, NotStored, OutcomeUnknown, Receipt, Receipts, SeriesGap, Settings
from hansard.client.callers import Callers
from hansard.client.numbering import Numbering
from hansard.client.stream import Stream
from hansard.client.submission import Submission
from hansard.wire.submission import Answer, Busy, Expired, Gap, NotLeader, Submit, Unknown
from tests.client.fake import Bucket

TIMEOUT_S = 10.0
REFUSALS = ("busy", "expired", "not leader")
DOUBTS = ("stored and unknown", "unknown", "stored and lost")


class Witness(Callers):
    """Keeps what callers would be told."""

    def __init__(self) -> None:
        self.told: Receipts | ClientError | None = None

    def part(self, places: Sequence[int]) -> "Witness":
        raise AssertionError("nothing is split here")

    def stored(self, receipts: Sequence[Receipt]) -> None:
        assert self.told is None, "told twice"
        assert isinstance(receipts, Receipts)
        self.told = receipts

    def stored_in_part(self, receipts: Mapping[int, Receipt]) -> None:
        raise AssertionError("over the binary protocol a batch is one bucket's, and stored as a whole")

    def failed(self, error: ClientError) -> None:
        assert self.told is None, "told twice"
        self.told = error


class Noted(Submission):
    """Keeps its values, to be compared with what the bucket has."""

    def __init__(self, deadline: float, values: list[bytes]) -> None:
        self.witness = Witness()
        super().__init__(deadline, self.witness)
        self.values = values
        self.change_count = len(values)
        self.length = self.weight = 100 * len(values)

    @property
    def told(self) -> Receipts | ClientError | None:
        return self.witness.told

    def built(self) -> Batch:
        if self.batch is None:
            self.batch = build([None] * len(self.values), self.values)
        return self.batch


class World:
    def __init__(self, seed: int, *, patient: bool, connection: int = 7) -> None:
        random = self.random = Random(seed)
        self.patient = patient
        """No deadline passes."""
        settings = Settings(timeout_s=TIMEOUT_S, window_batches=random.randint(1, 6))
        self.gathered = 0
        self.stream = Stream(0, Numbering(connection), settings, self._left)
        self.stream.by_caller = False
        self.bucket = Bucket()
        self.now = 0.0
        self.submissions: list[Noted] = []
        self.serial = 0
        self.line: deque[Submit] = deque()
        self.reached = -1
        """The last that was sent, since everything was sent again."""
        self.answers: deque[Answer] = deque()
        self.lingering: list[deque[Submit]] = []
        self.trouble = random.choice((0.1, 0.3, 0.6, 0.9))
        self.troubles = random.choice((REFUSALS, REFUSALS, DOUBTS, REFUSALS + DOUBTS))
        self.hurry = random.choice((1, 1, 4))

    def _left(self, changes: int, _: int) -> None:
        self.gathered -= changes
        assert self.gathered >= 0

    def live(self, steps: int) -> None:
        actions: list[Callable[[], None]] = [
            *[self.submit] * 3,
            *[self.send] * 4,
            *[self.take] * 6,
            *[self.hear] * 6,
            self.lose,
            self.take_late,
            *[self.pass_time] * self.hurry,
        ]
        for _ in range(steps):
            self.random.choice(actions)()
        self.trouble = 0.0
        while not self.stream.is_idle:
            self.send()
            self.take()
            self.hear()
            if self.random.random() < 0.1:
                self.take_late()
            if not self.patient:
                self.pass_time()
        while self.lingering:
            self.take_late()

    # What can happen.

    def submit(self) -> None:
        if self.stream.ended is not None:
            return
        count = self.random.choice((1, 1, 2, 5))
        values = [b"%d" % (self.serial + place) for place in range(count)]
        self.serial += count
        submission = Noted(self.now + TIMEOUT_S, values)
        self.submissions.append(submission)
        self.gathered += count
        self.stream.put(submission)

    def send(self) -> None:
        stream = self.stream
        if not stream.flight and stream.refused:
            stream.rewind()
            self.reached = -1
        for submission in stream.take():
            assert submission.sent_id is not None and submission.batch is not None
            assert submission.order > self.reached, "sent out of order"
            self.reached = submission.order
            self.line.append(Submit(submission.sent_id, 0, submission.batch, 1))

    def take(self) -> None:
        """The leader takes the next message of the connection that is open."""
        if not self.line:
            return
        submit = self.line.popleft()
        if self.random.random() >= self.trouble:
            self.answers.append(self.bucket.store(submit))
            return
        match self.random.choice(self.troubles):
            case "busy":
                self.answers.append(Busy(submit.id))
            case "expired":
                self.answers.append(Expired(submit.id))
            case "not leader":
                self.answers.append(NotLeader(submit.id, None, None, 1))
            case "stored and unknown":
                gap = self.bucket.store(submit)
                self.answers.append(gap if isinstance(gap, Gap) else Unknown(submit.id))
            case "unknown":  # journalled by a leader that nobody follows any more
                self.answers.append(Unknown(submit.id))
            case _:
                self.bucket.store(submit)
                self.lose()

    def hear(self) -> None:
        if self.answers:
            self.stream.answered(self.answers.popleft())

    def lose(self) -> None:
        """Some of the answers are heard; what the leader has not taken may be taken later, or never."""
        while self.answers and self.random.random() < 0.5:
            self.hear()
        if self.line and self.random.random() < 0.7:
            self.lingering.append(self.line)
        self.line, self.answers = deque(), deque()
        self.reached = -1
        self.stream.lost()

    def take_late(self) -> None:
        if self.lingering:
            line = self.random.choice(self.lingering)
            self.bucket.store(line.popleft())
            self.lingering = [line for line in self.lingering if line]

    def pass_time(self) -> None:
        if not self.patient:
            self.now += self.random.uniform(0, TIMEOUT_S / 8)
            self.stream.expire(self.now, None)

    # What must be true in the end.

    def check(self) -> None:
        values = self.bucket.values
        assert len(set(values)) == len(values), "stored twice"
        in_order = sorted(values, key=lambda value: int(value or b""))
        assert values == in_order or not self.stream.connection, "stored out of order"
        stored = set(values)
        assert self.gathered == 0
        for submission in self.submissions:
            match submission.told:
                case Receipts() as receipts:
                    assert len(receipts) == submission.change_count
                    for value, receipt in zip(submission.values, receipts, strict=True):
                        assert value in stored
                        assert receipt.offset is None or values[receipt.offset] == value
                case NotStored() as error:
                    assert not isinstance(error, SeriesGap), "a gap of our own making"
                    assert not stored & set(submission.values), "stored though it was said not to be"
                case OutcomeUnknown():
                    assert not self.patient
                case told:
                    raise AssertionError(f"nobody was told: {told}")
        if self.patient:
            assert len(values) == self.serial
        if self.stream.ended is not None:
            assert any(isinstance(submission.told, OutcomeUnknown) for submission in self.submissions)
