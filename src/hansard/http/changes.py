"""`POST /changes`: one change or many, in any form. Single ones in JSON have a shorter way (quick.py)."""

from collections.abc import Awaitable, Callable, MutableMapping
from time import perf_counter
from typing import Any, Final

import msgspec

from hansard.batch import BatchError

from .access import SUBMIT, Guest, allowed
from .arrow import MEDIA_TYPE as ARROW
from .content import Rows, rows_of
from .forms import Accepted
from .intake import Intake
from .metrics import Metrics
from .receipts import told, unfit
from .submitting import Part, Piece, Stream, Submitter, cut
from .terms import deadline_s, media_type_of, stream_of, waits
from .workroom import LARGE_BYTES, PORTION, Workroom

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Admit = Callable[[dict[bytes, bytes], object], Guest]
"""Says who makes a request by its headers and its certificate, or refuses it."""

_JSON: Final = (b"content-type", b"application/json")
_encode = msgspec.json.Encoder().encode


class Changes:
    def __init__(
        self, submitter: Submitter, admit: Admit, intake: Intake, metrics: Metrics, workroom: Workroom
    ) -> None:
        self._submitter = submitter
        self._admit = admit
        self._intake = intake
        self._metrics = metrics
        self._workroom = workroom

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> int:
        """The status that it has answered; a Refusal if it has not."""
        headers = dict(scope["headers"])
        guest = self._admit(headers, scope.get("hansard.certificate"))
        allowed(guest, SUBMIT)
        is_waiting = waits(scope["query_string"])
        wait_s = deadline_s(headers)
        begun = perf_counter()
        async with self._intake.body(receive, headers) as body:
            guest.check_rate()
            rows, stream, pieces = await self._prepared(body, headers, guest)
            guest.used(len(rows.values), len(body))
            read = perf_counter()
            self._metrics.stage("read", read - begun)
            self._submitter.check_room()
            if not is_waiting:
                self._submitter.hand_over(pieces, wait_s)
                return await _answer(send, 202, _encode(Accepted(accepted=len(rows.values))))
            parts = await self._submitter.submit(rows, pieces, self._submitter.now_s() + wait_s, stream)
        self._metrics.stage("commit", perf_counter() - read)
        content = await self._told(rows, parts, guest)
        self._metrics.changes.inc(len(rows.values))
        return await _answer(send, 201, content)

    async def _prepared(
        self, body: bytes, headers: dict[bytes, bytes], guest: Guest
    ) -> tuple[Rows, Stream | None, list[Piece]]:
        """Ready to be sent, in a thread if it is much."""
        self._submitter.check_room()
        media_type, buckets = media_type_of(headers), tuple(self._submitter.buckets)

        def prepared() -> tuple[Rows, Stream | None, list[Piece]]:
            rows = rows_of(body, media_type)
            guest.check_tags(rows.tags)
            stream = stream_of(headers, guest, len(rows.values))
            try:
                return rows, stream, cut(rows, buckets, stream)
            except BatchError as error:
                raise unfit(error) from error

        # Arrow says much with few bytes.
        is_large = len(body) > LARGE_BYTES or body.count(b"{") > PORTION or media_type == ARROW
        return await self._workroom.do(prepared) if is_large else prepared()

    async def _told(self, rows: Rows, parts: list[Part], guest: Guest) -> bytes:
        if len(rows.values) <= PORTION:
            return told(rows, parts, guest)
        return await self._workroom.do(lambda: told(rows, parts, guest))


async def _answer(send: Send, status: int, content: bytes) -> int:
    length = (b"content-length", b"%d" % len(content))
    await send({"type": "http.response.start", "status": status, "headers": [_JSON, length]})
    await send({"type": "http.response.body", "body": content})
    return status
