"""`GET /checkpoints`: where a reader starts that has nothing yet, or has come too late.

Checkpoints are found by their records in the log. A tenant is told of those of its own tags, with bookmarks that are
sealed for it, and not who makes them.
"""

from collections.abc import Awaitable, Callable
from typing import Annotated, Literal
from urllib.parse import urlencode

from msgspec import Meta, field
from starlette.responses import Response

from hansard.bookmark import Bookmark
from hansard.checkpoint import BadSubject, Docket, Filed, Start, Subject
from hansard.checkpoint.docket import expiry_us
from hansard.client.checkpoints import Checkpoint, checkpoint_of, docket_of
from hansard.client.page import Page

from . import forms
from .access import READ, Guest
from .operation import JSON, Call, Operation, answered
from .problem import Refusal
from .receipts import time_text
from .source import NotKept, Query

PAGE = 100


class Asked(forms.Closed, frozen=True, kw_only=True):
    tag: list[forms.Tag] = field(default_factory=list)
    match: Literal["any", "all"] = "any"
    limit: Annotated[int, Meta(ge=1, le=100)] = 10


class Checkpoints:
    """`page` reads a page that has all that was acknowledged here."""

    def __init__(self, page: Callable[[Query], Awaitable[Page]]) -> None:
        self._page = page

    def operations(self) -> list[Operation]:
        return [
            Operation(
                "checkpoints",
                "GET",
                "/checkpoints",
                "The checkpoints of some tags, the newest first: a state to start from, and the bookmark to follow.",
                self.find,
                scope=READ,
                whole=False,
                query=Asked,
                answers={200: {JSON: forms.Checkpoints}},
                problems=("not-reachable", "not-ready"),
            )
        ]

    async def find(self, call: Call) -> Response:
        asked, guest = call.query, call.guest
        try:
            subject = Subject.of(guest.limit(asked.tag), asked.match)
        except BadSubject as error:
            raise Refusal("bad-request", str(error)) from error
        docket = await self._docket(subject, asked.limit)
        guest = call.again()
        ends = list(reversed(docket.ends))[: asked.limit]
        found = [checkpoint for end in ends if (checkpoint := checkpoint_of(subject, end)) is not None]
        body = forms.Checkpoints(
            tags=list(subject.tags),
            match=subject.match,
            checkpoints=[_form(checkpoint, guest) for checkpoint in found],
            building=_building(docket.holder, guest) if docket.holder is not None else None,
        )
        response = answered(body)
        guest.used(len(found), len(response.body))
        return response

    async def _docket(self, subject: Subject, ends: int) -> Docket:
        async def before(until: Bookmark | None) -> Page:
            query = Query(until=until, tags=(subject.name,), key=subject.key, limit=PAGE, order="desc")
            return await self._page(query)

        try:
            return await docket_of(before, ends)
        except NotKept as gone:
            raise Refusal("not-reachable", "records are being dropped just now") from gone


def link_to(subject: Subject) -> str:
    """Where the checkpoints of a subject are to be had."""
    match = {"match": "all"} if subject.match == "all" else {}
    return f"/checkpoints?{urlencode({'tag': subject.tags, **match, 'limit': 1}, doseq=True)}"


def _form(checkpoint: Checkpoint, guest: Guest) -> forms.Checkpoint:
    return forms.Checkpoint(
        number=checkpoint.number,
        time=checkpoint.time.isoformat(timespec="microseconds").replace("+00:00", "Z"),
        bookmark=guest.bookmark(checkpoint.bookmark),
        location=checkpoint.location,
        layers=[
            forms.Layer(path=each.path, rows=each.rows, deleted=each.deleted, bytes=each.bytes, digest=each.digest)
            for each in checkpoint.layers
        ],
        who=None if guest.limited else checkpoint.who,
    )


def _building(start: Filed[Start], guest: Guest) -> forms.Building:
    return forms.Building(
        since=time_text(start.timestamp_us),
        until=time_text(expiry_us(start)),
        who=None if guest.limited else start.record.who,
    )
