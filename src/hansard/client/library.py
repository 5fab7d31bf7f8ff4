"""All of a log as a reader sees it: pages, bookmarks, places that are held under a name."""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from datetime import datetime
from typing import Any, Final

from hansard.batch import key_hash
from hansard.bookmark import Bookmark, TableBehind

from .atlas import Atlas
from .correspondence import Correspondence
from .cursor import PAGE_BYTES, Cursor
from .errors import ClientClosed, Gone
from .page import Page, timestamp_of
from .reading import Filter, Match, Reader, filter_of
from .records import RECORDS_PAGE, Records
from .tide import Tide
from .wish import Place, Wish

TIME_US_MAX: Final = 1 << 62
CHUNK_MIN: Final = 16
BEHIND_S: Final = 0.05


class Library(Records):
    """`refresh` looks for a newer table."""

    def __init__(
        self,
        atlas: Atlas,
        correspondence: Correspondence,
        reader: Reader,
        refresh: Callable[[], Awaitable[None]],
        timeout_s: float,
    ) -> None:
        self._atlas = atlas
        self._correspondence = correspondence
        self._reader = reader
        self._refresh = refresh
        self._timeout_s = timeout_s
        self.guarded = False
        """Whoever asks for everything may be refused, so each waits for its own tags; else all wait for one tide."""
        self._tides: dict[Filter, Tide] = {}
        self._is_closed = False

    # Waiting.

    async def risen(self, cursor: Cursor, timeout_s: float | None) -> frozenset[int]:
        """Buckets in which there may be more for it than it has seen."""
        if self._is_closed:
            raise ClientClosed
        if outdated := cursor.outdated:
            return outdated
        wanted = Filter(cursor.wanted.tags, cursor.wanted.every) if self.guarded else Filter()
        tide = self._tides.get(wanted)
        if tide is None:
            tide = self._tides[wanted] = Tide(self._reader, wanted, self._timeout_s, self._ebbed)
        return await tide.risen(cursor.places, timeout_s)

    def _ebbed(self, tide: Tide) -> None:
        """Nobody waits for it."""
        for wanted in [wanted for wanted, one in self._tides.items() if one is tide]:
            del self._tides[wanted]

    def wake(self, bucket: int) -> None:
        """It was split."""
        for tide in self._tides.values():
            tide.wake(bucket)

    async def close(self) -> None:
        self._is_closed = True
        for tide in list(self._tides.values()):
            await tide.close()

    # Pages.

    async def page(self, wish: Wish, limit: int, block_s: float, bytes_max: int = PAGE_BYTES) -> Page:
        if limit < 1 or bytes_max < 1:
            raise ValueError(f"limit is {limit}, bytes_max {bytes_max}; a page has one change at least")
        try:
            return await self._page(wish, limit, block_s, bytes_max)
        except Gone as gone:
            await self.point(gone, wish)
            raise

    async def _page(self, wish: Wish, limit: int, block_s: float, bytes_max: int) -> Page:
        buckets = len(self._atlas.buckets) if wish.key is None else 1
        cursor = await self.cursor(wish, to_end=False, chunk=max(CHUNK_MIN, limit // buckets + 1))
        changes = await cursor.take(limit, bytes_max)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + block_s
        while not changes and wish.order == "asc" and not cursor.is_closed and loop.time() < deadline:
            before = cursor.places
            more = await self.risen(cursor, deadline - loop.time())
            cursor.look_again(more)
            changes = await cursor.take(limit, bytes_max)
            if more and not changes and cursor.places == before:
                cursor.look_again()  # who was asked does not know of it yet, and somebody else may
                await asyncio.sleep(BEHIND_S)
        return Page(changes, cursor.bookmark, cursor.at_start, cursor.at_end, cursor.began)

    async def cursor(self, wish: Wish, *, to_end: bool, chunk: int) -> Cursor:
        """`to_end`: it ends where the log ends now, with all that was acknowledged."""
        wanted = filter_of(wish.tags, wish.match, wish.key, wish.order)
        since, since_us = await self._place(wish.since)
        until, until_us = await self._place(wish.until)
        if until is None and to_end:
            until = await self._end(Filter(wanted.tags, wanted.every))
        wanted = wanted._replace(since_us=since_us, until_us=until_us)
        start, bounds = (until, since) if wanted.descending else (since, until)
        buckets = None if wish.buckets is None else frozenset(wish.buckets)
        if buckets is not None and not buckets <= set(self._atlas.buckets):
            raise ValueError(
                f"there is no bucket {min(buckets - set(self._atlas.buckets))}: {len(self._atlas.buckets)} are there"
            )
        if wanted.key is not None:
            home = frozenset([self._atlas.home(key_hash(wanted.key))])
            buckets = home if buckets is None else home & buckets
        # Nothing is awaited from here on: there are as many buckets as there were a moment ago, and no more.
        return Cursor(
            self._reader,
            self._everywhere(-1 if wanted.descending else 0) if start is None else self._spread(start),
            wanted,
            bounds=None if bounds is None else self._spread(bounds),
            buckets=buckets,
            lenient=start is None,
            chunk=chunk,
            timeout_s=self._timeout_s,
        )

    def _spread(self, bookmark: Bookmark) -> Bookmark:
        """Over all buckets that there are by now."""
        try:
            return bookmark.split(self._atlas.log_id, self._atlas.buckets)
        except TableBehind:
            return bookmark  # whoever was asked knows of more than the table says

    def beginning(self) -> Bookmark:
        """Of the log, whether or not it is retained."""
        return self._everywhere(0)

    def _everywhere(self, offset: int) -> Bookmark:
        return Bookmark(self._atlas.log_id, dict.fromkeys(self._atlas.buckets, offset))

    async def _place(self, place: Place | None) -> tuple[Bookmark | None, int]:
        """As offsets, or as a time."""
        if place is None:
            return None, -1
        if isinstance(place, datetime):
            return None, timestamp_of(place)
        bookmark = Bookmark.parse(place) if isinstance(place, str) else place
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._timeout_s
        while True:
            try:
                return bookmark.split(self._atlas.log_id, self._atlas.buckets), -1
            except TableBehind:
                if loop.time() > deadline:
                    raise
            await self._refresh()
            await asyncio.sleep(BEHIND_S)

    # Places.

    async def bookmark(self, at: datetime | None, tags: Collection[str] = (), match: Match = "any") -> Bookmark:
        wanted = filter_of(tags, match, None, "asc")
        if at is None:
            return await self._end(wanted)
        wanted = wanted._replace(since_us=timestamp_of(at))
        return await self._reader.since(self._atlas.log_id, wanted, self._timeout_s, linear=True)

    async def _end(self, wanted: Filter) -> Bookmark:
        """After everything that was acknowledged before."""
        wanted = wanted._replace(since_us=TIME_US_MAX)
        return await self._reader.since(self._atlas.log_id, wanted, self._timeout_s, linear=True)

    async def _records(self, wish: Wish) -> Page:
        return await self._page(wish, RECORDS_PAGE, 0.0, PAGE_BYTES)

    async def placed(self, cursor: Cursor) -> Bookmark:
        """Where a cursor that has read nothing begins, as offsets that are retained."""
        bookmark, since_us = cursor.bookmark, cursor.wanted.since_us
        wanted = Filter(cursor.wanted.tags, cursor.wanted.every)
        if since_us >= 0:
            wanted = wanted._replace(since_us=since_us)
            return await self._reader.since(self._atlas.log_id, wanted, self._timeout_s)
        if any(bookmark.offsets.values()):
            return bookmark
        return await self._reader.starts(self._atlas.log_id, self._timeout_s, wanted)

    async def held(self, name: str) -> Bookmark | None:
        """Where a name was last committed."""
        question = {"ask": "holds", "settled": True}  # whoever is asked may be behind, and would show an earlier place
        told: dict[str, Any] = await self._correspondence.question(question, self._timeout_s)
        for hold in told["holds"]:
            if hold["name"] == name:
                return Bookmark(self._atlas.log_id, {int(bucket): place for bucket, place in hold["offsets"].items()})
        return None

    async def hold(self, name: str, at: Bookmark, lasts_s: float) -> None:
        question = {"ask": "hold", "name": name, "lasts_s": lasts_s, "bookmark": str(at)}
        await self._correspondence.question(question, self._timeout_s)

    async def let_go(self, name: str) -> None:
        await self._correspondence.question({"ask": "let go", "name": name}, self._timeout_s)


__all__ = ["Filter", "Library", "Place", "Wish"]
