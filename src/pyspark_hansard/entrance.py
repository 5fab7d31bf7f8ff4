"""The cluster as a reader needs it: the table, pages of one bucket from any of its members, where buckets end.

It is used from one event loop. Nothing is submitted here, so no connection number is asked for.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from random import Random
from typing import Any, Final

from msgspec.structs import replace

from hansard.bookmark import Bookmark, TableBehind
from hansard.client.atlas import Atlas
from hansard.client.correspondence import Correspondence
from hansard.client.errors import NotReadable
from hansard.client.link import HELLO
from hansard.client.page import timestamp_of
from hansard.client.reading import Filter, Reader, Span, at_once
from hansard.client.recut import descendants
from hansard.client.roster import Backoff
from hansard.client.settings import Settings
from hansard.client.switchboard import Switchboard
from hansard.wire import request as wire

from .options import EARLIEST, LATEST, Choice, Place, Reach
from .places import Place as Spot
from .places import offsets

TIME_US_MAX: Final = 1 << 62
BEHIND_S: Final = 0.05


class Entrance:
    def __init__(self, reach: Reach) -> None:
        settings, random = Settings(timeout_s=reach.timeout_s), Random()
        hello = replace(HELLO, token=reach.token) if reach.token else HELLO
        self.atlas = Atlas(reach.endpoints)
        self.timeout_s = reach.timeout_s
        self._switchboard = Switchboard(reach.timeout_s, hello, reach.tls(), kept=True)

        def backoff() -> Backoff:
            return Backoff(settings.backoff_min_s, settings.backoff_max_s, random)

        self._correspondence = Correspondence(self.atlas, self._switchboard, backoff)
        self.reader = Reader(self.atlas, self._correspondence, backoff, random)

    async def open(self) -> None:
        self.atlas.begin(await self._correspondence.table(self.timeout_s, self.timeout_s / 3))

    async def close(self) -> None:
        await self._switchboard.close()

    async def refresh(self) -> None:
        """Look at the table again."""
        table = await self._correspondence.table(self.timeout_s, self.timeout_s / 3)
        for bucket, level in self.atlas.update(table):
            self.atlas.split(bucket, level)

    async def ask(self, question: dict[str, Any]) -> Any:
        return await self._correspondence.question(question, self.timeout_s)

    # Where buckets begin and end.

    async def ends(self, wanted: Filter) -> dict[int, Spot]:
        """Of every bucket the place after all that was acknowledged before this was called, by its leader's word."""
        return await self._spots(wanted._replace(since_us=TIME_US_MAX), linear=True)

    async def since(self, wanted: Filter, time: datetime) -> dict[int, Spot]:
        return await self._spots(wanted._replace(since_us=timestamp_of(time)), linear=True)

    async def starts(self, wanted: Filter) -> dict[int, Spot]:
        """Where what is retained begins, at whichever member was asked."""
        return await self._spots(wanted._replace(since_us=0), linear=False)

    async def _spots(self, wanted: Filter, *, linear: bool) -> dict[int, Spot]:
        """The level is of the same moment as the offset. What was split meanwhile is looked for in both halves."""
        spots: dict[int, Spot] = {}
        span = Span(0, changes_max=0, linear=linear)

        async def look(bucket: int, level: int) -> None:
            page = await self._page(bucket, level, span, wanted)
            spots[bucket] = Spot(page.level, page.end)
            if page.level > level:
                for half, least in descendants(bucket, level, page.level):
                    if half != bucket:
                        await look(half, least)

        await at_once([look(bucket, self.atlas.level(bucket)) for bucket in self.atlas.buckets])
        return dict(sorted(spots.items()))

    async def _page(self, bucket: int, level: int, span: Span, wanted: Filter) -> wire.Page:
        """Of somebody who has heard of every split that we have heard of."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.timeout_s
        while True:
            page = await self.reader.read(bucket, span, wanted, self.timeout_s)
            assert isinstance(page, wire.Page), "where a log begins is not before its beginning"
            if page.level >= level:
                return page
            if loop.time() > deadline:
                raise NotReadable(f"bucket {bucket}", "nobody who was asked has heard of its split")
            self.reader.leave(bucket)
            await asyncio.sleep(BEHIND_S)

    async def offsets(self, place: Place, wanted: Filter) -> dict[int, int]:
        """A user's place, as offsets by bucket."""
        if isinstance(place, Bookmark):
            return await self._resolved(place)
        if isinstance(place, datetime):
            return offsets(await self.since(wanted, place))
        assert place in (EARLIEST, LATEST)
        return offsets(await (self.starts(wanted) if place == EARLIEST else self.ends(wanted)))

    async def _resolved(self, bookmark: Bookmark) -> dict[int, int]:
        """WrongLog where it is of another one. Whoever made it may know of more buckets than the table that we have."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.timeout_s
        while True:
            try:
                return bookmark.resolve(self.atlas.log_id, self.atlas.buckets)
            except TableBehind:
                if loop.time() > deadline:
                    raise
            await asyncio.sleep(BEHIND_S)
            await self.refresh()


@asynccontextmanager
async def entered(reach: Reach) -> AsyncIterator[Entrance]:
    entrance = Entrance(reach)
    try:
        await entrance.open()
        yield entrance
    finally:
        await entrance.close()


def visit(reach: Reach, business: Callable[[Entrance], Awaitable[Any]]) -> Any:
    """One errand, from a program without a loop; of one participant all others' addresses are learnt."""

    async def run() -> Any:
        async with entered(reach) as entrance:
            return await business(entrance)

    return asyncio.run(run())


def wanted_of(choice: Choice) -> Filter:
    return Filter(tuple(tag.encode() for tag in choice.tags), choice.every, choice.key)
