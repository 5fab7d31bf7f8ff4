"""The hot route: one small change in JSON, all of which has come at once, and whose client stays.

Nothing of it takes a task or a future. What it says is checked where it is received, it goes to the core, and what the
core answers is written where it came from. The answers of a turn are written behind the turn, when what has to go to
other participants and to the disk has gone. Everything else goes the long way (changes.py), and is answered alike.
"""

import asyncio
import logging
from collections.abc import Callable
from time import perf_counter
from typing import Final, NamedTuple

from hansard.batch import BatchError
from hansard.phaser import outcome as phaser

from .access import SUBMIT, Guest, allowed
from .changes import Admit
from .content import JSON, Rows, rows_of
from .intake import Intake
from .metrics import Metrics
from .problem import Refusal
from .receipts import told, unfit
from .submitting import Part, Stream, Submitter, cut_one
from .terms import deadline_s, media_type_of, stream_of
from .workroom import LARGE_BYTES

log = logging.getLogger(__name__)

UNEXPECTED: Final = "an error that nobody has thought of"
Respond = Callable[[int, bytes, Refusal | None], None]
"""Takes the status, the body, and the refusal if it is one."""


class Sent(NamedTuple):
    """One that is under way."""

    rows: Rows
    guest: Guest
    stream: Stream | None
    deadline_s: float
    byte_count: int
    begun_s: float
    read_s: float
    respond: Respond


class Quick:
    def __init__(self, submitter: Submitter, admit: Admit, intake: Intake, metrics: Metrics) -> None:
        self._submitter = submitter
        self._admit = admit
        self._intake = intake
        self._metrics = metrics
        self._answered: list[tuple[Sent, Part]] = []
        self._late: set[asyncio.Task[None]] = set()
        """Those whose bucket was split just then."""

    @property
    def tasks(self) -> set[asyncio.Task[None]]:
        return self._late

    def take(self, headers: dict[bytes, bytes], certificate: object, body: bytes, respond: Respond) -> bool:
        """False if it is none of those: then nothing was done."""
        if len(body) > LARGE_BYTES or body[:1] != b"{" or media_type_of(headers) != JSON:
            return False
        begun_s = perf_counter()
        try:
            self._send(headers, certificate, body, respond, begun_s)
        except Refusal as refusal:
            self._refuse(refusal, begun_s, respond)
        except Exception as error:
            self._fail(error, begun_s, respond)
        return True

    def _send(
        self, headers: dict[bytes, bytes], certificate: object, body: bytes, respond: Respond, begun_s: float
    ) -> None:
        submitter = self._submitter
        guest = self._admit(headers, certificate)
        allowed(guest, SUBMIT)
        wait_s = deadline_s(headers)
        guest.check_rate()
        rows = rows_of(body, JSON)
        guest.check_tags(rows.tags)
        stream = stream_of(headers, guest, 1)
        submitter.check_room()
        try:
            piece = cut_one(rows, submitter.buckets, stream)
        except BatchError as error:
            raise unfit(error) from error
        self._intake.check(len(body))
        guest.used(1, len(body))
        read_s = perf_counter()
        self._metrics.stage("read", read_s - begun_s)
        sent = Sent(rows, guest, stream, submitter.now_s() + wait_s, len(body), begun_s, read_s, respond)
        submitter.send(piece, sent.deadline_s, lambda part: self._settled(sent, part))
        self._intake.held_bytes += len(body)

    def _settled(self, sent: Sent, part: Part) -> None:
        """In the middle of a turn."""
        if not self._answered:
            asyncio.get_running_loop().call_soon(self._answer_all)
        self._answered.append((sent, part))

    def _answer_all(self) -> None:
        answered, self._answered = self._answered, []
        for sent, part in answered:
            if isinstance(part.outcome, phaser.Misplaced):
                task = asyncio.get_running_loop().create_task(self._follow_up(sent, part))
                self._late.add(task)
                task.add_done_callback(self._late.discard)
            else:
                self._answer(sent, [part])

    async def _follow_up(self, sent: Sent, part: Part) -> None:
        try:
            parts = await self._submitter.follow_up(sent.rows, [part], sent.deadline_s, sent.stream)
        except Exception as error:  # nobody else hears of it
            self._release(sent)
            self._fail(error, sent.begun_s, sent.respond)
        else:
            self._answer(sent, parts)

    def _release(self, sent: Sent) -> None:
        """It is held no longer, whatever became of it."""
        self._intake.held_bytes -= sent.byte_count
        self._metrics.stage("commit", perf_counter() - sent.read_s)

    def _answer(self, sent: Sent, parts: list[Part]) -> None:
        self._release(sent)
        try:
            content = told(sent.rows, parts, sent.guest)
            self._metrics.changes.inc()
            sent.respond(201, content, None)
            self._metrics.request("submit", 201, perf_counter() - sent.begun_s)
        except Refusal as refusal:
            self._refuse(refusal, sent.begun_s, sent.respond)
        except Exception as error:
            self._fail(error, sent.begun_s, sent.respond)

    def _fail(self, error: Exception, begun_s: float, respond: Respond) -> None:
        log.error("a submission could not be answered", exc_info=error)
        self._refuse(Refusal("failed", UNEXPECTED, stored="unknown"), begun_s, respond)

    def _refuse(self, refusal: Refusal, begun_s: float, respond: Respond) -> None:
        refusal.about_storing("no")
        respond(refusal.status, refusal.encoded(), refusal)
        self._metrics.request("submit", refusal.status, perf_counter() - begun_s)
