"""What goes over HTTP: changes and pages as Arrow streams, which keep every byte; receipts and problems as JSON."""

from datetime import UTC, datetime, timedelta
from typing import Final, Literal

import msgspec
import pyarrow as pa
from msgspec import Struct

from hansard.batch import Batch, to_arrow
from hansard.bookmark import Bookmark
from hansard.checkpoint import Layer, Subject
from hansard.client.checkpoints import Checkpoint
from hansard.client.page import UNTOLD, Change
from hansard.client.reading import Match
from hansard.client.receipts import Receipt

from .line import Answer, Strange

ARROW: Final = "application/vnd.apache.arrow.stream"
PREFIX: Final = "urn:hansard:problem:"
BODY_BYTES_MAX: Final = 16 << 20
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


# Submitting.


def body_of(batch: Batch) -> bytes:
    """Keys, values and tags; the numbers go into headers."""
    record = to_arrow(batch).select(["key", "value", "tags"])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, record.schema) as writer:
        writer.write_batch(record)
    return bytes(sink.getvalue())


class Told(Struct):
    """Of one change: a receipt, or an outcome of one of several."""

    bucket: int | None = None
    offset: int | None = None
    timestamp: str | None = None
    stored: Literal["yes", "no", "unknown"] = "yes"


class Receipts(Struct):
    receipts: list[Told]


_receipts: Final = msgspec.json.Decoder(Receipts)


def receipts_of(body: bytes, count: int) -> list[Receipt]:
    """A ValueError where it is none, or not one for each change."""
    told = _receipts.decode(body).receipts
    if len(told) != count:
        raise ValueError(f"{len(told)} receipts for {count} changes")
    return in_full(told)


def in_full(told: list[Told]) -> list[Receipt]:
    times: dict[str | None, int | None] = {None: None}
    for text in {each.timestamp for each in told} - {None}:
        assert text is not None
        times[text] = (datetime.fromisoformat(text) - _EPOCH) // _MICROSECOND
    return [
        Receipt(UNTOLD if each.bucket is None else each.bucket, each.offset, times[each.timestamp]) for each in told
    ]


# Problems.


class Detail(Struct):
    """What we look at of `application/problem+json`."""

    type: str
    detail: str = ""
    stored: Literal["no", "unknown", "partly", ""] = ""
    expected: dict[str, int] = {}
    outcomes: list[Told] = []
    start: str = ""
    retained: list[dict[str, int]] = []


class Problem(Exception):
    """Answered instead of what was asked for. `name` is empty where it is nobody of Hansard's who says it."""

    def __init__(self, name: str, status: int, told: Detail) -> None:
        super().__init__(name, status)
        self.name, self.status, self.told = name, status, told

    def __str__(self) -> str:
        return self.told.detail or f"status {self.status}"

    @property
    def detail(self) -> str:
        return str(self)

    @property
    def forbids(self) -> bool:
        """Unless somebody else has heard of our token."""
        return self.name in {"no-token", "not-allowed"}

    @property
    def is_final(self) -> bool:
        """Nobody else would say anything else."""
        return bool(self.name) and self.status < 500 and not self.forbids and self.name not in PASSING


PASSING: Final = ("too-many", "too-slow", "wrong-cluster")
"""Of this participant, and not for ever, though their status is below 500."""


def problem_of(answer: Answer) -> Problem:
    try:
        told = msgspec.json.decode(answer.body, type=Detail)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        told = Detail("", f"status {answer.status}, and not from a participant of Hansard")
    name = told.type.removeprefix(PREFIX) if told.type.startswith(PREFIX) else ""
    return Problem(name, answer.status, told)


# Reading.


class SealedBookmark(Bookmark):
    """A place that only the cluster can read: what a token that is limited to tags is given."""

    __slots__ = ("_token",)

    def __init__(self, token: str) -> None:
        super().__init__("", {})
        object.__setattr__(self, "_token", token)

    _token: str

    def __str__(self) -> str:
        return self._token

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SealedBookmark) and str(self) == str(other)

    __hash__ = Bookmark.__hash__


SEALED: Final = "s1"


def bookmark_of(token: str) -> Bookmark:
    return SealedBookmark(token) if token.startswith(SEALED) else Bookmark.parse(token)


def changes_of(body: bytes) -> tuple[list[Change], list[str]]:
    """And the bookmarks after them, where those were asked for."""
    try:
        with pa.ipc.open_stream(pa.py_buffer(body)) as stream:
            table = stream.read_all()
        columns = [table.column(name).to_pylist() for name in ("bucket", "offset", "key", "value", "tags")]
        times = table.column("timestamp").cast(pa.int64()).to_pylist()
        numbers = [table.column(name).to_pylist() for name in ("connection", "series")]
        marks = table.column("bookmark").to_pylist() if "bookmark" in table.schema.names else []
    except (pa.ArrowException, KeyError, OSError) as error:
        raise Strange(f"this is no page: {error}") from error
    changes = [
        Change(
            time,
            UNTOLD if bucket is None else bucket,
            UNTOLD if offset is None else offset,
            key,
            value,
            tuple(tags),
            int(connection or 0),
            series or 0,
        )
        for time, bucket, offset, key, value, tags, connection, series in zip(times, *columns, *numbers, strict=True)
    ]
    return changes, marks


class Filed(Struct):
    """A checkpoint as it is told over HTTP."""

    number: int
    time: datetime
    bookmark: str
    location: str
    layers: tuple[Layer, ...]
    who: str | None = None


class Filing(Struct):
    tags: list[str]
    match: Match
    checkpoints: list[Filed]


def checkpoints_of(body: bytes) -> list[Checkpoint]:
    told = msgspec.json.decode(body, type=Filing)
    subject = Subject.of(told.tags, told.match)
    return [
        Checkpoint(
            subject, each.number, bookmark_of(each.bookmark), each.location, each.layers, each.time, "", each.who or ""
        )
        for each in told.checkpoints
    ]
