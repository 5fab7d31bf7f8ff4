"""All of a log as a reader sees it over HTTP: pages, bookmarks, places that are held under a name."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote, urlencode

import msgspec

from hansard.batch import Text, key_hash
from hansard.bookmark import Bookmark, WrongLog
from hansard.checkpoint import Subject
from hansard.client import errors
from hansard.client.change import key_bytes
from hansard.client.checkpoints import Checkpoint
from hansard.client.cursor import PAGE_BYTES
from hansard.client.page import Page, timestamp_of
from hansard.client.reading import Match, filter_of
from hansard.client.records import RECORDS_PAGE, Records
from hansard.client.wish import Place, Wish

from .cursor import LIMIT_MAX, SEALED_LIMIT, Part, Sheet, WebCursor
from .exchange import Exchange, Request
from .form import ARROW, Problem, SealedBookmark, bookmark_of, changes_of, checkpoints_of
from .line import Answer

WAIT_S: Final = 25.0
"""For each page; then it is asked for again."""
BLOCK_S_MAX: Final = 60.0
BEHIND_S: Final = 0.02
KEY_MAX: Final = 8192
ATTEMPTS: Final = 3
Query = list[tuple[str, str]]


class WebLibrary(Records):
    """`is_marked`: each change is asked for with the bookmark after it, because the page's may be sealed. `ends` says
    how far each bucket goes at the least, as our own receipts do; `found` is told of each bookmark."""

    def __init__(
        self,
        exchange: Exchange,
        timeout_s: float,
        log_id: str,
        ends: Mapping[int, int],
        found: Callable[[Bookmark], None],
        *,
        is_marked: bool,
    ) -> None:
        self._exchange = exchange
        self._timeout_s = timeout_s
        self._log_id = log_id
        self._ends = ends
        self._found = found
        self._is_marked = is_marked
        self.guarded = False
        self._is_closed = False

    async def close(self) -> None:
        self._is_closed = True

    # Pages.

    async def page(self, wish: Wish, limit: int, block_s: float, bytes_max: int = PAGE_BYTES) -> Page:
        if limit < 1 or bytes_max < 1:
            raise ValueError(f"limit is {limit}, bytes_max {bytes_max}; a page has one change at least")
        limit = min(limit, LIMIT_MAX)
        query = [*_asked(wish), ("order", wish.order)]
        for name, place in (("since", wish.since), ("until", wish.until)):
            if place is not None:
                query.append((name, self._text(place)))
        deadline = asyncio.get_running_loop().time() + self._timeout_s
        is_cut = bytes_max < PAGE_BYTES
        while True:
            sheet = await self._sheet(query, limit, min(block_s, BLOCK_S_MAX), marked=self._is_marked or is_cut)
            if not self._is_behind(wish, sheet) or asyncio.get_running_loop().time() > deadline:
                break
            await asyncio.sleep(BEHIND_S)
        kept = _within(sheet, bytes_max) if is_cut else len(sheet.changes)
        if kept < len(sheet.changes):
            mark = bookmark_of(sheet.marks[kept - 1])
            at_end, at_start = (sheet.at_end, False) if wish.order == "desc" else (False, sheet.at_start)
            return Page(sheet.changes[:kept], mark, at_start, at_end, sheet.previous)
        return Page(sheet.changes, sheet.bookmark, sheet.at_start, sheet.at_end, sheet.previous)

    async def _records(self, wish: Wish) -> Page:
        return await self.page(wish, RECORDS_PAGE, 0.0)

    async def checkpoints(self, subject: Subject, limit: int = 1) -> list[Checkpoint]:
        """Who is limited to tags does not see the records in the log, and is told of its own checkpoints instead."""
        if not self._is_marked:
            return await super().checkpoints(subject, limit)
        query = [*[("tag", tag) for tag in subject.tags], ("match", subject.match), ("limit", str(limit))]
        answer = await self._answered(Request("GET", f"/checkpoints?{urlencode(query)}"), "the checkpoints")
        try:
            return checkpoints_of(answer.body)
        except (ValueError, msgspec.MsgspecError) as error:
            raise errors.NotReadable("the checkpoints", f"what came are none: {error}") from error

    async def point(self, gone: errors.Gone, wish: Wish) -> None:
        if not isinstance(gone.start, SealedBookmark):  # which nobody but the cluster can compare
            await super().point(gone, wish)

    def _is_behind(self, wish: Wish, sheet: Sheet) -> bool:
        """Whoever has stored something reads it afterwards, wherever it asks."""
        if wish.until is not None or not sheet.at_end or wish.buckets is not None or wish.key is not None:
            return False
        end = sheet.bookmark if wish.order == "asc" else sheet.previous
        return any((end.offset(bucket) or 0) < known for bucket, known in self._ends.items() if bucket in end.offsets)

    async def cursor(self, wish: Wish, *, to_end: bool, chunk: int) -> WebCursor:
        """`to_end`: it ends where the log ends now, with all that was acknowledged."""
        if self._is_closed:
            raise errors.ClientClosed
        until = self._marked(wish.until) if wish.until is not None and not isinstance(wish.until, datetime) else None
        if isinstance(wish.until, datetime):
            until = await self.bookmark(wish.until)
        elif until is None and to_end:
            until = await self.bookmark(None)
        asked = _asked(wish)
        if until is not None:
            asked.append(("until", str(until)))
        since = wish.since

        async def fetch(at: Bookmark | None, limit: int, wait_s: float) -> Sheet:
            if at is not None:
                place = [("since", str(at))]
            else:
                place = [("since", self._text(since))] if since is not None else []
            return await self._sheet([*asked, *place], limit, wait_s, marked=self._is_marked)

        begin = self._marked(since) if since is not None and not isinstance(since, datetime) else None
        key = key_bytes(wish.key)
        part = Part(None if key is None else key_hash(key), next(iter(wish.buckets)) if wish.buckets else None)
        cursor = WebCursor(fetch, begin, until, SEALED_LIMIT if self._is_marked else chunk, part)
        await cursor.begin()
        return cursor

    async def risen(self, cursor: WebCursor, timeout_s: float | None) -> frozenset[int]:
        """When it has waited for more than it has seen."""
        if self._is_closed:
            raise errors.ClientClosed
        await cursor.wait(WAIT_S if timeout_s is None else min(WAIT_S, timeout_s))
        return frozenset()

    async def _sheet(self, query: Query, limit: int, wait_s: float, *, marked: bool) -> Sheet:
        more = [("limit", str(limit))]
        if wait_s > 0:
            more.append(("block", f"{wait_s:.3f}"))
        if marked:
            more.append(("bookmarks", "true"))
        request = Request("GET", f"/changes?{urlencode([*query, *more])}", {"Accept": ARROW})
        answer = await self._answered(request, "a page", dict(query).get("since", ""), wait_s)
        headers = answer.headers
        try:
            changes, marks = changes_of(answer.body)
            bookmark = bookmark_of(headers["hansard-bookmark"])
            previous = bookmark_of(headers["hansard-begin"])
        except (KeyError, ValueError, OSError) as error:
            raise errors.NotReadable("a page", f"what came is none: {error}") from error
        self._found(bookmark)
        at_start, at_end = (headers.get(f"hansard-at-{place}") == "true" for place in ("start", "end"))
        return Sheet(changes, marks, bookmark, at_start, at_end, previous)

    async def _answered(self, request: Request, what: str, since: str = "", wait_s: float = 0.0) -> Answer:
        if self._is_closed:
            raise errors.ClientClosed
        timeout_s = wait_s + self._timeout_s
        try:
            return await self._exchange.ask_anybody(request, what, timeout_s, wait_s + self._timeout_s / ATTEMPTS)
        except Problem as problem:
            raise self._said(problem, since) from problem

    def _said(self, problem: Problem, since: str) -> Exception:
        """As the other flavour says it."""
        told = problem.told
        if problem.name == "gone" and told.start:
            start = bookmark_of(told.start)
            return errors.Gone(_asked_before(start, since), start)
        if problem.name == "wrong-log":
            return WrongLog(_log_of(since), self._log_id)
        return errors.Refused(problem.detail)

    # Places.

    def _text(self, place: Place) -> str:
        if isinstance(place, datetime):
            timestamp = timestamp_of(place)  # which says what is wrong with one without a time zone
            return datetime.fromtimestamp(timestamp / 1_000_000, UTC).isoformat() if timestamp else "0"
        return str(self._marked(place))

    def _marked(self, place: Bookmark | str) -> Bookmark:
        bookmark = bookmark_of(place) if isinstance(place, str) else place
        if self._log_id and not isinstance(bookmark, SealedBookmark) and bookmark.log_id != self._log_id:
            raise WrongLog(bookmark.log_id, self._log_id)
        return bookmark

    async def bookmark(self, at: datetime | None, tags: Collection[str] = (), match: Match = "any") -> Bookmark:
        filter_of(tags, match, None, "asc")  # of no consequence here: a token's own tags are known to the cluster
        query = f"?{urlencode({'at': self._text(at)})}" if at is not None else ""
        answer = await self._answered(Request("GET", f"/bookmark{query}"), "the end of the log")
        found = bookmark_of(msgspec.json.decode(answer.body)["bookmark"])
        self._found(found)
        return found

    def beginning(self) -> Bookmark | None:
        """Of the log, whether or not it is retained; None for who is not told which log it is, and so begins with what
        is."""
        return Bookmark(self._log_id, {0: 0}) if self._log_id else None

    async def placed(self, cursor: WebCursor) -> Bookmark:
        """Where a cursor that has read nothing begins."""
        return cursor.bookmark_before(())

    async def held(self, name: str) -> Bookmark | None:
        """Where a name was last committed."""
        answer = await self._answered(Request("GET", "/holds?settled=true"), "what is held")
        for hold in msgspec.json.decode(answer.body)["holds"]:
            if hold["name"] == name:
                return Bookmark(self._log_id, {int(bucket): place for bucket, place in hold["offsets"].items()})
        return None

    async def hold(self, name: str, at: Bookmark, lasts_s: float) -> None:
        body = msgspec.json.encode({"bookmark": str(at), "lasts_s": lasts_s})
        headers = {"Content-Type": "application/json"}
        await self._answered(Request("PUT", f"/holds/{quote(name, safe='')}", headers, body), "a hold")

    async def let_go(self, name: str) -> None:
        await self._answered(Request("DELETE", f"/holds/{quote(name, safe='')}"), "a hold's end")


def _asked(wish: Wish) -> Query:
    """Everything of a wish but its places and its order."""
    filter_of(wish.tags, wish.match, wish.key, wish.order)  # which says what is wrong with it
    query = [("tag", tag) for tag in wish.tags]
    if wish.tags:
        query.append(("match", wish.match))
    if wish.key is not None:
        query.append(("key", _key(wish.key)))
    if wish.buckets is not None:
        if len(wish.buckets) != 1:
            raise ValueError(f"over HTTP one bucket is read at a time, or all: {sorted(wish.buckets)} are wanted")
        query.append(("bucket", str(next(iter(wish.buckets)))))
    return query


def _key(key: Text) -> str:
    try:
        text = (key_bytes(key) or b"").decode()
    except UnicodeDecodeError:
        raise ValueError("over HTTP only keys that are text can be chosen") from None
    if len(text) > KEY_MAX:
        raise ValueError(f"over HTTP only keys of up to {KEY_MAX} characters can be chosen")
    return text


def _within(sheet: Sheet, bytes_max: int) -> int:
    """So many changes: with the one that reaches it a page ends."""
    total = 0
    for count, change in enumerate(sheet.changes, start=1):
        total += change.byte_count
        if total >= bytes_max:
            return count
    return len(sheet.changes)


def _asked_before(start: Bookmark, since: str) -> dict[int, int]:
    """Of which buckets something was asked for that is not retained."""
    if isinstance(start, SealedBookmark) or not since.startswith("b1"):
        return {}
    asked = Bookmark.parse(since)
    places = {bucket: asked.offset(bucket) or 0 for bucket in start.offsets}
    return {bucket: place for bucket, place in places.items() if place < start.offsets[bucket]}


def _log_of(token: str) -> str:
    return Bookmark.parse(token).log_id if token.startswith("b1") else ""
