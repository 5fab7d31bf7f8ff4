"""`POST /changes`, the hot route: bare ASGI, with as little Python for each request as it takes."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from time import perf_counter
from typing import Any, Final
from urllib.parse import parse_qsl

import msgspec

from hansard.batch import BatchError, LimitExceeded
from hansard.phaser import outcome as phaser

from .access import DIGITS_MAX, SUBMIT, Guest, allowed
from .content import Rows, rows_of
from .forms import Accepted, Receipt, Receipts
from .intake import Intake
from .metrics import Metrics
from .problem import Outcome, Refusal
from .submitting import ANY, Fate, Stream, Submitter

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

DEADLINE_S: Final = 10.0
DEADLINE_S_MAX: Final = 3600.0
LARGE_BYTES: Final = 64 << 10
"""Larger bodies are read in a thread: the loop has others to serve."""
SERIES_MAX: Final = (1 << 63) - 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_JSON: Final = (b"content-type", b"application/json")
_encode = msgspec.json.Encoder().encode


def time_text(timestamp_us: int) -> str:
    """RFC 3339, to the microsecond."""
    time = _EPOCH + timedelta(microseconds=timestamp_us)
    return time.isoformat(timespec="microseconds").replace("+00:00", "Z")


class Changes:
    """`admit` says who makes a request, or refuses it."""

    def __init__(
        self,
        submitter: Submitter,
        admit: Callable[[dict[bytes, bytes], Scope], Guest],
        intake: Intake,
        metrics: Metrics,
    ) -> None:
        self._submitter = submitter
        self._admit = admit
        self._intake = intake
        self._metrics = metrics
        self._threads = ThreadPoolExecutor(1, "hansard-bodies")

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> int:
        """The status that it has answered; a Refusal if it has not."""
        headers = dict(scope["headers"])
        guest = self._admit(headers, scope)
        allowed(guest, SUBMIT)
        waits = _waits(scope["query_string"])
        wait_s = deadline_s(headers)
        begun = perf_counter()
        async with self._intake.body(receive, headers) as body:
            media_type = headers.get(b"content-type", b"").partition(b";")[0].strip().lower().decode("latin-1")
            rows = await self._rows(body, media_type)
            guest.check_tags(rows.tags)
            stream = stream_of(headers, guest, len(rows.values))
            guest.check_rate()
            guest.used(len(rows.values), len(body))
            read = perf_counter()
            self._metrics.stages.labels("read").observe(read - begun)
            if not waits:
                self._hand_over(rows, wait_s, stream)
                return await _answer(send, 202, Accepted(accepted=len(rows.values)))
            fates = await self._submitted(rows, wait_s, stream)
        self._metrics.stages.labels("commit").observe(perf_counter() - read)
        self._metrics.changes.inc(len(fates))
        return await _answer(send, 201, receipts_of(rows, fates, guest))

    async def _rows(self, body: bytes, media_type: str) -> Rows:
        if len(body) < LARGE_BYTES:
            return rows_of(body, media_type)
        return await asyncio.get_running_loop().run_in_executor(self._threads, rows_of, body, media_type)

    def _hand_over(self, rows: Rows, wait_s: float, stream: Stream | None) -> None:
        try:
            self._submitter.hand_over(rows, wait_s, stream)
        except BatchError as error:
            raise unfit(error) from error

    async def _submitted(self, rows: Rows, wait_s: float, stream: Stream | None) -> list[Fate]:
        try:
            fates = await self._submitter.submit(rows, wait_s, stream)
        except BatchError as error:
            raise unfit(error) from error
        return fates


async def _answer(send: Send, status: int, body: object) -> int:
    content = _encode(body)
    length = (b"content-length", b"%d" % len(content))
    await send({"type": "http.response.start", "status": status, "headers": [_JSON, length]})
    await send({"type": "http.response.body", "body": content})
    return status


# What is asked for.


def _waits(query: bytes) -> bool:
    """`wait=commit`, which is the default, or `wait=none`."""
    if not query:
        return True
    for name, value in parse_qsl(query.decode("latin-1"), keep_blank_values=True):
        if name != "wait" or value not in {"commit", "none"}:
            raise Refusal("bad-request", "there is `wait=commit` or `wait=none`, and nothing else", stored="no")
    return b"wait=none" not in query


def deadline_s(headers: dict[bytes, bytes]) -> float:
    text = headers.get(b"hansard-deadline")
    if text is None:
        return DEADLINE_S
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found <= DEADLINE_S_MAX:
        detail = f"Hansard-Deadline is a number of seconds, above 0 and up to {DEADLINE_S_MAX:g}"
        raise Refusal("bad-request", detail, stored="no")
    return found


def stream_of(headers: dict[bytes, bytes], guest: Guest, count: int) -> Stream | None:
    connection, series = headers.get(b"hansard-connection"), headers.get(b"hansard-series")
    if connection is None and series is None and b"hansard-previous" not in headers:
        return None
    if connection is None or series is None:
        raise Refusal("bad-request", "Hansard-Connection and Hansard-Series go together", stored="no")
    first = _series(series)
    if first + count > SERIES_MAX:
        raise Refusal("bad-request", f"Hansard-Series leaves no room for {count} changes", stored="no")
    number = guest.connection_of(connection.decode("latin-1"))
    return Stream(number, first, _previous(headers.get(b"hansard-previous", b""), first))


def _series(text: bytes) -> int:
    if not text.isdigit() or len(text) > DIGITS_MAX or int(text) > SERIES_MAX:
        raise Refusal("bad-request", f"a series is a whole number from 0 to {SERIES_MAX}", stored="no")
    return int(text)


def _previous(text: bytes, first: int) -> dict[int, int]:
    """A number, or `BUCKET=NUMBER` for each of several buckets."""
    found: dict[int, int] = {}
    for part in text.split(b",") if text else ():
        bucket, equals, series = part.strip().rpartition(b"=")
        if equals and not bucket.isdigit():
            raise Refusal("bad-request", "Hansard-Previous is a series, or BUCKET=SERIES, ...", stored="no")
        found[int(bucket[:9]) if equals else ANY] = _series(series)
    if any(series >= first for series in found.values()):
        raise Refusal("bad-request", "Hansard-Previous is not below Hansard-Series", stored="no")
    return found


# What became of it.


def unfit(error: BatchError) -> Refusal:
    name = "too-large" if isinstance(error, LimitExceeded) else "bad-request"
    return Refusal(name, str(error), stored="no")


def receipts_of(rows: Rows, fates: Sequence[Fate], guest: Guest) -> Receipt | Receipts:
    """Raises the Refusal that says what else became of it."""
    if all(isinstance(fate.outcome, (phaser.Stored, phaser.Repeated)) for fate in fates):
        receipts = [_receipt(fate, key, guest) for fate, key in zip(fates, rows.keys, strict=True)]
        return receipts[0] if rows.single else Receipts(receipts=receipts)
    raise _refusal(rows, fates, guest)


def _receipt(fate: Fate, key: bytes | None, guest: Guest) -> Receipt:
    outcome = fate.outcome
    assert isinstance(outcome, (phaser.Stored, phaser.Repeated))
    if isinstance(outcome, phaser.Stored):
        distance = fate.place - outcome.repeated
        repeated, known = distance < 0, distance >= 0
    else:  # of several, only the first one's place is certain: what was stored together may have been cut since
        distance, repeated, known = 0, True, outcome.receipt is not None and not fate.place
    if not known or outcome.receipt is None:
        return Receipt(id=None, bucket=None, offset=None, timestamp=None, repeated=repeated)
    offset = outcome.receipt.offset + distance
    return Receipt(
        id=guest.id_for(offset, key),
        bucket=None if guest.limited else fate.bucket,
        offset=None if guest.limited else offset,
        timestamp=time_text(outcome.receipt.timestamp),
        repeated=repeated,
    )


def _refusal(rows: Rows, fates: Sequence[Fate], guest: Guest) -> Refusal:
    stored = [isinstance(fate.outcome, (phaser.Stored, phaser.Repeated)) for fate in fates]
    worst = next((fate for fate in fates if isinstance(fate.outcome, phaser.Unknown)), None)
    outcomes: dict[str, Any] = (
        {} if rows.single else {"outcomes": [_outcome(*each, guest) for each in zip(fates, rows.keys, strict=True)]}
    )
    if worst is not None:
        detail = "it was journalled, and not committed in time: it may turn up, now or later"
        return Refusal("unknown", detail, stored="unknown", **outcomes)
    refused = next(fate for fate, good in zip(fates, stored, strict=True) if not good)
    if any(stored):
        cause = refusal_of(refused, guest)
        detail = f"{sum(stored)} of {len(stored)} are stored; of the others: {cause.problem.detail}"
        return Refusal("partly-stored", detail, stored="partly", retry_s=refused.retry_us / 1e6, **outcomes)
    return refusal_of(refused, guest)


def _outcome(fate: Fate, key: bytes | None, guest: Guest) -> Outcome:
    match fate.outcome:
        case phaser.Stored() | phaser.Repeated():
            id = _receipt(fate, key, guest).id
            return Outcome(stored="yes") if id is None else Outcome(stored="yes", id=id)
        case phaser.Unknown():
            return Outcome(stored="unknown")
        case _:
            return Outcome(stored="no")


def refusal_of(fate: Fate, guest: Guest) -> Refusal:
    """Of a change that is certainly not stored."""
    retry_s = fate.retry_us / 1e6
    match fate.outcome:
        case phaser.Gap():
            where = "0" if guest.limited else str(fate.bucket)
            detail = f"the last series that is there of this connection is {fate.outcome.expected}"
            return Refusal("series-gap", detail, stored="no", expected={where: fate.outcome.expected})
        case phaser.Broken():
            return Refusal("stream-broken", "this connection was silent for too long", stored="no")
        case phaser.Invalid():
            return Refusal("bad-request", fate.outcome.reason, stored="no")
        case phaser.Expired():
            return Refusal("expired", "it could not be journalled before its deadline", stored="no", retry_s=retry_s)
        case phaser.ReadOnly():
            whose = "a disk" if guest.limited else f"the disk of {fate.outcome.node}"
            return Refusal("read-only", f"{whose} takes nothing for now", stored="no", retry_s=retry_s)
        case phaser.Misplaced():
            now = "" if guest.limited else f": there are {fate.outcome.buckets} now"
            return Refusal("buckets-changed", f"a bucket was split{now}", stored="no")
        case phaser.NotLeader():
            return Refusal("not-reachable", "nobody leads its bucket now", stored="no", retry_s=retry_s)
        case phaser.Importing():
            return Refusal("not-ready", "the log is being imported", stored="no", retry_s=retry_s)
        case _:
            return Refusal("busy", "too much waits for its bucket", stored="no", retry_s=retry_s)
