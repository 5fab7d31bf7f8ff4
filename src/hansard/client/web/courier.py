"""Carries a stream by POST /changes, one request at a time, to whichever participant answers.

What is to be sent, in which order, and what an answer means for it is the stream's (stream.py). As one request is under
way at a time, everything before it is settled: it names no previous series, and a participant may cut it anew where
buckets were split. One request may be of several buckets, and so may come out differently for some of its changes:
those that are stored are told at once, and the whole is sent again for the others, which are stored once.
"""

import asyncio
from collections.abc import Mapping

import msgspec

from hansard.client import errors
from hansard.client.errors import NotReachable, NotStored
from hansard.client.receipts import Receipt
from hansard.client.roster import Backoff
from hansard.client.settings import Settings
from hansard.client.stream import Stream
from hansard.client.submission import Submission
from hansard.wire import submission as wire

from .address import Origin
from .exchange import Exchange, NotSent, Request, retry_s
from .form import ARROW, BODY_BYTES_MAX, Problem, body_of, in_full, problem_of, receipts_of
from .line import Answer


class WebCourier:
    """`connections` has what each connection number is called over HTTP. `ends` notes how far each bucket goes, as our
    receipts say."""

    def __init__(
        self,
        stream: Stream,
        exchange: Exchange,
        backoff: Backoff,
        settings: Settings,
        connections: Mapping[int, str],
        ends: dict[int, int],
    ) -> None:
        self._stream = stream
        self._exchange = exchange
        self._backoff = backoff
        self._settings = settings
        self._connections = connections
        self._ends = ends
        self.stored_end = 0
        self._pause_s = 0.0
        """Before the next attempt."""
        self._trouble = "nobody answered yet"
        self._loop = asyncio.get_running_loop()
        self._wanted = asyncio.Event()
        self._ticking: asyncio.TimerHandle | None = None
        self._task = self._loop.create_task(self._carry_when_wanted())

    async def open(self, deadline: float) -> None:
        """There is nothing to be opened before there is something to be sent."""

    def reroute(self, leader: str | None) -> None:
        """Whoever is asked passes it on."""

    async def close(self) -> None:
        if self._ticking is not None:
            self._ticking.cancel()
        self._task.cancel()
        await asyncio.wait([self._task])

    def announce(self) -> None:
        self._wanted.set()
        if self._ticking is None:
            self._ticking = self._loop.call_later(self._settings.tick_s, self._tick)

    def _tick(self) -> None:
        """Looks at what has waited for too long, as long as anything waits."""
        self._ticking = None
        self._stream.expire(self._loop.time(), NotReachable(self._trouble))
        if not self._stream.is_idle:
            self._ticking = self._loop.call_later(self._settings.tick_s, self._tick)
            self._wanted.set()

    # Sending.

    async def _carry_when_wanted(self) -> None:
        stream = self._stream
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            while taken := stream.take():
                assert len(taken) == 1, "one at a time"
                await self._carry(taken[0])
                if not stream.flight and stream.refused:
                    stream.rewind()
                if self._pause_s:
                    await asyncio.sleep(self._pause_s)
                    self._pause_s = 0.0

    async def _carry(self, submission: Submission) -> None:
        stream, sent_id = self._stream, submission.sent_id
        assert sent_id is not None
        if (missing := self._missing(submission)) is not None:
            stream.answered(wire.Gap(sent_id, missing))
            return
        request = self._request(submission)
        if len(request.body) > BODY_BYTES_MAX:
            reason = f"its body has {len(request.body)} bytes, and up to {BODY_BYTES_MAX} go over HTTP"
            stream.answered(wire.Invalid(sent_id, reason))
            return
        origin = self._exchange.origin
        try:
            answer = await self._exchange.ask(origin, request, self._patience_s(submission))
        except NotSent as error:
            self._turned_away(submission, NotReachable(str(error)), origin)
        except OSError as error:  # it may have arrived
            self._trouble = f"{origin}: {str(error) or type(error).__name__}"
            stream.lost()
            self._go_elsewhere(origin)
        else:
            self._answered(submission, sent_id, answer, origin)

    def _missing(self, submission: Submission) -> int | None:
        """Of a caller's own numbers: something before this one is not stored, and would be taken for stored when it
        comes later. The last series that is."""
        chain = self._stream.chain
        if self._stream.by_caller and any(series < submission.first for series in chain.missing):
            return chain.stored_last
        return None

    def _request(self, submission: Submission) -> Request:
        assert submission.batch is not None
        left_s = max(0.001, submission.deadline - self._loop.time())
        headers = {"Content-Type": ARROW, "Hansard-Deadline": f"{left_s:.3f}"}
        if submission.numbered:
            headers["Hansard-Connection"] = self._connections[self._stream.connection]
            headers["Hansard-Series"] = str(submission.first)
        return Request("POST", "/changes", headers, body_of(submission.batch))

    def _patience_s(self, submission: Submission) -> float:
        """Where there is somebody else to be asked, a silent one is left sooner."""
        left_s = submission.deadline - self._loop.time() + self._settings.answer_grace_s
        return left_s if len(self._exchange.origins) == 1 else min(left_s, self._settings.silence_s)

    def _go_elsewhere(self, origin: Origin) -> None:
        self._exchange.leave(origin)
        self._pause_s = self._backoff.next_s()

    # Answers.

    def _answered(self, submission: Submission, sent_id: int, answer: Answer, origin: Origin) -> None:
        if answer.status == 201:
            try:
                receipts = receipts_of(answer.body, submission.change_count)
            except (ValueError, msgspec.MsgspecError) as error:
                self._trouble = f"{origin}: its receipts make no sense ({error})"
                self._stream.answered(wire.Unknown(sent_id))
                self._go_elsewhere(origin)
                return
            self._backoff.reset()
            self._note(receipts)
            self._stream.receipted(sent_id, receipts)
            return
        problem = problem_of(answer)
        self._trouble = f"{origin}: {problem}"
        if problem.told.outcomes and len(problem.told.outcomes) == submission.change_count:
            self._tell(submission, problem)
        self._pause_s = max(self._backoff.next_s(), retry_s(answer) if problem.name == "too-many" else 0.0)
        self._judge(submission, sent_id, problem, origin)

    def _tell(self, submission: Submission, problem: Problem) -> None:
        """Those that are stored, whatever becomes of the others."""
        receipts = in_full(problem.told.outcomes)
        stored = {place for place, told in enumerate(problem.told.outcomes) if told.stored == "yes"}
        self._note([receipts[place] for place in stored])
        submission.callers.stored_in_part({place: receipts[place] for place in sorted(stored)})

    def _judge(self, submission: Submission, sent_id: int, problem: Problem, origin: Origin) -> None:
        stream, told = self._stream, problem.told
        match problem.name:
            case "series-gap":
                stream.answered(wire.Gap(sent_id, max(told.expected.values(), default=-1)))
            case "stream-broken":
                stream.answered(wire.Broken(sent_id))
            case "busy":
                stream.answered(wire.Busy(sent_id))
            case "too-many":
                self._turned_away(submission, errors.Overloaded(problem.detail), None)
            case "expired" | "partly-stored":
                stream.answered(wire.Expired(sent_id))
            case "read-only":
                stream.answered(wire.ReadOnly(sent_id, "a member", problem.detail))
            case "unknown" | "failed":
                stream.answered(wire.Unknown(sent_id))
            case "not-ready" | "not-reachable" | "wrong-cluster" | "too-slow" | "buckets-changed":
                self._turned_away(submission, NotReachable(self._trouble), origin)
            case "" if problem.status >= 500:  # whoever stands in between does not know either
                stream.answered(wire.Unknown(sent_id))
                self._exchange.leave(origin)
            case "":
                self._turned_away(submission, NotReachable(self._trouble), origin)
            case _:
                stream.answered(wire.Invalid(sent_id, problem.detail))

    def _turned_away(self, submission: Submission, why: NotStored, origin: Origin | None) -> None:
        """Certainly not stored by this attempt. `origin`: it is better to try elsewhere."""
        self._trouble = str(why.args[0])
        if submission.sent_id is not None:  # its time may be over meanwhile
            self._stream.turned_away(submission.sent_id, why)
        if origin is not None:
            self._go_elsewhere(origin)

    def _note(self, receipts: list[Receipt]) -> None:
        for bucket, offset, _ in receipts:
            if offset is not None:
                self._ends[bucket] = max(self._ends.get(bucket, 0), offset + 1)
