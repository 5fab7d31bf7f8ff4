"""What is answered instead of what was asked for: `application/problem+json` (RFC 9457), with types that stay.

Of whoever submits, the one question is whether a change is stored; `stored` answers it. "no" is certain, and "unknown"
is never said by the same type as "no".
"""

from collections.abc import Mapping
from random import random
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

MEDIA_TYPE: Final = "application/problem+json"
RETRY_S: Final = 1.0
"""Who is told to come again, comes again after this and up to twice as long, where nothing else is known."""
HANGS_UP: Final = (408, 413)
"""Whoever is answered so may still be sending."""
PREFIX: Final = "urn:hansard:problem:"


class Kind(Struct, frozen=True):
    status: int
    title: str
    remedy: str
    """What to do, where nothing better is known."""
    passing: bool = False
    """It may be otherwise soon: the answer says when to come again."""


_SAME_SERIES = (
    "Submit the same body with the same series again: it is stored once. Without a connection, read the log first."
)

KINDS: Final[Mapping[str, Kind]] = {
    "bad-request": Kind(
        400, "This cannot be understood", "Correct the request; the detail says what is wrong with it."
    ),
    "no-token": Kind(401, "No valid token", "Send `Authorization: Bearer TOKEN` with a token that is still valid."),
    "not-allowed": Kind(403, "This token may not do that", "Use a token with the scope and the tags that it takes."),
    "not-found": Kind(404, "There is no such thing", "Look at /openapi.json for what there is."),
    "method-not-allowed": Kind(405, "Not with this method", "Use one of the methods in the Allow header."),
    "not-acceptable": Kind(406, "It cannot be had in that form", "Accept application/json, or what the detail names."),
    "too-slow": Kind(408, "The request did not arrive in time", "Send it again, without pauses."),
    "series-gap": Kind(
        409,
        "Something earlier of this stream is missing",
        "Submit what comes after `expected`, in order; then this again.",
    ),
    "stream-broken": Kind(
        409, "The cluster has forgotten this stream", "Ask for a new connection, and resynchronise before you go on."
    ),
    "buckets-changed": Kind(
        409,
        "There are more buckets now",
        "Submit it again without Hansard-Previous once everything before it is answered, or name the new buckets.",
    ),
    "wrong-log": Kind(409, "The bookmark is another log's", "Use it where it was made, or start from a time."),
    "refused": Kind(409, "The cluster has refused this order", "The detail says why; give another order."),
    "gone": Kind(
        410, "That far back nothing is kept", "Start from the `checkpoint`, if there is one, or from `start`."
    ),
    "too-large": Kind(413, "The request is too large", "Send less at a time; the detail names the limit."),
    "unsupported-body": Kind(
        415, "A body of this type is not understood", "Send JSON, JSON lines or an Arrow stream, with its Content-Type."
    ),
    "wrong-cluster": Kind(421, "This is another cluster", "Look at the address, or at the Hansard-Cluster header."),
    "too-many": Kind(429, "More than this token may have", "Slow down; Retry-After says for how long.", passing=True),
    "headers-too-large": Kind(431, "The headers are too large", "Send fewer or shorter headers, and a shorter URL."),
    "failed": Kind(500, "Something went wrong here", "Look into this participant's log; try another one."),
    "busy": Kind(503, "There is no room for it now", "Submit it again later.", passing=True),
    "expired": Kind(
        503, "Its time was over before its turn came", "Submit it again, or allow more time.", passing=True
    ),
    "read-only": Kind(503, "A disk takes nothing for now", "Submit it again when there is room.", passing=True),
    "not-ready": Kind(503, "This participant does not serve yet", "Try another one, or wait.", passing=True),
    "not-reachable": Kind(503, "What has it cannot be reached now", "Try again.", passing=True),
    "partly-stored": Kind(
        503,
        "Some changes are stored, and others certainly not",
        "`outcomes` says which. With a connection submit the same again; without, only what is not stored.",
        passing=True,
    ),
    "unknown": Kind(504, "It may be stored or not", _SAME_SERIES, passing=True),
}
"""By name. A name never changes its meaning; docs/reference/http.md has the same table."""


class Outcome(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What became of one change of several."""

    stored: Literal["yes", "no", "unknown"]
    id: str | UnsetType = UNSET
    bucket: int | UnsetType = UNSET
    offset: int | UnsetType = UNSET
    timestamp: str | UnsetType = UNSET
    """Where it lies, as in a receipt."""


class Retained(Struct, frozen=True, forbid_unknown_fields=True):
    """From where on a bucket's changes are kept."""

    bucket: int
    offset: int


class Problem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    type: str
    title: str
    status: int
    detail: str
    remedy: str
    stored: Literal["no", "unknown", "partly"] | UnsetType = UNSET
    expected: dict[str, int] | UnsetType = UNSET
    """The last series of the connection that a bucket has, by bucket; -1 if none."""
    outcomes: list[Outcome] | UnsetType = UNSET
    """Of each change, in the order of the body."""
    start: str | UnsetType = UNSET
    """A bookmark: what is kept begins there."""
    retained: list[Retained] | UnsetType = UNSET
    checkpoint: str | UnsetType = UNSET
    """Where the newest checkpoint is to be had from which on everything is kept."""


class Refusal(Exception):
    """Raised by whoever cannot do what was asked for; answered as its problem."""

    def __init__(self, name: str, detail: str, *, retry_s: float = 0.0, remedy: str = "", **more: Any) -> None:
        super().__init__(name, detail)
        kind = KINDS[name]
        self.name, self.status = name, kind.status
        self.retry_s = retry_s
        self.problem = Problem(
            type=PREFIX + name,
            title=kind.title,
            status=kind.status,
            detail=detail,
            remedy=remedy or kind.remedy,
            **more,
        )
        self.headers: dict[str, str] = {}
        self._content: bytes | None = None

    def about_storing(self, stored: Literal["no", "unknown"]) -> "Refusal":
        """The same as an answer to a submission, which says whether anything is stored, if it does not say so yet."""
        if self.problem.stored is UNSET:
            self.problem, self._content = replace(self.problem, stored=stored), None
        return self

    @property
    def passing(self) -> bool:
        return KINDS[self.name].passing

    def encoded(self) -> bytes:
        if self._content is None:
            self._content = msgspec.json.encode(self.problem)
        return self._content


def headers_of(refusal: Refusal) -> dict[str, str]:
    headers = {"Content-Type": MEDIA_TYPE, **refusal.headers}
    if refusal.passing:
        wait_s = refusal.retry_s or RETRY_S * (1 + random())
        headers["Retry-After"] = str(max(1, round(wait_s + random() * 2)))
    if refusal.status in HANGS_UP:
        headers["Connection"] = "close"
    if refusal.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return headers
