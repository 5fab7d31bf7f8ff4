"""`GET /changes`, `/changes/{id}` and `/bookmark`: pages of the log, as JSON, JSON lines or Arrow."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlencode

import msgspec
from msgspec import Meta, field
from starlette.responses import Response

from hansard.batch import key_hash
from hansard.bookmark import Bookmark
from hansard.client.page import Page

from . import forms
from .access import NO_CHANGE, READ, Guest
from .arrow import MEDIA_TYPE as ARROW
from .checkpoints import link_to
from .content import JSON, LINES, LINES_TOO
from .house import House
from .operation import Call, Operation, answered
from .problem import Refusal
from .seats import Seats
from .sheet import acceptable, body_of, form_of, places_of
from .source import PAGE_BYTES_MAX, NotKept, Query, Source
from .table import home_of
from .workroom import LARGE_BYTES, PORTION, Workroom

PROBLEMS: Final = ("not-found", "wrong-log", "gone", "not-reachable", "not-ready")
LIMIT_MAX: Final = 10_000
BEHIND_S: Final = 0.01
ATTEMPTS: Final = 50
"""So often a member that is behind is asked again, at this distance."""
BLOCK_S_MAX: Final = 60.0
BUCKETS_LIGHT: Final = 16
"""A bookmark of so many takes about as long to write as a change."""
LATE_S: Final = 2.0
"""So long a change that is there is waited for at a member that does not have it yet."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

PlaceText = Annotated[str, Meta(min_length=1, max_length=100_000, extra_json_schema={"format": "place"})]
TimeText = Annotated[str, Meta(min_length=1, max_length=40, extra_json_schema={"format": "time-or-epoch"})]


class Filter(forms.Closed, frozen=True, kw_only=True):
    """What every way of reading has."""

    since: PlaceText | None = None
    tag: list[forms.Tag] = field(default_factory=list)
    match: Literal["any", "all"] = "any"
    key: Annotated[str, Meta(max_length=8192)] | None = None
    bucket: Annotated[int, Meta(ge=0, lt=4096)] | None = None


class Wanted(Filter, frozen=True, kw_only=True):
    until: PlaceText | None = None
    first: Annotated[int, Meta(ge=0, lt=1 << 62)] | None = None
    end: Annotated[int, Meta(ge=0, lt=1 << 62)] | None = None
    limit: Annotated[int, Meta(ge=1, le=LIMIT_MAX)] = 1000
    block: Annotated[float, Meta(ge=0, le=BLOCK_S_MAX)] = 0.0
    order: Literal["asc", "desc"] = "asc"
    bookmarks: bool = False
    """With each change the place after it, for whoever may stop in the middle of a page."""


class At(forms.Closed, frozen=True, kw_only=True):
    at: TimeText | None = None


class Reading:
    """`ends` says of each bucket how far it is known here to go: a member that is a moment behind is asked again."""

    def __init__(self, house: House, source: Source, ends: Mapping[int, int], workroom: Workroom) -> None:
        self._house = house
        self.source = source
        self._ends = ends
        self._workroom = workroom
        self.seats = Seats()

    def operations(self) -> list[Operation]:
        return [
            Operation(
                "read",
                "GET",
                "/changes",
                "A page of the log: from a bookmark or a time on, by tags, key or bucket; waits for more if asked to.",
                self.read,
                scope=READ,
                whole=False,
                query=Wanted,
                answers={200: {JSON: forms.Page, LINES: None, LINES_TOO: None, ARROW: None}},
                problems=(*PROBLEMS, "not-acceptable"),
            ),
            Operation(
                "change",
                "GET",
                "/changes/{id}",
                "One change, by the id of its receipt.",
                self.change,
                scope=READ,
                whole=False,
                path_schemas={"id": {"type": "string", "minLength": 1, "format": "id"}},
                answers={200: {JSON: forms.Change}},
                problems=PROBLEMS,
            ),
            Operation(
                "bookmark",
                "GET",
                "/bookmark",
                "The end of the log now, or its place at a time.",
                self.bookmark,
                scope=READ,
                whole=False,
                query=At,
                answers={200: {JSON: forms.Place}},
                problems=PROBLEMS,
            ),
        ]

    # What is asked for.

    def check_ready(self) -> None:
        if not self._house.is_ready:
            raise Refusal("not-ready", "this participant does not take part in a cluster with buckets yet")

    def filtered(self, wanted: Filter, guest: Guest) -> Query:
        """The part that every way of reading has."""
        if wanted.bucket is not None and guest.limited:
            raise Refusal("not-allowed", "this takes a token that is not limited to tags")
        buckets = None
        if wanted.bucket is not None:
            records = self._house.core.distributor.buckets
            if wanted.bucket >= len(records) or not records[wanted.bucket].level:
                raise Refusal("not-found", f"there is no bucket {wanted.bucket}")
            buckets = (wanted.bucket,)
        tags = guest.limit(wanted.tag)
        match = wanted.match if wanted.tag else "any"
        key = wanted.key.encode() if wanted.key is not None else None
        return Query(since=place(wanted.since, guest), tags=tags, match=match, key=key, buckets=buckets)

    def _query(self, wanted: Wanted, guest: Guest) -> Query:
        query = self.filtered(wanted, guest)._replace(
            until=place(wanted.until, guest), limit=wanted.limit, block_s=wanted.block, order=wanted.order
        )
        if wanted.first is None and wanted.end is None:
            return query
        if wanted.bucket is None or wanted.since is not None or wanted.until is not None:
            raise Refusal("bad-request", "`first` and `end` are offsets of a `bucket`, and stand instead of places")
        log, bucket = self._house.core.distributor.log, wanted.bucket
        if wanted.first is not None:
            query = query._replace(since=Bookmark(log, {bucket: wanted.first}))
        if wanted.end is not None:
            query = query._replace(until=Bookmark(log, {bucket: wanted.end}))
        return query

    # What is answered.

    async def read(self, call: Call) -> Response:
        self.check_ready()
        kind = acceptable(call.request.headers.get("accept", ""))
        wanted, guest = call.query, call.guest
        query = self._query(wanted, guest)
        try:
            with self.seats.one(guest) if query.block_s else nullcontext():
                page = await self.page(query, whole=guest.limited)
        except NotKept as gone:
            raise gone_for(guest, gone) from gone
        guest = call.again()  # it may have waited for long
        links = _links(wanted, page, guest)
        at_start, at_end = _ends(wanted, page, guest)
        bookmark = guest.bookmark(page.bookmark)
        headers = {"Hansard-At-Start": str(at_start).lower(), "Hansard-At-End": str(at_end).lower(), "Vary": "Accept"}
        headers |= places_of(kind, bookmark, guest.bookmark(page.previous), links)
        ends = (bookmark, at_start, at_end, links)
        order = wanted.order if wanted.bookmarks else None
        body = await self.made(page, lambda: body_of(kind, page, guest, order, ends), marked=wanted.bookmarks)
        guest.used(len(page.changes), len(body))
        return Response(body, headers=headers, media_type=kind)

    async def change(self, call: Call) -> Response:
        self.check_ready()
        guest, house = call.guest, self._house
        offset, hash_ = guest.place_of(call.path["id"])
        bucket, _ = home_of(hash_, house.core.distributor.buckets)
        log = house.core.distributor.log
        query = Query(
            since=Bookmark(log, {bucket: offset}), until=Bookmark(log, {bucket: offset + 1}), buckets=(bucket,), limit=1
        )
        try:
            found = (await self.source.page(query)).page.changes
            if not found and await house.end(bucket) > offset:  # whoever was asked may be a moment behind
                found = (await self.source.page(query._replace(block_s=LATE_S))).page.changes
        except NotKept as gone:
            raise gone_for(guest, gone) from gone
        if not found or found[0].offset != offset or key_hash(found[0].key) != hash_:
            raise Refusal("not-found", NO_CHANGE)
        if guest.limited and not guest.own(found[0].tags):
            raise Refusal("not-found", NO_CHANGE)
        return answered(form_of(found[0], guest))

    async def page(self, query: Query, *, whole: bool = False) -> Page:
        """With everything that was acknowledged here before. `whole`: with all that there is up to a bookmark, because
        whoever asks cannot see from what it is given whether that was reached."""
        page = (await self.source.page(query)).page
        for _ in range(ATTEMPTS):
            if not self._is_behind(query, page) and not (whole and self._is_short(query, page)):
                return page
            await asyncio.sleep(BEHIND_S)
            page = (await self.source.page(query)).page
        if whole and self._is_short(query, page):
            raise Refusal("not-reachable", "nobody shows all that there is up to the bookmark")
        return page

    def _is_behind(self, query: Query, page: Page) -> bool:
        if query.until is not None or not page.at_end:
            return False
        end = page.bookmark if query.order == "asc" else page.previous
        return any((end.offset(bucket) or 0) < self._ends.get(bucket, 0) for bucket in self._read(query, self._ends))

    def _is_short(self, query: Query, page: Page) -> bool:
        """There is no more to be had now, and yet the place up to which it was asked for is not reached."""
        until = query.until
        if not isinstance(until, Bookmark) or query.order != "asc" or not page.at_end:
            return False
        buckets = self._read(query, page.bookmark.offsets)
        return any((page.bookmark.offset(bucket) or 0) < (until.offset(bucket) or 0) for bucket in buckets)

    def _read(self, query: Query, everywhere: Iterable[int]) -> Iterable[int]:
        """The buckets that are read for it."""
        if query.key is not None:
            return (home_of(key_hash(query.key), self._house.core.distributor.buckets)[0],)
        return query.buckets if query.buckets is not None else everywhere

    async def made(self, page: Page, make: Callable[[], bytes], *, marked: bool = False) -> bytes:
        """What is made of a page, in a thread if it is much. `marked`: with a bookmark for each change, which takes the
        longer the more buckets there are."""
        weight = 1 + len(page.bookmark.offsets) // BUCKETS_LIGHT if marked else 1
        is_small = sum([each.byte_count for each in page.changes]) <= LARGE_BYTES
        if is_small and len(page.changes) * weight <= PORTION:
            return make()
        return await self._workroom.do(make)

    async def bookmark(self, call: Call) -> Response:
        self.check_ready()
        at = place(call.query.at, call.guest)
        if isinstance(at, Bookmark):
            raise Refusal("bad-request", "`at` is a time; a bookmark is a place already")
        found = await self.source.bookmark(at)
        return answered(forms.Place(bookmark=call.guest.bookmark(found)))


# Places.


def place(text: str | None, guest: Guest) -> Bookmark | datetime | None:
    """A bookmark, a time as RFC 3339 has it, or seconds since 1970."""
    if text is None:
        return None
    if text[:2] in {"b1", "s1"}:
        return guest.bookmark_of(text)
    try:
        if text[:1].isdigit() and "-" not in text[:5]:
            return _EPOCH + timedelta(microseconds=round(float(text) * 1e6))
        time = msgspec.convert(text, datetime)
    except (ValueError, OverflowError):
        time = None
    if time is None or time.tzinfo is None:
        detail = "a place is a bookmark, a time such as 2026-11-17T12:00:00Z, or seconds since 1970"
        raise Refusal("bad-request", detail)
    return max(time, _EPOCH)


def gone_for(guest: Guest, gone: NotKept) -> Refusal:
    """Where what is kept begins tells of others' changes: a tenant is given a sealed place."""
    more: dict[str, Any] = {} if guest.limited else {"retained": gone.retained}
    if gone.checkpoint is not None:
        more["checkpoint"] = link_to(gone.checkpoint.subject)
    refusal = Refusal("gone", "what is asked for is not kept any more", start=guest.bookmark(gone.start), **more)
    if gone.checkpoint is not None:
        refusal.headers["Link"] = f'<{more["checkpoint"]}>; rel="alternate"'
    return refusal


# Where a page ends.


def _ends(wanted: Wanted, page: Page, guest: Guest) -> tuple[bool, bool]:
    """Whether the log begins and ends with this page. What others' changes decide is not told to a tenant: it is told
    what follows from its own."""
    if not guest.limited:
        return page.at_start, page.at_end
    # A page ends for one of three reasons; this is the third.
    whole = len(page.changes) < wanted.limit and sum([each.byte_count for each in page.changes]) < PAGE_BYTES_MAX
    if wanted.order == "desc":
        return whole and wanted.since is None, wanted.until is None
    return wanted.since is None, whole and wanted.until is None


def _links(wanted: Wanted, page: Page, guest: Guest) -> dict[str, str]:
    """The page after this one, in its direction, and the one before it."""
    kept = {name: value for name, value in msgspec.to_builtins(wanted).items() if value not in (None, [], "any")}
    if not wanted.bookmarks:
        kept.pop("bookmarks")
    for name in ("since", "until", "first", "end", "order", "block"):
        kept.pop(name, None)
    on, back = guest.bookmark(page.bookmark), guest.bookmark(page.previous)
    until = {"until": wanted.until} if wanted.until is not None and wanted.order == "asc" else {}
    since = {"since": wanted.since} if wanted.since is not None and wanted.order == "desc" else {}
    if wanted.order == "asc":
        following, preceding = {"since": on, **until}, {"until": back, "order": "desc"}
    else:
        following, preceding = {"until": on, "order": "desc", **since}, {"since": back}
    return {
        "next": f"/changes?{urlencode({**kept, **following}, doseq=True)}",
        "previous": f"/changes?{urlencode({**kept, **preceding}, doseq=True)}",
    }
