"""What became of a body, as whoever sent it is told: receipts, or the problem that says what else."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import msgspec

from hansard.batch import BatchError, LimitExceeded
from hansard.phaser import outcome as phaser

from .access import Guest
from .content import Rows
from .forms import Receipt
from .problem import Outcome, Refusal
from .submitting import Fate, Part
from .workroom import portions

SECOND_US = 1_000_000
_encode = msgspec.json.Encoder().encode


def time_text(timestamp_us: int) -> str:
    """RFC 3339, to the microsecond."""
    return f"{_second(timestamp_us // SECOND_US)}.{timestamp_us % SECOND_US:06}Z"


@lru_cache(1024)
def _second(seconds: int) -> str:
    """Many come within the same one."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def unfit(error: BatchError) -> Refusal:
    name = "too-large" if isinstance(error, LimitExceeded) else "bad-request"
    return Refusal(name, str(error), stored="no")


def told(rows: Rows, parts: Sequence[Part], guest: Guest) -> bytes:
    """The answer's body; raises the Refusal that says what else became of it, with its body made as well."""
    fates = list(_fates(parts, len(rows.values)))
    try:
        return _encoded(rows, fates, guest)
    except Refusal as refusal:
        refusal.encoded()
        raise


def _fates(parts: Sequence[Part], count: int) -> Iterator[Fate]:
    """Of each change, in the order of the body."""
    if count == 1:
        yield parts[-1].fate(0)
        return
    found: list[Fate | None] = [None] * count
    for part in parts:  # what was cut anew comes later, and counts
        for portion in portions(len(part.places)):
            for place, whole in enumerate(part.places[portion], start=portion.start):
                found[whole] = part.fate(place)
    for fate in found:
        assert fate is not None
        yield fate


def _encoded(rows: Rows, fates: Sequence[Fate], guest: Guest) -> bytes:
    if not all(isinstance(fate.outcome, (phaser.Stored, phaser.Repeated)) for fate in fates):
        raise _refusal(rows, fates, guest)
    if rows.single:
        return _encode(_receipt(fates[0], rows.keys[0], guest))
    pieces = []
    for portion in portions(len(fates)):
        each = zip(fates[portion], rows.keys[portion], strict=True)
        pieces.append(_encode([_receipt(fate, key, guest) for fate, key in each])[1:-1])
    return b'{"receipts":[%b]}' % b",".join(pieces)


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
    outcomes: dict[str, Any] = {}
    if not rows.single:
        outcomes["outcomes"] = [
            _outcome(fate, key, guest)
            for portion in portions(len(fates))
            for fate, key in zip(fates[portion], rows.keys[portion], strict=True)
        ]
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
            receipt = _receipt(fate, key, guest)
            known = {name: getattr(receipt, name) for name in ("id", "bucket", "offset", "timestamp")}
            return Outcome(stored="yes", **{name: value for name, value in known.items() if value is not None})
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
