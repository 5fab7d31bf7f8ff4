"""Clients: what they ask for goes to the core, and what becomes of it goes back to who asked.

All requests get numbers of our own. Reads of what is not there yet wait (lounge.py), until something is committed in
their bucket or their time is over. Of each client a few pages are read at a time, as it takes them, and one question of
an operator is answered after the other, with everybody else's business in between.

Everything is judged when it comes (usher.py), and what is read once more before it is handed out: a token may have been
revoked meanwhile.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, Final, assert_never

from hansard.batch import reopen, verify_at
from hansard.participant import event
from hansard.participant.effect import (
    Answer,
    AnswerCommand,
    AnswerConnect,
    AnswerHold,
    AnswerRead,
    Committed,
    Pressure,
    ReadAt,
)
from hansard.participant.participant import Participant
from hansard.phaser.event import Continues
from hansard.wire import request as wire
from hansard.wire import submission
from hansard.wire.codec import Codec

from .access import Access
from .asker import Asker
from .connection import Connection, Taker
from .desk import Desk
from .grant import NOT_ALLOWED
from .inside import Inside
from .lounge import Lounge
from .pages import Pages, begins_at_once
from .porch import Porch, expired
from .tables import Tables
from .usher import Usher
from .visit import Asked, Visit

WAIT_US_MAX: Final = 3600 * 1_000_000
NUMBERS_END: Final = 1 << 63
"""Nothing is waited for any longer."""
PAGES_MAX: Final = 2
"""Read for one client at once: one that it takes, and the next."""


class Reception:
    def __init__(
        self,
        node: str,
        happen: Callable[[event.Event], None],
        submitted: Callable[[event.Submit], None],
        soon: Callable[[], None],
        now_us: Callable[[], int],
        address: Callable[[str], str | None],
        pages: Pages,
        desk: Desk,
        access: Access,
    ) -> None:
        self._node = node
        self._happen = happen
        self._submitted = submitted
        self._now_us = now_us
        self._address = address
        self._pages = pages
        self._desk = desk
        self.inside = Inside(happen, submitted, soon, now_us)
        """Who asks from within this process."""
        self._access = access
        self._edition = access.edition
        self._usher = Usher(access)
        self._porch: Porch[Asker] = Porch()
        self._is_open = False
        """Everybody may do everything, and nobody waits: looked at whenever that may have changed, so that it need not
        be for each request."""
        self._codecs: tuple[Codec[Any], Codec[Any]] = Codec(wire.Request, verify_at), Codec(wire.Answer, reopen)
        self._number = 0
        self._asked: dict[int, Asked] = {}
        self._lounge: Lounge[Asked] = Lounge()
        self._tables = Tables(self._say_now)
        self._visits: dict[Asker, Visit] = {}
        self._curious: deque[Asker] = deque()
        """Those with a question, in turn."""
        self._answering: list[Asker] = []
        self._pressed: set[int] = set()
        self._version = 0
        self._finished: asyncio.Event | None = None
        """Nothing more is taken; set when all is answered."""

    @property
    def count(self) -> int:
        """Of clients."""
        return len(self._visits)

    @property
    def waiting(self) -> int:
        """Reads of what is not there yet."""
        return len(self._lounge)

    async def finish(self) -> None:
        """Take nothing more from clients, and wait until all that they asked is answered."""
        self._finished = asyncio.Event()
        self._press_all()
        self._look_whether_finished()
        await self._finished.wait()
        await self.inside.finish()

    def _look_whether_finished(self) -> None:
        """Who is gone waits for nothing."""
        if self._finished is not None and all(asked.asker.connection.is_over for asked in self._asked.values()):
            self._finished.set()

    def welcome(self, connection: Connection, token: str) -> Taker:
        asker = Asker(connection, self._come, self._address, self._codecs)
        visit = self._visits[asker] = Visit(self._access.badge(token, connection.certificate))
        lost = connection.lost

        def gone() -> None:
            del self._visits[asker]
            self._porch.leave(asker)
            for number, bucket in visit.waiting.items():
                self._lounge.leave(bucket, number)
            self._tables.gone(asker)
            lost()

        connection.lost = gone
        asker.ready = lambda: self._go_on(asker)
        asker.press(pressed=self.is_holding)
        return asker.received

    # What they want.

    def _come(self, asker: Asker, request: wire.Request) -> None:
        """Whoever asks is looked at first. Operators' questions are judged by who understands them."""
        if self._is_open and isinstance(request, submission.Submit):
            self._submit(asker, request)
        elif isinstance(request, wire.Ask):
            self._ask(asker, request)
        elif self._access.known and not self._porch:
            judged = self._usher.judge(self._visits[asker].badge, request)
            if judged is request or isinstance(judged, wire.Request):
                self._ask(asker, judged)
            else:
                self._say(asker, judged)
        else:
            patience_us = READ_US_MIN if isinstance(request, wire.Read) else 0
            self._let_wait(asker, request, max(request.wait_us, patience_us))

    def _let_wait(self, asker: Asker, request: wire.Request, wait_us: int) -> None:
        if not self._porch.enter(asker, request, self._deadline_us(wait_us)):
            self._say(asker, expired(request))

    def _ask(self, asker: Asker, request: wire.Request) -> None:
        match request:
            case submission.Submit():
                self._submit(asker, request)
            case wire.Connect() if not 0 <= request.broken < NUMBERS_END:
                self._say(asker, expired(request))  # a number that nobody can have had
            case wire.Connect():
                number, deadline_us = self._note(asker, request.id, request.wait_us)
                self._happen(event.Connect(number, deadline_us, request.name, request.broken))
            case wire.Read():
                self._read(Asked(asker, request.id, request, self._deadline_us(request.wait_us)))
            case wire.Ask():
                self._question(asker, request)
            case wire.Table():
                self._tables.ask(asker, request, self._deadline_us(request.wait_us))
            case wire.Import():
                number, deadline_us = self._note(asker, request.id, request.wait_us)
                place = (request.bucket, request.batch, deadline_us, request.buckets, request.follows)
                self._happen(event.Import(number, *place))
            case _:
                assert_never(request)

    def _deadline_us(self, wait_us: int) -> int:
        return self._now_us() + min(max(wait_us, 0), WAIT_US_MAX)

    def _note(self, asker: Asker, id: int, wait_us: int) -> tuple[int, int]:
        self._number += 1
        self._asked[self._number] = Asked(asker, id)
        return self._number, self._deadline_us(wait_us)

    def _submit(self, asker: Asker, submit: submission.Submit) -> None:
        number = self._number = self._number + 1
        self._asked[number] = Asked(asker, submit.id)
        wait_us, continues = submit.wait_us, submit.continues
        deadline_us = self._now_us() + wait_us if 0 <= wait_us <= WAIT_US_MAX else self._deadline_us(wait_us)
        goes_on = Continues(continues.connection, continues.previous) if continues is not None else None
        self._submitted(event.Submit(number, submit.bucket, submit.batch, deadline_us, submit.buckets, goes_on))

    def _read(self, asked: Asked) -> None:
        assert asked.read is not None
        self._number += 1
        self._asked[self._number] = asked
        patience_us = max(asked.deadline_us, self._now_us() + READ_US_MIN)
        self._happen(event.Read(self._number, asked.read.bucket, patience_us, asked.read.linear))

    def _question(self, asker: Asker, ask: wire.Ask) -> None:
        questions = self._visits[asker].questions
        questions.append(ask)
        if len(questions) == 1:
            self._curious.append(asker)
            if len(self._curious) == 1:
                asyncio.get_running_loop().call_soon(self._answer_next)

    def _answer_next(self) -> None:
        """One of the next client's. Some answers are long, and nobody is to wait for all of them."""
        asker = self._curious.popleft()
        visit = self._visits.get(asker)
        if visit is not None:
            ask, grant = visit.questions.popleft(), visit.badge.grant
            if grant is None:
                self._say_now(asker, wire.Refused(ask.id, NOT_ALLOWED))
            elif not self._access.known and not self._desk.is_for_all(ask.question):
                self._let_wait(asker, ask, QUESTION_US_MAX)
            else:
                self._desk.ask(
                    ask.question,
                    lambda answer: self._say_now(asker, wire.Told(ask.id, answer)),
                    lambda reason: self._say_now(asker, wire.Refused(ask.id, reason)),
                    grant,
                )
            if visit.questions:
                self._curious.append(asker)
        if self._curious:
            asyncio.get_running_loop().call_soon(self._answer_next)

    # What becomes of it.

    def answer(self, answer: Answer) -> None:
        if answer.id < 0:
            self.inside.answered(answer)
            return
        asked = self._asked.pop(answer.id)
        asker = asked.asker
        asker.answer(asked.id, answer.outcome)
        if not asker.waiting:
            self._plan(asker)

    def answer_connect(self, answer: AnswerConnect) -> None:
        if answer.id < 0:
            self.inside.answered(answer)
            return
        asked = self._asked.pop(answer.id)
        self._say(asked.asker, wire.Connected(asked.id, answer.connection))

    def answer_command(self, answer: AnswerCommand) -> None:
        self._desk.answered(answer)

    def answer_hold(self, answer: AnswerHold) -> None:
        self._desk.held(answer)

    def answer_read(self, answer: AnswerRead) -> None:
        if answer.id < 0:
            self.inside.answered(answer)
            return
        asked, outcome = self._asked.pop(answer.id), answer.outcome
        assert asked.read is not None
        if not isinstance(outcome, ReadAt):
            asked.asker.answer(asked.id, outcome)
            self._plan(asked.asker)
        elif outcome.node != self._node or outcome.committed is None:
            self._say(asked.asker, wire.Elsewhere(asked.id, outcome.node, outcome.address))
        else:
            self._read_up_to(asked, outcome.committed)

    def _read_up_to(self, asked: Asked, committed: int) -> None:
        visit, read = self._visits.get(asked.asker), self._still_allowed(asked)
        if visit is None or read is None:
            return
        if read.offset < committed or begins_at_once(read):
            if visit.pages >= PAGES_MAX or asked.asker.connection.is_full:
                visit.later.append(asked)
            else:
                visit.pages += 1
                self._pages.read(asked.id, read, committed, lambda page: self._turn(asked.asker, visit, page))
        elif self._now_us() < asked.deadline_us:
            visit.waiting[self._lounge.enter(asked)] = read.bucket
        else:
            self._say(asked.asker, self._pages.empty(asked.id, read))

    def _still_allowed(self, asked: Asked) -> wire.Read | None:
        """What may be read of it now; None if nothing, and whoever asked was told, or has gone."""
        visit = self._visits.get(asked.asker)
        assert asked.read is not None
        judged = self._usher.judge(visit.badge, asked.read) if visit is not None else None
        if judged is None or isinstance(judged, wire.Read):
            return judged
        assert not isinstance(judged, wire.Request)
        self._say(asked.asker, judged)
        return None

    def _turn(self, asker: Asker, visit: Visit, page: wire.Page | wire.Gone | wire.Refused) -> None:
        """A page was read."""
        visit.pages -= 1
        if isinstance(page, wire.Page):
            self._usher.charge(visit.badge, page)
        self._say_now(asker, page if visit.badge.grant is not None else wire.Refused(page.id, NOT_ALLOWED))
        self._go_on(asker)

    def _go_on(self, asker: Asker) -> None:
        """With what was put off. More may be committed by now, or the bucket be split: the core is asked again."""
        visit = self._visits.get(asker)
        if visit is not None:
            for _ in range(PAGES_MAX - visit.pages if not asker.connection.is_full else 0):
                if visit.later:
                    self._read(visit.later.popleft())

    def committed(self, committed: Committed) -> None:
        if not self._lounge.count:
            return
        for number, asked in self._lounge.called(committed.bucket):
            del self._visits[asked.asker].waiting[number]
            self._read_up_to(asked, committed.end)

    def look(self, core: Participant) -> None:
        """After each turn: reads whose time is over, and those of buckets that are elsewhere now."""
        self._look_who_may_come()
        if self._lounge.count:
            for number, asked in self._lounge.overdue(self._now_us()):
                del self._visits[asked.asker].waiting[number]
                assert asked.read is not None
                self._say(asked.asker, self._pages.empty(asked.id, asked.read))
        self._tables.look(core, self._now_us())
        if core.distributor.version != self._version:
            self._version = core.distributor.version
            for number, asked in self._lounge.moved(lambda bucket: bucket in core.copies.running):
                del self._visits[asked.asker].waiting[number]
                self._read(asked)

    def _look_who_may_come(self) -> None:
        if self._porch and self._access.known:
            self._porch.empty(self._now_us(), self._come)
        elif self._porch:
            self._porch.overdue(self._now_us(), self._say)
        if self._edition is not self._access.edition:
            self._edition = self._access.edition
            self._look_who_may_wait()
        self._is_open = self._access.is_open and not self._porch

    def _look_who_may_wait(self) -> None:
        """Somebody's rights may have changed: who has none any more need not wait to be told so."""
        for asker, visit in self._visits.items():
            for number, bucket in list(visit.waiting.items()) if visit.badge.grant is None else ():
                asked = self._lounge.leave(bucket, number)
                del visit.waiting[number]
                if asked is not None:
                    self._say(asker, wire.Refused(asked.id, NOT_ALLOWED))

    def press(self, pressure: Pressure) -> None:
        """While a bucket has too much waiting, nothing is taken from clients: it waits on their side."""
        if pressure.high:
            self._pressed.add(pressure.bucket)
        else:
            self._pressed.discard(pressure.bucket)
        self._press_all()

    @property
    def is_holding(self) -> bool:
        return bool(self._pressed) or self._finished is not None

    def _press_all(self) -> None:
        for asker in self._visits:
            asker.press(pressed=self.is_holding)

    # Saying so.

    def _say(self, asker: Asker, answer: wire.Answer) -> None:
        asker.say(answer)
        self._plan(asker)

    def _say_now(self, asker: Asker, answer: wire.Answer) -> None:
        """Outside of a turn."""
        asker.say(answer)
        asker.flush()

    def _plan(self, asker: Asker) -> None:
        if not asker.waiting:
            asker.waiting = True
            self._answering.append(asker)

    def flush(self) -> None:
        for asker in self._answering:
            asker.flush()
        self._answering.clear()
        if self._finished is not None:
            self._look_whether_finished()


QUESTION_US_MAX: Final = 10_000_000
"""So long a question waits until it is known who may ask it."""
READ_US_MIN: Final = 5_000_000
"""A read that does not wait for anything new still waits for the leader's word."""
