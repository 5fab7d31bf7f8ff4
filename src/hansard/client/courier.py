"""Carries the submissions of one bucket to its leader, wherever that is: over one connection at a time, which it shares
with others (switchboard.py); and the timers.

What is to be sent, in which order, and what an answer means for it is the stream's. Here is when: at the end of the
turn of the loop in which something was submitted, when an answer makes room in the window, when the transport can take
more, when a pause after a refusal is over.

A connection is left when another participant leads, when it breaks, and when nothing is heard over it for a while: with
a stream at once, and everything is sent again elsewhere; without one as soon as nothing is in flight. Nobody is
connected to while there is nothing to send.
"""

import asyncio
from collections.abc import Sequence
from typing import cast

from hansard.wire.errors import WireError
from hansard.wire.request import Answer
from hansard.wire.submission import Answer as Fate
from hansard.wire.submission import NotLeader, Repeated, Stored, StoredInPart, Submit

from .errors import NotReachable, NotStored
from .link import Link
from .roster import Backoff, Roster, Way
from .settings import Settings
from .stream import Stream
from .switchboard import Switchboard


class Courier:
    def __init__(
        self, stream: Stream, roster: Roster | Way, backoff: Backoff, switchboard: Switchboard, settings: Settings
    ) -> None:
        self._stream = stream
        self._roster = roster
        self._switchboard = switchboard
        self._backoff = backoff
        """Between two attempts over the same connection."""
        self._settings = settings
        self._loop = asyncio.get_running_loop()
        self._link: Link | None = None
        self._address = ""
        """Where that leads to."""
        self._epoch = 0
        self._is_leaving = False
        """Another participant leads: leave as soon as everything in flight is answered."""
        self._pause: asyncio.TimerHandle | None = None
        self._heard = 0.0
        """When the last answer came, or what is in flight was sent."""
        self._unwritten = 0
        """Bytes in the transport's buffer when it was last looked at."""
        self.stored_end = 0
        """After the last change of which a receipt has come."""
        self._flush_planned = False
        self._ticking: asyncio.TimerHandle | None = None
        self._wanted = asyncio.Event()
        self._reached = asyncio.Event()
        self._task = self._loop.create_task(self._connect_when_wanted())

    async def open(self, deadline: float) -> None:
        """Returns when some participant has said hello."""
        self._wanted.set()
        try:
            async with asyncio.timeout_at(deadline):
                await self._reached.wait()
        except TimeoutError:
            raise NotReachable(self._roster.problem) from None

    async def close(self) -> None:
        for timer in (self._pause, self._ticking):
            if timer is not None:
                timer.cancel()
        self._task.cancel()
        await asyncio.wait([self._task])
        if self._link is not None:
            self._link.part(self)
            self._link = None

    def reroute(self, leader: str | None) -> None:
        """The table says who leads: what is sent from now on goes there. What is in flight is waited for, so that
        nothing overtakes it."""
        if leader is not None and self._link is not None and self._address != leader:
            self._is_leaving = True
            if not self._stream.flight:
                self._leave()

    # Sending.

    def announce(self) -> None:
        """Something was submitted. It is sent at the end of this turn, together with what else comes in it."""
        if not self._flush_planned:
            self._flush_planned = True
            self._loop.call_soon(self._flush)
        if self._ticking is None:
            self._ticking = self._loop.call_later(self._settings.tick_s, self._tick)

    def _flush(self) -> None:
        self._flush_planned = False
        link, stream = self._link, self._stream
        if link is None:
            if not stream.is_idle:
                self._wanted.set()
            return
        if link.is_full or self._pause is not None or self._is_leaving:
            return
        was_quiet = not stream.flight
        taken = stream.take()
        if not taken:
            return
        now = self._loop.time()
        if was_quiet:
            self._heard = now
        submits: list[Submit] = []
        for submission in taken:
            assert submission.sent_id is not None and submission.batch is not None
            wait_us = max(1, int((submission.deadline - now) * 1_000_000))
            submits.append(
                Submit(submission.sent_id, stream.bucket, submission.batch, wait_us, stream.level, self._epoch)
            )
        link.send(submits, self)

    def writable(self) -> None:
        self._flush()

    # Answers.

    def answered(self, link: Link, answers: list[Answer]) -> None:
        if link is not self._link:
            return  # it was left, and what it still says was given up on
        self._heard = self._loop.time()
        for answer in cast(Sequence[Fate], answers):
            match answer:
                case Stored() | StoredInPart() | Repeated():
                    self._note(answer)
                    self._roster.succeeded()
                    self._backoff.reset()
                case NotLeader():
                    self._roster.name(answer.address, answer.epoch)
                    self._is_leaving = True
                case _:
                    pass
            self._stream.answered(answer)
        self._go_on()

    def _note(self, answer: Stored | StoredInPart | Repeated) -> None:
        if isinstance(answer, Stored):
            for sent_id, offset in zip(answer.ids, answer.offsets, strict=True):
                if submission := self._stream.flight.get(sent_id):
                    self.stored_end = max(self.stored_end, offset + submission.change_count)

    def _go_on(self) -> None:
        """Something came out of flight: when all has, what was refused goes again, here or elsewhere."""
        stream = self._stream
        if stream.flight:
            self._flush()
        elif self._is_leaving:
            self._leave()
        elif stream.refused:
            stream.rewind()
            if self._pause is None:
                self._pause = self._loop.call_later(self._backoff.next_s(), self._resume)
        else:
            self._flush()

    def _resume(self) -> None:
        self._pause = None
        self._flush()

    # The connection.

    async def _connect_when_wanted(self) -> None:
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            while self._link is None and (not self._stream.is_idle or not self._reached.is_set()):
                await asyncio.sleep(self._roster.wait_s())
                await self._connect()

    async def _connect(self) -> None:
        address, epoch = self._roster.next()
        try:
            link = await self._switchboard.reach(address)
        except (OSError, WireError, UnicodeError) as error:  # a timeout is an OSError, a bad name a UnicodeError
            self._roster.failed(address, error)
        else:
            self._use(link, address, epoch)

    def _use(self, link: Link, address: str, epoch: int) -> None:
        link.join(self)
        self._link, self._address, self._epoch = link, address, epoch
        self._is_leaving = False
        self._reached.set()
        self._flush()

    def lost(self, link: Link) -> None:
        if link is self._link:
            self._leave()

    def _leave(self) -> None:
        link, self._link = self._link, None
        assert link is not None
        link.part(self)
        if self._pause is not None:
            self._pause.cancel()
            self._pause = None
        self._stream.lost()
        self._flush()

    def _leave_silent(self, link: Link, now: float) -> None:
        """Others may still hear from whom we do not; if nobody does, nobody is to wait for it."""
        if now - link.heard > self._settings.silence_s:
            link.drop()
        self._leave()

    # Time.

    def _is_silent(self, link: Link, now: float) -> bool:
        """Neither has anything been heard for a while, nor has the other side taken anything of what it was sent."""
        if link.unwritten != self._unwritten:
            self._unwritten, self._heard = link.unwritten, now
        return now - self._heard > self._settings.silence_s

    def _tick(self) -> None:
        """Looks at what has waited for too long, as long as anything waits."""
        stream, now = self._stream, self._loop.time()
        self._ticking = None
        absent: NotStored | None = None if self._link is not None else NotReachable(self._roster.problem)
        stream.expire(now, absent)
        if self._link is not None:
            if not stream.flight or not self._is_silent(self._link, now):
                self._go_on()
            elif stream.connection and stream.ended is None:
                self._leave_silent(self._link, now)
            else:
                self._is_leaving = True  # nothing more is sent here, and who waits for an answer goes on waiting
        if not stream.is_idle:
            self._ticking = self._loop.call_later(self._settings.tick_s, self._tick)
