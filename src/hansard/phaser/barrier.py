"""Linearizable reads: all members confirm the term, in one round for all reads that wait.

A read joins the next round, never one that is under way: a member may have confirmed that one before the read was asked
for. When every member has confirmed, no later government had been formed when the round began, because it would have
needed one of them; so everything that was acknowledged before the read is in this leader's log and committed. What is
committed is applied, so an application's answer is as good.
"""

from collections import deque
from collections.abc import Sequence

from msgspec import Struct

from hansard.application import BadQuestion

from .effect import AnswerRead, Effect
from .event import Question, Read
from .government import NodeId
from .ledger import Ledger
from .outcome import Busy, Expired, Invalid, Misplaced, NotLeader, ReadFrom, ReadOutcome
from .relay import Relay
from .settings import Settings


class Asked(Struct, frozen=True, gc=False):
    read: Read
    round: int


class Barrier:
    """Invariant: reads wait in the order of their rounds; none waits for a round later than the next."""

    __slots__ = ("effects", "round", "running", "settings", "waiting")

    def __init__(self, effects: list[Effect], settings: Settings) -> None:
        self.effects = effects
        self.settings = settings
        self.round = 0
        """The last round that was begun. Rounds are numbered through all terms."""
        self.running = False
        self.waiting: deque[Asked] = deque()

    def join(self, read: Read, now_us: int) -> None:
        if read.deadline_us <= now_us:
            self.effects.append(AnswerRead(read.id, Expired()))
        elif len(self.waiting) >= self.settings.backlog_count_max:
            self.effects.append(AnswerRead(read.id, Busy()))
        else:
            self.waiting.append(Asked(read, self.round + 1))

    def begin(self) -> int | None:
        """The round to ask for now; None if nobody waits for one, or one is under way."""
        if self.running or not self.waiting:
            return None
        self.round += 1
        self.running = True
        return self.round

    def advance(self, relay: Relay, counted: Sequence[NodeId]) -> None:
        """Whoever counts may have confirmed the round; then the next one is asked for."""
        self._look(relay, counted)
        begun = self.begin()
        if begun is not None:
            relay.confirm(begun)
            self._look(relay, counted)

    def _look(self, relay: Relay, counted: Sequence[NodeId]) -> None:
        if self.running:
            self.confirmed(min([relay.feeds[node].confirmed for node in counted], default=self.round), relay.ledger)

    def confirmed(self, round: int, ledger: Ledger) -> None:
        """Everybody has confirmed the term in this round."""
        if round < self.round:
            return
        self.running = False
        while self.waiting and self.waiting[0].round <= round:
            read = self.waiting.popleft().read
            question = read.question
            outcome = ReadFrom(ledger.committed) if question is None else _answered(question, ledger)
            self.effects.append(AnswerRead(read.id, outcome))

    def expire(self, now_us: int) -> None:
        for asked in self.waiting:
            if asked.read.deadline_us <= now_us:
                self.effects.append(AnswerRead(asked.read.id, Expired()))
        self.waiting = deque([asked for asked in self.waiting if asked.read.deadline_us > now_us])
        self.running = self.running and bool(self.waiting)

    def start_again(self) -> None:
        """This participant leads on under another term: what was confirmed is worth nothing, and is asked for anew."""
        self.waiting = deque([Asked(asked.read, self.round + 1) for asked in self.waiting])
        self.running = False

    def give_up(self, outcome: NotLeader) -> None:
        """This participant does not lead any more."""
        for asked in self.waiting:
            self.effects.append(AnswerRead(asked.read.id, outcome))
        self.waiting.clear()
        self.running = False


def _answered(question: Question, ledger: Ledger) -> ReadOutcome:
    host = ledger.derived.host(question.application)
    if question.buckets != ledger.buckets:
        return Misplaced(ledger.buckets)
    if host is None:
        return Invalid(f"there is no application {question.application!r} here")
    try:
        return ReadFrom(ledger.committed, host.application.query(question.content))
    except BadQuestion as error:
        return Invalid(str(error))
